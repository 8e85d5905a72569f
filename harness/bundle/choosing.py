"""Which run of a folder, and which of its turns.

Owns: the choice, and the sentence where there is none. Does not own: judging. Floor 5. Source: ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernels.errors import ConfigError
from results.findings import Judgement, Origin, Verdict
from results.matrix.folder import is_matrix, open_matrix
from results.reader import Run, open_run
from results.records import TurnRecord
from results.report.witness import Witness, first_corrupted
from results.serial.store import read_serial

_TURN = re.compile(r"(\d{1,9}):(\d{1,9})")
TurnKey = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ChosenTurn:
    """A turn of a run. judgement: None for a turn that counts in no figure (of a warm-up, say). said_alone: why the
    serial check calls it corrupt; None where it does not."""

    run: Run
    turn: TurnRecord
    judgement: Judgement | None
    said_alone: str | None = None


def turn_key(text: str) -> TurnKey:
    """`SESSION:TURN`. Raises: ConfigError."""
    match = _TURN.fullmatch(text)
    if match is None:
        raise ConfigError(f"--turn '{text}' does not have the form SESSION:TURN", key="--turn", value=text)
    return int(match[1]), int(match[2])


def choose(path: Path, key: TurnKey | None) -> ChosenTurn:
    """The turn that was named, or the first corrupted one, or the first that only the serial check found; of a matrix,
    in the first run that has it.

    Raises: ConfigError, also where nothing is corrupted and no turn was named; NewerRun.
    """
    if not is_matrix(path):
        run = open_run(path)
        found = _in(run, key)
        if found is None:
            raise ConfigError(_nothing(f"'{path}'", run, key), key="--turn")
        return found
    matrix = open_matrix(path)
    kept = [matrix.run_folder(run.run_dir) for run in matrix.record.runs if run.run_dir is not None]
    folders = [folder for folder in kept if folder.is_dir()]
    if not folders:
        raise ConfigError(f"'{path}' keeps no runs, so there is nothing to make a script of", key="run_dir")
    for folder in folders:
        found = _in(open_run(folder), key)
        if found is not None:
            return found
    what = "no turn is corrupted" if key is None else f"there is no session {key[0]} turn {key[1]}"
    raise ConfigError(f"{what} in any of the {len(folders)} runs of '{path}'", key="--turn")


def _in(run: Run, key: TurnKey | None) -> ChosenTurn | None:
    judged = {judgement.key: judgement for judgement in run.judgements}
    alone = _said_alone(run)
    if key is None:
        turns = [turn for turn in run.turns if turn.key in judged]
        witness = _first(turns, judged, alone)
        # A run may be corrupt by this alone: where nobody knows the right answer, no single reply looks wrong.
        key = witness.turn.key if witness is not None else next(iter(alone), None)
    turn = next((turn for turn in (*run.turns, *run.aside) if turn.key == key), None)
    return None if turn is None else ChosenTurn(run, turn, judged.get(turn.key), alone.get(turn.key))


def _said_alone(run: Run) -> dict[TurnKey, str]:
    """Turns that differ from what they say alone, and that the check calls corrupt; why, in the run's own order."""
    record, _ = read_serial(run.path)
    if record is None:
        return {}
    said = {(one.session, one.turn): one.reason for one in record.turns if one.verdict is Verdict.VIOLATED}
    due = sorted(run.turns, key=lambda turn: (turn.scheduled_ns, turn.key))
    return {turn.key: said[turn.key] for turn in due if turn.key in said}


def _first(turns: list[TurnRecord], judged: dict[TurnKey, Judgement], alone: Mapping[TurnKey, str]) -> Witness | None:
    """One that lost the race itself, where the machine can tell; pages that it poisoned make others wrong too. Else one
    that is right alone: a weak model gets some wrong by itself."""
    own = [turn for turn in turns if judged[turn.key].origin is Origin.PRIMARY]
    right_alone = [turn for turn in turns if turn.key in alone]
    found = (first_corrupted(some, [judged[turn.key] for turn in some]) for some in (own, right_alone, turns))
    return next((witness for witness in found if witness is not None), None)


def _nothing(name: str, run: Run, key: TurnKey | None) -> str:
    if key is None:
        return f"no turn of {name} is corrupted ({len(run.turns)} turns); --turn SESSION:TURN takes any other"
    turns = [turn.turn for turn in (*run.turns, *run.aside) if turn.session == key[0]]
    if turns:
        return f"session {key[0]} of {name} has the turns {min(turns)} to {max(turns)}, not {key[1]}"
    return f"{name} has no session {key[0]}; it has {len(run.sessions)} sessions"

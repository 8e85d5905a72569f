"""From a run folder to a script and its evidence.

Owns: the order of the steps, and the names of both files. Does not own: any of the steps. Floor 5. Source: ours.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.bundle.choosing import ChosenTurn, TurnKey, choose
from harness.bundle.evidence import Evidence, ScriptEvidence, evidence_of, write_evidence
from harness.bundle.leaving import leaves_of
from harness.bundle.neighbours import parts_around
from harness.bundle.payload import Packed, Planned, pack
from harness.bundle.rebuilding import is_somebodys, sessions_of
from harness.bundle.script import ScriptFacts, render
from harness.capture.scrubbing.scrubber import ScrubRules, SecretScrubber
from harness.simulation import provenance
from harness.simulation.run import MODEL
from results import layout
from results.reader import Run
from results.report.witness import expected_text, received_text
from results.report.words import harmless, plural

SCRIPT_BYTES_MAX: Final = 2_000_000
"""Small enough to be attached to an issue anywhere, large enough for the sixty sessions of the incident."""
_TEMPLATE_BYTES: Final = 24_000
_MAX_TOKENS: Final = 160
NOT_WRONG: Final = "not judged as wrong"
NOT_AS_ALONE: Final = "not as when it is asked alone"
_EXAMPLE_URL: Final = "http://127.0.0.1:8000/v1"


@dataclass(frozen=True, slots=True)
class BundleRequest:
    """turn: None takes the first corrupted one. out: the script's path; None puts it beside the run.

    size_max_bytes: of the script; sessions are left out, the least important first, until it fits.
    """

    path: Path
    turn: TurnKey | None
    out: Path | None
    rounds: int
    size_max_bytes: int = SCRIPT_BYTES_MAX


@dataclass(frozen=True, slots=True)
class Bundle:
    """script, evidence_file: paths. evidence: what the latter says."""

    script: Path
    evidence_file: Path
    evidence: Evidence
    run_dir: Path


def make_bundle(request: BundleRequest) -> Bundle:
    """Effect: writes both files. Raises: ConfigError, NewerRun, StorageProblem."""
    chosen = choose(request.path, request.turn)
    run = chosen.run
    name = f"repro_{run.path.name.replace('-', '_')}_{chosen.turn.session}_{chosen.turn.turn}.py"
    script = request.out or request.path / name
    parts = parts_around(chosen.turn, (*run.turns, *run.aside))
    rebuilt = sessions_of(run, [part.session for part in parts])
    leaves = leaves_of(run)
    planned = [
        Planned(plan, part, {turn: leave for (session, turn), leave in leaves.items() if session == plan.session})
        for plan, part in zip(rebuilt.sessions, parts, strict=True)
    ]
    scrubber = _scrubber(planned)
    room_bytes = request.size_max_bytes - _TEMPLATE_BYTES
    packed = pack(planned, _settings(run), clean=scrubber.value, room_bytes=room_bytes)
    text = render(_facts(chosen, script.name, request.rounds, packed, scrubber), {
        "SESSIONS": packed.sessions, "TURNS": packed.turns, "PROMPT_TOKENS": packed.prompt_tokens,
        "PAYLOAD": packed.text,
    }).encode()  # fmt: skip
    layout.replace_file(script, lambda beside: _write(beside, text))
    told = ScriptEvidence(
        file=script.name,
        sha256=hashlib.sha256(text).hexdigest(),
        size_bytes=len(text),
        command=shlex.join(["python", script.name, "--base-url", _EXAMPLE_URL]),
        rounds=request.rounds,
        sessions=packed.sessions,
        turns=packed.turns,
        sessions_left_out=packed.left_out,
        checked=rebuilt.checked,
        scrubbed=dict(scrubber.counts),
    )
    made = provenance.utc_now().isoformat(timespec="seconds")
    evidence = evidence_of(chosen, told, clean=scrubber.value, made=made)
    evidence_file = script.with_name(f"{script.stem}_evidence.json")
    write_evidence(evidence, evidence_file)
    return Bundle(script, evidence_file, evidence, run.path)


def _scrubber(planned: Sequence[Planned]) -> SecretScrubber:
    """Texts of somebody's own may hold keys. What all of them give away is known before the first is written."""
    scrubber = SecretScrubber(ScrubRules("secrets" if any(is_somebodys(one.plan) for one in planned) else "keep-text"))
    for one in planned:
        for turn in range(one.part.turn_count):
            scrubber.value(list(one.plan.messages(turn)))
    return scrubber


def _write(path: Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)


def _settings(run: Run) -> dict[str, Any]:
    return {"max_tokens": run.manifest.max_tokens or _MAX_TOKENS, "exact_replies": run.manifest.exact_replies}


def _model(run: Run) -> str:
    server = run.manifest.configuration.get("server")
    return str(server["model"]) if isinstance(server, dict) and server.get("model") else MODEL


def _facts(chosen: ChosenTurn, file: str, rounds: int, packed: Packed, scrubber: SecretScrubber) -> ScriptFacts:
    run, turn = chosen.run, chosen.turn
    manifest = run.manifest
    kind, why = _verdict(chosen)
    sent = f"{plural(packed.sessions, 'session')} with {plural(packed.turns, 'request')}"
    left = f"; {plural(packed.left_out, 'session')} of that time had no room here" if packed.left_out else ""
    hung_up = sum(bool(one.load and one.load.hung_up) for one in run.aside)
    unheard = f"The run's clients hung up on {plural(hung_up, 'request')} on purpose; this script on {packed.hung_up}."
    return ScriptFacts(
        file=file,
        title=f"{_model(run)}: session {turn.session} turn {turn.turn} of a run: {kind}.",
        about=(
            f"The run: {manifest.scenario}, seed {manifest.seed}, begun {manifest.started}, {manifest.backend}.",
            f"It was made by kvrace {manifest.versions.get('kvrace', '?')}, revision {manifest.git_revision}, with",
            f"    {manifest.repeat}",
            f"In this script: {sent}, as they were sent up to the end of that turn{left}.",
            *((unheard,) if hung_up else ()),
        ),
        model=_model(run),
        session=turn.session,
        turn=turn.turn,
        expected=expected_text(turn) or None,
        received=scrubber.text(harmless(received_text(turn))),
        why=scrubber.text(why),
        rounds=rounds,
    )


def _verdict(chosen: ChosenTurn) -> tuple[str, str]:
    """Kind and reason, in words."""
    judgement = chosen.judgement
    if judgement is None or judgement.primary is None or not judgement.is_corrupted:
        return (NOT_WRONG, NOT_WRONG) if chosen.said_alone is None else (NOT_AS_ALONE, harmless(chosen.said_alone))
    return str(judgement.kind).replace("_", " "), harmless(judgement.primary.reason)

"""Evidence cards: a corrupted turn with what was expected, what came, where they part, its bytes and its race.

Owns: which turns get a card where there are many, and how much of a text is shown. Does not own: the judgement
(`oracles`), the words on the race (`witness`). Floor 3. Source: ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from results.findings import Judgement
from results.reader import read_raw
from results.records import TurnRecord
from results.report.differences import difference
from results.report.gather import JudgedRun
from results.report.parts import EvidencePart
from results.report.witness import difference_at, expected_text, race_lines, received_text
from results.report.words import harmless, plural

CARDS_MAX = 30
UNKNOWN_ANSWER = "nobody knows the right answer of this turn"

_SHOWN_CHARACTERS = 2_000
_DIFFERENCE_CHARACTERS = 1_200
_BEFORE_CHARACTERS = 200
_RAW_HEAD_CHARACTERS = 900
_RAW_TAIL_CHARACTERS = 500
_BYTES_BEFORE = 16
_BYTES_SHOWN = 64
_BYTES_A_LINE = 16

_Found = tuple[JudgedRun, TurnRecord, Judgement]
_Key = tuple[int, int]


def evidence_of(runs: Sequence[JudgedRun]) -> tuple[tuple[EvidencePart, ...], int, list[str]]:
    """The cards in the order of arms, seeds and time; how many turns are corrupted; faults of the raw files."""
    found = [(run, turn, judged) for run in runs for turn, judged in run.pairs if judged.is_corrupted]
    chosen = _chosen(found)
    faults: list[str] = []
    raw_of: dict[JudgedRun, Mapping[_Key, str]] = {}
    for run, _, _ in chosen:
        if run not in raw_of:
            raw_of[run], raw_faults = read_raw(run.run)
            faults += [f"{run.name}: {fault}" for fault in raw_faults]
    cards = tuple(_card(run, turn, judged, raw_of[run].get(turn.key)) for run, turn, judged in chosen)
    return cards, len(found), faults


def _chosen(found: Sequence[_Found]) -> list[_Found]:
    """The first turns of each arm and kind in turn, so that a rare kind is not crowded out by a common one."""
    by_kind: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, (run, _, judged) in sorted(enumerate(found), key=lambda item: _time(item[1])):
        by_kind[run.arm, str(judged.kind)].append(number)
    chosen: list[int] = []
    for place in range(max((len(numbers) for numbers in by_kind.values()), default=0)):
        chosen += [numbers[place] for numbers in by_kind.values() if place < len(numbers)]
        if len(chosen) >= CARDS_MAX:
            break
    places = {run: place for place, run in enumerate(dict.fromkeys(run for run, _, _ in found))}
    kept = [found[number] for number in chosen[:CARDS_MAX]]
    return sorted(kept, key=lambda item: (places[item[0]], _time(item)))


def _time(found: _Found) -> tuple[int, _Key]:
    return found[1].sent_ns, found[1].key


def _card(run: JudgedRun, turn: TurnRecord, judged: Judgement, raw: str | None) -> EvidencePart:
    expected, received = expected_text(turn), received_text(turn)
    at = difference_at(expected, received)
    begin = max(0, at - _BEFORE_CHARACTERS)
    end = begin + _DIFFERENCE_CHARACTERS
    bytes_note, byte_lines = _bytes(received, at)
    raw_text, raw_note = _raw(raw)
    return EvidencePart(
        arm=run.arm,
        seed=run.seed,
        session=turn.session,
        turn=turn.turn,
        request_id=turn.request_id,
        kind=str(judged.kind),
        origin=str(judged.origin),
        sent_s=turn.sent_ns / 1e9,
        prompt_tokens=turn.prompt_tokens,
        loaded_tokens=None if turn.machine is None else turn.machine.host_hit_tokens,
        reasons=tuple((f.oracle, str(f.severity), harmless(f.reason)) for f in judged.findings),
        blame=None if judged.blame is None else f"{judged.blame.side}: {harmless(judged.blame.reason)}",
        expected=_shown(expected) or UNKNOWN_ANSWER,
        received=_shown(received),
        difference=difference(harmless(expected[begin:end]), harmless(received[begin:end])),
        difference_note=UNKNOWN_ANSWER if turn.expected is None else _difference_note(at, begin),
        is_cut_before=begin > 0,
        is_cut_behind=max(len(expected), len(received)) > end,
        bytes_note=bytes_note,
        byte_lines=byte_lines,
        raw=raw_text,
        raw_note=raw_note,
        race=tuple(harmless(line) for line in race_lines(turn)),
        stale_sample=() if turn.machine is None else turn.machine.stale_sample,
    )


def _shown(text: str) -> str:
    rest = len(text) - _SHOWN_CHARACTERS
    return harmless(text) if rest <= 0 else f"{harmless(text[:_SHOWN_CHARACTERS])}\n... and {rest:,} characters more"


def _difference_note(at: int, begin: int) -> str:
    shown = f"; shown from character {begin + 1:,} on" if begin else ""
    return f"They part at character {at + 1:,}{shown}"


def _bytes(received: str, at: int) -> tuple[str, tuple[str, ...]]:
    """The received bytes around the first wrong character: offset, hexadecimal, printable ASCII."""
    encoded = received.encode("utf-8", "surrogatepass")
    wrong = len(received[:at].encode("utf-8", "surrogatepass"))
    begin = max(0, wrong - _BYTES_BEFORE) // _BYTES_A_LINE * _BYTES_A_LINE
    lines = []
    for offset in range(begin, min(len(encoded), begin + _BYTES_SHOWN), _BYTES_A_LINE):
        row = encoded[offset : offset + _BYTES_A_LINE]
        printable = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{offset:06x}  {row.hex(' '):<{3 * _BYTES_A_LINE - 1}}  {printable}")
    return f"{plural(len(encoded), 'byte')} in UTF-8; the first wrong one is at offset {wrong:,}", tuple(lines)


def _raw(raw: str | None) -> tuple[str | None, str]:
    if raw is None:
        return None, "the raw stream of this reply was not stored"
    left_out = len(raw) - _RAW_HEAD_CHARACTERS - _RAW_TAIL_CHARACTERS
    note = f"{plural(len(raw), 'character')} of raw stream, as the server sent it"
    if left_out <= 0:
        return harmless(raw), note
    head, tail = harmless(raw[:_RAW_HEAD_CHARACTERS]), harmless(raw[-_RAW_TAIL_CHARACTERS:])
    return f"{head}\n\n... {left_out:,} characters left out; they are in raw.jsonl ...\n\n{tail}", note

"""The table "was the path exercised?": a row a figure, a column an arm, and a mark where the figure was checked.

Owns: which figure stands beside which check. Does not own: either (`results.report.proof`). Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from results.report import proof
from results.report.parts import ArmPart, Proof
from results.report.words import byte_size, percent


@dataclass(frozen=True, slots=True)
class ProofCell:
    """passed: None where there is no check, or where it could not be made."""

    passed: bool | None
    text: str


@dataclass(frozen=True, slots=True)
class ProofRow:
    label: str
    cells: tuple[ProofCell, ...]


def proof_rows(arms: Sequence[ArmPart]) -> list[ProofRow]:
    """One row a figure, in the order in which a page travels."""
    is_live = any(arm.proof.host_units is not None for arm in arms)
    return [
        ProofRow(label, tuple(_cell(arm.proof, names, text(arm.proof)) for arm in arms))
        for label, names, text in (*_ROWS, *(_LIVE_ROWS if is_live else ()))
    ]


def _cell(found: Proof, names: Sequence[str], text: str) -> ProofCell:
    check = next((check for check in found.checks if check.name in names), None)
    return ProofCell(None if check is None else check.passed, text)


def _count(value: int | None) -> str:
    return "not known" if value is None else f"{value:,}"


def _hits(found: Proof) -> str:
    if found.host_hit_turns is None:
        return "not known"
    share = percent(found.host_hit_turns / found.turns if found.turns else None)
    return f"{found.host_hit_turns:,} of {found.turns:,} ({share})"


_ROWS = (
    ("requests in progress at once, at most", (proof.OVERLAP,), lambda found: _count(found.overlap)),
    ("backups to the host tier", (), lambda found: _count(found.backups)),
    ("pages evicted from the device", (proof.EVICTIONS,), lambda found: _count(found.evicted_device_pages)),
    ("turns that hit the host tier", (proof.HOST_HITS,), _hits),
    ("load-backs", (proof.LOAD_BACKS, proof.HOST_TIER_OFF), lambda found: _count(found.load_backs)),
    ("moved from host to device", (proof.BYTES,),
     lambda found: "not known" if found.loaded_bytes is None else byte_size(found.loaded_bytes)),
    ("stale page reads in prefill", (), lambda found: _count(found.stale_reads)),
    ("of them torn", (), lambda found: _count(found.torn_reads)),
    ("reads of poisoned pages", (), lambda found: _count(found.poisoned_reads)),
    ("stale page reads in decode", (), lambda found: _count(found.decode_stale_reads)),
)  # fmt: skip
_LIVE_ROWS = (
    (
        "came from the host tier, by the server's own counter",
        (proof.HOST_USED,),
        lambda found: _count(found.host_units),
    ),
)

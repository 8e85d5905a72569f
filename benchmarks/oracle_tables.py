"""What the corpus came to, as tables: false alarms, recall, confusion, parser or engine, speed.

Owns: which figures a table shows. Does not own: the counting (`scoring`), the page (`page`).
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.page import Figures
from benchmarks.scoring import Counts
from results.findings import Kind, Side
from results.stats.intervals import Interval, upper_bound_at_zero


def clean_table(counts: Counts, measured: str) -> Figures:
    """Families that share a beginning (`cut by the limit: prose`) are one row."""
    families: dict[str, list[int]] = {}
    for family, n in counts.families.items():
        alarms = sum(hits for (struck, _), hits in counts.alarms.items() if struck == family)
        row = families.setdefault(_head(family), [0, 0])
        row[0] += n
        row[1] += alarms
    rows = [(family, f"{n:,}", str(alarms)) for family, (n, alarms) in sorted(families.items())]
    total = sum(counts.alarms.values())
    rows.append(("**all**", f"**{counts.sound:,}**", f"**{total}**"))
    bound = f" Zero alarms leave rates up to {100 * upper_bound_at_zero(counts.sound):.4f} % open." if not total else ""
    judged = f"{counts.sound_ok:,} came out OK and {counts.sound_unknown:,} UNKNOWN (cut, refused, failed)."
    return Figures(("sound replies", "n", "false alarms"), tuple(rows), f"{judged}{bound} {measured}")


def recall_table(counts: Counts, measured: str) -> Figures:
    rows = []
    for kind in _kinds(counts):
        whole = counts.recall(kind)
        weakest = min((counts.recall(kind, strength) for strength in counts.strengths(kind)), key=_estimate)
        named = next(text for text in counts.strengths(kind) if counts.recall(kind, text) == weakest)
        weak = "" if weakest.estimate == 1 else f"{named}: {_percent(weakest)}"
        rows.append((_name(kind), f"{whole.unit_count:,}", _percent(whole), _bounds(whole), weak))
    columns = ("planted", "n", "found", "95 %", "weakest strength below 100 %")
    return Figures(columns, tuple(rows), measured)


def strength_table(counts: Counts, kind: Kind, measured: str) -> Figures:
    rows = []
    for strength in counts.strengths(kind):
        found = counts.recall(kind, strength)
        rows.append((strength, f"{found.unit_count:,}", _percent(found), _bounds(found)))
    return Figures((_name(kind), "n", "found", "95 %"), tuple(rows), measured)


def confusion_table(counts: Counts, measured: str) -> Figures:
    """Rows: what was planted. Columns: what the turn was called."""
    called = sorted({name for _, name in counts.called}, key=_order)
    rows = [(_name(kind), *(counts.called[kind, name] or "" for name in called)) for kind in _kinds(counts)]
    return Figures(("planted \\ called", *(name.replace("_", " ") for name in called)), tuple(rows), measured)


def blame_table(counts: Counts, measured: str) -> Figures:
    rows = [
        (_name(kind), *(counts.blamed[kind, str(side)] or "" for side in Side))
        for kind in _kinds(counts)
        if kind.is_corruption
    ]
    return Figures(("planted in the engine's tokens", *map(str, Side)), tuple(rows), measured)


def speed_table(rates: Sequence[tuple[str, int, float]], measured: str) -> Figures:
    rows = tuple((what, f"{turns:,}", f"{rate:,.0f}") for what, turns, rate in rates)
    return Figures(("replies", "n", "turns a second, one core"), rows, measured)


def _head(family: str) -> str:
    for head in ("cut by the limit", "stream cut"):
        if family.startswith(head):
            return head
    return family


def _kinds(counts: Counts) -> list[Kind]:
    planted = {kind for kind, _ in counts.planted}
    return [kind for kind in Kind if kind in planted]


def _order(name: str) -> int:
    names = [str(kind) for kind in Kind]
    return names.index(name) if name in names else len(names)


def _estimate(interval: Interval) -> float:
    return interval.estimate


def _percent(interval: Interval) -> str:
    return f"{100 * interval.estimate:.1f} %"


def _bounds(interval: Interval) -> str:
    return f"{100 * interval.low:.1f}-{100 * interval.high:.1f} %"


def _name(kind: Kind) -> str:
    return str(kind).replace("_", " ")

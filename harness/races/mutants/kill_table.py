"""The kill table: every mutant with its fate and what the report said, as text, as JSON, and as a page.

Owns: counting, order and layout. Does not own: verdicts (`judging`, `kernels.races.search.killing`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.races.mutants.edges import ORDERS
from harness.races.mutants.judging import CodeVerdict
from harness.races.mutants.scenes import SCENES
from kernels.races.search.killing import Fate, Verdict

_PAGE = """\
# Mutants: does the detector see an order that is gone?

Made by `python run.py {command} > docs/mutants.md`; do not edit.

**{totals}**

A mutant is the clean program with one order removed or moved. *Killed*: a race was reported, and the report names this
very order: the two accesses, and the event of this transfer and layer. *Failed*: no order is gone but bookkeeping, and
the assertion that the mutant declares says so. *Equivalent*: all orders were looked at, the cache's invariants after
every step, and nothing is wrong; the reason stands beside it. *Killed by another cause*: something was found, but not
what was broken. *Survived*: nothing was found, and not everything was looked at. *Not run*: the changed line was never
reached. The last three count against the tool: exit code 4.
"""


@dataclass(frozen=True, slots=True, eq=False)
class KillTable:
    """All verdicts of one program. source: the scenario or file."""

    source: str
    machine: Sequence[Verdict]
    code: Sequence[CodeVerdict]

    @property
    def fates(self) -> list[Fate]:
        return [*(one.fate for one in self.machine), *(one.fate for one in self.code)]

    @property
    def is_settled(self) -> bool:
        return all(fate.is_settled for fate in self.fates)

    @property
    def totals(self) -> str:
        return f"{len(self.fates)} mutants: {counts(self.fates)}"

    def text(self) -> str:
        """The totals, then a line a mutant: unsettled ones first."""
        lines = [f"MUTANTS {self.source}: {self.totals}"]
        lines += [
            "",
            f"  operations of the program, one dropped or moved: {counts([one.fate for one in self.machine])}",
        ]
        lines += _aligned([(one.fate, one.what, _said(one)) for one in self.machine])
        if self.code:
            fates = [one.fate for one in self.code]
            lines += ["", f"  the cache's code, one function changed: {len(fates)} mutants: {counts(fates)}"]
            lines += _aligned([(one.fate, f"{one.mutant.place}: {one.mutant.what}", _said(one)) for one in self.code])
        return "\n".join(lines) + "\n"

    def as_json(self) -> dict[str, Any]:
        machine = [
            {
                "mutant": one.what,
                "fate": str(one.fate),
                "named": one.named,
                "codes": list(one.codes),
                "confirmed": one.is_confirmed,
                "orders": one.orders,
            }
            for one in self.machine
        ]
        code = [
            {
                "mutant": one.mutant.what,
                "function": one.mutant.target,
                "changes": [{"old": old, "new": new} for old, new in one.mutant.changes],
                "breaks": list(one.mutant.orders),
                "fate": str(one.fate),
                "named": list(one.named),
                "reason": one.mutant.reason,
                "codes": list(one.codes),
                "confirmed": one.is_confirmed,
                "scenes": list(one.scenes),
                "orders": one.orders,
            }
            for one in self.code
        ]
        totals = {str(fate): self.fates.count(fate) for fate in Fate}
        return {"program": self.source, "totals": totals, "mutants": machine, "code_mutants": code}

    def page(self) -> str:
        """The table as Markdown."""
        command = f"prove --scenario {self.source} --mutants --markdown"
        parts = [_PAGE.format(command=command, totals=self.totals)]
        parts += ["## The cache's code", _markdown(("fate", "mutant", "breaks", "what the report says"), self._rows())]
        rows = [(one.fate, one.what, _said(one)) for one in self.machine]
        parts += ["## Operations of the program", _markdown(("fate", "mutant", "what the report says"), rows)]
        orders = [(one.name, f"{one.what[0].upper()}{one.what[1:]}") for one in ORDERS]
        parts += ["## Orders", _markdown(("", "order"), orders)]
        scenes = [(one.name, one.leans_on, str(one.sizes.device_pages), str(one.sizes.host_pages)) for one in SCENES]
        parts += ["## Scenes", _markdown(("scene", "leans on", "device pages", "host pages"), scenes)]
        return "\n\n".join(part.strip() for part in parts) + "\n"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for one in self.code:
            yield one.fate, f"`{one.mutant.place}` {one.mutant.what}", ", ".join(one.mutant.orders), _said(one)


def counts(fates: Sequence[Fate]) -> str:
    return ", ".join(f"{fates.count(fate)} {fate}" for fate in Fate)


def _said(one: Verdict | CodeVerdict) -> str:
    """What decided: the report's words; for an equivalent one, why it cannot matter, and how much was looked at."""
    if one.fate is Fate.EQUIVALENT:
        orders = f"{one.orders} order{'s' if one.orders != 1 else ''} exhausted"
        reason = one.mutant.reason if isinstance(one, CodeVerdict) else ""
        return f"{reason} ({orders})" if reason else orders
    if isinstance(one, CodeVerdict):
        return "; ".join(one.named)
    return f"{one.named} (shown by replay)" if one.is_confirmed else one.named


def _aligned(rows: Sequence[tuple[Fate, str, str]]) -> list[str]:
    # What counts against the tool comes first.
    ranked = sorted(rows, key=lambda row: row[0].is_settled)
    fate_width, what_width = (max((len(str(row[at])) for row in rows), default=0) for at in (0, 1))
    return [f"    {fate!s:<{fate_width}}  {what:<{what_width}}  {said}".rstrip() for fate, what, said in ranked]


def _markdown(head: Sequence[str], rows: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]) -> str:
    lines = [" | ".join(head), "|".join(["---"] * len(head))]
    lines += [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)

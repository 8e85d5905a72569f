"""What a specimen is: a program with a defect switch, where it comes from, and what is expected of it.

Owns: the records and the names of classes and symptoms. Does not own: whether a record is complete (`shape.py`),
finding specimens (`registry.py`), judging. Floor 4. Source: facts/bugs.md sections 1, 2 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kernels.races.laws.breach import LawName
from kernels.races.laws.injection import FailingMachine
from kernels.races.naming.codes import Code
from kernels.races.scheduler.program import Program
from kernels.substrate.contract import Machine


class RaceClass(StrEnum):
    """The fourteen classes: 1-6 order bytes, 7-8 order bookkeeping, 9-11 are no orders, 12-14 are agreements."""

    ARRIVAL_GATE = "ARRIVAL-GATE"
    STORE_EARLY = "STORE-EARLY"
    LAND_ON_LIVE = "LAND-ON-LIVE"
    FREE_IN_FLIGHT = "FREE-IN-FLIGHT"
    STAGING_REUSE = "STAGING-REUSE"
    SLOT_ABA = "SLOT-ABA"
    PUBLISH_EARLY = "PUBLISH-EARLY"
    PIN_GAP = "PIN-GAP"
    PARTIAL_SET = "PARTIAL-SET"
    GEOMETRY = "GEOMETRY"
    ALIAS = "ALIAS"
    KEY_GAP = "KEY-GAP"
    RANK_SPLIT = "RANK-SPLIT"
    FAIL_AS_DONE = "FAIL-AS-DONE"

    @property
    def folder(self) -> str:
        return self.value.lower().replace("-", "_")


SYMPTOMS: Mapping[str, str] = {
    "S1": "token salad",
    "S2": "repetition loop",
    "S3": "special-token leak",
    "S4": "tool call lost",
    "S5": "markup in the wrong channel",
    "S6": "argument point damage",
    "S7": "cross-talk",
    "S8": "wrong first token",
    "S9": "silent quality drop",
    "S10": "acceptance collapse",
    "S11": "empty success",
    "S12": "device fault",
    "S13": "hang",
    "S14": "false alarm",
    "S15": "divergence only",
}

FIXED = ""
"""The switch is off: what upstream's fix, or the fix that upstream still owes, makes of the program."""
DEFECT = "defect"

Build = Callable[[Machine, str], None]
"""Builds the program on a machine with one switch on: `FIXED`, `DEFECT`, or the name of a wrong fix."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The verdicts, apart. codes: what the detector says, none where everything is ordered. stale, output: whether some
    order shows stale bytes, and another reply. laws: which laws of `kernels.races.laws` are broken."""

    codes: frozenset[Code] = frozenset()
    stale: bool = False
    output: bool = False
    laws: frozenset[LawName] = frozenset()

    @property
    def is_clean(self) -> bool:
        return self == CLEAN

    def __str__(self) -> str:
        order = " ".join(sorted(self.codes)) or "clean by order"
        bytes_ = "stale" if self.stale else "not stale"
        return ", ".join((order, bytes_, "output" if self.output else "no output", *map(str, sorted(self.laws))))


CLEAN = Expected()


def expected(*named: Code | LawName, stale: bool = False, output: bool = False) -> Expected:
    """Codes and laws in any order."""
    codes = frozenset(one for one in named if isinstance(one, Code))
    return Expected(codes, stale, output, frozenset(one for one in named if isinstance(one, LawName)))


@dataclass(frozen=True, slots=True)
class WrongFix:
    """What somebody tried, or merged, that leaves it open. why: what it misses, in one sentence."""

    name: str
    why: str
    expected: Expected


@dataclass(frozen=True, slots=True)
class Specimen:
    """One bug.

    rows: its rows of the table of public bugs. source: project and number. missing: the missing edge, or the kind, in
    one line. trigger: what load, or which path, brings it out. fails: the label of the copy that is made to fail, with
    every switch; none where that is empty.
    """

    name: str
    rows: tuple[str, ...]
    source: str
    race_class: RaceClass
    symptom: str
    missing: str
    trigger: str
    expected: Expected
    build: Build
    wrong_fixes: tuple[WrongFix, ...] = ()
    fails: str = ""

    def program(self, switch: str) -> Program:
        """The program with this switch on, and with the failure that the specimen asks for."""
        return Variant(self, switch)

    def programs(self) -> tuple[Program, ...]:
        """Fixed, defect, and each wrong fix: for `race --program FILE:NAME`."""
        return (self.program(FIXED), *(self.program(switch) for switch, _ in self.switches))

    @property
    def switches(self) -> tuple[tuple[str, Expected], ...]:
        """Every switch but `FIXED`, with what it must give."""
        return ((DEFECT, self.expected), *((fix.name, fix.expected) for fix in self.wrong_fixes))


class Variant:
    """A specimen with one switch on, as a program."""

    def __init__(self, specimen: Specimen, switch: str) -> None:
        self.name = f"{specimen.name}:{switch or 'fixed'}"
        self.build = specimen.build
        self.fails = specimen.fails
        self.switch = switch

    def __call__(self, machine: Machine) -> None:
        self.build(FailingMachine(machine, self.fails) if self.fails else machine, self.switch)

    def __repr__(self) -> str:
        return f"Variant({self.name})"

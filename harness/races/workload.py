"""What is explored, and how a token names it: a scenario's small program, or a program of a file.

Owns: the target of the race commands, and the workload text of tokens. Does not own: the programs. Floor 5.

    hicache_bf16,s=2,l=c4,p=1                         scenario, sessions, kinds of the layers, pages
    hicache_bf16,s=2,l=c4,p=1,t=3                     with the first session's turns, where they are not two
    hicache_bf16,s=2,l=c4,p=1,cache.index_k=fp8       with what was overridden
    examples/lost.py:program                          a function of a file
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, get_args

from harness.config import Scenario, diff, list_scenarios, load_scenario
from harness.races.cache_program import INDEXED, CacheProgram, Shape
from harness.races.program_file import blaming, load_program
from kernels.hicache.geometry import LayerKind
from kernels.races.scheduler.program import Program
from kernels.races.search.tokens import Token, TokenRefused, can_name

FACTS = (
    "preset",
    "index_k",
    "hicache",
    "gate_index_k",
    "index_k_store",
    "remedy",
    "ungated",
    "write_policy",
    "layout",
    "io",
)
"""The keys of a scenario's cache that decide what its program does."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A program and where it comes from.

    workload: what its tokens say. is_named: whether that is enough to find the program again; where not, `source` (a
    scenario's name or path, or FILE[:FUNCTION]) must be given with the token. scenario: None for a program of a file.
    """

    program: Program
    workload: str
    is_named: bool
    source: str
    scenario: Scenario | None = None

    @property
    def options(self) -> str:
        """What a command needs besides the token, ready for a shell; empty where the token says it all."""
        if self.is_named:
            return ""
        return shlex.join(["--program" if self.scenario is None else "--scenario", self.source])

    def blaming(self) -> AbstractContextManager[None]:
        """Where a file's code runs: its mistakes become sentences."""
        return nullcontext() if self.scenario is not None else blaming(self.source)


def scenario_target(scenario: Scenario, source: str, shape: Shape) -> Target:
    """A scenario's program in this shape. source: the name or path that it was loaded from."""
    changed = diff(load_scenario(source), scenario)
    fields = [f"s={shape.sessions}", f"l={'.'.join(shape.layers)}", f"p={shape.pages}"]
    # Two turns are usual, and go without saying.
    fields += [f"t={shape.turns}"] if shape.turns != 2 else []
    fields += [f"cache.{key}={_plain(changed[f'cache.{key}'][1])}" for key in FACTS if f"cache.{key}" in changed]
    # A scenario of the user's own lies at a path that only the user knows.
    is_named = source in {line.name for line in list_scenarios()}
    workload = ",".join((source if is_named else "own", *fields))
    assert can_name(workload), workload
    return Target(CacheProgram(scenario, shape), workload, is_named, source, scenario)


def file_target(file: str) -> Target:
    """A program of a file. Raises: ProgramFailed."""
    program = load_program(file)
    text = file if ":" in file else f"{file}:{getattr(program, '__name__', '')}"
    is_named = can_name(text)
    return Target(program, text if is_named else "", is_named, file)


def target_of(token: Token, *, scenario: str | None, file: str | None) -> Target:
    """What a token was made with: as the user says, or else as it says itself.

    Raises: TokenRefused, ProgramFailed, ConfigError for an unknown scenario.
    """
    if file is not None:
        return file_target(file)
    if ":" in token.workload:
        return file_target(token.workload)
    name, *fields = token.workload.split(",")
    if scenario is None and name in ("", "own"):
        raise TokenRefused(str(token), "it does not say what it was made with; give --scenario or --program")
    try:
        values = dict(field.split("=", 1) for field in fields)
        shape = _shape(values)
    except (KeyError, ValueError):
        raise TokenRefused(str(token), f"its workload '{token.workload}' cannot be read") from None
    source = scenario if scenario is not None else name
    return scenario_target(load_scenario(source, _overrides(values)), source, shape)


def _shape(values: dict[str, str]) -> Shape:
    """The shape in a workload's fields. Effect: takes them out. Raises: KeyError, ValueError."""
    kinds = {kind: kind for kind in get_args(LayerKind)}
    layers = tuple(kinds[name] for name in values.pop("l").split("."))
    shape = Shape(int(values.pop("s")), layers, int(values.pop("p")), int(values.pop("t", "2")))
    if min(shape.sessions, shape.pages, shape.turns) < 1 or not INDEXED & set(layers):
        raise ValueError(shape)
    return shape


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ".".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _overrides(values: Mapping[str, str]) -> dict[str, object]:
    return {key: value.replace(".", ",") if key == "cache.ungated" else value for key, value in values.items()}

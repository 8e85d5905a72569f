"""`run.py convert`: a stored trace in the other format.

Owns: its options, and that no half-written file is left. Does not own: the formats (`kernels.substrate`). Floor 5.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

import click

from kernels.errors import ConfigError, EnvironmentProblem

_HELP = """Write a stored trace in the other format: JSON Lines as columns (small, fast to judge), columns as
JSON Lines (for grep and jq). SOURCE is told by what is in it, not by its name.

Exit codes: 0 written, 2 your mistake, 4 where SOURCE is truncated or foreign; then nothing is written."""


@click.command("convert", help=_HELP)
@click.argument("source")
@click.argument("target")
def convert_command(source: str, target: str) -> int:
    from kernels.races.detector.stored import is_columns, to_columns, to_lines

    goal = Path(target)
    if goal.exists():
        raise ConfigError(f"{target} exists already; give another name", key="TARGET", value=target)
    part = goal.with_name(goal.name + ".part")
    with _opened(source) as file:
        was_columns = is_columns(file)
        try:
            with part.open("wb") as out:
                problem = (to_lines if was_columns else to_columns)(file, out)
        except OSError as error:
            raise EnvironmentProblem(
                f"{target} cannot be written: {error.strerror}", remedy="give another path"
            ) from error
    if problem is not None:
        part.unlink()
        sys.stdout.write(f"UNKNOWN the trace cannot be converted\nline {problem.row}: {problem.reason}\n")
        return 4
    part.rename(goal)
    size, other = goal.stat().st_size, Path(source).stat().st_size
    kind = "JSON Lines" if was_columns else "columns"
    sys.stdout.write(f"WROTE {target} as {kind}: {size:,} bytes, from {other:,}\n")
    return 0


def _opened(source: str) -> BinaryIO:
    try:
        return Path(source).open("rb")
    except OSError as error:
        what = f"the trace {source} cannot be read: {error.strerror}"
        raise ConfigError(what, key="SOURCE", value=source) from error

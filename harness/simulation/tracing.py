"""The machine's trace in a file, for those who ask for one.

Owns: the open file, its format by its name, and that a whole trace ends with what closes it. Does not own: the formats
(substrate). Floor 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernels.errors import EnvironmentProblem
from kernels.substrate.trace import TraceSink
from kernels.substrate.trace_columns import ColumnTrace
from kernels.substrate.trace_json import JsonLinesTrace

COLUMNS_SUFFIX = ".kvt"


@contextmanager
def trace_output(file: str | None, program: str, seed: int) -> Iterator[TraceSink | None]:
    """A sink that writes to `file`: columns where its name ends in `.kvt`, else JSON Lines. None without a file.

    Raises: EnvironmentProblem where the file cannot be written. A trace without its last line or block was cut short.
    """
    if file is None:
        yield None
        return
    try:
        out = Path(file).open("wb")  # noqa: SIM115 - closed below, after the closing line
    except OSError as problem:
        raise EnvironmentProblem(
            f"the trace cannot be written to {file}: {problem.strerror}", remedy="give --trace another path"
        ) from problem
    with out:
        write = ColumnTrace if file.endswith(COLUMNS_SUFFIX) else JsonLinesTrace
        trace = write(out, program=program, seed=seed)
        is_whole = False
        try:
            yield trace
            is_whole = True
        finally:
            # A run that fails keeps its trace up to there, without the end that would call it whole.
            if is_whole:
                trace.finish()
            else:
                trace.abandon()

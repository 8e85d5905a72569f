"""The machine's trace in a file, for those who ask for one.

Owns: the open file, and that a whole trace ends with its closing line. Does not own: the format (substrate). Floor 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernels.errors import EnvironmentProblem
from kernels.substrate.trace import TraceSink
from kernels.substrate.trace_json import JsonLinesTrace


@contextmanager
def trace_output(file: str | None, program: str, seed: int) -> Iterator[TraceSink | None]:
    """A sink that writes `kvrace-trace/1` to `file`, or None where no file is wanted.

    Raises: EnvironmentProblem where the file cannot be written. A trace without its last line was cut short.
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
        trace = JsonLinesTrace(out, program=program, seed=seed)
        yield trace
        trace.finish()

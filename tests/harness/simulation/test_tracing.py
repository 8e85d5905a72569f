"""A run that fails keeps its trace up to there, in either format, and nobody takes it for a whole one.

Owns: `harness.simulation.tracing`. Floor: tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.races.stored_trace import judge_file
from harness.simulation.tracing import trace_output
from kernels.races.detector.race import Verdict
from kernels.races.detector.stored import lines_of
from tests.substrate.plain import plain_machine, region


class _Fault(Exception):
    pass


@pytest.mark.parametrize("name", ["trace.kvt", "trace.jsonl"])
@pytest.mark.parametrize("fails", [True, False])
def test_a_fault_ends_the_trace_and_keeps_it(name: str, fails: bool, tmp_path: Path) -> None:
    file = tmp_path / name

    def run() -> None:
        with trace_output(str(file), "program", 0) as trace:
            machine = plain_machine(trace=trace)
            pool = machine.buffer("pool", space="device:0", layer_count=1, page_count=4, page_bytes=64)
            stream = machine.stream("compute", device=0)
            for _ in range(3):
                stream.launch("read", duration_ns=10, point="compute.layer", reads=[region(pool, range(4))])
            machine.run()
            if fails:
                raise _Fault

    if fails:
        with pytest.raises(_Fault):
            run()
    else:
        run()
    stored = judge_file(str(file))
    assert stored.detector.verdict is (Verdict.UNKNOWN if fails else Verdict.CLEAN)
    with file.open("rb") as kept:
        assert sum(b'"kernel"' in line for line in lines_of(kept)) == 3

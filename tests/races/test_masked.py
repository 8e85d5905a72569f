"""Masked accesses: ordered by somebody else's wait, and told apart from accesses that wait themselves.

Owns: the masked case. Floor: tests. Source: facts/bugs.md B01; DESIGN.md section 1.
"""

from __future__ import annotations

import numpy as np
import pytest

from kernels.races.detector.detector import detect
from kernels.races.detector.race import Verdict
from kernels.races.naming.masked import masked_accesses
from kernels.races.search.explore import explore
from kernels.substrate.contract import Machine, Region, Write
from tests.races.token_trace import token_trace

# C stores through the gated getter (s), then reads the index keys (i) with no wait of its own, then the main KV (k).
FUSED = "L>i7 L>k7 L!e7 | C?e7 C>s7 C<i7 C?e7 C<k7"


def test_read_behind_a_gated_store_is_masked_by_the_store() -> None:
    trace = token_trace(FUSED)
    assert detect(trace).verdict is Verdict.CLEAN
    (masked,) = masked_accesses(trace)
    assert (masked.access.label, masked.write.label, masked.paid_by.label) == ("C<i7", "L>i7", "C>s7")
    assert "masked by the wait in C>s7, e7 at #4" in str(masked)


@pytest.mark.parametrize(
    "text",
    [
        "L>i7 L>k7 L!e7 | C?e7 C>s7 C?e7 C<i7 C?e7 C<k7",
        "L>i7 L!e7 | h~e7 C>s7 C<i7",
        "C>i7 C>s7 C<i7",
        "L>i7 L!e7 | C>s7 C?e7 C!x C<i7",
    ],
)
def test_own_wait_host_order_and_stream_order_are_not_masked(text: str) -> None:
    assert masked_accesses(token_trace(text)) == []


def test_masked_access_says_how_far_it_is_from_a_race() -> None:
    (masked,) = masked_accesses(token_trace(FUSED))
    assert masked.details == [
        "accessor  C<i7 has no wait of its own: one edit away from a race, which is to remove or move that wait",
        "add       C.wait(e7) before #6",
    ]


def looped(machine: Machine, accessors: int) -> None:
    """One wait, then two copies: from one line in a loop, or each from a line of its own."""
    page = np.array([0], dtype=np.int64)
    pools = [machine.buffer(f"p{n}", space="device:0", layer_count=1, page_count=1, page_bytes=64) for n in range(4)]
    first, second, third, fourth = (Region(pool, (0,), page) for pool in pools)
    load, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
    done = machine.event("done")
    writes = [Write(region, np.array([1])) for region in (first, second)]
    load.launch("fill", duration_ns=1, point="compute", writes=writes)
    load.record(done)
    compute.wait(done)
    if accessors == 1:
        for source, target in ((first, third), (second, fourth)):
            compute.copy(source, target, point="d2d", label=f"copy {source.buffer.name}")
    else:
        compute.copy(first, third, point="d2d", label="copy p0")
        compute.copy(second, fourth, point="d2d", label="copy p1")


@pytest.mark.parametrize(("accessors", "count"), [(1, 0), (2, 1)])
def test_one_line_in_a_loop_behind_its_wait_masks_nothing(accessors: int, count: int) -> None:
    result = explore(lambda machine: looped(machine, accessors), budget=20, mend_schedules=0, has_call_sites=True)
    assert [one.without for one in result.masked] == ["RACE MISSING_WAIT on done"] * count


def test_without_the_masking_wait_it_is_a_race() -> None:
    assert detect(token_trace(FUSED.replace("C?e7 C>s7", "C>s7"))).verdict is Verdict.RACES


def test_layers_are_counted_together() -> None:
    text = " ".join(f"L>i{n} L!e{n} C?e{n} C>s{n} C<i{n}" for n in range(5))
    (masked,) = masked_accesses(token_trace(text))
    assert masked.count == 5

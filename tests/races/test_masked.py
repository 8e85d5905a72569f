"""Masked accesses: ordered by somebody else's wait, and told apart from accesses that wait themselves.

Owns: the masked case. Floor: tests. Source: facts/bugs.md B01; DESIGN.md section 1.
"""

from __future__ import annotations

import pytest

from kernels.races.detector.detector import detect
from kernels.races.detector.race import Verdict
from kernels.races.naming.masked import masked_accesses
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


def test_without_the_masking_wait_it_is_a_race() -> None:
    assert detect(token_trace(FUSED.replace("C?e7 C>s7", "C>s7"))).verdict is Verdict.RACES


def test_layers_are_counted_together() -> None:
    text = " ".join(f"L>i{n} L!e{n} C?e{n} C>s{n} C<i{n}" for n in range(5))
    (masked,) = masked_accesses(token_trace(text))
    assert masked.count == 5

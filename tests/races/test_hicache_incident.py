"""The incident, found, named, replayed and closed on the real cache; its fix proved; its mask seen.

Owns: the whole way on `kernels.hicache`. Floor: tests. Source: DESIGN.md sections 1 and 6; SGLang PR 22811.
"""

from __future__ import annotations

import pytest

from kernels.hicache.variant import Variant
from kernels.races.naming.codes import Code
from kernels.races.scheduler.program import program_hash
from kernels.races.search.explore import explore
from kernels.races.search.replay import replay
from tests.races.hicache_program import incident

UNGATED = Variant(gate_index_k=False)
FUSED = Variant(gate_index_k=False, index_k_store="fused")


def test_missing_gate_is_found_named_replayed_and_closed() -> None:
    program = incident(UNGATED)
    result = explore(program, budget=500, mend_schedules=300)
    (report,) = result.races
    finding = report.group.shown
    assert finding.code is Code.LATE_WAIT
    assert finding.race.buffer == "prefill.r0.device.index_k"
    assert (finding.race.first.operation.label, finding.race.second.operation.label) == (
        "index_k[layer 1]",
        "indexer[layer 1]",
    )
    assert str(finding.mend).startswith("forward.wait(prefill.r0.ring[0].layer[1]) before #")
    assert report.is_confirmed
    assert report.token is not None
    assert len(report.token.constraints) == 1
    assert report.mend is not None
    assert report.mend.is_closed
    assert report.mend.is_exhausted
    assert report.group.layers == (0, 1)
    assert result.exhausted, "two layers, three places each"
    assert result.stats.orders == 9
    assert replay(program, str(report.token)).outcome.stale
    assert not replay(program, str(report.token), mend=report.mend).outcome.has_failed


@pytest.mark.parametrize("variant", [Variant(), FUSED])
def test_gate_and_fused_store_are_proved(variant: Variant) -> None:
    result = explore(incident(variant), budget=500, mend_schedules=0)
    result.assert_clean()
    assert result.stats.orders == 1


def test_fused_store_masks_the_bare_read() -> None:
    masked = explore(incident(FUSED), budget=10, mend_schedules=0).masked
    assert [one.access.label for one in masked] == ["indexer[layer 1]"]
    assert masked[0].paid_by.label == "project[layer 1]"
    assert masked[0].count == 2
    assert explore(incident(Variant()), budget=10, mend_schedules=0).masked == []


@pytest.mark.parametrize("kind", ["c4", "c128", "swa"])
def test_the_same_slip_of_another_pool_is_named_with_that_pool(kind: str) -> None:
    """Read early, before the layer's gate: here the attention kernel itself reads before it."""
    result = explore(incident(Variant(ungated=frozenset({kind}))), budget=50, mend_schedules=0)  # type: ignore[arg-type]
    assert {report.group.shown.race.buffer for report in result.races} <= {f"prefill.r0.device.{kind}"}


def test_tokens_tell_the_variants_apart() -> None:
    assert program_hash(incident(UNGATED)) != program_hash(incident(Variant()))

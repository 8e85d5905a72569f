"""The event ring and the gate: what a wait binds to, and what a fourth load meets."""

from __future__ import annotations

import pytest

from kernels.hicache.gate import NO_CONSUMER, LayerGate, LayerRing
from kernels.hicache.remedy import RING_DEPTH
from tests.hicache.fake_machine import FakeMachine, FakeStream


def ring_and_streams() -> tuple[FakeMachine, LayerRing, FakeStream, FakeStream]:
    machine = FakeMachine()
    ring = LayerRing(machine, layer_count=3, name="ring")
    return machine, ring, machine.stream("load", device=0), machine.stream("forward", device=0)


def load(machine: FakeMachine, ring: LayerRing, stream: FakeStream) -> int:
    slot = machine.run(ring.claim())
    for layer in range(3):
        stream.record(ring.layer_event(slot, layer))
    return slot


def test_without_a_consumer_the_gate_does_nothing() -> None:
    _, ring, _, forward = ring_and_streams()
    gate = LayerGate(ring)
    gate.wait(forward, 0)
    assert gate.consumer == NO_CONSUMER
    assert forward.issued == []


def test_the_gate_holds_the_stream_until_its_layer_is_recorded() -> None:
    machine, ring, loading, forward = ring_and_streams()
    gate = LayerGate(ring)
    gate.set_consumer(load(machine, ring, loading))
    gate.wait(forward, 1)
    assert not forward.step()
    assert loading.step()
    assert not forward.step(), "layer 0 is complete, but the gate is layer 1's"
    assert loading.step()
    assert forward.step()


def test_a_wait_before_the_record_is_no_wait() -> None:
    """The contract's trap: an event that was never recorded holds nothing up."""
    _, ring, _, forward = ring_and_streams()
    gate = LayerGate(ring)
    gate.set_consumer(0)
    gate.wait(forward, 2)
    assert forward.step()


def test_a_wait_stays_bound_to_the_record_it_was_issued_on() -> None:
    machine, ring, loading, forward = ring_and_streams()
    gate = LayerGate(ring)
    gate.set_consumer(load(machine, ring, loading))
    gate.wait(forward, 2)
    for _ in range(3):
        assert loading.step()
    for _ in range(RING_DEPTH):
        load(machine, ring, loading)
    assert forward.step(), "the first load is complete; later records of the same event do not move the wait"


def test_three_loads_fit_and_the_fourth_waits_for_the_first() -> None:
    machine, ring, loading, _ = ring_and_streams()
    assert [load(machine, ring, loading) for _ in range(RING_DEPTH)] == [0, 1, 2]
    assert ring.waits == 0
    assert len(loading.work) == 9
    assert load(machine, ring, loading) == 0
    assert ring.waits == 1
    assert len(loading.work) == 9, "the first load's three records were completed before the set was used again"


def test_a_consumer_outside_the_ring_is_refused() -> None:
    _, ring, _, _ = ring_and_streams()
    with pytest.raises(AssertionError):
        LayerGate(ring).set_consumer(RING_DEPTH)

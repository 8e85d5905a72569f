"""Choices: common random numbers across arms, reproducible, recorded."""

from __future__ import annotations

import statistics

import pytest

from kernels.substrate.choices import Choice, RecordingChoices, SeededChoices
from kernels.substrate.delays import parse_delay
from kernels.substrate.trace import MemoryTrace
from tests.substrate.plain import plain_cost, plain_machine, region

DELAY = parse_delay("h2d.c4=lognormal:10us,0.5")


def test_one_seed_gives_one_sequence_and_another_seed_another() -> None:
    def draws(seed: int) -> list[float]:
        choices = SeededChoices(seed)
        return [choices.stretch("load/h2d.c4/L3", 0.1) for _ in range(200)]

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)
    assert len(set(draws(1))) == 200


def test_one_operation_more_under_one_key_shifts_no_other_key() -> None:
    plain, busier = SeededChoices(5), SeededChoices(5)
    for _ in range(3):
        busier.stretch("load/h2d.index_k/L1", 0.1)
        busier.delay_ns("load/h2d.c4/L0", DELAY)
    assert [plain.stretch("load/h2d.c4/L0", 0.1) for _ in range(70)] == [
        busier.stretch("load/h2d.c4/L0", 0.1) for _ in range(70)
    ]


def test_every_key_has_luck_of_its_own() -> None:
    choices = SeededChoices(5)
    assert choices.stretch("load/h2d.c4/L0", 0.1) != choices.stretch("load/h2d.c4/L1", 0.1)
    assert choices.delay_ns("a", DELAY) != choices.delay_ns("b", DELAY)


def test_operations_take_their_luck_from_their_stream_point_and_layer() -> None:
    trace = MemoryTrace()
    cost = plain_cost(jitter__copy=0.2, jitter__compute=0.3)
    machine = plain_machine(cost, trace=trace, seed=8)
    host = machine.buffer("host", space="host", layer_count=1, page_count=4, page_bytes=1_000_000)
    device = machine.buffer("device", space="device:0", layer_count=1, page_count=4, page_bytes=1_000_000)
    stream = machine.stream("s", device=0)
    for layer in (3, None):
        stream.copy(region(host, range(4)), region(device, range(4)), point="h2d.c4", label="copy", layer=layer)
        stream.launch("kernel", duration_ns=1_000_000, point="compute.layer", layer=layer)
    machine.run()
    choices = SeededChoices(8)
    expected = [
        4_000_000 * choices.stretch("s/h2d.c4/L3", 0.2),
        1_000_000 * choices.stretch("s/compute.layer/L3", 0.3),
        4_000_000 * choices.stretch("s/h2d.c4", 0.2),
        1_000_000 * choices.stretch("s/compute.layer", 0.3),
    ]
    assert [row.end_ns - row.start_ns for row in trace.operations] == [pytest.approx(time, abs=1) for time in expected]


def test_a_delay_for_some_layers_leaves_the_others_alone() -> None:
    trace = MemoryTrace()
    delays = [parse_delay("compute.layer=constant:7ns@2-3"), parse_delay("compute.layer=constant:1ns")]
    machine = plain_machine(trace=trace, delays=delays)
    stream = machine.stream("s", device=0)
    for layer in (1, 2, 3, None):
        stream.launch("kernel", duration_ns=10, point="compute.layer", layer=layer)
    assert [row.delay_ns for row in trace.operations] == [1, 8, 8, 1]
    assert [row.end_ns - row.start_ns for row in trace.operations] == [11, 18, 18, 11]


def test_the_strength_of_jitter_does_not_change_the_luck() -> None:
    weak, strong = SeededChoices(5), SeededChoices(5)
    for _ in range(70):
        assert (weak.stretch("k", 0.01) > 1.0) == (strong.stretch("k", 0.0101) > 1.0)


def test_jitter_has_mean_one_and_none_is_exactly_one() -> None:
    choices = SeededChoices(0)
    factors = [choices.stretch("k", 0.3) for _ in range(20_000)]
    assert abs(statistics.fmean(factors) - 1.0) < 0.01
    assert min(factors) > 0.0
    assert choices.stretch("k", 0.0) == 1.0


def test_what_was_chosen_is_recorded_in_order() -> None:
    recording = RecordingChoices(SeededChoices(9))
    plain = SeededChoices(9)
    recording.stretch("a", 0.1)
    recording.delay_ns("b", DELAY)
    recording.stretch("a", 0.1)
    assert recording.taken == [
        Choice("stretch", "a", plain.stretch("a", 0.1)),
        Choice("delay", "b", plain.delay_ns("b", DELAY)),
        Choice("stretch", "a", plain.stretch("a", 0.1)),
    ]
    assert "taken=3" in repr(recording)

"""Requests that are given up, in every phase and by either half: told once, nothing kept, nobody else disturbed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from kernels.engine.shared import SharedModel
from tests.engine.pair.stage import GATED, HALVES, Asked, Heard, Stage
from tests.engine.pair.talks import Writer

SLOW_HANDOFF = ("handoff=constant:3ms",)


Told = tuple[str, str]
"""What the prefill half and the decode half are told in the end."""

BOTH_ABORT: Told = ("abort", "abort")
DECODE_ABORTS: Told = ("stop", "abort")
NOBODY_ABORTS: Told = ("stop", "stop")


@dataclass(frozen=True)
class Phase:
    """A phase in which the victim is given up. changes: a setting in which it is to be met there.

    by_both, by_prefill, by_decode: what comes of it when both halves, or only one, are given up.
    """

    is_here: Callable[[Stage, Asked], bool]
    changes: Mapping[str, Any] = field(default_factory=dict)
    bystander_first: bool = False
    by_both: Told = BOTH_ABORT
    by_prefill: Told = BOTH_ABORT
    by_decode: Told = BOTH_ABORT

    def told(self, halves: Sequence[str]) -> Told:
        if len(halves) == 2:
            return self.by_both
        return self.by_prefill if halves[0] == "prefill" else self.by_decode


def in_line(stage: Stage, victim: Asked) -> bool:
    return any(job.request is victim.request for job in stage.pair.prefill._batcher.jobs)


def is_computing(stage: Stage, victim: Asked) -> bool:
    batch = stage.pair.prefill._computing
    return batch is not None and any(extend.job.request is victim.request for extend in batch.extends)


def has_begun(stage: Stage, victim: Asked) -> bool:
    return any(job.request is victim.request and job.computed_tokens > 0 for job in stage.pair.prefill._batcher.jobs)


def is_sending(stage: Stage, victim: Asked) -> bool:
    return any(sending.job.request is victim.request for sending in stage.pair.prefill._sending)


def waits_for_decode_pages(stage: Stage, victim: Asked) -> bool:
    return any(job.request is victim.request for job in stage.pair.decode._waiting)


def has_arrived(stage: Stage, victim: Asked) -> bool:
    is_over = bool(victim.prefill.ends)
    return is_over and any(job.request is victim.request for job in stage.pair.decode._arriving)


def is_joining(stage: Stage, victim: Asked) -> bool:
    """Its first read runs, which takes a microsecond."""
    last = stage.trace.operations[-2:]
    label = f"decode.join {victim.request.request_id}"
    return any(operation.label == label and operation.end_ns > stage.machine.now_ns for operation in last)


def is_running(_: Stage, victim: Asked) -> bool:
    return len(victim.decode.pieces) >= 3


PHASES = {
    "in line": Phase(in_line, {"device_pages": 30}, bystander_first=True),
    "without decode pages": Phase(waits_for_decode_pages, {"decode_pages": 30}, bystander_first=True),
    "computing": Phase(is_computing),
    "between chunks": Phase(has_begun, {"chunk_tokens": 1_024}),
    "sending": Phase(is_sending, {"delays": SLOW_HANDOFF}, by_decode=DECODE_ABORTS),
    "arrived": Phase(
        has_arrived,
        {"decode_batch_max": 1},
        bystander_first=True,
        by_both=DECODE_ABORTS,
        by_prefill=NOBODY_ABORTS,
        by_decode=DECODE_ABORTS,
    ),
    # Prefill has not asked yet whether it has arrived, so it can be told; what has joined goes on without it.
    "joining": Phase(is_joining, by_prefill=("abort", "stop"), by_decode=DECODE_ABORTS),
    "running": Phase(is_running, by_both=DECODE_ABORTS, by_prefill=NOBODY_ABORTS, by_decode=DECODE_ABORTS),
}


@pytest.mark.parametrize("halves", [HALVES, ("prefill",), ("decode",)])
@pytest.mark.parametrize("name", PHASES)
def test_a_request_is_given_up(shared: SharedModel, name: str, halves: Sequence[str]) -> None:
    phase = PHASES[name]
    stage = Stage(shared, **{"variant": GATED, "delays": (), "device_pages": 64, **phase.changes})
    writer = Writer(shared, 31)
    talks = [writer.talk(5_000) for _ in range(2)]
    order = (1, 0) if phase.bystander_first else (0, 1)
    asked = {number: stage.submit(talks[number], talks[number].names[0], max_new_tokens=30) for number in order}
    victim, bystander = asked[0], asked[1]
    stage.run_until(lambda: phase.is_here(stage, victim))
    stage.abort(victim, halves)
    stage.settle()
    assert (victim.prefill.reason, victim.decode.reason) == phase.told(halves)
    assert bystander.is_right
    for half in victim.heard.values():
        assert (half.end[3] != "") == (half.reason == "abort"), "an abort comes with a sentence"
    # What is left behind is good: the same question is answered afterwards, and by nobody's leftovers.
    again = stage.ask(talks[0], talks[0].names[0])
    assert again.is_right


def test_giving_up_twice_or_what_is_not_there_is_no_error(shared: SharedModel) -> None:
    stage = Stage(shared, variant=GATED)
    talk = Writer(shared, 32).talk(1_000)
    done = stage.ask(talk, talk.names[0])
    stage.abort(done)
    victim = stage.submit(talk, talk.names[1])
    stage.abort(victim)
    stage.abort(victim)
    stage.settle()
    assert done.is_right
    assert (victim.prefill.reason, victim.decode.reason) == ("abort", "abort")


@pytest.mark.parametrize("first", HALVES)
def test_a_half_that_comes_after_the_other_gave_up_is_told_so(shared: SharedModel, first: str) -> None:
    stage = Stage(shared, variant=GATED)
    talk = Writer(shared, 33).talk(1_000)
    victim = stage.submit(talk, talk.names[0], halves=(first,))
    stage.run_until(lambda: stage.machine.now_ns > 0 or stage.machine.next_time_ns() is None)
    stage.abort(victim, (first,))
    stage.machine.run()
    assert victim.heard[first].reason == "abort"
    (second,) = set(HALVES) - {first}
    assert isinstance(victim.heard, dict)
    victim.heard[second] = Heard()
    stage.submit_half(victim, second)
    stage.settle()
    assert victim.heard[second].reason == "abort"


def test_an_abort_while_a_batch_is_put_together(shared: SharedModel) -> None:
    """Write-back makes the host wait in the middle of it: the first one, chosen by then, can still be given up."""
    stage = Stage(shared, variant=GATED, policy="write_back", device_pages=44, delays=())
    writer = Writer(shared, 34)
    old, victim_talk, large = writer.talk(7_800), writer.talk(2_000), writer.talk(7_000)
    stage.ask(old, old.names[0])
    victim = stage.submit(victim_talk, victim_talk.names[0])
    other = stage.submit(large, large.names[0])
    backups_before = stage.pair.counters()["backups"]
    stage.run_until(lambda: stage.pair.counters()["backups"] > backups_before)
    assert stage.pair.prefill._computing is None
    stage.abort(victim, ("prefill",))
    stage.settle()
    assert (victim.prefill.reason, victim.decode.reason) == ("abort", "abort")
    assert other.is_right


def test_a_load_whose_request_has_gone_gives_its_pages_back(shared: SharedModel) -> None:
    """It was queued, but no pages were left for the request's new tokens; then the request was given up.

    Its pages stay locked until it has been done, and whoever comes next needs them.
    """
    stage = Stage(shared, variant=GATED, delays=("handoff=constant:20ms",))
    writer = Writer(shared, 23)
    returning, crowd, busy = writer.talk(5_000), writer.talk(10_500), writer.talk(5_900)
    stage.ask(returning, returning.names[0])
    stage.ask(crowd, crowd.names[0])
    stage.submit(busy, busy.names[0])
    stage.run_until(lambda: bool(stage.pair.prefill._sending))
    victim = stage.submit(returning.told("\n".join(writer.filler(1_800))), returning.names[1])
    stage.run_until(lambda: stage.pair.counters()["load_backs"] == 1)
    assert victim.prefill.ends == []
    assert stage.pair.counters()["loads"] == 0, "it is queued, and no batch has taken it along"
    stage.abort(victim)
    large = stage.submit(crowd.told("\n".join(writer.filler(1_000))), crowd.names[1])
    stage.settle()
    assert (victim.prefill.reason, victim.decode.reason) == ("abort", "abort")
    assert large.is_right
    # The pages that came back without a request are right: nobody reads them before they have landed.
    assert stage.ask(returning, returning.names[2]).is_right
    assert stage.trace.stale_rows == []

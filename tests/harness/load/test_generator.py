"""The generator with a scripted transport: records, forks, errors, and endings before the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from harness.load.clock import WallClock
from harness.load.conductor import Conductor
from harness.load.generator import Generator, LoadOptions, LoadProgress
from harness.load.names import request_keys
from harness.load.workload.plan import ForkPoint, SessionPlan
from harness.transport.contract import ChatRequest, Reply, ReplyUsage, Stamps
from harness.transport.errors import EngineUnreachable
from kernels.errors import EnvironmentProblem
from results.records import MachineEvidence, ToolCall, TurnRecord
from tests.harness.fake_machine import FakeMachine
from tests.harness.small_plans import session_plan

pytestmark = pytest.mark.asyncio

REPLY_NS = 1_000


@dataclass(slots=True)
class Scripted:
    """Answers every request `REPLY_NS` after it came, or fails the named ones. `hangs` are never answered."""

    machine: FakeMachine
    conductor: Conductor
    fails: set[str] = field(default_factory=set)
    hangs: set[str] = field(default_factory=set)
    seen: list[ChatRequest] = field(default_factory=list)

    async def chat(self, request: ChatRequest) -> Reply:
        self.seen.append(request)
        prefill, decode, reply = request_keys(request.request_id)
        assert self.conductor.is_held(prefill)
        assert self.conductor.is_held(decode)
        answered = asyncio.get_running_loop().create_future()

        def answer() -> None:
            self.conductor.hold(reply)
            answered.set_result(None)

        if request.request_id not in self.hangs:
            self.machine.at(self.machine.now_ns + REPLY_NS, answer)
        sent_ns = self.machine.now_ns
        self.conductor.release(prefill)
        self.conductor.release(decode)
        await answered
        error = EngineUnreachable("http://x", reason="gone") if request.request_id in self.fails else None
        return Reply(
            status=None if error else 200,
            content="",
            reasoning="",
            tool_calls=() if error else (ToolCall("c", "order_find", "{}"),),
            finish_reason=None if error else "tool_calls",
            usage=None if error else ReplyUsage(7, 3, 1),
            error=error,
            arrived=Stamps(None, 5),
            stamped=Stamps(sent_ns + 1, sent_ns + REPLY_NS),
            served_as=f"{request.request_id}~2",
            quirks=(),
            raw="data: x",
        )

    async def close(self) -> None: ...


@dataclass(slots=True)
class Bench:
    machine: FakeMachine = field(default_factory=FakeMachine)
    records: list[TurnRecord] = field(default_factory=list)
    progress: list[LoadProgress] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def generator(
        self,
        plans: Sequence[SessionPlan],
        *,
        fails: set[str] | None = None,
        hangs: set[str] | None = None,
        on_turn: Callable[[TurnRecord], None] | None = None,
    ) -> tuple[Generator, Scripted]:
        conductor = Conductor(self.machine, watchdog_s=10)
        transport = Scripted(self.machine, conductor, fails or set(), hangs or set())
        generator = Generator(
            plans,
            transport,
            conductor,
            options=LoadOptions("m", max_tokens=99),
            on_turn=on_turn or self.records.append,
            evidence=self._evidence,
            on_progress=self.progress.append,
        )
        return generator, transport

    def _evidence(self, request_id: str) -> MachineEvidence | None:
        self.asked.append(request_id)
        return None


async def test_records_have_the_virtual_times_and_what_was_planned() -> None:
    bench = Bench()
    bench.machine.now_ns = 50
    plan = session_plan(3, turns=2, start_ns=100, think_ns=10)
    generator, transport = bench.generator([plan])
    await generator.run()
    first, second = bench.records
    assert (first.session, first.turn, first.request_id, first.group) == (3, 0, "s0003-t00", 1)
    assert (first.scheduled_ns, first.sent_ns, first.first_token_ns, first.finished_ns) == (100, 100, 101, 1_100)
    assert (second.scheduled_ns, second.finished_ns) == (1_110, 2_110)
    assert (first.prompt_tokens, first.completion_tokens, first.cached_tokens) == (7, 3, 1)
    assert first.expected == plan.turns[0].expected.record()
    assert (first.secrets, first.error, first.raw) == (("word3",), None, "data: x")
    assert bench.asked == ["s0003-t00~2", "s0003-t01~2"], "evidence is that of the attempt which answered"
    request = transport.seen[1]
    assert (request.model, request.max_tokens, list(request.messages)) == ("m", 99, plan.messages(1))


async def test_transport_error_ends_the_turn_and_the_session_goes_on() -> None:
    bench = Bench()
    generator, _ = bench.generator([session_plan(0, turns=3)], fails={"s0000-t01"})
    assert (await generator.run()).turns_failed == 1
    assert [record.error for record in bench.records] == [None, "http://x cannot be reached: gone", None]
    failed = bench.records[1]
    assert (failed.finished_ns, failed.prompt_tokens, failed.tool_calls) == (None, None, ())


async def test_fork_starts_after_the_parents_turn_and_not_by_its_estimate() -> None:
    bench = Bench()
    fork = session_plan(9, turns=1, start_ns=0, fork=ForkPoint(parent=2, turn=1, delay_ns=77))
    parent = session_plan(2, turns=3, think_ns=10)
    generator, _ = bench.generator([fork, parent])
    assert (await generator.run()).is_complete
    starts = {record.key: record.scheduled_ns for record in bench.records}
    assert starts[(2, 1)] == REPLY_NS + 10
    assert starts[(9, 0)] == starts[(2, 1)] + REPLY_NS + 77


async def test_fork_of_the_parents_last_turn_starts_too() -> None:
    bench = Bench()
    fork = session_plan(9, turns=1, fork=ForkPoint(parent=2, turn=0, delay_ns=5))
    generator, _ = bench.generator([session_plan(2, turns=1), fork])
    await generator.run()
    assert bench.records[1].scheduled_ns == REPLY_NS + 5


@pytest.mark.parametrize("turn", [0, 5])
async def test_fork_without_its_parents_turn_starts_by_its_plan(turn: int) -> None:
    bench = Bench()
    parents = [] if turn == 0 else [session_plan(2, turns=1)]
    fork = session_plan(9, turns=1, start_ns=123, fork=ForkPoint(parent=2, turn=turn, delay_ns=5))
    generator, _ = bench.generator([*parents, fork])
    assert (await generator.run()).is_complete
    assert {record.session: record.scheduled_ns for record in bench.records}[9] == 123


async def test_stop_keeps_what_is_done() -> None:
    bench = Bench()

    def stop_at_third(record: TurnRecord) -> None:
        bench.records.append(record)
        if len(bench.records) == 3:
            generator.stop()

    generator, _ = bench.generator([session_plan(number) for number in range(4)], on_turn=stop_at_third)
    progress = await generator.run()
    assert not progress.is_complete
    assert progress.turns_ended == len(bench.records) >= 3
    assert progress.turns_ended < 12


async def test_cancellation_of_the_caller_ends_every_session() -> None:
    bench = Bench()
    generator, transport = bench.generator([session_plan(number) for number in range(4)], hangs={"s0001-t00"})
    before = asyncio.all_tasks()
    run = asyncio.ensure_future(generator.run())
    while not transport.seen:
        await asyncio.wait([run], timeout=0)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert asyncio.all_tasks() == before


async def test_error_of_on_turn_comes_out_as_it_is() -> None:
    def full(record: TurnRecord) -> None:
        raise EnvironmentProblem(f"no room for {record.request_id}", remedy="make some")

    generator, _ = Bench().generator([session_plan(0), session_plan(1)], on_turn=full)
    with pytest.raises(EnvironmentProblem, match="no room for s0000-t00; make some"):
        await generator.run()


async def test_progress_counts_up() -> None:
    bench = Bench()
    generator, _ = bench.generator([session_plan(0, turns=2), session_plan(1, turns=1)], fails={"s0000-t00"})
    await generator.run()
    counts = [(p.sessions_started, p.turns_ended, p.sessions_ended) for p in bench.progress]
    assert counts == sorted(counts)
    assert bench.progress[0] == LoadProgress(sessions_total=2, turns_total=3, sessions_started=1)
    assert bench.progress[-1] == LoadProgress(2, 3, sessions_started=2, sessions_ended=2, turns_ended=3, turns_failed=1)


async def test_on_a_wall_clock_times_are_arrivals() -> None:
    """Stamps of a server's own clock would be compared with ours otherwise."""

    class Instant:
        async def chat(self, request: ChatRequest) -> Reply:
            arrived = Stamps(clock.now_ns, clock.now_ns)
            stamped = Stamps(1, 2)
            return Reply(200, "x", "", (), "stop", None, None, arrived, stamped, None, (), None)

        async def close(self) -> None: ...

    clock = WallClock()
    records: list[TurnRecord] = []
    plan = session_plan(0, turns=2, think_ns=0)
    await Generator([plan], Instant(), clock, options=LoadOptions("m"), on_turn=records.append).run()
    times = [time for record in records for time in (record.sent_ns, record.first_token_ns, record.finished_ns)]
    assert None not in times
    assert times == sorted(time for time in times if time is not None)
    assert times[-1] is not None
    assert times[-1] > 2

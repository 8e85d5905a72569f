"""Hangs on fake time: each is found within twice the timeout, and nothing else is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from harness.live.liveness.record import Silence
from harness.live.liveness.stuck import StuckWatch
from harness.live.liveness.watchdog import Watchdog
from harness.live.liveness.watching import HangWatch, WatchedTransport, stopped
from harness.transport.contract import ChatRequest, Reply, Stamps
from harness.transport.errors import EngineTimeout
from tests.harness.live.liveness.fake_time import FakeClock, S

pytestmark = pytest.mark.asyncio

TIMEOUT_S = 10.0


def reply(*, times_out: bool = False) -> Reply:
    error = EngineTimeout("http://x", phase="read", limit_s=1.0) if times_out else None
    nothing = Stamps(None, None)
    return Reply(200, "", "", (), "stop", None, error, nothing, nothing, None, (), None)


class Scripted:
    """A client whose bytes come when the script says. script: by request, instants of bytes, then of the end.

    None at the end: never; the client gives up `patience_s` after its last byte.
    """

    def __init__(
        self, clock: FakeClock, script: dict[str, tuple[list[float], float | None]], patience_s: float
    ) -> None:
        self.clock = clock
        self.script = script
        self.patience_s = patience_s
        self.watch: HangWatch | None = None

    async def close(self) -> None: ...

    async def chat(self, request: ChatRequest) -> Reply:
        assert self.watch is not None
        last_s = self.clock.now_ns / S
        bytes_s, end_s = self.script[request.request_id]
        for at_s in bytes_s:
            await self.clock.sleep_until(round(at_s * S), (), awake="server")
            self.watch.watchdog.bytes_came(b"data: x\n\n")
            last_s = at_s
        gives_up = end_s is None
        await self.clock.sleep_until(
            round((last_s + self.patience_s if end_s is None else end_s) * S), (), awake="server"
        )
        return reply(times_out=gives_up)


@asynccontextmanager
async def watching(clock: FakeClock, client: Scripted, timeout_s: float = TIMEOUT_S) -> AsyncIterator[list[str]]:
    said: list[str] = []
    watch = HangWatch(clock, timeout_s, said.append)
    client.watch = watch
    watch.begin()
    task = asyncio.ensure_future(watch.run())
    try:
        yield said
    finally:
        await stopped(task)


async def send(clock: FakeClock, transport: WatchedTransport, name: str, at_s: float) -> None:
    await clock.sleep_until(round(at_s * S), (), awake=name)
    await transport.chat(ChatRequest(name, "m", []))


async def silences_of(
    script: dict[str, tuple[list[float], float | None]], sent: dict[str, float], *, until_s: float,
    patience_s: float = 2 * TIMEOUT_S,
) -> tuple[list[Silence], list[str]]:  # fmt: skip
    clock = FakeClock()
    client = Scripted(clock, script, patience_s)
    async with watching(clock, client) as said:
        assert client.watch is not None
        transport = WatchedTransport(client, client.watch)
        tasks = [asyncio.ensure_future(send(clock, transport, name, at_s)) for name, at_s in sent.items()]
        await clock.advance_to(until_s)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        client.watch.close()
        return client.watch.silences, said


async def test_hang_is_found_within_twice_the_timeout_and_ends_the_run() -> None:
    script: dict[str, tuple[list[float], float | None]] = {"a": ([1.0, 2.0], None), "b": ([], None)}
    silences, said = await silences_of(script, {"a": 0.0, "b": 1.0}, until_s=40.0)
    (found,) = silences
    assert found.is_hang
    assert (found.open_count, found.open_requests) == (2, ("a", "b"))
    # The last byte came at 2 s; it was seen at the next look, a twentieth of the timeout later at most.
    assert 2.0 <= found.since_s <= 2.5
    assert TIMEOUT_S <= found.found_after_s <= 1.1 * TIMEOUT_S
    assert found.found_s - 2.0 <= 2 * TIMEOUT_S
    assert len(said) == 1
    assert said[0].startswith("HANG: no byte on any stream for 2")


async def test_open_requests_come_to_their_own_end_before_the_run_does() -> None:
    """The second one was sent late: the client gives it up 26 s after the last sign of life."""
    script: dict[str, tuple[list[float], float | None]] = {"a": ([2.0], None), "b": ([], None)}
    silences, said = await silences_of(script, {"a": 0.0, "b": 8.0}, until_s=60.0)
    assert [one.is_hang for one in silences] == [True]
    assert 26.0 <= silences[0].lasted_s <= 27.0
    assert len(said) == 1
    for patience_s in (40.0, 400.0):
        silences, said = await silences_of(script, {"a": 0.0, "b": 8.0}, until_s=60.0, patience_s=patience_s)
        assert said == ["HANG: no byte on any stream for 30.0 s, requests open: 2"]


@pytest.mark.parametrize("gap_s", [0.1, 3.0, 9.0])
async def test_slow_drip_is_no_hang(gap_s: float) -> None:
    ticks = [float(place) for place in np.arange(gap_s, 200.0, gap_s)]
    silences, said = await silences_of({"a": (ticks, 201.0)}, {"a": 0.0}, until_s=300.0)
    assert (silences, said) == ([], [])


async def test_one_stream_that_talks_speaks_for_all() -> None:
    ticks = [float(second) for second in range(1, 100)]
    silences, said = await silences_of({"a": ([], None), "b": (ticks, 100.0)}, {"a": 0.0, "b": 0.0}, until_s=100.0,
                                       patience_s=500.0)  # fmt: skip
    assert (silences, said) == ([], [])


async def test_silence_that_ends_is_a_stall() -> None:
    silences, said = await silences_of({"a": ([1.0, 16.0], 17.0)}, {"a": 0.0}, until_s=60.0)
    (found,) = silences
    assert (found.is_hang, said) == (False, [])
    assert 13.0 <= found.lasted_s <= 15.0
    assert "stall" in found.words()


async def test_pause_between_requests_is_none() -> None:
    script: dict[str, tuple[list[float], float | None]] = {"a": ([1.0], 2.0), "b": ([101.0], 102.0)}
    silences, said = await silences_of(script, {"a": 0.0, "b": 100.0}, until_s=120.0)
    assert (silences, said) == ([], [])


async def test_requests_that_were_given_up_do_not_begin_it_anew() -> None:
    """Each is given up after 6 s, less than the timeout, and the next one is sent at once."""
    names = [f"r{number}" for number in range(6)]
    script: dict[str, tuple[list[float], float | None]] = {name: ([], None) for name in names}
    sent = {name: 6.0 * number for number, name in enumerate(names)}
    silences, said = await silences_of(script, sent, until_s=40.0, patience_s=6.0)
    assert [one.is_hang for one in silences] == [True]
    assert len(said) == 1


async def test_counters_that_move_make_it_no_hang() -> None:
    clock = FakeClock()
    client = Scripted(clock, {"a": ([], None)}, patience_s=100.0)
    async with watching(clock, client) as said:
        assert client.watch is not None
        task = asyncio.ensure_future(WatchedTransport(client, client.watch).chat(ChatRequest("a", "m", [])))
        for second in range(1, 60):
            client.watch.sampled({"server_generated_tokens": float(second)})
            await clock.advance_to(float(second))
        await stopped(asyncio.ensure_future(_nothing(task)))
    (found,) = client.watch.silences
    assert (found.is_hang, found.counters_moved, said) == (False, True, [])
    assert "the server's own counters moved" in found.words()


async def _nothing(task: asyncio.Task[Reply]) -> None:
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize("seed", range(25))
async def test_random_traffic_against_a_plain_count(seed: int) -> None:
    """The reference looks at the whole history at once; the watch sees it go by."""
    rng = np.random.default_rng([seed, 31])
    script: dict[str, tuple[list[float], float | None]] = {}
    sent, events, spans = {}, [0.0], []
    at_s = 0.0
    for number in range(8):
        at_s += float(rng.exponential(6.0))
        gaps = rng.exponential(4.0, int(rng.integers(0, 6)))
        times = [float(time) for time in at_s + np.cumsum(gaps)]
        end_s = (times[-1] if times else at_s) + float(rng.exponential(4.0))
        script[f"r{number}"], sent[f"r{number}"] = (times, end_s), at_s
        events += [*times, end_s]
        spans.append((at_s, end_s))
    # The longest silence while anything was open: it begins with an event, or with the first request after a pause.
    starts = sorted({*events, *(begin for begin, _ in spans)})
    longest = 0.0
    for start in starts:
        if any(begin <= start < end for begin, end in spans):
            later = [event for event in events if event > start]
            since = max(event for event in starts if event <= start and (event in events or not any(
                begin < event < end for begin, end in spans)))  # fmt: skip
            longest = max(longest, min(later) - since) if later else longest
    silences, said = await silences_of(script, sent, until_s=200.0)
    tick_s = TIMEOUT_S / 20
    if longest >= TIMEOUT_S + 2 * tick_s:
        assert silences, (seed, longest)
    if longest < TIMEOUT_S:
        assert not silences, (seed, longest)
    if silences:
        assert max(one.lasted_s for one in silences) <= longest + 2 * tick_s
    assert said == [] or longest >= 2 * TIMEOUT_S


async def test_keep_alive_comments_are_no_sign_of_life() -> None:
    dog = Watchdog()
    dog.sent("a", 0)
    for piece in (b": ping\n\n", b":\n\n"):
        dog.bytes_came(piece)
    assert dog.quiet_ns(5) == 5
    for piece in (b"data: {}\n\n", b": ping\n\ndata: {}\n\n", b""):
        dog.bytes_came(piece)
        assert dog.quiet_ns(9) == 0


async def test_stuck_queue_needs_a_whole_stretch() -> None:
    watch = StuckWatch(3.0)
    for at_s, running, waiting in [
        (0, 1, 4),
        (1, 0, 4),
        (2, 0, 5),
        (3, 1, 5),
        (4, 0, 2),
        (5, 0, 2),
        (7.5, 0, 3),
        (8, 0, 0),
    ]:
        watch.sampled(at_s, {"server_running": running, "server_waiting": waiting})
    (found,) = watch.found
    assert (found.since_s, found.lasted_s, found.waiting) == (4, 3.5, 3)
    for at_s in range(10, 20):
        # A decode worker that waits for pages that never come; and a server that tells nothing.
        watch.sampled(at_s, {"server_running": 0, "server_transferring": 2})
    watch.sampled(20, {})
    assert [one.lasted_s for one in watch.found] == [3.5, 9]
    assert "nothing running and up to 2 waiting for 9.0 s" in watch.found[1].words()

"""Start and stop of the pair: addresses, ports in use, and that nothing stays behind."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import weakref
from contextlib import closing

import aiohttp
import pytest

from harness.load.conductor import Conductor
from harness.pair.listening import listening_socket
from harness.pair.pair import Pair, PairOptions
from kernels.errors import EnvironmentProblem
from tests.harness.fake_machine import FakeEngines, FakeMachine
from tests.harness.rig import get, post, served

pytestmark = pytest.mark.asyncio


async def test_default_is_loopback_on_free_ports() -> None:
    async with served() as (first, _), served() as (second, _):
        ports = [first.ports.router, first.ports.prefill, first.ports.decode, second.ports.router]
        assert len(set(ports)) == 4
        assert first.base_url == f"http://127.0.0.1:{first.ports.router}/v1"
        assert str(first.ports.router) in repr(first)
        # Another loopback address would be answered by a server that listens everywhere.
        with pytest.raises(OSError, match="Connect"), closing(socket.socket()) as probe:
            probe.connect(("127.0.0.2", first.ports.router))


async def test_explicit_port_is_used_and_free_again_afterwards() -> None:
    with listening_socket("127.0.0.1", 0, what="test") as probe:
        port = probe.getsockname()[1]
    for _ in range(2):
        async with served(PairOptions(router_port=port)) as (pair, _):
            assert pair.ports.router == port
            assert (await get(f"{pair.router_url}/health"))[0] == 200


@pytest.mark.parametrize("which", ["router_port", "prefill_port", "decode_port"])
async def test_port_in_use_is_named_and_nothing_stays_open(which: str) -> None:
    with listening_socket("127.0.0.1", 0, what="test") as taken, listening_socket("127.0.0.1", 0, what="test") as probe:
        port, other_port = taken.getsockname()[1], probe.getsockname()[1]
        probe.close()
        other = "prefill_port" if which == "decode_port" else "decode_port"
        options = PairOptions(**{which: port, other: other_port})
        with pytest.raises(EnvironmentProblem, match=f"port {port} on 127.0.0.1.*in use") as caught:
            async with served(options):
                pass
        assert caught.value.exit_code == 3
        with listening_socket("127.0.0.1", other_port, what="test"):
            pass


async def test_same_port_twice_is_refused() -> None:
    with listening_socket("127.0.0.1", 0, what="test") as probe:
        port = probe.getsockname()[1]
    with pytest.raises(EnvironmentProblem, match=f"port {port} .*meant for the decode"):
        async with served(PairOptions(prefill_port=port, decode_port=port)):
            pass


async def test_stop_refuses_new_clients_and_ends_open_requests() -> None:
    before = asyncio.all_tasks()
    async with aiohttp.ClientSession() as session:
        async with served(swallow={"room"}, answer=lambda _: "") as (pair, engines):
            url = pair.base_url
            # The engine is stopped dead, so this request hangs until the servers go.
            engines.is_computing = True
            body = json.dumps({"messages": [{"role": "user", "content": "x"}]}).encode()
            hanging = asyncio.ensure_future(session.post(f"{url}/chat/completions", data=body))
            while not engines.machine.trace:
                await asyncio.wait([hanging], timeout=0)
        with pytest.raises(aiohttp.ClientError):
            await hanging
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.post(f"{url}/chat/completions", data=body)
    assert asyncio.all_tasks() == before


async def test_urls_before_the_start_are_a_bug() -> None:
    async with served() as (running, engines):
        pair = Pair(engines.prefill, engines.decode, gate=running._gate)
        with pytest.raises(AssertionError, match="not been started"):
            _ = pair.base_url


async def test_nothing_keeps_the_engines_of_a_pair_that_was_stopped() -> None:
    """A campaign makes a pair for each run; aiohttp's own caches would keep every engine, with all that hangs on it."""
    machine = FakeMachine()
    engines = FakeEngines(machine)
    async with Pair(engines.prefill, engines.decode, gate=Conductor(machine)) as pair:
        assert (await get(f"{pair.worker_url('prefill')}/health"))[0] == 200
    reference = weakref.ref(engines)
    del engines, pair
    gc.collect()
    assert reference() is None


async def test_client_that_leaves_with_its_reply_leaves_no_half_behind() -> None:
    """It hangs up while the router still waits for the prefill half, which is late."""
    async with served(late_prefill_ns=10**18) as (pair, _):
        body = {"messages": [{"role": "user", "content": "((none))"}], "stream": True}
        assert (await post(f"{pair.router_url}/v1/chat/completions", body))[0] == 200
    # A connection that was let slip is found here, and pytest makes an error of the warning.
    gc.collect()

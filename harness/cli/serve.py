"""`run.py serve`: the pair and its router stay up in real time, for any client that speaks the OpenAI API.

Owns: its options, what it prints, its life from Ctrl-C to Ctrl-C. Does not own: servers (`harness.pair`), the pace
(`harness.load.pacer`), engines. Floor 5.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import DEFAULT_SEED, overrides_from, scenario_options
from harness.cli.simulate import DEFAULT_SCENARIO
from harness.config import Scenario, load_scenario

if TYPE_CHECKING:
    from harness.load.pacer import Pacer
    from harness.pair.pair import Pair

_HELP = """Keep the simulated pair and its router up in real time, for other clients, until Ctrl-C.

The model recalls: a reply is what stands in the prompt, after [[KEY]] and up to the line's end, under the KEY of the
last ((KEY)). Ports are free ones unless they are given. Ctrl-C is how a server is meant to end, so the exit code is 0
then; a port that is in use already is exit code 3."""

EXAMPLE_PROMPT = "[[door]] open the pod bay\nWhat stands under this key? ((door))"

_PORT = click.IntRange(0, 65_535)


@click.command("serve", help=_HELP)
@click.option("--scenario", default=DEFAULT_SCENARIO, show_default=True, help="Name, or path of a TOML file.")
@click.option("--seed", default=DEFAULT_SEED, show_default=True, type=click.IntRange(min=0), help="Root of all chance.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=0, type=_PORT, help="The router's port.  [default: a free one]")
@click.option("--prefill-port", default=0, type=_PORT, help="The prefill worker's port.  [default: a free one]")
@click.option("--decode-port", default=0, type=_PORT, help="The decode worker's port.  [default: a free one]")
@click.option("--speed", default=1.0, show_default=True, type=click.FloatRange(0, 1e6, min_open=True),
              help="Simulated seconds for each real one.")  # fmt: skip
@click.option("--json", "json", is_flag=True, help="One JSON line with the addresses on standard output.")
@scenario_options
def serve_command(**arguments: Any) -> int:
    scenario = load_scenario(arguments["scenario"], overrides_from(arguments))
    asyncio.run(_serve(scenario, arguments))
    return 0


async def _serve(scenario: Scenario, arguments: dict[str, Any]) -> None:
    from harness.load.pacer import Pacer
    from harness.pair.engines import ModelFacts
    from harness.pair.pair import Pair, PairOptions
    from harness.simulation.assembly import assemble
    from harness.simulation.run import MODEL
    from kernels.engine.shared import SharedModel

    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    seed = int(arguments["seed"])
    assembly = assemble(scenario, seed, SharedModel())
    pacer = Pacer(assembly.machine, speed=float(arguments["speed"]))
    facts = ModelFacts(name=MODEL, details={"page_size": assembly.pair.spec.geometry.page_tokens})
    options = PairOptions(
        host=arguments["host"],
        router_port=arguments["port"],
        prefill_port=arguments["prefill_port"],
        decode_port=arguments["decode_port"],
        seed=seed,
        model=facts,
        host_hits=assembly.pair.host_hit_tokens,
    )
    async with Pair(assembly.pair.prefill, assembly.pair.decode, gate=pacer, options=options) as pair:
        _announce(pair, scenario, seed, is_json=bool(arguments["json"]))
        await _until_stopped(pacer, stopped)
    print("stopped", file=sys.stderr)


async def _until_stopped(pacer: Pacer, stopped: asyncio.Event) -> None:
    """Keep the machine's time going. Raises: what the machine raises; a server without a machine is of no use."""
    pacing = asyncio.ensure_future(pacer.run())
    stopping = asyncio.ensure_future(stopped.wait())
    await asyncio.wait((pacing, stopping), return_when=asyncio.FIRST_COMPLETED)
    for task in (pacing, stopping):
        task.cancel()
    await asyncio.wait((pacing, stopping))
    if not pacing.cancelled():
        pacing.result()


def _announce(pair: Pair, scenario: Scenario, seed: int, *, is_json: bool) -> None:
    from harness.simulation.run import MODEL

    addresses = {
        "base_url": pair.base_url,
        "router": pair.router_url,
        "prefill": pair.worker_url("prefill"),
        "decode": pair.worker_url("decode"),
    }
    if is_json:
        line = json.dumps({"scenario": scenario.name, "seed": seed, "model": MODEL, **addresses})
    else:
        body = {"model": MODEL, "messages": [{"role": "user", "content": EXAMPLE_PROMPT}]}
        words = ["curl", "-s", f"{pair.base_url}/chat/completions", "-H", "Content-Type: application/json"]
        shown = [f"seed {seed}, scenario {scenario.name}: {scenario.summary}"]
        shown += [f"{name:<9} {url}" for name, url in addresses.items()]
        shown += ["", shlex.join([*words, "-d", json.dumps(body)]), "", "Ctrl-C ends it."]
        line = "\n".join(shown)
    # The client that waits for this line may read a pipe.
    print(line, flush=True)

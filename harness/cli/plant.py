"""`run.py plant` and `run.py planted`: damage put into a sound server's replies, and whether a run has found it.

Owns: their options, what they print, exit codes. Does not own: the proxy (`harness.proxy`), the damages
(`harness.planting`). Floor 5.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import DEFAULT_SEED
from harness.planting.faults import FAULTS
from harness.planting.reply_shapes import SHAPES
from kernels.errors import ConfigError

if TYPE_CHECKING:
    from harness.planting.found import Comparison
    from harness.planting.planter import Planter

MISSED = 4

_FAULTS = "\n".join(f"{fault.name:<18} {fault.symptom:<4} {fault.what}" for fault in FAULTS.values())
_HELP = f"""Stand in front of a sound server and damage a share of its replies, to see whether a judge finds it.

\b
  run.py plant --upstream http://127.0.0.1:8000/v1 --fault all=1% --truth truth.jsonl
  run.py stress --base-url (the address that plant prints) --serial-check 0
  run.py planted RUN_DIR truth.jsonl

Which replies are hit depends on the seed and on the request alone. Only a reply that is one whole tool call can be
damaged; all others pass as they are, and so does everything beside /chat/completions. A damaged reply is held back
until it is whole, so its times are not the server's. It damages without load as well, which a serial check would tell,
so that is left out. Ends at Ctrl-C, with exit code 0.

\b
Faults (`all` shares its rate among all that are corruption):
{_FAULTS}"""

_PLANTED_HELP = """Hold a run's judgements against what `plant --truth` wrote: found, rightly called, false alarms.

Exit codes: 0 all that can be found was found, 1 a turn is called corrupted where nothing was planted, 2 your mistake,
4 something planted was missed, or nothing was planted at all."""


@click.command("plant", help=_HELP)
@click.option("--upstream", required=True, metavar="URL", help="The sound server, with or without /v1 at its end.")
@click.option("--listen", "port", default=0, type=click.IntRange(0, 65_535), metavar="PORT",
              help="[default: a free one]")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--fault", "faults", multiple=True, required=True, metavar="NAME=RATE",
              help="Such as token_salad=1% (repeatable).")  # fmt: skip
@click.option("--shape", default="any", show_default=True, type=click.Choice(("any", *SHAPES)),
              help="How damaged replies are cut into chunks.")  # fmt: skip
@click.option("--spare-first", default=4, show_default=True, type=click.IntRange(min=0),
              help="So many chat requests pass first: a client's own checks.")  # fmt: skip
@click.option("--truth", default=None, type=click.Path(path_type=Path), metavar="FILE",
              help="Write what was planted where, one line each.")  # fmt: skip
@click.option("--seed", default=DEFAULT_SEED, show_default=True, type=click.IntRange(min=0), help="Root of all chance.")
@click.option("--json", "json", is_flag=True, help="One JSON line with the address, one with the counts at the end.")
def plant_command(**arguments: Any) -> int:
    from harness.capture.upstream import upstream_of
    from harness.planting.dosing import Dosing, doses_of
    from harness.planting.planter import Planter
    from results.lines import LineFile

    upstream, path = upstream_of(arguments["upstream"]), arguments["truth"]
    dosing = Dosing(doses_of(arguments["faults"]), arguments["seed"])
    planter = Planter(dosing, shape=arguments["shape"], spare_first=arguments["spare_first"])
    if path is not None and path.exists():
        raise ConfigError(f"--truth {path} is there already; name another file", key="--truth", value=str(path))
    truth = None if path is None else LineFile(path)
    try:
        if truth is not None:
            planter.on_planted = truth.append
        asyncio.run(_stand(planter, upstream, arguments))
    finally:
        if truth is not None:
            truth.close(sync=False)
    return 0


async def _stand(planter: Planter, upstream: str, arguments: dict[str, Any]) -> None:
    from harness.capture.upstream import is_answering
    from harness.proxy.passing import ReverseProxy

    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    is_json = bool(arguments["json"])
    host, port = arguments["host"], arguments["port"]
    async with ReverseProxy(upstream, watch=planter.watch, host=host, port=port) as proxy:
        first: dict[str, Any] = {"base_url": proxy.base_url, "upstream": upstream, "seed": arguments["seed"]}
        shown = f"seed {arguments['seed']}, in front of {upstream}\nbase URL   {proxy.base_url}\n\nCtrl-C ends it."
        # Whoever waits for this line may read a pipe.
        print(json.dumps(first) if is_json else shown, flush=True)
        if not await is_answering(upstream):
            print(f"note: nobody answers at {upstream} yet", file=sys.stderr)
        await stopped.wait()
    tally = planter.tally
    if is_json:
        print(json.dumps({"replies": tally.replies, "unfit": tally.unfit, "planted": dict(tally.planted)}), flush=True)
        return
    counts = ", ".join(f"{count:,} {name}" for name, count in tally.planted.most_common()) or "nothing"
    unfit = f"; {tally.unfit:,} were no whole call and passed as they were" if tally.unfit else ""
    print(f"planted {counts} in {tally.replies:,} replies{unfit}", file=sys.stderr)


@click.command("planted", help=_PLANTED_HELP)
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.argument("truth", type=click.Path(path_type=Path))
@click.option("--json", "json", is_flag=True, help="One JSON object on standard output.")
def planted_command(run_dir: Path, truth: Path, **arguments: Any) -> int:
    from harness.planting.found import compare
    from harness.planting.truth import read_truth
    from results.oracles.judge import judge_turn
    from results.reader import open_run
    from results.rejudge import context_of_run

    planted = read_truth(truth)
    run = open_run(run_dir)
    context = context_of_run(run)
    found = compare(planted, [(turn.request_id, judge_turn(turn, context)) for turn in run.turns])
    print(json.dumps(found.as_json()) if arguments["json"] else _table(found))
    if found.alarms:
        return 1
    return MISSED if found.missed or not found.faults else 0


def _table(found: Comparison) -> str:
    lines = [f"{'planted':<18} {'class':<5} {'turns':>6} {'found':>6} {'right':>6}  called"]
    for name, row in found.faults.items():
        called = ", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in row.called.most_common())
        marks = (str(row.found), str(row.right)) if row.fault.kinds else ("-", "-")
        lines.append(f"{name:<18} {row.fault.symptom:<5} {row.planted:>6} {marks[0]:>6} {marks[1]:>6}  {called}")
    if any(not row.fault.kinds for row in found.faults.values()):
        lines.append("-: no single turn shows it; compare runs (`score --baseline`, two of them)")
    sound = found.turns - sum(row.planted for row in found.faults.values())
    lines.append(f"{len(found.alarms)} false alarms in {sound:,} turns where nothing was planted")
    if found.absent:
        lines.append(f"{found.absent:,} planted replies are of requests that are not in this run")
    if not found.faults:
        lines.append("nothing of this file was planted in this run")
    return "\n".join(lines)

"""`run.py probe`: what a live server can do, in about a minute, before an hour is spent on it.

Owns: its options and what it prints. Does not own: the questions (`harness.live.probing`). Floor 5.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import Any

import click

from harness.cli.live_options import live_options

CANNOT_JUDGE = 4

_HELP = """Find out what a live OpenAI-compatible server can do, and what a stress run against it could prove: models,
context, streaming, tools, usage and cached tokens, logprobs, quirks, the hardest task that the model masters alone,
whether it repeats itself alone and under a small load, metrics, cache flush, and whether an evicted prompt really comes
back from the host tier.

About sixty requests are sent, a good third of them of 10,000 to 16,000 tokens, and the cache is emptied where the
server allows that. Exit codes: 0 a run can prove something, 4
it cannot, 2 your mistake, 3 the server cannot be reached."""


@click.command("probe", help=_HELP)
@click.option(
    "--concurrency", default=12, show_default=True, type=click.IntRange(2, 64), help="Of the repeats at once."
)
@live_options
def probe_command(**arguments: Any) -> int:
    from harness.live.preflight import chosen_model, list_models
    from harness.live.probed import Probed
    from harness.live.probing import Prober, conclusions
    from harness.live.stress_request import credentials_of, metrics_of, options_for, targets_of, transport_of

    (target,), make, credentials = targets_of(arguments), transport_of(arguments), credentials_of(arguments)
    options = options_for(target, arguments, credentials)
    models = asyncio.run(list_models(options))
    model = chosen_model(arguments["model"], models)
    if not arguments["quiet"]:
        click.echo(f"probing {model} at {target.base_url}", err=True)
    prober = Prober(make, options, model, models, credentials, int(arguments["concurrency"]), metrics_of(arguments))
    found = asyncio.run(prober.all())
    found += [Probed("refused fields", "yes", note) for note in make.notes()]
    proves = conclusions(found)
    can_prove = not proves[0].startswith("A run can prove nothing")
    if arguments["json"]:
        answers = [asdict(one) for one in found]
        click.echo(json.dumps({"base_url": target.base_url, "model": model, "answers": answers, "proves": proves,
                               "can_prove": can_prove}))  # fmt: skip
    else:
        width = max(len(one.question) for one in found)
        click.echo(f"PROBED  {model} at {target.base_url}")
        for one in found:
            click.echo(f"{one.question:<{width}}  {one.answer:<7}  {one.detail}")
        click.echo("")
        for line in proves:
            click.echo(line)
    return 0 if can_prove else CANNOT_JUDGE

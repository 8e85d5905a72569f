"""Options of every command that talks to a live server: where it is, who asks, how, and how patiently.

Owns: the options and the reading of a duration. Does not own: what they mean (`harness.live`). Floor 5.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)([smh]?)")


def live_options(command: F) -> F:
    options = (
        click.option("--base-url", default=None, metavar="URL", help="Up to and including /v1."),
        click.option("--model", default=None, metavar="NAME", help="[default: the server's only one]"),
        click.option("--transport", default="raw", show_default=True, type=click.Choice(("raw", "aiohttp", "openai")),
                     help="raw measures best; openai is what applications use."),
        click.option("--api-key-env", default=None, metavar="NAME", help="Environment variable that holds the key."),
        click.option("--api-key-file", default=None, type=click.Path(path_type=Path), metavar="FILE",
                     help="File that holds the key."),
        click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="A further header; its value "
                     "is never stored (repeatable)."),
        click.option("--connect-timeout", default=10.0, show_default=True, type=click.FloatRange(0.01, 600),
                     metavar="S", help="For a connection."),
        click.option("--read-timeout", default=120.0, show_default=True, type=click.FloatRange(0.05, 3600),
                     metavar="S", help="For the next byte; comments that keep a stream alive do not count."),
        click.option("--metrics-url", "metrics_urls", multiple=True, metavar="URL",
                     help="Prometheus text of the server or its workers (repeatable).  [default: /metrics beside /v1]"),
        click.option("--proxies-from-environment", is_flag=True, help="Obey HTTP_PROXY and the like (not with raw)."),
        click.option("--i-may-load-this-server", "is_permitted", is_flag=True,
                     help="Needed for a server that is not on this machine."),
        click.option("--json", "json", is_flag=True, help="One JSON object on standard output, nothing else there."),
        click.option("--quiet", is_flag=True, help="No progress."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def duration_s(text: str | None) -> float | None:
    """Raises: UsageError for what is no duration."""
    if text is None:
        return None
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise click.UsageError(f"--duration '{text}' is no time; write 90s, 10m or 1h")
    return float(match[1]) * _UNITS_S[match[2] or "s"]

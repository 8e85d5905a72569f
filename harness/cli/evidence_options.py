"""Options of the evidence that a server gives of itself: its logs, and its counters as a condition.

Owns: the options. Does not own: what they mean (`harness/live/beside_request`, `harness/live/server_logs`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def log_options(command: F) -> F:
    options = (
        click.option("--server-log", "server_logs", multiple=True, metavar="FILE",
                     help="A log of the server, searched for lines that matter: its own integrity checks, crashes, "
                     "hangs (repeatable; with --arm: ARM=FILE)."),
        click.option("--log-zone", default=None, metavar="ZONE",
                     help="Of log times that do not say theirs: utc, local, +02:00.  [default: as their arrival "
                     "shows; utc for a log read afterwards]"),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def evidence_options(command: F) -> F:
    command = click.option(
        "--require-host-tier", "requires_host_tier", is_flag=True,
        help="No clean verdict unless the server's own counters show that its host tier was used.",
    )(command)  # fmt: skip
    return log_options(command)

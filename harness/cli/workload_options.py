"""Options of the workload: where sessions come from, and what is put into them.

Owns: the options. Does not own: what they mean, and what goes together (`harness.live.workloads`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_FORMS = (
    "builtin, bfcl:DIR, mooncake:FILE, sharegpt:FILE, openai-messages:FILE, vllm-multiturn:FILE or recorded:DIR. "
    "--sessions is how many of a file run at once, or in all."
)


def workload_options(command: F) -> F:
    options = (
        click.option("--workload", default="builtin", show_default=True, metavar="KIND[:PATH]", help=_FORMS),
        click.option("--block-tokens", default=None, type=click.IntRange(1, 65_536), metavar="N",
                     help="Of one hash id in a trace.  [default: 512; 16 for Bailian's]"),
        click.option("--plant", default=None, metavar="WHAT",
                     help="call (a known answer in a trace's text), secret (a word of its own in each conversation) or "
                     "none.  [default: call for mooncake; secret for sharegpt and vllm-multiturn; none]"),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command

"""Options of the command line made from the scenario schema: every field of a scenario can be overridden.

Owns: the map from `--device-tokens` to `cache.device_tokens`, and `--delay POINT=DISTRIBUTION`. Does not own: what a
value may be (`harness.config`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from harness.config.fields import SECTIONS, allowed_values, known_types
from kernels.errors import ConfigError

DEFAULT_SEED = 22811
"""The upstream pull request behind the incident; any fixed number would do."""

F = TypeVar("F", bound=Callable[..., Any])


def scenario_options(command: F) -> F:
    """Add one option for each field of a scenario, `--set` and `--delay`. The values arrive as keyword arguments."""
    for key, kind in reversed(known_types().items()):
        if key.partition(".")[0] not in SECTIONS:
            continue
        allowed = allowed_values(kind)
        metavar = "|".join(allowed) if allowed else "VALUE"
        option = click.option(
            option_name(key),
            _parameter(key),
            metavar=metavar,
            default=None,
            hidden=key not in _SHOWN,
            help=_SHOWN.get(key, f"Override {key}."),
        )
        command = option(command)
    delay = click.option(
        "--delay",
        "delays",
        multiple=True,
        metavar="POINT=DIST",
        help="Inject a delay, for example h2d.index_k=lognormal:200us,0.5 (repeatable).",
    )
    assign = click.option(
        "--set",
        "assignments",
        multiple=True,
        metavar="SECTION.KEY=VALUE",
        help="Override any key of the scenario (repeatable).",
    )
    return delay(assign(command))


def option_name(key: str) -> str:
    """The option that stands for `section.key`."""
    named = _NAMED.get(key)
    return named if named is not None else f"--{key.partition('.')[2].replace('_', '-')}"


def overrides_from(arguments: Mapping[str, Any]) -> dict[str, str]:
    """What the user overrode: `section.key` -> text. Raises: ConfigError for a malformed --set or --delay."""
    overrides: dict[str, str] = {}
    for key in known_types():
        value = arguments.get(_parameter(key))
        if value is not None:
            overrides[key] = str(value)
    for text in arguments.get("assignments", ()):
        key, value = _split(text, "--set", "SECTION.KEY=VALUE")
        overrides[key] = value
    for text in arguments.get("delays", ()):
        point, value = _split(text, "--delay", "POINT=DISTRIBUTION")
        overrides[f"delays.{point}"] = value
    return overrides


def _split(text: str, option: str, shape: str) -> tuple[str, str]:
    left, separator, right = text.partition("=")
    if not separator or not left.strip() or not right.strip():
        raise ConfigError(f"{option} '{text}' does not have the form {shape}", key=option, value=text)
    return left.strip(), right.strip()


def _parameter(key: str) -> str:
    return key.replace(".", "__")


_NAMED: Mapping[str, str] = {"workload.source": "--workload", "cost.file": "--cost-file"}
"""Options whose field's name alone would say nothing."""

_SHOWN: Mapping[str, str] = {
    "workload.sessions": "Sessions at once.",
    "workload.source": "Workload: builtin, or bfcl:DIR.",
    "cache.preset": "Geometry of the model.",
    "cache.index_k": "Number format of index-K.",
    "cache.hicache": "Host tier on or off.",
    "cache.gate_index_k": "Whether the index-K read waits for its layer.",
    "cache.index_k_store": "fused masks the bare read behind a gated getter.",
    "cache.ungated": "Further pools whose reads skip the gate (comma separated).",
    "cache.device_tokens": "Size of the prefill device pool, in tokens.",
    "cache.host_tokens": "Size of the host pool, in tokens.",
    "engine.tp": "Tensor-parallel ranks.",
    "engine.head_start_us": "Host time between enqueueing a load and its forward.",
    "cost.compute_slope_us_per_token": "Compute time per layer and new token (the fitted knob).",
    "cost.h2d_gbps": "Host-to-device bandwidth of the load.",
    "cost.jitter": "Relative spread of each operation's time.",
    "workload.redundancy": "How often each asked fact is written.",
}
"""The options that `--help` shows; the others exist too, and `run.py options` lists them."""

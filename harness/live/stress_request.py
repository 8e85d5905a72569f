"""From the words of a stress command to requests that can be run, after one look at each server.

Owns: the order of the checks: what costs nothing first, the server last. Does not own: options (`harness/cli`).
Floor 5. Source: ours.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

from harness.config.schema import WorkloadSpec
from harness.live.arrivals import load_shape
from harness.live.credentials import Credentials, read_credentials
from harness.live.limits import Limits
from harness.live.preflight import chosen_model, list_models, refuse_long_prompts, refuse_unusable
from harness.live.run import LiveRequest, Patience
from harness.live.target import PERMISSION, Target, arms_of, target_of
from harness.live.workload import live_workload
from harness.load.workload import build_workload, longest_prompt
from harness.simulation.run import MakeTransport
from harness.transport.contract import TransportOptions
from harness.transport.over_aiohttp import AiohttpTransport
from harness.transport.over_openai import OpenAITransport
from harness.transport.raw import RawTransport
from kernels.engine.shared import SharedModel
from kernels.errors import ConfigError

TRANSPORTS: Final[Mapping[str, MakeTransport]] = MappingProxyType(
    {"raw": RawTransport, "aiohttp": AiohttpTransport, "openai": OpenAITransport}
)
_REPEATED: Final[Mapping[str, str]] = MappingProxyType({
    "sessions": "--sessions", "duration": "--duration", "rate": "--rate", "prompt_tokens": "--prompt-tokens",
    "max_tokens": "--max-tokens", "tokens_max": "--tokens-max", "workload": "--workload", "transport": "--transport",
    "read_timeout": "--read-timeout", "seed": "--seed",
})  # fmt: skip


def targets_of(arguments: Mapping[str, Any]) -> tuple[Target, ...]:
    """Raises: ConfigError where it is not said which server, or said twice."""
    arms, base_url = arguments.get("arms", ()), arguments["base_url"]
    is_permitted = bool(arguments["is_permitted"])
    if arms and base_url is not None:
        raise ConfigError("--arm and --base-url both name servers; leave one of them out", key="--base-url")
    if arms:
        return arms_of(tuple(arms), is_permitted=is_permitted)
    if base_url is None:
        raise ConfigError("no server is named; give --base-url http://HOST:PORT/v1", key="--base-url")
    return (target_of(base_url, is_permitted=is_permitted),)


def credentials_of(arguments: Mapping[str, Any]) -> Credentials:
    return read_credentials(arguments["api_key_env"], arguments["api_key_file"], arguments["headers"])


def transport_of(arguments: Mapping[str, Any]) -> MakeTransport:
    """Raises: ConfigError for a proxy that the measuring client cannot use."""
    if arguments["proxies_from_environment"] and arguments["transport"] == "raw":
        what = "the raw transport speaks to the server itself; take --transport aiohttp to go through a proxy"
        raise ConfigError(what, key="--proxies-from-environment")
    return TRANSPORTS[arguments["transport"]]


def options_for(target: Target, arguments: Mapping[str, Any], credentials: Credentials) -> TransportOptions:
    return TransportOptions(
        target.base_url,
        api_key=credentials.api_key,
        headers=credentials.headers,
        connect_timeout_s=float(arguments["connect_timeout"]),
        read_timeout_s=float(arguments["read_timeout"]),
        use_environment_proxies=bool(arguments["proxies_from_environment"]),
    )


def stress_requests(arguments: Mapping[str, Any], duration_s: float | None) -> tuple[list[LiveRequest], list[str]]:
    """One request for each server, and what is odd about them in words.

    Effect: asks each server for its models, and for one tool call. Raises: KVRaceError.
    """
    targets, make, credentials = targets_of(arguments), transport_of(arguments), credentials_of(arguments)
    load = load_shape(arguments["load_kind"], arguments["sessions"], arguments["rate"], duration_s)
    if len(targets) > 1 and duration_s is not None:
        raise ConfigError("arms are compared over --blocks, each of them the same work; leave --duration out",
                          key="--duration")  # fmt: skip
    spec = live_workload(
        load,
        source=arguments["workload"],
        prompt_tokens=arguments["prompt_tokens"],
        overrides=_overrides(arguments["assignments"]),
    )
    seed = int(arguments["seed"])
    requests, notes = [], []
    for target in targets:
        options = options_for(target, arguments, credentials)
        model, odd = asyncio.run(_look(make, options, arguments, credentials, spec))
        notes += [f"{target.name}: {one}" if len(targets) > 1 else one for one in odd]
        requests.append(
            LiveRequest(
                target=target, model=model, workload=spec, load=load, seed=seed,
                max_tokens=int(arguments["max_tokens"]),
                transport_name=arguments["transport"], transport=make, store=Path(arguments["out"]),
                repeat=repeat_words(arguments, targets, model), credentials=credentials,
                limits=Limits(int(arguments["tokens_max"])),
                patience=Patience(float(arguments["connect_timeout"]), float(arguments["read_timeout"])),
                use_environment_proxies=bool(arguments["proxies_from_environment"]),
                metrics_urls=metrics_of(arguments) if len(targets) == 1 else (),
            )
        )  # fmt: skip
    return requests, notes


def metrics_of(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Raises: ConfigError for what is no URL."""
    for url in arguments["metrics_urls"]:
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise ConfigError(f"--metrics-url '{url}' is no URL", key="--metrics-url", value=url)
    return tuple(arguments["metrics_urls"])


async def _look(
    make: MakeTransport,
    options: TransportOptions,
    arguments: Mapping[str, Any],
    credentials: Credentials,
    spec: WorkloadSpec,
) -> tuple[str, list[str]]:
    models = await list_models(options)
    model = chosen_model(arguments["model"], models)
    odd = await refuse_unusable(make, options, model, credentials)
    if model in models.context_tokens:
        workload = build_workload(spec, int(arguments["seed"]), SharedModel().reader.count_tokens)
        refuse_long_prompts(longest_prompt(workload)[1], int(arguments["max_tokens"]), model, models)
    return model, odd


def repeat_words(arguments: Mapping[str, Any], targets: tuple[Target, ...], model: str) -> str:
    """The command that asks again. A header's value is left out: it may be a secret."""
    words = ["python", "run.py", "stress"]
    for target in targets:
        words += ["--arm", f"{target.name}={target.base_url}"] if len(targets) > 1 else ["--base-url", target.base_url]
    words += ["--model", model]
    if arguments["load_kind"] != "closed":
        words += ["--load", arguments["load_kind"]]
    if len(targets) > 1:
        words += ["--blocks", str(arguments["blocks"])]
    for name, option in _REPEATED.items():
        if arguments[name] is not None:
            words += [option, str(arguments[name])]
    for text in arguments["assignments"]:
        words += ["--set", text]
    for url in arguments["metrics_urls"]:
        words += ["--metrics-url", url]
    if arguments["api_key_env"] is not None:
        words += ["--api-key-env", arguments["api_key_env"]]
    if arguments["api_key_file"] is not None:
        words += ["--api-key-file", str(arguments["api_key_file"])]
    for text in arguments["headers"]:
        words += ["--header", f"{text.partition(':')[0]}: ..."]
    if arguments["is_permitted"]:
        words.append(PERMISSION)
    return shlex.join(words)


def _overrides(assignments: tuple[str, ...]) -> dict[str, str]:
    overrides = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if not equals or not key.startswith("workload."):
            raise ConfigError(f"--set '{text}' does not have the form workload.KEY=VALUE", key="--set", value=text)
        overrides[key.strip()] = value.strip()
    return overrides

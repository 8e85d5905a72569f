"""From the words of a stress command to requests that can be run, after one look at each server.

Owns: the order of the checks: what costs nothing first, the server last. Does not own: options (`harness/cli`).
Floor 5. Source: ours.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

from harness.config.schema import WorkloadSpec
from harness.live.beside_request import beside_plan, beside_words
from harness.live.credentials import Credentials, Scrubber, read_credentials
from harness.live.limits import Limits
from harness.live.load_request import load_of, load_words
from harness.live.preflight import (
    chosen_model,
    list_models,
    refuse_long_prompts,
    refuse_speechless,
)
from harness.live.request import LiveRequest, Patience
from harness.live.serial.settings import serial_settings, serial_words
from harness.live.target import PERMISSION, Target, arms_of, target_of
from harness.live.tasks.asked import refuse_for, task_asked, with_found_task
from harness.live.tasks.ladder import SHORT_TOKENS
from harness.live.tasks.task import AUTO, Task
from harness.live.workload import live_workload
from harness.live.workloads.asked import files_of, fitted, planner_source
from harness.live.workloads.formats import FileWorkload
from harness.load.workload import build_workload, longest_prompt
from harness.simulation.run import MakeTransport
from harness.transport.accommodating import Accommodating
from harness.transport.contract import TransportOptions
from harness.transport.over_aiohttp import AiohttpTransport
from harness.transport.over_openai import OpenAITransport
from harness.transport.raw import RawTransport
from kernels.engine.shared import SharedModel
from kernels.errors import ConfigError
from results.layout import new_run_folder, remove_folder

TRANSPORTS: Final[Mapping[str, MakeTransport]] = MappingProxyType(
    {"raw": RawTransport, "aiohttp": AiohttpTransport, "openai": OpenAITransport}
)
DEFAULT_BLOCKS: Final = 6
_REPEATED: Final[Mapping[str, str]] = MappingProxyType({
    "sessions": "--sessions", "duration": "--duration", "prompt_tokens": "--prompt-tokens",
    "max_tokens": "--max-tokens", "tokens_max": "--tokens-max", "workload": "--workload", "transport": "--transport",
    "read_timeout": "--read-timeout", "seed": "--seed", "block_tokens": "--block-tokens", "plant": "--plant",
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


def blocks_of(arguments: Mapping[str, Any]) -> int:
    """Of each arm. Raises: ConfigError where there are no arms to divide the time between."""
    blocks = arguments["blocks"]
    if blocks is not None and not arguments["arms"]:
        raise ConfigError("--blocks belongs to --arm: one server is loaded without blocks", key="--blocks")
    return DEFAULT_BLOCKS if blocks is None else int(blocks)


def credentials_of(arguments: Mapping[str, Any]) -> Credentials:
    return read_credentials(arguments["api_key_env"], arguments["api_key_file"], arguments["headers"])


def transport_of(arguments: Mapping[str, Any]) -> Accommodating:
    """Raises: ConfigError for a proxy that the measuring client cannot use."""
    if arguments["proxies_from_environment"] and arguments["transport"] == "raw":
        what = "the raw transport speaks to the server itself; take --transport aiohttp to go through a proxy"
        raise ConfigError(what, key="--proxies-from-environment")
    return Accommodating(TRANSPORTS[arguments["transport"]])


def options_for(target: Target, arguments: Mapping[str, Any], credentials: Credentials) -> TransportOptions:
    return TransportOptions(
        target.base_url,
        api_key=credentials.api_key,
        headers=credentials.headers,
        connect_timeout_s=float(arguments["connect_timeout"]),
        read_timeout_s=float(arguments["read_timeout"]),
        use_environment_proxies=bool(arguments["proxies_from_environment"]),
    )


def stress_requests(
    arguments: Mapping[str, Any], duration_s: float | None, *, is_compared: bool = False
) -> tuple[list[LiveRequest], list[str]]:
    """One request for each server, and what is odd about them in words.

    Effect: asks each server for its models, and for one tool call. Raises: KVRaceError.

    Args:
        is_compared: the one server is an arm among others that come later: it gets what `--arm` gives each of its own.
    """
    targets, make, credentials = targets_of(arguments), transport_of(arguments), credentials_of(arguments)
    load = load_of(arguments, duration_s)
    blocks_of(arguments)
    if len(targets) > 1 and duration_s is not None:
        raise ConfigError("arms are compared over --blocks, each of them the same work; leave --duration out",
                          key="--duration")  # fmt: skip
    files = files_of(arguments)

    def workload_of(*, is_short: bool) -> WorkloadSpec:
        return live_workload(
            load,
            source=planner_source(files, arguments["workload"]),
            prompt_tokens=SHORT_TOKENS if is_short else arguments["prompt_tokens"],
            overrides=_overrides(arguments["assignments"]),
        )

    spec = workload_of(is_short=False)
    arm_count = max(len(targets), 2 if is_compared else 1)
    task = task_asked(arguments, arms=arm_count, is_file=files is not None)
    serial = serial_settings(arguments, arms=arm_count)
    seed, metrics = int(arguments["seed"]), metrics_of(arguments, count=len(targets))
    arms = [target.name for target in targets] if len(targets) > 1 else []
    besides = [beside_plan(arguments, target.name if arms else None, arms) for target in targets]
    requests, notes, rooms = [], [], []
    if not is_compared:
        # An arm among others is kept where its comparison is, and not here.
        _refuse_unwritable(Path(arguments["out"]))
    for target, beside in zip(targets, besides, strict=True):
        options = options_for(target, arguments, credentials)
        model, odd, room = asyncio.run(_look(make, options, arguments, credentials, spec, files, task))
        rooms.append(room)
        # A command of the user's own (--toxic-command) may hold a key.
        repeat = Scrubber(credentials.secrets).text(repeat_words(arguments, targets, model))
        notes += [f"{target.name}: {one}" if len(targets) > 1 else one for one in (*odd, *make.notes())]
        requests.append(
            LiveRequest(
                target=target, model=model, workload=spec, load=load, seed=seed,
                max_tokens=int(arguments["max_tokens"]),
                transport_name=arguments["transport"], transport=make, store=Path(arguments["out"]),
                repeat=repeat, credentials=credentials, beside=beside,
                limits=Limits(int(arguments["tokens_max"])),
                patience=Patience(float(arguments["connect_timeout"]), float(arguments["read_timeout"])),
                use_environment_proxies=bool(arguments["proxies_from_environment"]),
                metrics_urls=metrics,
                task=task or Task.CALL, serial=serial,
            )
        )  # fmt: skip
    if task is None:
        found, told = with_found_task(requests[0], workload_of, arguments["prompt_tokens"])
        requests, notes = [found], [*notes, *told]
    if files is not None:
        files, told = fitted(files, rooms, spec, seed, load, requests[0].max_tokens)
        requests, notes = [replace(request, files=files) for request in requests], [*notes, *told]
    return requests, notes


def metrics_of(arguments: Mapping[str, Any], *, count: int = 1) -> tuple[str, ...]:
    """count: of servers. Raises: ConfigError for what is no URL, and where nobody can tell whose it is."""
    if arguments["metrics_urls"] and count > 1:
        what = "--metrics-url names the metrics of one server; with --arm they are read beside each arm's own URL"
        raise ConfigError(what, key="--metrics-url")
    for url in arguments["metrics_urls"]:
        if urlsplit(url).username is not None:
            raise ConfigError("a --metrics-url with a password in it would be stored with the run", key="--metrics-url")
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise ConfigError(f"--metrics-url '{url}' is no URL", key="--metrics-url", value=url)
    return tuple(arguments["metrics_urls"])


async def _look(
    make: MakeTransport,
    options: TransportOptions,
    arguments: Mapping[str, Any],
    credentials: Credentials,
    spec: WorkloadSpec,
    files: FileWorkload | None,
    task: Task | None,
) -> tuple[str, list[str], int | None]:
    """The model, what is odd in words, and how many tokens it takes."""
    models = await list_models(options)
    model = chosen_model(arguments["model"], models)
    if files is not None and files.is_plain_text:
        await refuse_speechless(make, options, model, credentials)
        return model, [], models.context_tokens.get(model)
    odd = await refuse_for(task, make, options, model, credentials)
    if model in models.context_tokens and files is None:
        workload = build_workload(spec, int(arguments["seed"]), SharedModel().reader.count_tokens)
        refuse_long_prompts(longest_prompt(workload)[1], int(arguments["max_tokens"]), model, models)
    return model, odd, models.context_tokens.get(model)


def repeat_words(arguments: Mapping[str, Any], targets: tuple[Target, ...], model: str) -> str:
    """The command that asks again. A header's value is left out: it may be a secret."""
    words = ["python", "run.py", "stress"]
    for target in targets:
        words += ["--arm", f"{target.name}={target.base_url}"] if len(targets) > 1 else ["--base-url", target.base_url]
    words += ["--model", model]
    words += [*load_words(arguments), *beside_words(arguments)]
    if len(targets) > 1:
        words += ["--blocks", str(blocks_of(arguments))]
    for name, option in _REPEATED.items():
        if arguments[name] is not None:
            words += [option, str(arguments[name])]
    words += serial_words(arguments)
    words += [] if arguments["task"] == AUTO else ["--task", arguments["task"]]
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


def _refuse_unwritable(out: Path) -> None:
    """A disk that takes nothing is told before a server is asked. Effect: none that lasts. Raises: StorageProblem."""
    made = [folder for folder in (out, *out.parents) if not os.path.exists(folder)]
    remove_folder(new_run_folder(out, ".to-be-removed"))
    for folder in made:
        # A run that is refused for something else leaves nothing behind.
        with suppress(OSError):
            folder.rmdir()


def _overrides(assignments: tuple[str, ...]) -> dict[str, str]:
    overrides = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if not equals or not key.startswith("workload."):
            raise ConfigError(f"--set '{text}' does not have the form workload.KEY=VALUE", key="--set", value=text)
        overrides[key.strip()] = value.strip()
    return overrides

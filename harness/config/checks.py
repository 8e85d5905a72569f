"""Checks across keys: what each value allows alone, and what they do not allow together.

Owns: refusing, before anything starts, what cannot run, with the numbers. Does not own: bounds of one value
(`schema`), the exact sizes of a built workload (`harness.load.workload`). Floor 5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from harness.config.delays import scenario_delays
from harness.config.schema import Scenario, WorkloadSpec
from harness.config.toml_source import Entry
from kernels.errors import ConfigError
from kernels.hicache.geometry import preset
from kernels.hicache.remedy import REMEDIES
from kernels.substrate.cost_file import DEFAULT_COST_FILE

QUESTION_TOKENS = 48
"""A question with its key, rounded up."""
FACTS_SHARE = 0.8
"""Part of a message that may be facts."""


def check_scenario(scenario: Scenario, entries: Mapping[str, Entry]) -> None:
    """Raises: ConfigError at the first rule that is broken; `entries` gives the place of each key."""
    scenario_delays(scenario, entries)
    _check_cost_file(scenario, entries)
    _check_workload(scenario.workload, entries)
    _check_reply(scenario, entries)
    _check_pools(scenario, entries)
    _check_chunks(scenario, entries)
    _check_remedy(scenario, entries)
    _check_memory(scenario, entries)


def prompt_tokens_expected(spec: WorkloadSpec) -> int:
    """The longest prompt to expect: longest first message, most turns, tool results of mean size.

    A fork holds at most its parent's history, its own note, and its own turns on top.
    """
    mean = math.exp(min(spec.tool_result_log_mean + spec.tool_result_log_sigma**2 / 2, 50.0))
    turn = min(int(mean), spec.tool_result_tokens_max) + spec.call_tokens_max + QUESTION_TOKENS
    root = spec.system_tokens + spec.first_message_tokens_max + spec.turns_max * turn
    has_forks = round(spec.sessions * spec.fork_share) > 0
    return root + (spec.fork_note_tokens + spec.turns_max * turn if has_forks else 0)


def _refuse(what: str, key: str, entries: Mapping[str, Entry], allowed: tuple[str, ...] = ()) -> ConfigError:
    place = entries.get(key)
    return ConfigError(
        what,
        key=key,
        value=place.value if place else None,
        allowed=allowed,
        file=place.file if place else None,
        line=place.line if place else None,
    )


def _check_cost_file(scenario: Scenario, entries: Mapping[str, Entry]) -> None:
    if not cost_file_path(scenario.cost.file).is_file():
        names = tuple(sorted(path.stem for path in DEFAULT_COST_FILE.parent.glob("*.toml")))
        raise _refuse(f"no cost file '{scenario.cost.file}'", "cost.file", entries, allowed=names)


def cost_file_path(name: str) -> Path:
    """The file behind `cost.file`: one of the substrate's own by name, or a user's own by a path in `.toml`."""
    return Path(name) if name.endswith(".toml") else DEFAULT_COST_FILE.parent / f"{name}.toml"


def _check_workload(spec: WorkloadSpec, entries: Mapping[str, Entry]) -> None:
    for low, high in (("turns_min", "turns_max"), ("first_message_tokens_min", "first_message_tokens_max")):
        if getattr(spec, low) > getattr(spec, high):
            what = f"workload.{low} = {getattr(spec, low)} is more than workload.{high} = {getattr(spec, high)}"
            raise _refuse(what, f"workload.{low}", entries)
    if round(spec.sessions * spec.fork_share) > 0 and spec.turns_min < 2:
        what = "workload.fork_share needs sessions of two turns or more (workload.turns_min = 1): a fork begins midway"
        raise _refuse(what, "workload.fork_share", entries)
    _check_facts(spec, entries)


def _check_facts(spec: WorkloadSpec, entries: Mapping[str, Entry]) -> None:
    """The facts, at their longest, must leave some room for filler in their part of the shortest first message."""
    message = spec.first_message_tokens_min
    asked = spec.turns_max * spec.redundancy
    span = int(message * spec.fact_span * FACTS_SHARE)
    if asked * spec.call_tokens_max > span:
        what = (
            f"{spec.turns_max} facts written {spec.redundancy} time(s) at up to {spec.call_tokens_max} tokens need"
            f" {asked * spec.call_tokens_max} tokens, but the first {spec.fact_span:.0%} of a first message of"
            f" {message} tokens has room for {span}"
        )
        raise _refuse(what, "workload.first_message_tokens_min", entries)
    total = (asked + spec.decoys) * spec.call_tokens_max
    if total > message * FACTS_SHARE:
        what = (
            f"{asked} facts and {spec.decoys} decoys at up to {spec.call_tokens_max} tokens need {total} tokens, but a"
            f" first message of {message} tokens has room for {int(message * FACTS_SHARE)}"
        )
        raise _refuse(what, "workload.decoys", entries)


def _check_reply(scenario: Scenario, entries: Mapping[str, Entry]) -> None:
    longest, limit = scenario.workload.call_tokens_max, scenario.engine.max_new_tokens
    if longest >= limit:
        what = (
            f"engine.max_new_tokens = {limit} cannot hold a call of up to workload.call_tokens_max = {longest} tokens"
            " and its end"
        )
        raise _refuse(what, "engine.max_new_tokens", entries)


def _check_pools(scenario: Scenario, entries: Mapping[str, Entry]) -> None:
    prompt = prompt_tokens_expected(scenario.workload)
    pools = ["device_tokens", "decode_tokens"] + (["host_tokens"] if scenario.cache.hicache else [])
    for pool in pools:
        size = getattr(scenario.cache, pool)
        reply = scenario.engine.max_new_tokens if pool == "decode_tokens" else 0
        if prompt + reply > size:
            raise _refuse(_pool_sentence(scenario.workload, prompt, pool, size), f"cache.{pool}", entries)


def _check_chunks(scenario: Scenario, entries: Mapping[str, Entry]) -> None:
    chunk, page = scenario.engine.chunk_tokens, preset(scenario.cache.preset).page_tokens
    if chunk < page:
        what = f"engine.chunk_tokens = {chunk} is less than one page of {page} tokens: no prompt would ever get on"
        raise _refuse(what, "engine.chunk_tokens", entries)


def _check_remedy(scenario: Scenario, entries: Mapping[str, Entry]) -> None:
    cache = scenario.cache
    if cache.remedy == "none":
        return
    if cache.gate_index_k:
        what = (
            f"cache.remedy = '{cache.remedy}' stands in for the index-K read's own gate, and that is there: set"
            " cache.gate_index_k = false"
        )
        raise _refuse(what, "cache.remedy", entries)
    if scenario.engine.tp > 1 and REMEDIES[cache.remedy].host != "none":
        what = (
            f"cache.remedy = '{cache.remedy}' blocks a host thread in the middle of a forward, and ranks that wait for"
            " each other after every layer would fall out of step: set engine.tp = 1"
        )
        raise _refuse(what, "cache.remedy", entries)


def _check_memory(scenario: Scenario, entries: Mapping[str, Entry]) -> None:
    cache = scenario.cache
    if cache.kv_memory_gb is None and cache.index_formula != "allocated":
        what = f"cache.index_formula = '{cache.index_formula}' divides no memory: set cache.kv_memory_gb"
        raise _refuse(what, "cache.index_formula", entries)


def _pool_sentence(spec: WorkloadSpec, prompt: int, pool: str, size: int) -> str:
    return (
        f"a prompt of about {prompt} tokens (system {spec.system_tokens}, first message up to"
        f" {spec.first_message_tokens_max}, {spec.turns_max} turns, forks included) does not fit into"
        f" cache.{pool} = {size}"
    )

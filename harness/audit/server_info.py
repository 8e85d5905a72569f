"""A running server's own figures: SGLang's `/server_info`, from the server or from a file.

Owns: fetching it, and which field means what. Does not own: the verdict (`kernels.hicache.audit`). Floor 5.
Source: SGLang 0.5.16 and 0.5.23, `http_server.server_info` (server arguments, scheduler info, `internal_states`) and
`get_internal_state` (`memory_usage`, in GiB). `/get_server_info` is the route's older name.

0.5.16 reports `memory_usage.kvcache` as 0 for DeepSeek-V4, whose pool never sets it; then only `--memory` can tell.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson

from harness.audit.errors import CannotJudgeError
from kernels.errors import ConfigError, EnvironmentProblem
from kernels.hicache.audit.costs import Formula
from kernels.hicache.audit.judgement import Question
from kernels.hicache.audit.rules import RULES, Rules, RulesName
from kernels.hicache.geometry import Geometry, paged, preset, preset_names
from kernels.hicache.sizing import IndexFormat, PoolFormats

_ROUTES = ("/server_info", "/get_server_info")
_PATIENCE_S = 10.0
_GIB = 2**30
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
_ROUNDING_GIB = 0.005
"""`memory_usage` is rounded to two or three places; the server has the benefit of it."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the user knows better than the server says; None: ask the server."""

    preset: str | None = None
    index_k: IndexFormat | None = None
    formula: Formula | None = None
    memory_bytes: int | None = None
    rules: RulesName | None = None


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """The question that a server's figures come to. notes: what had to be assumed."""

    question: Question
    source: str
    version: str
    notes: tuple[str, ...]


def read_server_info(where: str) -> Mapping[str, Any]:
    """The JSON object at a URL or in a file.

    Raises: ConfigError for what is no JSON object; EnvironmentProblem where nobody answers.
    """
    if where.startswith(("http://", "https://")):
        body = asyncio.run(_fetch(where))
    else:
        try:
            body = Path(where).read_bytes()
        except OSError as problem:
            reason = (problem.strerror or "unreadable").lower()
            what = f"--server-info '{where}' is no URL (http://...), and no file either: {reason}"
            raise ConfigError(what, key="--server-info", value=where) from problem
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError as problem:
        raise ConfigError(f"{where} is not JSON: {problem}", key="--server-info", value=where) from problem
    if not isinstance(fields, dict):
        raise ConfigError(f"{where} holds no JSON object", key="--server-info", value=where)
    return fields


async def _fetch(url: str) -> bytes:
    """GET the URL itself where it has a path, else the route by its new and its old name."""
    parts = urlsplit(url)
    paths = _ROUTES if parts.path in ("", "/") else (parts.path,)
    status = 0
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_PATIENCE_S)) as session:
            for path in paths:
                async with session.get(parts._replace(path=path).geturl()) as answer:
                    status = answer.status
                    if status == 200:
                        return await answer.read()
    except (aiohttp.ClientError, TimeoutError, ValueError) as problem:
        reason = str(problem) or f"no answer within {_PATIENCE_S:g} s"
        remedy = "save its /server_info to a file, and give that"
        raise EnvironmentProblem(f"{url} cannot be reached: {reason}", remedy=remedy) from problem
    what = f"{url} answers {status} to {' and '.join(paths)}"
    raise EnvironmentProblem(what, remedy="is it an SGLang server? save its /server_info to a file, and give that")


def server_question(fields: Mapping[str, Any], given: Given, source: str) -> ServerQuestion:
    """What is to be judged. Raises: CannotJudgeError that names every field that is missing or not modelled."""
    usage = _memory_usage(fields)
    missing = _not_modelled(fields)
    geometry = _geometry(fields, given, missing)
    tokens = _number(fields.get("max_total_num_tokens")) or _number(usage.get("token_capacity"))
    if tokens is None:
        missing.append("max_total_num_tokens is missing")
    page_tokens = _number(fields.get("page_size"))
    if page_tokens is None:
        missing.append("page_size is missing")
    ratio = _swa_ratio(fields, usage, tokens)
    if ratio is None and geometry is not None and geometry.has_window:
        missing.append("swa_full_tokens_ratio is missing")
    rules = RULES[given.rules] if given.rules is not None else _rules(fields, missing)
    memory = given.memory_bytes or _memory_bytes(usage)
    if memory is None:
        missing.append(
            "internal_states[0].memory_usage.kvcache is missing or 0: give --memory, which is available_bytes of the"
            " server's start-up line 'DSV4 memory calculation'"
        )
    if missing or geometry is None or tokens is None or page_tokens is None or memory is None or rules is None:
        raise CannotJudgeError(source, missing)
    notes: list[str] = []
    index_k = given.index_k or _index_k(fields, notes)
    question = Question(
        geometry=paged(geometry, int(page_tokens)),
        requests=_requests(fields, geometry, notes),
        formats=PoolFormats(index_k=index_k),
        formula=given.formula or index_k,
        memory_bytes=memory,
        rules=rules,
        tokens=int(tokens),
    )
    if ratio is not None:
        question = replace(question, swa_ratio=ratio)
    return ServerQuestion(question, source, str(fields.get("version", "of unknown version")), tuple(notes))


def _state(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first data-parallel worker's own state; all have the same pools."""
    states = fields.get("internal_states")
    first = states[0] if isinstance(states, list) and states else None
    return first if isinstance(first, dict) else {}


def _memory_usage(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    usage = _state(fields).get("memory_usage")
    return usage if isinstance(usage, dict) else {}


def _requests(fields: Mapping[str, Any], geometry: Geometry, notes: list[str]) -> int:
    """Running requests that the c128 states are sized for."""
    if "c128_state" not in geometry.pool_kinds:
        return 0
    told = _state(fields).get("effective_max_running_requests_per_dp") or fields.get("max_running_requests")
    requests = int(_number(told) or 0)
    if not requests:
        notes.append("max_running_requests is not told, so c128 states, which go by request, are left out")
        return 0
    is_decode = fields.get("disaggregation_mode") == "decode"
    extra = int(_number(fields.get("disaggregation_decode_extra_slots")) or 0) if is_decode else 0
    return requests + extra


def _number(value: object) -> float | None:
    """A positive number, or None."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def _memory_bytes(usage: Mapping[str, Any]) -> int | None:
    reported = _number(usage.get("kvcache"))
    return None if reported is None else round((reported + _ROUNDING_GIB) * _GIB)


def _swa_ratio(fields: Mapping[str, Any], usage: Mapping[str, Any], tokens: float | None) -> float | None:
    """The window pool's share: by its own tokens where they are told, else by the server's argument."""
    window = _number(usage.get("token_capacity_swa"))
    if window is not None and tokens is not None:
        return (window + 0.5) / tokens
    return _number(fields.get("swa_full_tokens_ratio"))


def _index_k(fields: Mapping[str, Any], notes: list[str]) -> IndexFormat:
    found: IndexFormat = "fp4" if fields.get("enable_deepseek_v4_fp4_indexer") is True else "fp8"
    notes.append(
        f"index-K is taken to be {found}, the only formats of SGLang's own pools being fp8 and fp4; a build that stores"
        " it as bf16 does not say so: give --index-k bf16"
    )
    return found


def _rules(fields: Mapping[str, Any], missing: list[str]) -> Rules | None:
    """The rules of the server's version. Between the two that are known, nobody has looked when they changed."""
    told = str(fields.get("version") or "")
    number = _VERSION.match(told)
    if number is None:
        words = f"version '{told}' is none of SGLang's" if told else "version is missing"
        missing.append(f"{words}: give --rules {'|'.join(RULES)}")
        return None
    version = tuple(int(part) for part in number.groups())
    if version <= (0, 5, 16):
        return RULES["0.5.16"]
    if version >= (0, 5, 23):
        return RULES["0.5.23"]
    missing.append(f"version {told} lies between those whose rules are known: give --rules {'|'.join(RULES)}")
    return None


def _geometry(fields: Mapping[str, Any], given: Given, missing: list[str]) -> Geometry | None:
    if given.preset is not None:
        return preset(given.preset)
    names = [str(fields.get(key) or "") for key in ("model_path", "served_model_name")]
    plain = " ".join(names).lower().replace("_", "-")
    if "deepseek-v4" in plain or "deepseekv4" in plain:
        return preset("deepseek-v4-pro" if "pro" in plain else "deepseek-v4-flash")
    if "deepseek-v3.2" in plain:
        return preset("dsa")
    told = f"model_path is '{names[0]}'" if names[0] else "model_path is missing"
    missing.append(f"{told}, which names no known geometry: give --preset {'|'.join(preset_names())}")
    return None


def _not_modelled(fields: Mapping[str, Any]) -> list[str]:
    """Settings that change the pools in ways that this arithmetic does not follow."""
    found = []
    if fields.get("speculative_algorithm"):
        found.append(f"speculative_algorithm = {fields['speculative_algorithm']}: a draft's pools are not modelled")
    if (_number(fields.get("pp_size")) or 1) > 1:
        found.append(f"pp_size = {fields['pp_size']}: which layers a rank has is not told")
    if fields.get("enable_hisparse"):
        found.append("enable_hisparse: a shrunken c4 pool is not modelled")
    dtype = fields.get("kv_cache_dtype")
    if dtype not in (None, "auto", "fp8_e4m3"):
        found.append(f"kv_cache_dtype = {dtype}: only fp8_e4m3 latents are modelled")
    return found

"""One look before the load: is the server there, has it the model, does it take tools, is its context long enough?

Owns: the questions, and that each answer that ends a run is one sentence. Does not own: what a server can do besides
(`probing`). Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import orjson

from harness.live.credentials import Credentials, Scrubber
from harness.live.errors import ServerRefuses, UnknownModel, unusable
from harness.load.clock import WallClock
from harness.simulation.run import MakeTransport
from harness.transport.contract import ChatRequest, Reply, TransportOptions
from harness.transport.errors import EngineProtocolError
from kernels.errors import ConfigError, EnvironmentProblem

TOOL: Final[Mapping[str, Any]] = {
    "type": "function",
    "function": {
        "name": "open_door",
        "description": "Open a door.",
        "parameters": {
            "type": "object",
            "properties": {"door": {"type": "string"}, "wide": {"type": "boolean"}},
            "required": ["door", "wide"],
        },
    },
}
ASK: Final = (
    "Entries of the notes are a key between double square brackets, the name of a tool and its arguments.\n"
    '[[first]] open_door {"door": "north-4", "wide": true}\n[[second]] open_door {"door": "south-9", "wide": false}\n'
    "Answer with the call of entry ((first)) and nothing else."
)
EXPECTED_ARGUMENTS: Final[Mapping[str, Any]] = {"door": "north-4", "wide": True}
_TOKENS: Final = 96
_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class ModelList:
    """What GET /models says. context_tokens: by model, where it is told. note: in words, where it says nothing."""

    names: tuple[str, ...]
    context_tokens: Mapping[str, int]
    note: str


async def list_models(options: TransportOptions) -> ModelList:
    """Raises: EnvironmentProblem where nobody answers, ConfigError where the key is refused."""
    url = f"{options.base_url}/models"
    headers = dict(options.headers)
    if options.api_key is not None:
        headers["Authorization"] = f"Bearer {options.api_key}"
    timeout = aiohttp.ClientTimeout(total=_SECONDS, sock_connect=options.connect_timeout_s)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=options.use_environment_proxies) as session,
            session.get(url, headers=headers) as response,
        ):
            raw, status = await response.read(), response.status
    except aiohttp.ClientConnectorCertificateError as problem:
        what = f"{url}: its certificate is not trusted ({problem.certificate_error})"
        raise EnvironmentProblem(what, remedy="name its authority in SSL_CERT_FILE") from None
    except TimeoutError:
        raise EnvironmentProblem(f"{url} does not answer", remedy="check --base-url, and that it is up") from None
    except aiohttp.ClientError as problem:
        # The library's own sentence names its arguments; a refused connection needs none of that.
        is_refused = isinstance(problem, aiohttp.ClientConnectorError) and isinstance(
            problem.os_error, ConnectionRefusedError
        )
        why = "nobody listens there" if is_refused else str(problem)
        what = f"{url} cannot be reached: {why}"
        raise EnvironmentProblem(what, remedy="check --base-url, and that the server is up") from None
    if status in (401, 403):
        raise unusable(EngineProtocolError("http_status", status=status), options.base_url)
    return read_models(status, raw)


def read_models(status: int, raw: bytes) -> ModelList:
    try:
        fields = orjson.loads(raw)
    except orjson.JSONDecodeError:
        fields = None
    entries = fields.get("data") if isinstance(fields, dict) else None
    if status != 200 or not isinstance(entries, list):
        return ModelList((), {}, f"no list of models (status {status})")
    models = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
    lengths = {entry["id"]: room for entry in models if (room := _context_tokens(entry)) is not None}
    return ModelList(tuple(entry["id"] for entry in models), lengths, "")


def _context_tokens(entry: Mapping[str, Any]) -> int | None:
    """vLLM and SGLang tell it beside the name, llama.cpp as what one of its slots takes."""
    meta = entry.get("meta")
    told = entry.get("max_model_len", meta.get("n_ctx") if isinstance(meta, dict) else None)
    return told if isinstance(told, int) and not isinstance(told, bool) else None


def chosen_model(asked: str | None, models: ModelList) -> str:
    """Raises: UnknownModel; ConfigError where none was asked for and the server has not exactly one."""
    if asked is None:
        if len(models.names) == 1:
            return models.names[0]
        why = models.note or f"the server has {len(models.names)}"
        why += "" if models.names else "; most base URLs end in /v1"
        raise ConfigError(f"no --model was named, and {why}", key="--model", allowed=models.names)
    if models.names and asked not in models.names:
        raise UnknownModel(asked, models.names)
    return asked


def refuse_long_prompts(prompt_tokens: int, max_tokens: int, model: str, models: ModelList) -> None:
    """Raises: ConfigError. Our count of tokens is not the server's, so only what is clearly too long is refused."""
    room = models.context_tokens.get(model)
    if room is not None and prompt_tokens + max_tokens > room:
        what = f"the longest prompt has about {prompt_tokens:,} tokens, and {model} takes {room:,} with the reply"
        raise ConfigError(f"{what}; choose shorter ones with --prompt-tokens", key="--prompt-tokens")


async def ask_once(
    make: MakeTransport, options: TransportOptions, model: str, scrubber: Scrubber, *, preface: str = "", **fields: Any
) -> Reply:
    """One request with a tool whose right answer is known. preface: text to put in front of it."""
    clock = WallClock()
    transport = make(options, now_ns=lambda: clock.now_ns)
    messages = [{"role": "user", "content": f"{preface}\n{ASK}" if preface else ASK}]
    asked: dict[str, Any] = {"tools": [TOOL], "max_tokens": _TOKENS, **fields}
    try:
        return scrubber.reply(await transport.chat(ChatRequest("preflight", model, messages, **asked)))
    finally:
        await transport.close()


async def refuse_unusable(
    make: MakeTransport, options: TransportOptions, model: str, credentials: Credentials
) -> list[str]:
    """Ask for one tool call. Raises: KVRaceError where a run could show nothing. Gives what is odd, in words."""
    scrubber = Scrubber(credentials.secrets)
    reply = await ask_once(make, options, model, scrubber)
    if reply.error is None:
        return [] if reply.tool_calls else ["the model answered a first request for a call without one"]
    if isinstance(reply.error, EngineProtocolError) and reply.error.status in (400, 422, 501):
        plain = await ask_once(make, options, model, scrubber, tools=())
        if plain.error is None:
            what = f"{options.base_url} takes no tools: {reply.error}"
            raise ServerRefuses(what, remedy="start the server with tool calls enabled (a tool-call parser)")
    raise unusable(reply.error, options.base_url)


async def refuse_speechless(
    make: MakeTransport, options: TransportOptions, model: str, credentials: Credentials
) -> None:
    """Ask for text, for a workload that needs no tools. Raises: KVRaceError where no answer comes."""
    reply = await ask_once(make, options, model, Scrubber(credentials.secrets), tools=())
    if reply.error is not None:
        raise unusable(reply.error, options.base_url)

"""What a server can do and cannot, found out in about a minute, and what a run against it could prove.

Owns: the questions, one after the other, each with its own answer. Does not own: the load (`run.py`), the words on the
screen (`harness/cli/probe.py`). Floor 5. Source: facts/bugs.md sections 5 and 6; the questions that operators ask by
hand. A question that cannot be answered says so; nothing here is a guess.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from harness.live.credentials import Credentials, Scrubber
from harness.live.host_tier import Exchanged, TierAnswer, force_host_tier
from harness.live.preflight import EXPECTED_ARGUMENTS, TOOL, ModelList, ask_once
from harness.live.probed import Answer, Probed
from harness.live.scrape import metrics_urls
from harness.live.tasks.ladder import Climber
from harness.live.tasks.probe import masters_calls, probe_tasks, task_sentence
from harness.simulation import provenance
from harness.simulation.run import MakeTransport
from harness.transport.contract import Reply, TransportOptions
from harness.transport.own_origin import session_beside

REPEATS_ALONE = 8
_SEED = 22811
_REPLY_TOKENS = 160
_SECONDS = 10.0
_DATE_STEP_S = 2.0
"""The header is cut to the second, and the answer has travelled."""


@dataclass(frozen=True, slots=True, eq=False)
class Prober:
    """Asks one server. concurrency: of the A/A comparison under load."""

    make: MakeTransport
    options: TransportOptions
    model: str
    models: ModelList
    credentials: Credentials
    concurrency: int
    metrics_urls: tuple[str, ...] = ()

    async def ask(self, **fields: Any) -> Reply:
        return await ask_once(self.make, self.options, self.model, Scrubber(self.credentials.secrets), **fields)

    async def all(self) -> list[Probed]:
        """Every question. Raises: nothing that a server can cause."""
        streamed = await self.ask()
        found = [
            Probed("models", "yes" if self.models.names else "unknown",
                   self.models.note or f"lists {', '.join(self.models.names[:8])}"),
            self._context(),
            _streaming(streamed),
            await self._whole(),
            _tools(streamed),
            await self._tool_choice(),
            _usage(streamed),
            await self._logprobs(),
            _quirks(streamed),
        ]  # fmt: skip
        found += await probe_tasks(self._climber())
        found += await self._determinism()
        return found + await self._endpoints()

    def _climber(self) -> Climber:
        scrubber = Scrubber(self.credentials.secrets)
        return Climber(self.make, self.options, self.model, scrubber, _SEED, _REPLY_TOKENS, REPEATS_ALONE)

    def _context(self) -> Probed:
        room = self.models.context_tokens.get(self.model)
        if room is None:
            return Probed("context limit", "unknown", "the list of models does not tell it")
        return Probed("context limit", "yes", f"{room:,} tokens")

    async def _whole(self) -> Probed:
        reply = await self.ask(stream=False)
        if reply.error is not None:
            return Probed("not streamed", "no", str(reply.error))
        return Probed("not streamed", "yes", f"finish reason {reply.finish_reason}")

    async def _tool_choice(self) -> Probed:
        forced = {"type": "function", "function": {"name": TOOL["function"]["name"]}}
        reply = await self.ask(extra={"tool_choice": forced})
        if reply.error is not None:
            return Probed("tool_choice", "no", str(reply.error))
        if not reply.tool_calls:
            return Probed("tool_choice", "no", "a named tool was asked for, and the reply has no call")
        return Probed("tool_choice", "yes", "a named tool gives a call")

    async def _logprobs(self) -> Probed:
        reply = await self.ask(extra={"logprobs": True, "top_logprobs": 5})
        if reply.error is not None:
            return Probed("logprobs", "no", str(reply.error))
        has = reply.raw is not None and '"top_logprobs"' in reply.raw
        detail = "every token has its best rivals" if has else "asked for, and not in the reply"
        return Probed("logprobs", "yes" if has else "no", detail)

    async def _determinism(self) -> list[Probed]:
        alone = [await self.ask() for _ in range(REPEATS_ALONE)]
        loaded = await asyncio.gather(*(self.ask() for _ in range(self.concurrency)))
        return [_same("same reply again, alone", alone), _same(f"same reply, {self.concurrency} at once", loaded)]

    async def _endpoints(self) -> list[Probed]:
        root = self.options.base_url.removesuffix("/v1")
        async with session_beside(self.options, total_s=_SECONDS) as session:
            exchanged = Exchanged(session, root, metrics_urls(self.options.base_url, self.metrics_urls))
            await exchanged.ask("GET", "/health")
            skew = _skew(exchanged)
            metrics = await exchanged.metrics()
            tier = await force_host_tier(exchanged, self.ask)
        return [_metrics(*metrics), skew, tier.flush, _tier(tier)]


def _streaming(reply: Reply) -> Probed:
    if reply.error is not None:
        return Probed("streaming", "no", str(reply.error))
    detail = f"status {reply.status}, {len(reply.text_ns)} pieces of text, finish reason {reply.finish_reason}"
    return Probed("streaming", "yes", detail)


def _tools(reply: Reply) -> Probed:
    if reply.error is not None:
        return Probed("tools", "no", str(reply.error))
    if not reply.tool_calls:
        shown = reply.content.strip()[:60]
        return Probed("tools", "no", f"a call was asked for, and the reply is text: '{shown}'")
    call = reply.tool_calls[0]
    try:
        is_right = call.name == "open_door" and orjson.loads(call.arguments) == EXPECTED_ARGUMENTS
    except orjson.JSONDecodeError:
        is_right = False
    detail = "the planted call came back" if is_right else f"a wrong call came back: {call.name} {call.arguments[:80]}"
    return Probed("tools", "yes" if is_right else "no", detail)


def _usage(reply: Reply) -> Probed:
    usage = reply.usage
    if usage is None:
        return Probed("usage", "no", "the stream tells no token counts")
    cached = "no cached tokens are told" if usage.cached_tokens is None else f"{usage.cached_tokens} of them cached"
    return Probed("usage", "yes" if usage.cached_tokens is not None else "no",
                  f"{usage.prompt_tokens} prompt tokens, {cached}")  # fmt: skip


def _quirks(reply: Reply) -> Probed:
    seen = ", ".join(name.replace("_", " ") for name in reply.quirks)
    return Probed("parser quirks", "yes" if seen else "no", seen or "none seen in one stream")


def _same(question: str, replies: Sequence[Reply]) -> Probed:
    failed = [reply for reply in replies if reply.error is not None]
    if failed:
        return Probed(question, "unknown", f"{len(failed)} of {len(replies)} requests failed: {failed[0].error}")
    said = {(reply.content, tuple((call.name, call.arguments) for call in reply.tool_calls)) for reply in replies}
    if len(said) == 1:
        return Probed(question, "yes", f"{len(replies)} requests, one reply")
    return Probed(question, "no", f"{len(replies)} requests at temperature 0, {len(said)} different replies")


def _metrics(found: Mapping[str, float] | None, note: str) -> Probed:
    if found is None:
        return Probed("metrics", "no", note)
    return Probed("metrics", "yes" if found else "no", ", ".join(sorted(found)) or "none that is known here")


def _skew(exchanged: Exchanged) -> Probed:
    try:
        sent = parsedate_to_datetime(exchanged.date_header)
    except (TypeError, ValueError):
        return Probed("clock skew", "unknown", "no Date header")
    skew_s = (sent - provenance.utc_now()).total_seconds()
    if abs(skew_s) <= _DATE_STEP_S:
        return Probed("clock skew", "no", "none that a Date header of whole seconds can show")
    return Probed("clock skew", "yes", f"the server's clock is {skew_s:+.0f} s off ours")


def _tier(tier: TierAnswer) -> Probed:
    return Probed("host tier used", tier.answer, tier.detail)


def conclusions(found: Sequence[Probed]) -> list[str]:
    """What a stress run against this server will and will not be able to prove."""
    answers: Mapping[str, Answer] = {one.question: one.answer for one in found}
    lines = []
    if answers.get("streaming") == "no":
        return ["A run can prove nothing: the server does not answer a streamed request."]
    if answers.get("tools") == "yes" and masters_calls(found):
        lines.append("A wrong call is corruption: alone, the model copies the planted one.")
    else:
        lines.append("A wrong call proves little: the model fails the task without any load. Foreign secrets, salad, "
                     "loops and broken markup still count.")  # fmt: skip
    task = task_sentence(found)
    lines += [task] if task is not None else []
    same_alone = answers.get("same reply again, alone")
    same_loaded = next((one.answer for one in found if one.question.endswith("at once")), "unknown")
    if (same_alone, same_loaded) == ("yes", "yes"):
        lines.append("A reply that differs from the serial one is a finding: the server repeats itself, loaded too.")
    else:
        lines.append("A reply that differs from the serial one is no finding: the server does not repeat itself.")
    if answers.get("host tier used") == "yes":
        lines.append("A clean run is worth something: evicted prompts do come back from the host tier.")
    else:
        lines.append("A clean run does not clear the host tier: nothing shows that it is used.")
    if answers.get("logprobs") != "yes":
        lines.append("Rounding and corruption cannot be told apart by margins: there are no logprobs.")
    return lines

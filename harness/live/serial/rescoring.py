"""Asking the quiet server how probable a loaded reply is: token by token, or all at once.

Owns: two ways of asking. Does not own: what a gap means (`results/serial/rescoring`). Floor 5. Source: vLLM's
`prompt_logprobs` over a conversation that ends with the reply; `continue_final_message` of vLLM and SGLang (llama.cpp
continues without being told), which gives the next token after a begun reply. OpenAI's own API has neither.

The first way costs one request a reply and takes calls too. It makes the server score its whole prompt, which some run
out of memory over; so nothing is re-scored unless somebody wants it. The second takes text only, one token a request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

import orjson

from harness.live.limits import TokenBudget
from harness.live.serial.asking import Asker
from harness.live.serial.settings import RESCORED_MAX
from harness.transport.contract import Reply, Transport
from results.findings import Verdict
from results.oracles.divergence import Observed
from results.oracles.logprobs import Token, best_first, scored, tokens_in
from results.records import TurnRecord
from results.serial.record import Rescored, SerialTurn
from results.serial.turns import Asked

_RIVALS: Final = 10
_STEPS_MAX: Final = 24


@dataclass(frozen=True, slots=True)
class Gaps:
    """The worst token of a reply: how far behind the best of its place, in nats."""

    gap: float
    tokens: int
    place: int
    token: str
    rival: str


class Rescorer:
    """note: what it was done by, or why not. found: what has been told so far. requests: how many it sent."""

    def __init__(self, asker: Asker, transport: Transport, budget: TokenBudget, *, is_wanted: bool) -> None:
        self.note = "not asked for" if not is_wanted else "no reply was left to re-score"
        self.requests = 0
        self.found: list[Rescored] = []
        self._asker = asker
        self._transport = transport
        self._budget = budget
        self._is_wanted = is_wanted

    async def all(self, asked: Sequence[Asked], turns: Sequence[SerialTurn]) -> None:
        """Of the turns that are not simply right: the first few. Raises: nothing that a server can cause."""
        wanted = [one for one, turn in zip(asked, turns, strict=True) if turn.verdict is not Verdict.OK]
        for one in wanted[:RESCORED_MAX] if self._is_wanted else ():
            if self._budget.is_passed:
                self.note += "; ended early: the token budget was spent"
                break
            rescored = await self._one(one)
            if rescored is not None:
                self.found.append(rescored)
            elif not self.found:
                # A server that cannot do it for one reply cannot do it for the next either.
                break

    async def _one(self, asked: Asked) -> Rescored | None:
        reference = asked.answers_alone[0].turn
        loaded = _differing(asked)
        if loaded is None:
            return None
        for way, name in ((self._at_once, "prompt_logprobs"), (self._step_by_step, "continue_final_message")):
            gaps = await way(loaded, reference)
            if gaps is None:
                continue
            control = await way(reference, loaded)
            self.note = f"by {name}"
            return Rescored(
                loaded.session, loaded.turn, gaps.gap, None if control is None else control.gap, gaps.tokens,
                gaps.place, gaps.token, gaps.rival,
            )  # fmt: skip
        self.note = "the server gives no log-probabilities of a text that is given to it, in no way that is known here"
        return None

    async def _at_once(self, turn: TurnRecord, _: TurnRecord) -> Gaps | None:
        """The conversation with the reply at its end, scored as a prompt."""
        if turn.prompt_tokens is None or not turn.completion_tokens:
            return None
        extra = {"prompt_logprobs": _RIVALS, "add_generation_prompt": False}
        reply = await self._sent(turn, _said(turn), extra)
        places = _prompt_logprobs(reply)
        # What the template puts behind a reply was never generated, so it is left out.
        of_reply = places[turn.prompt_tokens : turn.prompt_tokens + turn.completion_tokens]
        return _worst(of_reply) if of_reply else None

    async def _step_by_step(self, turn: TurnRecord, other: TurnRecord) -> Gaps | None:
        """The next token after each beginning of the reply, from the word on in which the two replies part."""
        if turn.tool_calls or not turn.content:
            return None
        seen: list[Token] = []
        begun = _common_words(turn.content, other.content)
        rest = turn.content[len(begun) :]
        while rest and len(seen) < _STEPS_MAX:
            token = await self._next_token(turn, begun)
            if token is None:
                return None
            known = [(text, logprob) for text, logprob in token.best if text and rest.startswith(text)]
            if not known:
                # It is not among the best few: at least as far behind as the last of them.
                # What is left may be blanks alone.
                seen.append(Token((rest.split(maxsplit=1) or [rest])[0], token.best[-1][1], token.best))
                break
            text, logprob = max(known, key=lambda one: len(one[0]))
            seen.append(Token(text, logprob, token.best))
            begun, rest = begun + text, rest[len(text) :]
        return _worst(seen) if seen else None

    async def _next_token(self, turn: TurnRecord, begun: str) -> Token | None:
        extra: dict[str, Any] = {"logprobs": True, "top_logprobs": _RIVALS}
        if begun:
            extra |= {"continue_final_message": True, "add_generation_prompt": False}
        reply = await self._sent(turn, {"role": "assistant", "content": begun} if begun else None, extra)
        if reply.error is not None or reply.raw is None:
            return None
        return next((token for token in tokens_in(reply.raw) if token.best), None)

    async def _sent(self, turn: TurnRecord, said: Mapping[str, Any] | None, extra: Mapping[str, Any]) -> Reply:
        request = self._asker.request(turn, said=said, max_tokens=1, stream=False, extra=dict(extra))
        self.requests += 1
        reply = await self._transport.chat(request)
        told = reply.usage.prompt_tokens if reply.usage is not None else None
        self._budget.spent += told or self._asker.planned_tokens(turn)
        return reply


def _common_words(text: str, other: str) -> str:
    """What both begin with, up to a word's end: most tokens begin with the blank in front of a word."""
    common = text[: sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, other, strict=False)))]
    return common[: max((place for place, sign in enumerate(common) if sign.isspace()), default=0)]


def _differing(asked: Asked) -> TurnRecord | None:
    """The loaded reply that is in question: wrong, or unlike the one alone."""
    reference = asked.answers_alone[0].turn
    loaded: tuple[Observed, ...] = asked.replies().loaded
    return next((one.turn for one in loaded if _said(one.turn) != _said(reference)), None)


def _said(turn: TurnRecord) -> dict[str, Any]:
    """The reply as a message of history."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.content or None}
    if turn.tool_calls:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for number, call in enumerate(turn.tool_calls)
        ]
    return message


def _prompt_logprobs(reply: Reply) -> list[Token]:
    """One token a place; the first place of a prompt has none, and becomes an empty one."""
    try:
        fields = orjson.loads(reply.raw or "null")
    except orjson.JSONDecodeError:
        return []
    places = fields.get("prompt_logprobs") if isinstance(fields, dict) and reply.error is None else None
    return [_place(place) for place in places] if isinstance(places, list) else []


def _place(place: object) -> Token:
    """The first entry is the prompt's own token, the others are the best of its place."""
    entries = list(place.values()) if isinstance(place, dict) else []
    known = [scored(entry, "decoded_token") for entry in entries]
    own = known[0] if known else None
    return Token("", 0.0, ()) if own is None else Token(*own, best_first(known))


def _worst(tokens: Sequence[Token]) -> Gaps:
    place, token = max(enumerate(tokens), key=lambda one: _gap(one[1]))
    rival = token.best[0][0] if token.best else ""
    return Gaps(_gap(token), len(tokens), place, token.text, rival)


def _gap(token: Token) -> float:
    return max(0.0, token.best[0][1] - token.logprob) if token.best else 0.0

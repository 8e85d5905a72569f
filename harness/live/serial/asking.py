"""Asking one turn again: the same body, alone or beside others, and its reply as a record.

Owns: the request and the record. Does not own: order and number (`check`). Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from harness.load.clock import Clock
from harness.load.names import request_name
from harness.load.turn_record import answered, unanswered
from harness.load.workload.planned import PlannedSession
from harness.transport.contract import ChatRequest, Reply, Transport
from harness.transport.errors import EngineProtocolError
from results.records import TurnRecord

_LOGPROBS: Final[Mapping[str, Any]] = {"logprobs": True, "top_logprobs": 10}
_SALT: Final = "cache_salt"
_REFUSALS: Final = (400, 404, 405, 422, 501)

PlanOf = Callable[[int], PlannedSession]


_ASKED_FOR: Final = ((True, True), (True, False), (False, True), (False, False))
"""Log-probabilities and a salt: what is tried next when a server refuses a request for its fields."""


class Asker:
    """has_logprobs, has_salt: whether the requests ask for them; less of it once the server has refused one."""

    def __init__(
        self, transport: Transport, plan_of: PlanOf, clock: Clock, *, model: str, max_tokens: int, salt: str
    ) -> None:
        self.has_logprobs = True
        self.has_salt = False
        self._transport = transport
        self._plan_of = plan_of
        self._clock = clock
        self._model = model
        self._max_tokens = max_tokens
        self._salt = salt
        self._left = list(_ASKED_FOR)

    def __repr__(self) -> str:
        return f"Asker({self._transport!r}, logprobs={self.has_logprobs}, salt={self.has_salt})"

    def salts(self, *, is_wanted: bool) -> None:
        """Before the first request: whether each pass is to have a salt of its own."""
        self._left = [asked for asked in _ASKED_FOR if is_wanted or not asked[1]]
        self.has_logprobs, self.has_salt = self._left[0]

    def planned_tokens(self, loaded: TurnRecord) -> int:
        return self._plan_of(loaded.session).prompt_tokens(loaded.turn) + self._max_tokens

    async def ask(self, loaded: TurnRecord, *, salt: str = "") -> TurnRecord:
        """The turn once more. The name is the same, so that a router sends it to the same worker."""
        reply, sent_ns = await self._sent(loaded, salt)
        while self._was_too_much(reply):
            reply, sent_ns = await self._sent(loaded, salt)
        sent = unanswered(self._plan_of(loaded.session), loaded.turn, scheduled_ns=sent_ns, sent_ns=sent_ns)
        return replace(answered(sent, reply, reply.arrived), request_id=loaded.request_id, max_tokens=loaded.max_tokens)

    def request(self, loaded: TurnRecord, *, said: Mapping[str, Any] | None = None, **changes: Any) -> ChatRequest:
        """The loaded turn's own request.

        Args:
            said: a message behind the plan's own ones. changes: of fields; `extra` is added to what the plan has.
        """
        plan = self._plan_of(loaded.session)
        planned = plan.turns[loaded.turn]
        extra = {**planned.extra, **changes.pop("extra", {})}
        limits = [limit for limit in (planned.max_tokens, self._max_tokens) if limit is not None]
        fields: dict[str, Any] = {"max_tokens": min(limits), "extra": extra, **changes}
        name = request_name(loaded.session, loaded.turn)
        messages = [*plan.messages(loaded.turn), *([said] if said is not None else [])]
        return ChatRequest(name, self._model, messages, plan.tools, **fields)

    async def _sent(self, loaded: TurnRecord, salt: str) -> tuple[Reply, int]:
        extra: dict[str, Any] = dict(_LOGPROBS) if self.has_logprobs else {}
        if self.has_salt:
            extra[_SALT] = f"{self._salt}-{salt}"
        sent_ns = self._clock.now_ns
        reply = await self._transport.chat(self.request(loaded, extra=extra))
        if _SALT in reply.omitted:
            # The client below had found out that the server refuses it, and has left it out.
            self._left = [asked for asked in self._left if not asked[1]]
            self.has_salt = False
        return reply, sent_ns

    def _was_too_much(self, reply: Reply) -> bool:
        """A server that refuses a field gets the request without it, and is not asked for it again."""
        error = reply.error
        if not isinstance(error, EngineProtocolError) or error.status not in _REFUSALS:
            return False
        if len(self._left) == 1:
            return False
        self._left.pop(0)
        self.has_logprobs, self.has_salt = self._left[0]
        return True

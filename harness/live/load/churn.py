"""Abort churn: a share of the turns whose client hangs up in the middle, by a seed.

Owns: which turns, in which phase, and how long that takes by what was seen so far. Does not own: hanging up
(`harness/transport/hang_up.py`); what becomes of the record (`harness/live/keeping.py`).
Floor 5. Source: facts/bugs.md section 5 item 6, and B08, B26, B33.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection
from dataclasses import dataclass, replace
from statistics import median
from typing import Final, Literal

import numpy as np

from harness.load.clock import Clock
from harness.load.names import session_and_turn
from harness.transport.contract import ChatRequest, Reply, Transport
from harness.transport.hang_up import HANG_UP_PHASES, HangUp, HangUpPhase, HungUp
from kernels.errors import ConfigError

SHARE_MAX: Final = 0.9
QUEUED_SHARE: Final = 0.1
PREFILL_SHARE: Final = 0.6
"""Of the usual time to the first token. Nobody outside sees where a queue ends and a prefill begins."""

_FIRST_TOKEN_S: Final = 0.25
_PIECES: Final = 4
REMEMBERED: Final = 32
"""Of the replies before it, a moment hangs on so many."""
_STREAM: Final = 7


@dataclass(frozen=True, slots=True)
class Churn:
    """share: of all turns. phases: each as likely as the others."""

    share: float
    phases: tuple[HangUpPhase, ...] = HANG_UP_PHASES

    def words(self) -> str:
        return f"{100 * self.share:g} % of the turns hung up upon ({', '.join(self.phases)})"

    def phase_of(self, seed: int, session: int, turn: int) -> HangUpPhase | None:
        """None for a turn that is left in peace. The same for a seed, whatever else happens."""
        rng = np.random.default_rng([seed, _STREAM, session, turn])
        if rng.random() >= self.share:
            return None
        return self.phases[int(rng.integers(len(self.phases)))]


def churn_of(share: float | None, phases: str | None) -> Churn | None:
    """phases: their names, with commas between. Raises: ConfigError."""
    if share is None:
        if phases is not None:
            raise ConfigError("--churn-phase needs --churn, the share of turns to hang up upon", key="--churn-phase")
        return None
    if not 0 < share <= SHARE_MAX:
        what = f"--churn must be more than 0 and at most {SHARE_MAX:g}: some turns have to be left to judge"
        raise ConfigError(what, key="--churn", value=share)
    names = [name.strip() for name in phases.split(",")] if phases is not None else list(HANG_UP_PHASES)
    chosen = tuple(phase for phase in HANG_UP_PHASES if phase in names)
    unknown = [name for name in names if name not in HANG_UP_PHASES]
    if unknown:
        what = f"--churn-phase knows no '{unknown[0]}'"
        raise ConfigError(what, key="--churn-phase", value=phases, allowed=HANG_UP_PHASES)
    return Churn(share, chosen)


def waits_s(phase: Literal["queued", "prefill"], first_tokens_s: Collection[float]) -> float:
    """How long a client waits before it goes, by what the replies before took to their first token."""
    usual_s = median(first_tokens_s) if first_tokens_s else _FIRST_TOKEN_S
    return usual_s * (QUEUED_SHARE if phase == "queued" else PREFILL_SHARE)


class ChurningTransport:
    """hung_up: how often in each phase. too_late: replies that were past the moment before it came.

    Until a reply has come, a first token is expected after a quarter of a second, and eight pieces in a reply.
    """

    def __init__(self, inner: Transport, clock: Clock, churn: Churn, seed: int) -> None:
        self.hung_up: Counter[HangUpPhase] = Counter()
        self.too_late = 0
        self._inner = inner
        self._clock = clock
        self._churn = churn
        self._seed = seed
        self._first_token_s: deque[float] = deque(maxlen=REMEMBERED)
        self._pieces: deque[int] = deque(maxlen=REMEMBERED)

    def __repr__(self) -> str:
        return f"ChurningTransport({self._inner!r}, {self._churn}, {dict(self.hung_up)})"

    async def close(self) -> None:
        await self._inner.close()

    async def chat(self, request: ChatRequest) -> Reply:
        named = session_and_turn(request.request_id)
        phase = None if named is None else self._churn.phase_of(self._seed, *named)
        sent_ns = self._clock.now_ns
        if phase is None:
            reply = await self._inner.chat(request)
        else:
            reply = await self._inner.chat(replace(request, hang_up=self._policy(phase)))
            if isinstance(reply.error, HungUp):
                self.hung_up[phase] += 1
            else:
                self.too_late += 1
        if reply.error is None and reply.arrived.first_token_ns is not None:
            self._first_token_s.append((reply.arrived.first_token_ns - sent_ns) / 1e9)
            self._pieces.append(len(reply.text_ns))
        return reply

    def _policy(self, phase: HangUpPhase) -> HangUp:
        match phase:
            case "queued" | "prefill":
                return HangUp(phase, after_s=waits_s(phase, self._first_token_s))
            case "first-token":
                return HangUp(phase, pieces=1)
            case "mid-answer":
                # Half of what is usual, and more than the first: that would be another phase.
                half = int(median(self._pieces)) // 2 if self._pieces else _PIECES
                return HangUp(phase, pieces=max(2, half))

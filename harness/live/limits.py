"""How much a run may do to a server: caps, the token budget, and when too many errors end it.

Owns: the numbers and the counting. Does not own: the sending. Floor 5. Source: ours; a stress tool must not become an
accident.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from kernels.errors import ConfigError
from results.records import TurnRecord

SESSIONS_MAX: Final = 512
DURATION_S_MAX: Final = 4 * 3600.0
TOKENS_MAX: Final = 20_000_000
RATE_MAX: Final = 100.0

_WINDOW: Final = 40
_ENDED_MIN: Final = 20
_FAILED_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """tokens: of prompts and replies together, over the whole run."""

    tokens: int = TOKENS_MAX


class TokenBudget:
    """What has been spent, by the server's own figures where it gives them, and what begun sessions may still spend."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.spent = 0
        self.reserved = 0

    def __repr__(self) -> str:
        return f"TokenBudget({self.spent} spent and {self.reserved} reserved of {self.tokens})"

    @property
    def is_passed(self) -> bool:
        """The server counts more tokens than the plan did."""
        return self.spent > self.tokens

    def reserve(self, tokens: int) -> bool:
        """Set a session's tokens aside; False where there is no room for them."""
        if self.spent + self.reserved + tokens > self.tokens:
            return False
        self.reserved += tokens
        return True

    def spend(self, tokens: int) -> bool:
        """Tokens of a request that is no turn; False where there is no room for them."""
        if not self.reserve(tokens):
            return False
        self.reserved -= tokens
        self.spent += tokens
        return True

    def count(self, turn: TurnRecord, planned: int) -> None:
        """A turn's end: what was set aside for it is spent, or not."""
        reported = (turn.prompt_tokens or 0) + (turn.completion_tokens or 0)
        self.spent += reported or planned
        self.reserved = max(0, self.reserved - planned)


def refuse_costly(planned: int, limits: Limits) -> None:
    """Raises: ConfigError for a load that would spend more than the budget, before anything is sent."""
    if planned > limits.tokens:
        what = f"this load sends and asks for about {planned:,} tokens, more than the {limits.tokens:,} allowed"
        remedy = "fewer --sessions, shorter --prompt-tokens, or a larger --tokens-max"
        raise ConfigError(f"{what}; take {remedy}", key="--tokens-max", value=limits.tokens)


class ErrorStorm:
    """Told of each turn's end; `sentence` says why a run should stop, once most of the last turns have failed."""

    def __init__(self) -> None:
        self._failed: deque[bool] = deque(maxlen=_WINDOW)

    def __repr__(self) -> str:
        return f"ErrorStorm({sum(self._failed)} of {len(self._failed)})"

    def sentence(self, turn: TurnRecord) -> str | None:
        if turn.load is not None and turn.load.hung_up:
            # Our doing, not the server's.
            return None
        self._failed.append(turn.error is not None)
        failed, ended = sum(self._failed), len(self._failed)
        if ended < _ENDED_MIN or failed < _FAILED_SHARE * ended:
            return None
        return f"error storm: {failed} of the last {ended} requests failed, the last with: {turn.error}"

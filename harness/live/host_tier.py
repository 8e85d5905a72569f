"""Does an evicted prompt come back from the host tier? Forced, not hoped for: warm, evict, return.

Owns: the three phases, and what counters must show between them. Does not own: other questions (`probing.py`). Floor 5.
Source: facts/bugs.md section 5 (item 4: cold, warm, evict with unrelated long prompts, the same bytes again).

Only the server's own counters can prove it: cached tokens alone do not tell device from host.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from harness.live.metric_names import EXTERNAL_HITS
from harness.live.probed import Answer, Probed
from harness.live.scrape import read_metrics
from harness.transport.contract import Reply
from results.vacuity import HOST_COUNTERS

_FILLERS: Final = 12
_WORDS: Final = 3_000

Ask = Callable[..., Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class TierAnswer:
    """flush: whether the cache can be emptied from outside. answer: whether an evicted prompt hit the host tier."""

    flush: Probed
    answer: Answer
    detail: str


class Exchanged:
    """Small requests beside the API, and the Date header of the last answer."""

    def __init__(self, session: aiohttp.ClientSession, root: str, metrics_urls: Sequence[str]) -> None:
        self.date_header = ""
        self.metrics_urls = tuple(metrics_urls)
        self._session = session
        self._root = root

    async def metrics(self) -> tuple[dict[str, float] | None, str]:
        """Known figures under neutral names, or None and why."""
        return await read_metrics(self._session, self.metrics_urls)

    async def ask(self, method: str, path: str) -> tuple[int, str]:
        """Status 0 and the reason where nobody answers."""
        try:
            async with self._session.request(method, self._root + path) as response:
                self.date_header = response.headers.get("Date", self.date_header)
                return response.status, await response.text(errors="replace")
        except (aiohttp.ClientError, TimeoutError) as problem:
            return 0, str(problem) or type(problem).__name__


async def force_host_tier(exchanged: Exchanged, ask: Ask) -> TierAnswer:
    """Warm a long prompt, push it out with others, send it again, and read the counters around that."""
    flush = Probed("cache flush", "no", "neither /flush_cache nor /reset_prefix_cache answers")
    for path in ("/flush_cache", "/reset_prefix_cache"):
        status, _ = await exchanged.ask("POST", path)
        if status == 200:
            flush = Probed("cache flush", "yes", f"POST {path}")
            break
    victim = _long_prompt(0)
    warm = [await ask(**victim) for _ in range(2)]
    failed = next((reply for reply in warm if reply.error is not None), None)
    if failed is not None:
        return TierAnswer(flush, "unknown", f"a long prompt failed: {failed.error}")
    for number in range(1, _FILLERS + 1):
        await ask(**_long_prompt(number))
    before = (await exchanged.metrics())[0]
    back = await ask(**victim)
    after = (await exchanged.metrics())[0]
    cached = back.usage.cached_tokens if back.usage is not None else None
    usage = "cached tokens are not told" if cached is None else f"{cached} cached tokens when it came back"
    if before is None or after is None or not HOST_COUNTERS.keys() & after.keys():
        return TierAnswer(flush, "unknown", f"{usage}; no counter tells the host tier from the device")
    gained = _gained(before, after)
    if gained is not None:
        return TierAnswer(flush, "yes", f"{gained}; {usage}")
    return TierAnswer(flush, "no", f"the counters of host hits did not move over {_FILLERS} long prompts; {usage}")


def _gained(before: Mapping[str, float], after: Mapping[str, float]) -> str | None:
    """The plainest counter that grew, in words."""
    for name, unit in HOST_COUNTERS.items():
        grown = after.get(name, 0.0) - before.get(name, 0.0)
        if grown > 0 and name == EXTERNAL_HITS:
            return f"{grown:,.0f} {unit} came back from behind a KV connector: host memory, or a store further off"
        if grown > 0:
            return f"{grown:,.0f} {unit} came back from the host tier"
    return None


def _long_prompt(number: int) -> dict[str, Any]:
    """Prompts that share nothing: every line begins with the prompt's own number."""
    lines = " ".join(f"{number}-{word}" for word in range(_WORDS))
    return {"preface": f"Notes {number}: {lines}", "max_tokens": 8}

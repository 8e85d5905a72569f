"""The server's own counters, read beside a run under neutral names.

Owns: the reading, the differences over the run, and saying when there is nothing. Does not own: which metric means
what (`metric_names.py`), what the figures prove (`results/vacuity`). Floor 5. Source: facts/formats.md section 4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Final

import aiohttp

from harness.live.metric_names import FRONT_TOTALS, GAUGES, TOTALS, Page, neutral, together
from harness.load.clock import Clock, WallClock

_EVERY_NS: Final = 1_000_000_000
_PATIENCE_S: Final = 2.0
_OWN: Final = "/metrics"
_OF_WORKERS: Final = "/engine_metrics"
"""Where sglang-router and smg gather the metrics of their workers; their own are of no use here."""


@dataclass(frozen=True, slots=True)
class ServerEvidence:
    """counters: neutral name -> change over the run, or the largest value of a gauge. note: in words."""

    counters: Mapping[str, int | float] = field(default_factory=dict)
    samples: int = 0
    note: str = "the server's metrics were not read"


OnSample = Callable[[int, Mapping[str, float]], None]
"""Told the instant, by the scraper's clock, and the figures."""


class Scraper:
    """`async with Scraper(urls)`: reads the metrics now, every second, and once more when asked for evidence.

    Figures of several URLs (the workers behind a router) are added up.
    """

    def __init__(
        self, urls: Sequence[str], *, clock: Clock | None = None, on_sample: OnSample = lambda _now, _found: None
    ) -> None:
        self.urls = tuple(urls)
        self.first: Mapping[str, float] | None = None
        self._last: Mapping[str, float] | None = None
        self._on_sample = on_sample
        self._largest: dict[str, float] = {}
        self._samples = 0
        self._note = ""
        self._clock = clock if clock is not None else WallClock()
        self._session: aiohttp.ClientSession | None = None
        self._task: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"Scraper({self.urls}, {self._samples} samples)"

    async def __aenter__(self) -> Scraper:
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_PATIENCE_S))
        self.first = await self.sample()
        if self.first is not None:
            self._task = asyncio.ensure_future(self._keep_reading())
        return self

    async def __aexit__(self, *failure: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._session is not None:
            await self._session.close()

    async def sample(self) -> Mapping[str, float] | None:
        """The figures as they stand now; None where they cannot be read."""
        assert self._session is not None
        found, note = await read_metrics(self._session, self.urls)
        if found is None:
            self._note = note
            return None
        self._samples += 1
        self._last = found
        for name in GAUGES:
            if name in found and isfinite(found[name]):
                self._largest[name] = max(self._largest.get(name, 0.0), found[name])
        self._on_sample(self._clock.now_ns, found)
        return found

    async def evidence(self) -> ServerEvidence:
        """What there is by now; where the server does not answer any more, what it said last."""
        now = await self.sample()
        last = now if now is not None else self._last
        if self.first is None or last is None:
            return ServerEvidence(samples=self._samples, note=self._note)
        counters, went_back = _changes(self.first, last)
        counters |= {f"{name}_max": round(value) for name, value in self._largest.items()}
        if counters.get("server_running_max", 0) > 1:
            # A gauge that is read once a second proves that requests met, never that they did not.
            counters["running_max"] = counters["server_running_max"]
        if not counters:
            return ServerEvidence(samples=self._samples, note=f"{self._shown} has no metric that is known here")
        note = f"read {self._samples} times from {self._shown}"
        note += "" if now is not None else f", and not at the end: {self._note}"
        if went_back:
            note += f"; {', '.join(went_back)} went back, so the server was started anew during the run"
            counters["server_restarts_seen"] = 1
        return ServerEvidence(counters, self._samples, note)

    async def _keep_reading(self) -> None:
        while True:
            await self._clock.sleep_until(self._clock.now_ns + _EVERY_NS, (), awake="scrape")
            await self.sample()

    @property
    def _shown(self) -> str:
        return ", ".join(self.urls)


def _changes(first: Mapping[str, float], last: Mapping[str, float]) -> tuple[dict[str, int | float], list[str]]:
    """What every total grew by, and which of them shrank. One that was not there at first had counted nothing yet.

    Prometheus' text may say +Inf or NaN: from or to such a value nothing can be told, and the total is left out.
    """
    names = [name for name in dict.fromkeys((*TOTALS, *FRONT_TOTALS)) if name in last]
    changes = {name: last[name] - first.get(name, 0.0) for name in names}
    grown = {name: round(change) for name, change in changes.items() if isfinite(change)}
    return {name: value for name, value in grown.items() if value >= 0}, [name for name in grown if grown[name] < 0]


def metrics_urls(base_url: str, given: Sequence[str] = ()) -> tuple[str, ...]:
    """Where a server's metrics are, unless it is said: beside its API."""
    return tuple(given) or (f"{base_url.removesuffix('/v1')}{_OWN}",)


async def read_metrics(session: aiohttp.ClientSession, urls: Sequence[str]) -> tuple[dict[str, float] | None, str]:
    """Known figures of all URLs added up, or None and why."""
    pages = []
    for url in urls:
        page, note = await _page(session, url)
        if page is None:
            return None, note
        if not page.engine and not page.front and url.endswith(_OWN):
            gathered, _ = await _page(session, url.removesuffix(_OWN) + _OF_WORKERS)
            page = gathered or page
        pages.append(page)
    return together(pages), ""


async def _page(session: aiohttp.ClientSession, url: str) -> tuple[Page | None, str]:
    try:
        async with session.get(url) as response:
            text = await response.text(errors="replace")
    except (aiohttp.ClientError, TimeoutError, ValueError) as problem:
        return None, f"{url} could not be read: {str(problem) or type(problem).__name__}"
    if response.status != 200:
        return None, f"{url} answered {response.status}"
    page = neutral(text)
    if page is None:
        what = text.strip()[:40].replace("\n", " ")
        return None, f"{url} is not in Prometheus' text format: it begins with '{what}'"
    return page, ""

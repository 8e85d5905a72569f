"""A client that counts: completions by token ids, with log-probabilities, and what lies beside them.

Owns: the requests of the re-implemented peers. Does not own: their oracles. Source: the API of vLLM's and SGLang's
servers, as LockStep's certifier uses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from benchmarks.stubs.clock import busy_for, now_ns

TOP_LOGPROBS = 5
MAX_TOKENS = 96
_GAUGE = "vllm:num_requests_running"
WATCH_S = 0.02
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Completion:
    """One reply, or the error that came instead. tokens, logprobs, rivals: as the server told them."""

    text: str
    tokens: tuple[str, ...] = ()
    logprobs: tuple[float, ...] = ()
    rivals: tuple[tuple[tuple[str, float], ...], ...] = ()
    error: str = ""


class CountingClient:
    """One tool's requests to one server. requests: sent so far. running_max: the largest value of the gauge seen."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.requests = 0
        self.running_max = 0
        self._url = url
        self._session = session
        self._began_ns = now_ns()

    @property
    def seconds(self) -> float:
        return (now_ns() - self._began_ns) / 1e9

    async def complete(self, prompt: Sequence[int] | str, max_tokens: int = MAX_TOKENS) -> Completion:
        """Greedy, with the best five of each place."""
        self.requests += 1
        body: dict[str, Any] = {"prompt": prompt if isinstance(prompt, str) else list(prompt), "max_tokens": max_tokens}
        body |= {"temperature": 0.0, "logprobs": TOP_LOGPROBS, "seed": 0, "return_tokens_as_token_ids": True}
        try:
            async with self._session.post(f"{self._url}/v1/completions", json=body) as response:
                if response.status != 200:
                    return Completion("", error=f"status {response.status}: {(await response.text())[:200]}")
                return _completion((await response.json())["choices"][0])
        except (aiohttp.ClientError, TimeoutError) as problem:
            return Completion("", error=str(problem) or type(problem).__name__)

    async def reset_cache(self) -> bool:
        try:
            async with self._session.post(f"{self._url}/reset_prefix_cache") as response:
                return response.status in (200, 204)
        except (aiohttp.ClientError, TimeoutError):
            return False

    async def page_size(self) -> int | None:
        async with self._session.get(f"{self._url}/get_server_info") as response:
            size = (await response.json()).get("page_size")
        return size if isinstance(size, int) else None

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Read the gauge of running requests all the while."""
        watch = asyncio.ensure_future(self._watch())
        try:
            yield
        finally:
            watch.cancel()
            await asyncio.wait([watch])

    async def _watch(self) -> None:
        while True:
            try:
                async with self._session.get(f"{self._url}/metrics") as response:
                    page = await response.text()
            except aiohttp.ClientError:
                page = ""
            values = [float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith(f"{_GAUGE}{{")]
            self.running_max = max(self.running_max, int(max(values, default=0.0)))
            await busy_for(WATCH_S)


@asynccontextmanager
async def counting_client(url: str) -> AsyncIterator[CountingClient]:
    timeout = aiohttp.ClientTimeout(total=_PATIENCE_S)
    async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as session:
        yield CountingClient(url, session)


def _completion(choice: dict[str, Any]) -> Completion:
    logprobs = choice["logprobs"]
    return Completion(
        text=choice["text"],
        tokens=tuple(logprobs["tokens"]),
        logprobs=tuple(logprobs["token_logprobs"]),
        rivals=tuple(tuple(sorted(place.items())) for place in logprobs["top_logprobs"]),
    )

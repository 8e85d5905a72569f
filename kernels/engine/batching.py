"""Which requests the next forward computes: continuous batching with chunked prefill.

Owns: the waiting line and the budget of a batch. Does not own: issuing it (forward), the cache (hicache). Floor 2c.
Source: SGLang's PrefillAdder (facts/sglang.md section 2): first come, first served; a prompt over the budget is cut at
a page border and goes on first in the next batch; a request for which no pages can be had waits, and so does the
line behind it.
"""

from __future__ import annotations

from collections import deque

from kernels.engine.batch import Batch, Extend, PrefillJob, batch_of
from kernels.engine.ledger import ContentLedger
from kernels.engine.spec import PrefillSpec
from kernels.errors import ConfigError
from kernels.hicache.controller import HiCache
from kernels.hicache.pieces import HostPiece


class Batcher:
    """The waiting line in front of the prefill engine."""

    def __init__(self, spec: PrefillSpec, cache: HiCache, ledger: ContentLedger) -> None:
        """Raises: ConfigError for a budget of less than one page, with which no prompt would ever get on."""
        if spec.chunk_tokens < cache.geometry.page_tokens:
            raise ConfigError(
                f"a chunk of {spec.chunk_tokens} tokens is less than one page of {cache.geometry.page_tokens}",
                key="engine.chunk_tokens",
                value=spec.chunk_tokens,
            )
        self._spec = spec
        self._cache = cache
        self._ledger = ledger
        self._line: deque[PrefillJob] = deque()

    def __len__(self) -> int:
        return len(self._line)

    @property
    def jobs(self) -> tuple[PrefillJob, ...]:
        return tuple(self._line)

    def add(self, job: PrefillJob) -> None:
        self._line.append(job)

    def drop_aborted(self) -> list[PrefillJob]:
        """Take jobs that one of their halves gave up out of the line, and give their pages back.

        Call it between forwards.
        """
        gone = [job for job in self._line if job.is_aborted or job.meeting.cancelled]
        for job in gone:
            self._line.remove(job)
            if job.lease is not None:
                self._cache.release(job.lease)
        return gone

    def drop_all(self) -> list[PrefillJob]:
        """Take everybody out of the line. Who has a lease keeps it."""
        gone = list(self._line)
        self._line.clear()
        return gone

    def next_batch(self) -> HostPiece[Batch | None]:
        """Choose the next batch, and take its pages. Effect: may evict; queues load-backs in the cache.

        Returns: None where nobody waits whose decode half is ready, or no pages can be had.
        """
        extends: list[Extend] = []
        budget = self._spec.chunk_tokens
        for job in [job for job in self._line if job.meeting.decode_pages is not None]:
            # A rest of less than a page is left: who is looked up and cannot go on would hold a prefix for nothing.
            if len(extends) == self._spec.batch_max or budget < self._cache.geometry.page_tokens:
                break
            extend = yield from self._extend(job, budget)
            if extend is None:
                break
            extends.append(extend)
            budget -= extend.end - extend.begin
        # Only now, because they can be aborted for as long as they can be found.
        for extend in extends:
            self._line.remove(extend.job)
            if not extend.is_last:
                # It holds pages that others may wait for, so nobody may come before it.
                self._line.appendleft(extend.job)
        return batch_of(extends) if extends else None

    def _extend(self, job: PrefillJob, budget: int) -> HostPiece[Extend | None]:
        page_tokens = self._cache.geometry.page_tokens
        if job.lease is None:
            yield from self._admit(job)
        assert job.lease is not None
        begin = job.computed_tokens
        end = min(len(job.prompt.tokens), begin + budget)
        if end < len(job.prompt.tokens):
            end = end // page_tokens * page_tokens
        first_page = begin // page_tokens
        missing = -(-end // page_tokens) - len(job.lease.pages)
        pages = yield from self._cache.reserve(job.lease, missing)
        if pages is None:
            if begin == job.cached_tokens:
                # It holds nothing that was computed for it: let the prefix go, so that others may evict it.
                self._cache.release(job.lease)
                job.lease = None
            return None
        table = job.lease.pages
        new_pages = table[first_page:]
        job.computed_tokens = end
        job.evidence.new_tokens += end - begin
        return Extend(
            job=job,
            begin=begin,
            end=end,
            context_pages=table[:first_page],
            new_pages=new_pages,
            versions=self._ledger.write(job.prompt, begin, end),
        )

    def _admit(self, job: PrefillJob) -> HostPiece[None]:
        """Look the prompt up, and settle what must be loaded back. At least one token is left to compute.

        It may be the second time, where no pages could be had: what was loaded the first time is a host hit still.
        """
        page_tokens = self._cache.geometry.page_tokens
        usable = (len(job.prompt.tokens) - 1) // page_tokens
        lease = self._cache.open(job.prompt.page_keys[:usable])
        loaded = yield from self._cache.load_back(lease)
        job.lease = lease
        job.cached_tokens = job.computed_tokens = len(lease.prefix_pages) * page_tokens
        host_hit_tokens = min(job.evidence.host_hit_tokens + loaded * page_tokens, job.cached_tokens)
        job.evidence.host_hit_tokens = host_hit_tokens
        job.evidence.device_hit_tokens = job.cached_tokens - host_hit_tokens

"""The decode engine: takes handed-off prompts and produces their tokens, one a step.

Owns: the decode pool's pages, the running batch, the step. Does not own: what the next token is (readout), the
hand-off's copies, HTTP. Floor 2c.
Source: SGLang's decode worker (facts/sglang.md section 4): no prefix tree of its own, pages are allocated for the whole
sequence before the prefill half may run, and are freed at the end of the request.

Pages of the prompt do not change once they have arrived, so a reply is worked out when its request joins, from the
bytes that its first step reads; the later steps only let its tokens go at their times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kernels.engine.bootstrap import Bootstrap, Rendezvous
from kernels.engine.evidence import RequestEvidence
from kernels.engine.handoff import MetadataRows
from kernels.engine.intake import Intake
from kernels.engine.ledger import ContentLedger
from kernels.engine.prompt import Prompt, PromptReader
from kernels.engine.readout import DecodeStart, Readout
from kernels.engine.request import FinishReason, GenerateRequest, Scores, TokenSink, Usage
from kernels.engine.spec import DecodeSpec
from kernels.hicache.allocator import PageAllocator
from kernels.hicache.geometry import WINDOW_POOLS, Geometry
from kernels.hicache.pools import TierPools
from kernels.substrate.contract import (
    HostProgram,
    HostThread,
    Machine,
    PageIds,
    PageView,
    Park,
    Query,
    Region,
    Sleep,
    Stream,
    Until,
)

STEP_POINT = "decode.step"
JOIN_NS = 1_000
"""A request's first look at its pages: a kernel of its own, so that the reply is worked out from what it read."""


@dataclass(slots=True, eq=False)
class DecodeJob:
    """One request in the decode engine. reply: its tokens as bytes, known when it joins; `given` of them are out.

    scores: of those tokens, or nothing where the request did not ask.
    """

    request: GenerateRequest
    sink: TokenSink
    prompt: Prompt
    meeting: Rendezvous
    evidence: RequestEvidence
    pages: PageIds | None = None
    reply: list[bytes] = field(default_factory=list)
    scores: tuple[Scores, ...] = ()
    reason: FinishReason = "stop"
    given: int = 0
    is_aborted: bool = False

    @property
    def prompt_pages(self) -> PageIds:
        assert self.meeting.decode_pages is not None, self
        return self.meeting.decode_pages

    def usage(self) -> Usage:
        return Usage(len(self.prompt.tokens), self.given, self.meeting.cached_tokens)

    def __repr__(self) -> str:
        return f"DecodeJob({self.request.request_id}, {self.given} of {len(self.reply)} tokens)"


class DecodeEngine:
    """Runs on one host thread of the machine; `submit` and `abort` may be called between the machine's instants."""

    def __init__(
        self,
        machine: Machine,
        geometry: Geometry,
        spec: DecodeSpec,
        pools: Sequence[TierPools],
        streams: Sequence[Stream],
        *,
        bootstrap: Bootstrap,
        rows: MetadataRows,
        ledger: ContentLedger,
        reader: PromptReader,
        readout: Readout,
        evidence: dict[str, RequestEvidence],
    ) -> None:
        self._machine = machine
        self._geometry = geometry
        self._spec = spec
        self._pools = pools
        self._streams = streams
        self._bootstrap = bootstrap
        self._rows = rows
        self._ledger = ledger
        self._readout = readout
        self._evidence = evidence
        self._allocator = PageAllocator(pools[0].page_count, "lifo")
        self._intake = Intake(reader, bootstrap, "decode pool", pools[0].page_count * geometry.page_tokens)
        self._waiting: deque[DecodeJob] = deque()
        self._arriving: list[DecodeJob] = []
        self._running: list[DecodeJob] = []
        self._done = [machine.event(f"decode.done.r{rank}") for rank in range(len(streams))]
        self._reads_of: tuple[DecodeJob, ...] = ()
        self._reads: list[list[Region]] = []
        self.steps = 0
        self._thread: HostThread = machine.spawn("decode", self._program())
        bootstrap.listen(self._thread.wake)

    def submit(self, request: GenerateRequest, sink: TokenSink) -> None:
        """Take the decode half of a request. Its tokens, the first one included, go to `sink`."""
        meeting = self._bootstrap.meet(request.room)
        evidence = self._evidence.setdefault(request.request_id, RequestEvidence())
        prompt = self._intake.prompt(request, sink, meeting, self._machine.now_ns, reply_tokens=request.max_new_tokens)
        if prompt is not None:
            self._waiting.append(DecodeJob(request, sink, prompt, meeting, evidence))
            self._thread.wake()

    def abort(self, request_id: str) -> None:
        """Stop a request at the next step; its pages are freed once no transfer can write to them any more."""
        for job in (*self._waiting, *self._arriving, *self._running):
            if job.request.request_id == request_id:
                job.is_aborted = True
                job.meeting.cancelled = True
        self._bootstrap.changed()

    @property
    def running_requests(self) -> int:
        """Requests in the batch of the next step."""
        return len(self._running)

    def flush_cache(self) -> bool:
        """Nothing is cached here; False while requests are running."""
        return not (self._waiting or self._arriving or self._running)

    def _program(self) -> HostProgram:
        while True:
            self._allocate()
            yield from self._join()
            if self._running:
                yield from self._step()
            elif self._arriving:
                yield Sleep(self._spec.poll_ns)
            else:
                yield Park()

    def _allocate(self) -> None:
        """Give pages to waiting requests, in order, as far as they go, and tell the prefill half."""
        for job in [job for job in self._waiting if job.meeting.cancelled]:
            self._waiting.remove(job)
            self._finish(job, "abort")
        while self._waiting:
            job = self._waiting[0]
            row = self._rows.take()
            pages = None if row is None else self._allocator.alloc(self._page_count(job))
            if pages is None or row is None:
                if row is not None:
                    self._rows.free(row)
                break
            job.pages, job.meeting.row = pages, row
            job.meeting.decode_pages = pages[: self._prompt_pages(job)]
            self._arriving.append(self._waiting.popleft())
            self._bootstrap.changed()

    def _prompt_pages(self, job: DecodeJob) -> int:
        return -(-len(job.prompt.tokens) // self._geometry.page_tokens)

    def _page_count(self, job: DecodeJob) -> int:
        return -(-(len(job.prompt.tokens) + job.request.max_new_tokens) // self._geometry.page_tokens)

    def _join(self) -> HostProgram:
        """Let requests whose hand-off has ended join the batch; let go of cancelled ones that nobody writes to."""
        for job in list(self._arriving):
            arrived = job.meeting.arrived
            if arrived is None:
                if job.meeting.cancelled:
                    self._arriving.remove(job)
                    self._finish(job, "abort")
                continue
            if not (yield Query(arrived)):
                continue
            if job.meeting.cancelled:
                self._arriving.remove(job)
                self._finish(job, "abort")
            elif len(self._running) < self._spec.batch_max:
                self._arriving.remove(job)
                # It runs from here on: an abort that comes during its first read must find it.
                self._running.append(job)
                yield from self._first_read(job)

    def _first_read(self, job: DecodeJob) -> HostProgram:
        """Read the metadata row and every page of the prompt, and work the reply out from what was read."""
        assert job.pages is not None
        assert job.meeting.row is not None
        seen: list[PageView] = []

        def keep(views: Sequence[PageView]) -> None:
            seen.extend(views)

        row = self._rows.at_target(job.meeting.row)
        for rank, stream in enumerate(self._streams):
            stream.launch(
                f"decode.join {job.request.request_id}",
                duration_ns=JOIN_NS,
                point=STEP_POINT,
                reads=(*([row] if rank == 0 else []), *self._regions(self._pools[rank], [job])),
                read_ns=JOIN_NS,
                body=keep,
            )
            stream.record(self._done[rank])
        for done in self._done:
            yield Until(done)
        room, first_token = self._ledger.row(int(seen[0].tail[0, 0]))
        assert room == job.meeting.room, f"metadata row of room {room} reached room {job.meeting.room}"
        job.evidence.decode_stale_reads += sum(int(view.stale.sum()) for view in seen)
        begun = DecodeStart(
            first_token,
            job.meeting.first_scores,
            job.request.max_new_tokens,
            job.request.best_count,
            len(self._running),
        )
        reply = self._readout.reply(job.prompt, begun, seen[1].tail[0])
        job.reply, job.reason, job.scores = list(reply.pieces), reply.reason, reply.scores
        job.evidence.poisoned_reads = max(job.evidence.poisoned_reads, reply.poisoned_reads)

    def _regions(self, pools: TierPools, jobs: Sequence[DecodeJob]) -> list[Region]:
        """What a step over these requests reads: every prompt page, and the trailing pages of window and states.

        The index-K region comes first: it is the one that a reply is worked out from.
        """
        tables = [job.prompt_pages for job in jobs]
        pages = np.concatenate(tables)
        trailing = np.concatenate([table[-1:] for table in tables])
        kinds = sorted(self._geometry.pool_kinds, key=lambda kind: kind != "index_k")
        return [pools[kind].all_layers(trailing if kind in WINDOW_POOLS else pages) for kind in kinds]

    def _step_reads(self, rank: int) -> list[Region]:
        """The same regions, step after step, for as long as the batch stays the same."""
        members = tuple(self._running)
        if self._reads_of != members:
            self._reads_of = members
            self._reads = [self._regions(pools, self._running) for pools in self._pools]
        return self._reads[rank]

    def _step(self) -> HostProgram:
        """One token for every running request."""
        for rank, stream in enumerate(self._streams):
            stream.launch("decode.step", duration_ns=self._spec.step_ns, point=STEP_POINT, reads=self._step_reads(rank))
            stream.record(self._done[rank])
        for done in self._done:
            yield Until(done)
        self.steps += 1
        for job in list(self._running):
            if not job.is_aborted and job.given < len(job.reply):
                scores = job.scores[job.given] if job.scores else None
                job.sink.on_text(job.reply[job.given], self._machine.now_ns, scores)
                job.given += 1
            if job.is_aborted or job.given == len(job.reply):
                self._running.remove(job)
                self._finish(job, "abort" if job.is_aborted else job.reason)

    def _finish(self, job: DecodeJob, reason: FinishReason) -> None:
        """Free what the request held, and say so. No transfer may be in flight to its pages."""
        if job.pages is not None:
            self._allocator.free(job.pages)
        if job.meeting.row is not None:
            self._rows.free(job.meeting.row)
            job.meeting.row = None
        self._bootstrap.leave(job.meeting)
        message = (job.meeting.problem or "the request was aborted") if reason == "abort" else ""
        job.sink.on_finish(reason, job.usage(), self._machine.now_ns, message)

    def __repr__(self) -> str:
        return (
            f"DecodeEngine({len(self._waiting)} waiting, {len(self._arriving)} arriving, {len(self._running)} running, "
            f"{self._allocator.free_pages} pages free, {self.steps} steps)"
        )

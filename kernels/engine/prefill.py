"""The prefill engine: batches prompts, runs forwards with the cache, and hands finished prompts off.

Owns: the scheduler loop and the order of its steps. Does not own: the choice of a batch (batching), kernels (forward),
what the bytes mean (readout), transfers (hicache, handoff). Floor 2c.
Source: SGLang's `event_loop_normal_disagg_prefill` and `get_new_batch_prefill` (facts/sglang.md sections 1, 2, 4): all
copies of a batch's load are enqueued before its forward is; the forward's end is waited for; then pages enter the tree
(and are backed up), and the hand-off begins. Without SGLang's overlap mode, which would hide host time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernels.engine.batch import Batch, Extend, PrefillJob
from kernels.engine.batching import Batcher
from kernels.engine.bootstrap import Bootstrap
from kernels.engine.evidence import RequestEvidence
from kernels.engine.forward import RankForward, Readings
from kernels.engine.handoff import Handoff
from kernels.engine.intake import Intake
from kernels.engine.ledger import ContentLedger
from kernels.engine.prompt import PromptReader
from kernels.engine.readout import Readout
from kernels.engine.request import FinishReason, GenerateRequest, TokenSink, Usage
from kernels.engine.spec import ACTIVATION_BYTES_PER_TOKEN, PrefillSpec
from kernels.hicache.controller import HiCache
from kernels.hicache.gate import NO_CONSUMER
from kernels.hicache.loads import LoadOperation
from kernels.hicache.pieces import HostPiece, wait_all
from kernels.substrate.contract import (
    Event,
    HostProgram,
    HostThread,
    Machine,
    PageIds,
    Park,
    Query,
    Sleep,
    Stream,
    Until,
)


@dataclass(frozen=True, slots=True, eq=False)
class _Sending:
    """A prompt whose hand-off is under way; its pages stay until it has arrived."""

    job: PrefillJob
    arrived: Event


@dataclass(slots=True, eq=False)
class _RankWork:
    """What the lead thread hands to the thread of another rank for one forward."""

    batch: Batch | None = None
    load: LoadOperation | None = None
    readings: Readings | None = None


class PrefillEngine:
    """Runs on one host thread per rank; `submit` and `abort` may be called between the machine's instants."""

    def __init__(
        self,
        machine: Machine,
        spec: PrefillSpec,
        cache: HiCache,
        forwards: Sequence[RankForward],
        streams: Sequence[Stream],
        *,
        bootstrap: Bootstrap,
        handoff: Handoff,
        ledger: ContentLedger,
        reader: PromptReader,
        readout: Readout,
        evidence: dict[str, RequestEvidence],
    ) -> None:
        self._machine = machine
        self._spec = spec
        self.cache = cache
        self._forwards = forwards
        self._streams = streams
        self._bootstrap = bootstrap
        self._handoff = handoff
        self._ledger = ledger
        self._reader = reader
        self._readout = readout
        self._evidence = evidence
        self._batcher = Batcher(spec, cache, ledger)
        capacity_tokens = cache.device.capacity_pages * cache.geometry.page_tokens
        self._intake = Intake(reader, bootstrap, "prefill pool", capacity_tokens)
        self._sending: list[_Sending] = []
        self._computing: Batch | None = None
        self._done = [machine.event(f"forward.done.r{rank}") for rank in range(len(streams))]
        self.forwards = 0
        self.failure = ""
        self._work = [_RankWork() for _ in streams[1:]]
        self._helpers = [
            machine.spawn(f"prefill.r{rank}", self._rank_program(rank, work)) for rank, work in enumerate(self._work, 1)
        ]
        self._thread: HostThread = machine.spawn("prefill", self._program())
        self._has_news = False
        bootstrap.listen(self._hear)

    def submit(self, request: GenerateRequest, sink: TokenSink) -> None:
        """Take the prefill half of a request. `sink` gets its first token, and the end once it has been handed off."""
        meeting = self._bootstrap.meet(request.room)
        evidence = self._evidence.setdefault(request.request_id, RequestEvidence())
        if self.failure:
            sink.on_finish("error", Usage(0, 0, 0), self._machine.now_ns, self.failure)
            self._bootstrap.give_up(meeting, self.failure)
            return
        prompt = self._intake.prompt(request, sink, meeting, self._machine.now_ns)
        if prompt is not None:
            self._batcher.add(PrefillJob(request, sink, prompt, meeting, evidence))
            self._thread.wake()

    def abort(self, request_id: str) -> None:
        """Drop a request as soon as no forward and no transfer touches its pages."""
        computing = [extend.job for extend in self._computing.extends] if self._computing else []
        for job in (*self._batcher.jobs, *computing, *(sending.job for sending in self._sending)):
            if job.request.request_id == request_id:
                job.is_aborted = True
                job.meeting.cancelled = True
        self._bootstrap.changed()

    @property
    def running_requests(self) -> int:
        """Requests in the forward that is being computed."""
        return len(self._computing.extends) if self._computing is not None else 0

    def flush_cache(self) -> bool:
        """Forget all cached pages; False, and nothing done, while a request or a transfer is in the way."""
        return len(self._batcher) == 0 and self._computing is None and not self._sending and self.cache.flush()

    def _program(self) -> HostProgram:
        while True:
            yield from self.cache.poll()
            yield from self._acknowledge()
            for job in self._batcher.drop_aborted():
                self._finish(job, "abort")
            if self._has_news:
                yield from self._park()
            batch = yield from self._batcher.next_batch()
            if batch is not None and not self._fits(batch):
                self._die(batch)
            elif batch is not None:
                yield from self._run(batch)
            elif self._sending or not self.cache.is_idle:
                yield from self._load_alone()
                yield Sleep(self._spec.poll_ns)
            else:
                yield from self._park()

    def _hear(self) -> None:
        """A room has changed: the decode half may have named its pages there."""
        self._has_news = True
        self._thread.wake()

    def _park(self) -> HostProgram:
        """Take the wakes that came, or wait for one. With news it returns at once: it is the order between the thread
        that changed a room and what this thread reads there, which a trace could not show otherwise."""
        yield Park()
        self._has_news = False

    def _load_alone(self) -> HostProgram:
        """Do loads that no batch takes along because their request is gone: they lock pages until they have ended.

        Only where nothing else is under way that could make room for a batch. Effect: the host waits for them, because
        a later batch that finds these pages resident has no load of its own to wait for.
        """
        is_saving = self.cache.backups is not None and not self.cache.backups.is_idle
        if self._sending or is_saving:
            return
        slot = yield from self.cache.start_loading()
        if slot != NO_CONSUMER:
            yield from wait_all(rank.ring.finish_event(slot) for rank in self.cache.ranks)

    def _fits(self, batch: Batch) -> bool:
        """Whether the device has room for this forward's activations beside the pools."""
        room = self._spec.workspace_bytes
        return room is None or batch.new_tokens * ACTIVATION_BYTES_PER_TOKEN <= room

    def _die(self, batch: Batch) -> None:
        """An allocation of a forward fails, and the process ends, as SGLang's scheduler does: nobody who waits in it
        gets an answer, and nobody is taken in any more. What is on its way to the decode side still arrives."""
        needed, room = batch.new_tokens * ACTIVATION_BYTES_PER_TOKEN, self._spec.workspace_bytes
        self.failure = (
            f"out of device memory: a forward of {batch.new_tokens:,} new tokens needs {needed:,} bytes beside the"
            f" pools, and they leave {room:,}"
        )
        jobs = [*(extend.job for extend in batch.extends), *self._batcher.drop_all()]
        for job in {id(job): job for job in jobs}.values():
            job.meeting.cancelled, job.meeting.problem = True, self.failure
            self._finish(job, "error")

    def _run(self, batch: Batch) -> HostProgram:
        """One forward from its load to its results."""
        self._computing = batch
        for extend in batch.extends:
            extend.job.evidence.batch = len(batch.extends)
        yield Sleep(self._spec.step_ns, point="host.schedule")
        load = yield from self.cache.merge_loads()
        self.cache.set_consumer(load.slot if load is not None else NO_CONSUMER)
        for work, helper in zip(self._work, self._helpers, strict=True):
            work.batch, work.load = batch, load
            helper.wake()
        readings = [(yield from self._issue(batch, load, 0))]
        if self._helpers:
            # The other ranks' threads run in step with this one: at this instant they have issued everything too.
            yield Sleep(0)
        for done in self._done:
            yield Until(done)
        readings += [work.readings for work in self._work if work.readings is not None]
        self.forwards += 1
        self._computing = None
        for index, extend in enumerate(batch.extends):
            self._settle(batch, index, extend, readings)

    def _issue(self, batch: Batch, load: LoadOperation | None, rank: int) -> HostPiece[Readings]:
        """Enqueue one rank's part: the whole load first, then the forward. That order is the forward's head start."""
        if load is not None:
            self.cache.issue_load(load, rank)
            yield Sleep(self._spec.head_start_ns)
        readings = yield from self._forwards[rank].issue(batch, rank)
        self._streams[rank].record(self._done[rank])
        return readings

    def _rank_program(self, rank: int, work: _RankWork) -> HostProgram:
        while True:
            yield Park()
            if work.batch is not None:
                batch, work.batch = work.batch, None
                work.readings = yield from self._issue(batch, work.load, rank)

    def _settle(self, batch: Batch, index: int, extend: Extend, readings: Sequence[Readings]) -> None:
        """What one forward's end means for one of its requests."""
        job = extend.job
        assert job.lease is not None
        first_token = self._readout.prefill(batch, index, readings)
        page_tokens = self.cache.geometry.page_tokens
        whole_pages = extend.end // page_tokens
        self.cache.insert(job.lease, job.prompt.page_keys[:whole_pages], is_chunk=not extend.is_last)
        if not extend.is_last:
            return
        job.meeting.cached_tokens = job.cached_tokens
        if job.meeting.cancelled:
            self._finish(job, "abort")
            return
        assert first_token is not None
        job.meeting.first_token, job.meeting.first_scores = first_token, job.first_scores
        pages: PageIds = job.lease.pages
        version = self._ledger.write_row(job.meeting.room, first_token)
        self._handoff.send(job.meeting, pages, version)
        assert job.meeting.arrived is not None
        self._sending.append(_Sending(job, job.meeting.arrived))
        job.sink.on_text(self._reader.text_of(first_token), self._machine.now_ns)
        self._bootstrap.changed()

    def _acknowledge(self) -> HostProgram:
        """Let go of prompts that have arrived at the decode side."""
        for sending in list(self._sending):
            if (yield Query(sending.arrived)):
                self._sending.remove(sending)
                self._finish(sending.job, "abort" if sending.job.is_aborted else "stop")

    def _finish(self, job: PrefillJob, reason: FinishReason) -> None:
        if job.lease is not None and job.lease.is_open:
            self.cache.release(job.lease)
        usage = Usage(len(job.prompt.tokens), 1 if reason == "stop" else 0, job.cached_tokens)
        message = (job.meeting.problem or "the request was aborted") if reason != "stop" else ""
        self._bootstrap.leave(job.meeting)
        job.sink.on_finish(reason, usage, self._machine.now_ns, message)
        self._bootstrap.changed()

    def __repr__(self) -> str:
        return (
            f"PrefillEngine({len(self._batcher)} waiting, {len(self._sending)} sending, {self.forwards} forwards, "
            f"{self.cache})"
        )

"""What is read too early, checked against the machine's own trace: which pool, which pages, how late, how torn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from kernels.engine.bootstrap import Rendezvous
from kernels.engine.handoff import Handoff
from kernels.engine.ledger import ContentLedger
from kernels.engine.shared import SharedModel
from kernels.hicache.invariants import check
from kernels.substrate.contract import PageIds
from kernels.substrate.trace import Operation, StaleRow
from kernels.substrate.virtual.invariants import check_invariants
from tests.engine.pair.stage import BARE, GATED, LATE, MASKED, PAGE, Asked, Stage
from tests.engine.pair.talks import Writer

NARROW: dict[str, Any] = {"delays": (), "layer_us": 90.0, "jitter": 0.3}
"""Compute nearly keeps up with the load, so that some reads fall into the middle of a copy: torn pages."""

RESIDENT = 2_300 // PAGE


@dataclass(frozen=True)
class Raced:
    """A request whose prompt was resident in front, loaded in the middle and new at the end. copies: its load's."""

    stage: Stage
    asked: Asked
    copies: list[Operation]
    rows: list[StaleRow]

    @property
    def loaded_pages(self) -> PageIds:
        return self.copies[0].accesses[1][1].pages


def raced(shared: SharedModel, **changes: Any) -> Raced:
    """Two sessions share a beginning, which stays; the second one pushes out what only the first one has."""
    stage = Stage(shared, **{"variant": BARE, **changes})
    writer = Writer(shared, 5)
    base = writer.talk(2_300)
    talks = [writer.talk(6_000, after=base) for _ in range(2)]
    for talk in talks:
        stage.ask(talk, talk.names[-1])
    assert stage.trace.stale_rows == []
    asked = stage.ask(talks[0], talks[0].names[-2])
    copies = [op for op in stage.trace.operations if op.point == "h2d.index_k"]
    return Raced(stage, asked, copies, list(stage.trace.stale_rows))


@pytest.mark.parametrize("changes", [{}, NARROW])
def test_only_index_keys_of_pages_that_this_batch_loads(shared: SharedModel, changes: dict[str, Any]) -> None:
    case = raced(shared, **changes)
    evidence = case.stage.evidence(case.asked)
    assert evidence.device_hit_tokens == RESIDENT * PAGE
    assert evidence.host_hit_tokens == len(case.loaded_pages) * PAGE > 0
    assert evidence.new_tokens > 0
    assert case.rows
    context = RESIDENT + len(case.loaded_pages)
    for operation, _, view in case.rows:
        assert operation.label == f"indexer[layer {operation.layer}]"
        assert view.region.buffer.name == "prefill.r0.device.index_k"
        assert np.array_equal(view.region.pages[RESIDENT:context], case.loaded_pages)
        assert len(view.region.pages) > context, "the new pages are read too"
        assert not view.stale[0, :RESIDENT].any(), "resident pages are never stale"
        assert not view.stale[0, context:].any(), "new pages are never stale"
    assert evidence.stale_reads == sum(int(row.view.stale.sum()) for row in case.rows)
    assert evidence.stale_layers == {("index_k", row.operation.layer) for row in case.rows}


@pytest.mark.parametrize("changes", [{}, NARROW])
def test_lateness_and_tears_agree_with_the_copies(shared: SharedModel, changes: dict[str, Any]) -> None:
    """Pages of a copy land one after another at an even pace: from its times each page's arrival follows."""
    case = raced(shared, **changes)
    launch_ns = case.stage.machine.launch_ns
    torn_count = 0
    for operation, _, view in case.rows:
        (copy,) = [copy for copy in case.copies if copy.layer == operation.layer]
        assert operation.start_ns < copy.end_ns
        begin_ns = copy.start_ns + launch_ns + copy.delay_ns
        edges_ns = np.linspace(begin_ns, copy.end_ns, len(case.loaded_pages) + 1)
        for column in np.flatnonzero(view.stale[0]).tolist():
            place = column - RESIDENT
            late_ns = int(view.late_ns[0, column])
            read_ns = edges_ns[place + 1] - late_ns
            assert late_ns > 0
            assert operation.start_ns - 1 <= read_ns <= operation.end_ns + 1
            tear = float(view.tear[0, column])
            if tear < 1.0:
                torn_count += 1
                assert view.head[0, column] == view.wanted[0, column] != view.tail[0, column]
                moved = (read_ns - edges_ns[place]) / (edges_ns[place + 1] - edges_ns[place])
                assert tear == pytest.approx(moved, abs=0.01)
            else:
                assert read_ns <= edges_ns[place] + 1, "not a byte had moved"
                assert view.head[0, column] == view.tail[0, column]
    evidence = case.stage.evidence(case.asked)
    assert evidence.torn_reads == torn_count
    assert (torn_count > 0) == (changes is NARROW)
    assert evidence.late_ns_max == max(int(row.view.late_ns.max()) for row in case.rows)


def test_a_stale_page_holds_what_another_session_left_there(shared: SharedModel) -> None:
    case = raced(shared)
    other = case.stage.asked[1]
    contents = case.stage.pair.ledger.contents
    prompt = shared.reader.read(other.request.messages, ())
    (left,) = {tuple(row.view.tail[0, RESIDENT : RESIDENT + len(case.loaded_pages)].tolist()) for row in case.rows}
    assert set(left) != {0}, "slots that were never used hold zeros"
    left_tokens = {
        content.clean.tokens.numbers.tobytes() for content in contents(np.array(left)) if content.token_count
    }
    of_other = {
        prompt.tokens[begin : begin + PAGE].astype(np.uint16).tobytes() for begin in range(0, len(prompt.tokens), PAGE)
    }
    assert left_tokens & of_other


def test_evidence_shows_the_first_early_reads(shared: SharedModel) -> None:
    case = raced(shared)
    sample = case.stage.evidence(case.asked).sample()
    assert [read.layer for read in sample] == sorted(read.layer for read in sample)
    for read, row in zip(sample, case.rows, strict=False):
        assert (read.pool, read.layer) == ("index_k", row.operation.layer)
        assert read.pages == tuple(row.view.region.pages[row.view.stale[0]].tolist())
        assert read.late_ns == int(row.view.late_ns.max())
        assert read.torn == int((row.view.tear < 1.0).sum())


def test_who_shares_a_batch_shares_its_load(shared: SharedModel) -> None:
    """Two requests need the same pages back: one load serves both, both read it early, each counts its own reads."""
    stage = Stage(shared, variant=BARE, device_pages=40)
    writer = Writer(shared, 5)
    talks = [writer.talk(7_800) for _ in range(2)]
    for talk in talks:
        stage.ask(talk, talk.names[0])
    pair = [stage.submit(talks[0], name) for name in talks[0].names[1:]]
    stage.settle()
    loads, rides = (stage.evidence(asked) for asked in pair)
    assert (loads.batch, rides.batch) == (2, 2)
    assert stage.pair.counters()["loaded_pages"] == 7_800 // PAGE
    assert (loads.host_hit_tokens, rides.host_hit_tokens) == (7_800 // PAGE * PAGE, 0)
    assert rides.device_hit_tokens == loads.host_hit_tokens, "by then the tree says that they are on the device"
    assert loads.stale_reads == rides.stale_reads == 21 * (7_800 // PAGE)
    assert not all(asked.is_right for asked in pair)


@pytest.mark.parametrize(
    "changes",
    [
        {"variant": BARE},
        {"variant": BARE, "tp": 2},
        {"variant": GATED},
        {"variant": MASKED},
        {"variant": BARE, "host_pages": 0},
        {"variant": BARE, "index_k": "fp8", "policy": "write_back"},
        {"variant": BARE, "delays": (LATE, "handoff=exponential:2ms", "d2h.backup=exponential:1ms")},
    ],
)
def test_decode_reads_nothing_stale_and_the_books_always_balance(shared: SharedModel, changes: dict[str, Any]) -> None:
    """Many requests at once, and the laws of the cache looked at every half millisecond."""
    stage = Stage(shared, **{"device_pages": 64, "decode_pages": 120, "chunk_tokens": 4_096, **changes})
    writer = Writer(shared, 6)
    base = writer.talk(2_300)
    talks = [writer.talk(tokens, after=base) for tokens in (3_000, 4_500, 6_000, 2_000)]
    for _ in range(2):
        for talk in talks:
            for name in talk.names[-2:]:
                stage.submit(talk, name, max_new_tokens=40)
        while stage.machine.next_time_ns() is not None:
            stage.machine.advance_to(stage.machine.now_ns + 500_000)
            check(stage.pair.cache)
            check_invariants(stage.machine)
        stage.check_at_rest()
    assert not [row for row in stage.trace.stale_rows if row.operation.stream.startswith("decode.")]
    assert any(operation.label.startswith("decode.step") for operation in stage.trace.operations)


def test_decode_would_notice_pages_that_have_not_arrived(shared: SharedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above: a hand-off that says too early that it has arrived."""
    stage = Stage(shared, variant=GATED, delays=("handoff=constant:5ms",))
    meetings: list[Rendezvous] = []
    send: Callable[[Handoff, Rendezvous, PageIds, int], None] = Handoff.send

    def send_early(handoff: Handoff, meeting: Rendezvous, pages: PageIds, row_version: int) -> None:
        send(handoff, meeting, pages, row_version)
        meeting.arrived = stage.machine.event("too early")
        stage.pair.prefill._streams[0].record(meeting.arrived)
        meetings.append(meeting)

    monkeypatch.setattr(Handoff, "send", send_early)
    monkeypatch.setattr(ContentLedger, "row", lambda _, __: (meetings[-1].room, meetings[-1].first_token))
    talk = Writer(shared, 7).talk(1_000)
    asked = stage.submit(talk, talk.names[0])
    stage.machine.run()
    assert stage.evidence(asked).decode_stale_reads > 0


def test_decode_checks_whose_metadata_row_it_got(shared: SharedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(shared, variant=GATED)
    talk = Writer(shared, 7).talk(1_000)
    write: Callable[[ContentLedger, int, int], int] = ContentLedger.write_row
    monkeypatch.setattr(ContentLedger, "write_row", lambda ledger, room, token: write(ledger, room + 1, token))
    stage.submit(talk, talk.names[0])
    with pytest.raises(AssertionError, match="metadata row of room 1001 reached room 1000"):
        stage.machine.run()

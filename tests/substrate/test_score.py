"""Interleavings written out, one a test: what orders a read after a copy, and what only seems to."""

from __future__ import annotations

from kernels.substrate.delays import parse_delay
from tests.substrate.score import play


def test_one_stream_is_first_in_first_out() -> None:
    assert play("L.copy L.read8") == "L.copy 0-40, L.read8 40-48 ++++"


def test_two_streams_are_unordered_without_an_event() -> None:
    # Pages land at 10, 20, 30, 40; the read looks at 1, 3, 5, 7.
    assert play("L.copy C.read8") == "L.copy 0-40, C.read8 0-8 /---"


def test_a_wait_orders_the_read_after_the_copy() -> None:
    assert play("L.copy L.rec:a C.wait:a C.read8") == "L.copy 0-40, C.read8 40-48 ++++"


def test_a_wait_on_an_event_never_recorded_is_a_no_op() -> None:
    assert play("C.wait:a L.copy L.rec:a C.read8") == "L.copy 0-40, C.read8 0-8 /---"


def test_a_record_before_the_copy_covers_nothing() -> None:
    assert play("L.rec:a L.copy C.wait:a C.read8") == "L.copy 0-40, C.read8 0-8 /---"


def test_recording_again_does_not_move_an_earlier_wait() -> None:
    assert play("L.busy5 L.rec:a C.wait:a L.copy L.rec:a C.read8") == "L.busy5 0-5, L.copy 5-45, C.read8 5-13 /---"


def test_a_later_wait_is_bound_to_the_later_record() -> None:
    assert play("L.busy5 L.rec:a L.copy L.rec:a C.wait:a C.read8") == "L.busy5 0-5, L.copy 5-45, C.read8 45-53 ++++"


def test_a_wait_after_the_read_comes_too_late() -> None:
    assert play("L.copy L.rec:a C.read8 C.wait:a C.busy1") == "L.copy 0-40, C.read8 0-8 /---, C.busy1 40-41"


def test_a_wait_in_another_stream_orders_only_that_stream() -> None:
    assert play("L.copy L.rec:a B.wait:a B.read4 C.read4") == "L.copy 0-40, B.read4 40-44 ++++, C.read4 0-4 ----"


def test_order_passes_on_through_a_third_stream() -> None:
    heard = play("L.copy L.rec:a B.wait:a B.rec:b C.wait:b C.read4")
    assert heard == "L.copy 0-40, C.read4 40-44 ++++"


def test_a_read_in_the_middle_of_a_copy_sees_whole_torn_and_old_pages() -> None:
    # The read looks at 22, 24, 26, 28, when 2.2 to 2.8 pages have landed.
    assert play("L.copy C.busy21 C.read8") == "L.copy 0-40, C.busy21 0-21, C.read8 21-29 ++/-"


def test_a_read_behind_the_copy_front_is_fresh_and_one_that_runs_into_it_is_torn() -> None:
    # Pages end at 10, 20, 30, 40. The first read looks at 10, 30, 50, 70, the second at 6, 18, 30, 42.
    assert play("L.copy C.read80") == "L.copy 0-40, C.read80 0-80 ++++"
    assert play("L.copy C.read48") == "L.copy 0-40, C.read48 0-48 //++"


def test_an_overwrite_is_seen_by_a_read_that_was_not_kept_before_it() -> None:
    # Host issue order promises version 1 to the read; the younger write overtakes it.
    heard = play("L.copy L.rec:a C.wait:a C.busy20 C.read4 L.write5=2")
    assert heard == "L.copy 0-40, C.busy20 40-60, C.read4 60-64 ----, L.write5=2 40-45"


def test_a_save_that_does_not_wait_copies_the_old_version() -> None:
    # The save moves bytes from 0 on, the write lands at 30: three pages are saved too early.
    assert play("C.write30=5 B.save B.rec:b L.wait:b L.copy L.read4") == (
        "C.write30=5 0-30, B.save 0-40, L.copy 40-80, L.read4 80-84 ---+"
    )


def test_an_injected_delay_holds_the_bytes_back_not_the_other_stream() -> None:
    delays = [parse_delay("h2d.index_k=constant:100ns")]
    assert play("L.copy L.rec:a C.read8 C.wait:a C.read4", delays=delays) == (
        "L.copy 0-140, C.read8 0-8 ----, C.read4 140-144 ++++"
    )


def test_a_delay_at_the_reader_opens_no_window() -> None:
    delays = [parse_delay("compute.indexer=constant:100ns")]
    assert play("L.copy C.read8", delays=delays) == "L.copy 0-40, C.read8 0-108 ++++"


def test_a_launch_cost_is_paid_before_the_first_byte() -> None:
    assert play("L.copy C.busy1010 C.read8", copy__launch=1.0) == (
        "L.copy 0-1040, C.busy1010 0-1010, C.read8 1010-1018 +/--"
    )

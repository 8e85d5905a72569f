"""Mends where a host thread has a part: who waits itself, who has to hear of it from another thread.

Owns: the forms of a mend. Floor: tests. Source: ours; CUDA's event waits order streams and the calling thread only.
"""

from __future__ import annotations

import json

from kernels.races.detector.reading import judge_lines
from kernels.races.naming.codes import Code, Finding
from kernels.races.naming.naming import name_all
from tests.races.test_naming import findings

POOL = {"row": "buffer", "name": "pinned", "space": "host", "bytes": 4096}


def named(*rows: dict[str, object]) -> Finding:
    header = {"row": "header", "format": "kvrace-trace/1"}
    whole = (header, POOL, *rows, {"row": "end", "rows": len(rows) + 2})
    (group,) = name_all(judge_lines([json.dumps(row).encode() for row in whole]))
    return group.shown


def touch(op: int, thread: str, mode: str) -> dict[str, object]:
    accesses = [{"mode": mode, "buffer": "pinned", "bytes": [[0, 64]]}]
    return {"row": "touch", "op": op, "thread": thread, "label": f"{mode} {op}", "time": 10 * op, "accesses": accesses}


def copy(op: int, thread: str, mode: str) -> dict[str, object]:
    row = touch(op, thread, mode)
    return {**row, "row": "copy", "stream": "load", "issue": 10 * op}


def test_two_host_threads_need_a_hand_over() -> None:
    finding = named(touch(1, "filler", "write"), touch(2, "sender", "read"))
    assert finding.code is Code.WRONG_THREAD
    assert finding.mend.how == "hand_over"
    assert str(finding.mend) == (
        "thread sender joins thread filler, or takes a queue entry put behind where it makes #1 write 1, "
        "before #2 read 2"
    )


def test_a_copy_of_what_another_thread_fills_needs_a_hand_over_to_who_issues_it() -> None:
    finding = named(touch(1, "filler", "write"), copy(2, "main", "read"))
    assert finding.code is Code.WRONG_THREAD
    assert str(finding.mend).startswith("thread main joins thread filler, or takes a queue entry")
    assert "no stream can record its end" in finding.because


def test_a_host_thread_that_touches_what_a_stream_uses_waits_itself() -> None:
    record = {"row": "record", "op": 2, "stream": "load", "thread": "main", "label": "record", "issue": 20}
    finding = named(copy(1, "main", "read"), {**record, "event": "sent", "generation": 1}, touch(3, "main", "write"))
    assert finding.code is Code.REUSE_BEFORE_COMPLETION
    assert finding.mend.how == "host_wait"
    assert str(finding.mend) == "thread main waits for sent before #3 write 3"


def test_a_thread_that_waits_for_nobody_is_offered_as_a_teacher() -> None:
    (finding,) = findings("L>k7 L!e7 u~e7 | h@C<k7")
    assert finding.mend.teacher == "u"
    assert str(finding.mend) == (
        "C.wait(e7) before #4 h@C<k7; or thread h joins thread u, or takes a queue entry put behind where it waits "
        "for e7, before #4 h@C<k7"
    )


def test_a_stream_wait_offers_no_thread() -> None:
    (finding,) = findings("L>k7 L!e7 | C<k7")
    assert str(finding.mend) == "C.wait(e7) before #3 C<k7"

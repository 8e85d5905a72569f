"""Naming: for each code a clean program and the mutants that lose one order, as token traces.

Owns: codes, reasons, mends. Floor: tests. Source: ours; the programs are those of facts/concurrency.md section 6.
"""

from __future__ import annotations

import pytest

from kernels.races.detector.detector import detect
from kernels.races.detector.race import Verdict
from kernels.races.naming.codes import Code, Finding
from kernels.races.naming.naming import name_all
from tests.races.token_trace import token_trace

# A load stream L fills k and i (index keys) layer by layer; compute C reads both; e6 and e7 are the layers' events.
CLEAN = "L>k6 L>i6 L!e6 L>k7 L>i7 L!e7 | C?e6 C<i6 C?e6 C<k6 C?e7 C<i7 C?e7 C<k7"

MUTANTS = {
    "no wait at all": ("L>k7 L!e7 | C<k7", Code.MISSING_WAIT, "e7"),
    "index read of one layer before its gate": (
        "L>k6 L>i6 L!e6 L>k7 L>i7 L!e7 | C?e6 C<i6 C?e6 C<k6 C<i7 C?e7 C<k7",
        Code.LATE_WAIT,
        "e7",
    ),
    "gate on the layer before": (
        "L>k6 L>i6 L!e6 L>k7 L>i7 L!e7 | C?e6 C<i6 C?e6 C<k6 C?e6 C<i7 C?e7 C<k7",
        Code.WRONG_EVENT,
        "e7",
    ),
    "last layer never recorded": ("L>k6 L!e6 L>k7 | C?e6 C<k6 C?e7 C<k7", Code.MISSING_RECORD, "e7"),
    "nothing recorded, nobody waits": ("L>k7 | C<k7", Code.MISSING_RECORD, "L.done[1]"),
    "layer in the middle never recorded": (
        "L>k6 L!e6 L>k7 L>k8 L!e8 | C?e6 C<k6 C?e7 C<k7 C?e8 C<k8",
        Code.MISSING_RECORD,
        "e7",
    ),
    "layer in the middle not recorded this time": (
        "L>m6 L!e6 L>m7 L!e7 L>m8 L!e8 C?e8 L>k6 L!e6 L>k7 L>k8 L!e8 | C?e6 C<k6 C?e7 C<k7 C?e8 C<k8",
        Code.MISSING_RECORD,
        "e7",
    ),
    "recorded before the copies": ("L!e6 L>k6 L!e7 L>k7 | C?e7 C<k7", Code.EARLY_RECORD, ""),
    "recorded before the copies, each layer": (
        "L!e6 L>k6 L!e7 L>k7 L!e8 L>k8 | C?e6 C<k6",
        Code.EARLY_RECORD,
        "L.done[2]",
    ),
    "an event of its own, recorded before the copy": (
        "L>k7 L!i7 L>i7 L!e7 | C?i7 C<i7 C?e7 C<k7",
        Code.EARLY_RECORD,
        "L.done[3]",
    ),
    "waits before the load is issued": ("C?e7 L>k7 L!e7 | C<k7", Code.UNARMED_WAIT, "e7"),
    "asks before there is a record": ("L>k7 h=e7 | h@C<k7 L!e7", Code.UNARMED_WAIT, "L.done[1]"),
    "another thread waits": ("L>k7 L!e7 u~e7 | h@C<k7", Code.WRONG_THREAD, "e7"),
    "another thread polls": ("L>k7 L!e7 u=e7 | h@C<k7", Code.WRONG_THREAD, "e7"),
    "another thread waits, and the next wait is late": ("L>k7 L!e7 u~e7 | C<k7 C?e7", Code.WRONG_THREAD, "e7"),
    "another thread waits, and hears of it too late": ("L>k7 L!e7 | C<k7 u~e7 C?e7", Code.WRONG_THREAD, "e7"),
    "a busy thread waits for its own work": ("L>k7 L!e7 | u@D<m7 u@D!f C<k7 u~e7 C?e7", Code.LATE_WAIT, "e7"),
    "another stream waits": ("L>k7 L!e7 D?e7 | C<k7", Code.WRONG_THREAD, "e7"),
    "page reused while it is read": ("C<k7 C!r | L>k7", Code.REUSE_BEFORE_COMPLETION, "r"),
    "page reused, wait too late": ("C<k7 C!r | L>k7 L?r", Code.REUSE_BEFORE_COMPLETION, "r"),
    "two writers": ("L>k7 L!e7 | C>k7", Code.MISSING_WAIT, "e7"),
}


def findings(text: str) -> list[Finding]:
    return [finding for group in name_all(detect(token_trace(text))) for finding in (group.shown, *group.others)]


def test_clean_program_has_nothing_to_name() -> None:
    assert detect(token_trace(CLEAN)).verdict is Verdict.CLEAN


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_named(name: str) -> None:
    text, code, event = MUTANTS[name]
    (finding,) = findings(text)
    assert finding.code is code, finding.because
    if event:
        assert finding.mend.event == event
    assert finding.mend.before is finding.race.second.operation


def test_older_record_of_one_event_is_the_wrong_one() -> None:
    (finding,) = findings("L>m1 L!e C?e L>k7 L!e C<k7")
    assert finding.code is Code.WRONG_EVENT
    assert "record 1 of e, an older one" in finding.because


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mend_closes_the_race(name: str) -> None:
    """The wait that is named, put into the text where it is named, leaves nothing to find."""
    text = MUTANTS[name][0]
    (finding,) = findings(text)
    mend, tokens = finding.mend, text.replace("|", " ").split()
    event = "zz" if mend.record_after is not None else mend.event
    tokens.insert(mend.before.ordinal - 1, f"{mend.stream}?{event}")
    if mend.record_after is not None:
        tokens.insert(mend.record_after.ordinal, f"{mend.record_after.stream}!{event}")
    assert detect(token_trace(" ".join(tokens))).verdict is Verdict.CLEAN


def test_races_of_one_signature_are_folded() -> None:
    loads = [f"L>k{layer} L!e{layer}" for layer in range(6)]
    text = " ".join([*loads, *(f"C<k{layer}" for layer in range(6))])
    (group,) = name_all(detect(token_trace(text)))
    assert group.layers == (0, 1, 2, 3, 4, 5)
    assert group.race_count == 6
    assert group.shown.race.layer == 0


def test_reason_of_a_late_wait_tells_both_waits() -> None:
    (finding,) = findings(MUTANTS["index read of one layer before its gate"][0])
    assert finding.because == (
        "C waits for e7 at #12, 1 operation after the access; its last wait before it is for e6 at #9"
    )

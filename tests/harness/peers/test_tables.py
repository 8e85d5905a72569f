"""What the tables count: found, false, replayed, and the intervals; on stored runs written by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from benchmarks.page import Figures
from benchmarks.peers.found import Found
from benchmarks.peers.naming import Named
from benchmarks.peers.page import median_interval, named_table, planted_table, sound_table, tool_table
from benchmarks.peers.questions import questions
from benchmarks.peers.record import Record, stored
from kernels.engine.shared import SharedModel


def run(tool: str, target: str, seed: int, alarm: bool, true: bool | None, **more: Any) -> Found:
    fields: dict[str, Any] = {"exit_code": None, "said": "", "replays": None, **more}
    seconds, requests = (float(seed), 10 * seed) if alarm else (None, None)
    return Found(tool, target, seed, alarm, true, seconds, requests, 9.0, 99, **fields)


RUNS = [
    run("ours", "gate_missing", 1, True, True, exit_code=1),
    run("ours", "gate_missing", 2, False, None, exit_code=4),
    run("ours", "wrong_key", 3, True, True, exit_code=1),
    run("ours", "sound", 1, False, None, exit_code=0),
    run("peer", "gate_missing", 1, True, True, replays=(9, 10)),
    run("peer", "gate_missing", 2, True, False),
    run("peer", "wrong_key", 3, False, None),
    run("peer", "sound", 1, True, False),
]


@pytest.fixture
def record(tmp_path: Any) -> dict[str, Any]:
    whole = Record("a command", list(RUNS), [Named("wrong_key", 0, ""), Named("gate_missing", 7, "LATE_WAIT x")])
    whole.replays = [("gate_missing", 8, 10), ("sound", 0, 0)]
    whole.load_average = [1.5]
    whole.keep(tmp_path / "peers.json")
    return stored(tmp_path / "peers.json")


def test_tools(record: dict[str, Any]) -> None:
    ours, peer = tool_table(record).rows
    times = ("2.0 (1.0 to 3.0)", "20 (10 to 30)")
    assert ours == ("ours", "2 of 3", "1 of 2", "0 of 1", *times, "symptom only", "8.0 of 10", "3 of 4")
    assert peer == ("peer", "1 of 3", "0 of 2", "1 of 1", "1.0 (1.0 to 1.0)", "10 (10 to 10)", "no", "9.0 of 10", "-")


def test_targets(record: dict[str, Any]) -> None:
    def rows(table: Figures) -> dict[str, tuple[object, ...]]:
        return {str(row[0]).split("`")[1]: row[1:] for row in table.rows}

    assert rows(planted_table(record))["gate_missing"] == ("1/2, 1.0 s", "1/2, 1.0 s")
    assert rows(planted_table(record))["wrong_key"] == ("1/1, 3.0 s", "0/1")
    assert rows(sound_table(record))["sound"] == ("0 of 1", "1 of 1")
    assert rows(named_table(record))["wrong_key"] == (0, "nothing is reported")


def test_interval_holds_the_median_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    for count in (8, 20):
        samples = rng.exponential(size=(4_000, count))
        held = sum(low <= np.log(2) <= high for low, high in map(median_interval, samples.tolist()))
        assert held / 4_000 >= 0.94
    assert median_interval([3.0, 1.0, 2.0]) == (1.0, 3.0), "three values cannot do it, so it is their range"


def test_questions_have_answers_that_spelling_does_not_change() -> None:
    asked = questions(5, SharedModel().reader)
    for one, other in pairwise(asked):
        assert one.text != other.text
    one = asked[0]
    key = next(iter(one.arguments))
    spelled = f"{one.name} {one.arguments}".replace("'", '"')
    assert one.is_right(spelled) == one.is_right(spelled.replace('": "', '":  "'))
    assert not one.is_right(spelled.replace(key, "other"))
    assert not one.is_right("")
    assert {len(each.tokens) > 5_000 for each in asked} == {True}

"""What is kept of a run whose judge fails: everything up to the reply that it failed on, and that reply too.

Floor: tests. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from harness.live import keeping
from harness.live.keeping import Keeper
from harness.load.workload.plan import SessionPlan
from results.findings import Judgement, Verdict
from results.oracles.context import JudgeContext
from results.oracles.judge import judge_turn
from results.reader import open_run, read_raw
from results.records import LoadMark, ToolSchema, TurnRecord
from tests.harness.small_plans import session_plan
from tests.results.builders import manifest, said, turn

ODD = "the judge cannot bear this"


@dataclass(frozen=True)
class TwoSessions:
    sessions: tuple[SessionPlan, ...] = tuple(replace(session_plan(number), secrets=()) for number in range(2))
    left_out: Mapping[str, int] = field(default_factory=dict)

    def tool_schemas(self) -> tuple[ToolSchema, ...]:
        return ()


def keeper_of(store: Path | None) -> Keeper:
    return Keeper(store, manifest(), TwoSessions(), stamp="20261130T064500Z")


@pytest.fixture
def judge_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(record: TurnRecord, context: JudgeContext) -> Judgement:
        if record.content == ODD:
            raise TypeError("unhashable type: 'dict'")
        return judge_turn(record, context)

    monkeypatch.setattr(keeping, "judge_turn", judge)


@pytest.mark.usefixtures("judge_that_fails")
def test_a_reply_that_the_judge_fails_on_is_kept_and_the_error_goes_on(tmp_path: Path) -> None:
    keeper = keeper_of(tmp_path)
    keeper.keep(turn(0, 0, raw="data: sound\n\n"))
    with pytest.raises(TypeError, match="unhashable type"):
        keeper.keep(said(ODD, session=1, raw="data: odd\n\n"))
    assert keeper.turn_count == 2
    assert keeper.corrupted == 0
    keeper.abandon()

    run = open_run(Path(keeper.path))
    assert run.is_partial
    assert [one.content for one in run.turns] == ["", ODD]
    assert list(read_raw(run)[0].values()) == ["data: sound\n\n", "data: odd\n\n"]
    stored = run.judgements[1]
    assert (stored.key, stored.verdict, stored.kind) == ((1, 0), Verdict.UNKNOWN, None)
    assert "the judge of kvrace did not come to the end of this reply" in stored.findings[0].reason


@pytest.mark.usefixtures("judge_that_fails")
def test_without_a_folder_the_error_goes_on_too() -> None:
    keeper = keeper_of(None)
    with pytest.raises(TypeError):
        keeper.keep(said(ODD))
    assert [judgement.verdict for judgement in keeper.judgements] == [Verdict.UNKNOWN]


def test_a_turn_is_stored_with_what_the_judge_says(tmp_path: Path) -> None:
    keeper = keeper_of(tmp_path)
    for record in (turn(0, 0), said("no call", session=1), turn(1, 1, load=LoadMark(hung_up="reply"))):
        keeper.keep(record)
    keeper.abandon()
    run = open_run(Path(keeper.path))
    assert [judgement.verdict for judgement in run.judgements] == [Verdict.OK, Verdict.VIOLATED]
    assert [(one.key, judgement.verdict) for one, judgement in keeper.aside] == [((1, 1), Verdict.UNKNOWN)]
    assert (keeper.corrupted, len(keeper.turns), len(keeper.aside)) == (1, 2, 1)

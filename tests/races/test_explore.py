"""Exploring: each program's answer, name, confirmation, token and mend; and what is never called clean.

Owns: `explore`, `replay`. Floor: tests. Source: facts/concurrency.md sections 0, 3 and 6.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernels.errors import ConfigError
from kernels.races.naming.codes import Code
from kernels.races.scheduler.program import Program, program_hash
from kernels.races.search.explore import explore
from kernels.races.search.replay import replay
from kernels.races.search.result import Answer, Exploration, RacesFound
from kernels.races.search.tokens import TOKEN_CHARACTERS_MAX, TokenRefused
from tests.races import programs


def explored(program: Program, **options: int) -> Exploration:
    return explore(program, **{"budget": 400, "mend_schedules": 120, **options})  # type: ignore[arg-type]


RACY: dict[str, tuple[Program, Code]] = {
    "every layer ungated": (programs.ungated(4), Code.MISSING_WAIT),
    "last layer ungated": (programs.last_ungated(20), Code.MISSING_WAIT),
    "gate one layer short": (programs.gate_one_short(4), Code.WRONG_EVENT),
    "host polls once": (programs.polling(1), Code.MISSING_WAIT),
    "host polls twice": (programs.polling(2), Code.MISSING_WAIT),
    "page written before its backup": (programs.write_back_clobber(is_fenced=False), Code.REUSE_BEFORE_COMPLETION),
}

CLEAN: dict[str, Program] = {
    "gated": programs.gated(20),
    "host polls until done": programs.poll_for_ever,
    "page fenced": programs.write_back_clobber(is_fenced=True),
}


@pytest.mark.parametrize("name", RACY)
def test_race_is_named_shown_ten_times_minimised_and_closed_by_what_is_named(name: str) -> None:
    program, code = RACY[name]
    result = explored(program)
    (report,) = result.races
    assert report.group.shown.code is code
    assert report.is_confirmed
    assert report.token is not None
    assert len(report.token.constraints) == 1
    assert len(str(report.token)) <= TOKEN_CHARACTERS_MAX
    assert report.mend is not None
    assert report.mend.is_closed
    assert report.mend.is_exhausted
    assert result.answer is Answer.RACES
    with pytest.raises(RacesFound, match=code):
        result.assert_clean()


@pytest.mark.parametrize("name", CLEAN)
def test_clean_programs_are_exhausted(name: str) -> None:
    result = explored(CLEAN[name])
    assert result.exhausted
    assert not result.races
    result.assert_clean()


def test_detected_race_is_hit_by_the_second_schedule() -> None:
    assert explored(programs.last_ungated(20)).stats.first_failure == 2


def test_token_shows_the_failure_and_the_mend_closes_it() -> None:
    program = programs.last_ungated(6)
    (report,) = explored(program).races
    token = str(report.token)
    assert replay(program, token).outcome.stale
    mended = replay(program, token, mend=report.mend)
    assert not mended.outcome.has_failed
    assert not mended.was_met


def test_token_of_another_program_is_refused_with_a_sentence() -> None:
    (report,) = explored(programs.ungated(2)).races
    with pytest.raises(TokenRefused, match="the code has changed"):
        replay(programs.gated(2), str(report.token))
    with pytest.raises(TokenRefused, match="this is no token"):
        replay(programs.gated(2), "kr1-nonsense")


@pytest.mark.parametrize(
    ("order", "reason"), [("o9.1b0.1", "it names stream 9,"), ("o0.1b1.99", "it names operation 99 of")]
)
def test_token_that_names_what_the_program_has_not_is_refused(order: str, reason: str) -> None:
    program = programs.gated(2)
    with pytest.raises(TokenRefused, match=reason):
        replay(program, f"kr1-{program_hash(program)}--{order}")


def test_wait_in_another_thread_is_no_fix_and_a_stream_wait_from_a_thread_that_may_be_first_is_none_either() -> None:
    (report,) = explored(programs.other_thread_waits).races
    assert report.group.shown.code is Code.WRONG_THREAD
    assert report.mend is not None
    assert not report.mend.is_closed


def test_wrong_bytes_without_a_race_are_a_verdict_of_their_own() -> None:
    result = explored(programs.forgotten_pool)
    assert (result.is_unordered, result.saw_stale_bytes, result.changed_output) == (False, False, True)
    assert "the companion holds version 2, not 1" in result.failures[0].outcome.error


def test_search_that_runs_out_of_budget_is_bounded_not_clean() -> None:
    result = explore(programs.gated(3), strategy="random", budget=50)
    assert result.answer is Answer.BOUNDED
    with pytest.raises(RacesFound, match="bounded, not clean"):
        result.assert_clean()
    result.assert_clean(allow_bounded=True)


def test_unknown_strategy_is_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'random'"):
        explore(programs.gated(1), strategy="randum")


@pytest.mark.parametrize("strategy", ["random", "pct1", "pct2", "pct3", "pos", "surw"])
def test_every_strategy_finds_the_ungated_read(strategy: str) -> None:
    result = explore(programs.ungated(3), strategy=strategy, budget=100, mend_schedules=10)
    assert result.stats.by_strategy.keys() > {"issue order", "directed"}
    assert result.failures[0].count > 10


def test_same_seed_same_search() -> None:
    def counts(seed: int) -> list[int]:
        result = explore(programs.ungated(5), strategy="random", budget=200, seed=seed, mend_schedules=0)
        return [failure.count for failure in result.failures]

    assert counts(3) == counts(3)


def test_every_outcome_of_a_query_is_looked_at() -> None:
    """n polls that may all say no: n + 1 ways to leave the loop, and the read may then race."""

    def orders(make: Callable[[int], Program]) -> list[int]:
        return [explored(make(polls)).stats.orders for polls in (1, 2, 3)]

    found = orders(programs.polling)
    assert found == sorted(found)
    assert found[2] > found[0]

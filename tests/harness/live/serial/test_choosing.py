"""Which turns are asked again, and how many: wrong ones first, and a sample that does not look at the outcome."""

from __future__ import annotations

import numpy as np
import pytest

from harness.live.serial.choosing import Choice
from harness.live.serial.settings import DEFAULT_TURNS, SerialSettings, serial_settings, serial_words
from kernels.errors import ConfigError
from results.findings import Judgement, Kind
from results.records import TurnRecord
from tests.results.builders import judged, turn

WRONG = {3: Kind.LOST_CALL, 11: Kind.CROSS_TALK, 40: Kind.WRONG_CALL, 41: Kind.WRONG_CALL}


def run(wrong: dict[int, Kind] = WRONG, count: int = 60) -> tuple[list[TurnRecord], list[Judgement]]:
    turns = [turn(session, 0) for session in range(count)]
    judgements = [judged(session, 0, wrong.get(session)) for session in range(count)]
    turns[5] = turn(5, 0, error="boom", finish_reason=None)
    judgements[5] = judged(5, 0, Kind.TRANSPORT_ERROR)
    return turns, judgements


def choice(seed: int = 1, wrong_max: int = 32, wrong: dict[int, Kind] = WRONG) -> Choice:
    return Choice(*run(wrong), np.random.default_rng(seed), wrong_max=wrong_max)


def test_wrong_turns_and_a_sample_take_turns() -> None:
    chosen = choice().first(16)
    sessions = [one.turn.session for one in chosen]
    assert set(WRONG) <= set(sessions)
    assert len(set(sessions)) == len(sessions)
    assert sum(one.is_sampled for one in chosen) == 16
    # The proof that no model can make up comes first.
    assert sessions[0] == 11
    assert [one.turn.session for one in choice().first(16)] == sessions
    assert [one.turn.session for one in choice(seed=2).first(16)] != sessions
    assert 5 not in [one.turn.session for one in choice().first(60)]


def test_sample_does_not_look_at_the_outcome() -> None:
    drawn = [
        {one.turn.session for one in choice(seed, wrong=wrong).first(16) if one.is_sampled}
        for seed in range(20)
        for wrong in (WRONG, {})
    ]
    assert drawn[::2] == drawn[1::2]
    hits = sum(bool({40, 41} & one) for one in drawn[::2])
    assert 0 < hits < 20


def test_too_many_wrong_turns_are_drawn_from() -> None:
    many = dict.fromkeys(range(20, 60), Kind.LOST_CALL) | {11: Kind.CROSS_TALK}
    chosen = choice(wrong_max=8, wrong=many).first(0)
    assert len(chosen) == 8
    assert chosen[0].turn.session == 11
    assert [one.turn.session for one in choice(seed=2, wrong_max=8, wrong=many).first(0)] != [
        one.turn.session for one in chosen
    ]


def test_a_larger_sample_goes_on_with_the_same_draw() -> None:
    one = choice()
    first = one.first(8)
    marked, more = one.more(24, first)
    assert [found.turn for found in marked] == [found.turn for found in first]
    whole = {found.turn.session for found in (*marked, *more) if found.is_sampled}
    assert whole == {found.turn.session for found in choice().first(24) if found.is_sampled}
    assert not {found.turn.session for found in marked} & {found.turn.session for found in more}


def test_replies_that_look_wrong_where_nobody_knows_the_answer_are_asked_again() -> None:
    turns, judgements = run({})
    turns[7] = turn(7, 0, expected=None)
    judgements[7] = judged(7, 0, Kind.REFUSED)
    found = Choice(turns, judgements, np.random.default_rng(1), wrong_max=8).first(0)
    assert [one.turn.session for one in found] == [7]


def test_how_many() -> None:
    settings = SerialSettings(DEFAULT_TURNS)
    assert settings.sample(400, 0) == 16
    # So many right turns rule out that 100, or 40, in 400 came by chance.
    assert settings.sample(400, 100) == 16
    assert settings.sample(400, 40) == 30
    assert settings.sample(400, 1) == 48
    assert settings.sample(10, 1) == 10
    assert (settings.weak_sample(400), settings.weak_sample(30)) == (64, 30)
    assert (settings.time_max_s(10.0), settings.time_max_s(600.0)) == (60.0, 600.0)


def test_words() -> None:
    said = {"serial_check": None, "flush": True, "rescore": False}
    assert serial_settings(said, arms=1) == SerialSettings(DEFAULT_TURNS)
    assert serial_settings(said, arms=2).turns == 0
    assert serial_words(said) == []
    much = {"serial_check": 40, "flush": False, "rescore": True}
    assert serial_settings(much, arms=2) == SerialSettings(40, flush=False, rescore=True, is_timed=False)
    assert serial_words(much) == ["--serial-check", "40", "--no-flush", "--rescore"]
    with pytest.raises(ConfigError, match="give --serial-check"):
        serial_settings({**said, "rescore": True, "serial_check": 0}, arms=1)

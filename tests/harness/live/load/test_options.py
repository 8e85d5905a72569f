"""The load's words on the command line: what goes together, what does not, and the command that repeats them."""

from __future__ import annotations

from typing import Any

import click
import pytest

from harness.cli.load_options import load_options
from harness.cli.main import main
from harness.live.arrivals import LoadShape
from harness.live.load_request import load_of, load_words
from kernels.errors import ConfigError

SERVER = "http://127.0.0.1:1/v1"


def arguments_of(words: list[str], sessions: int | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {}

    @click.command()
    @load_options
    def command(**arguments: Any) -> None:
        found.update(arguments)

    command.main(words, standalone_mode=False)
    return {**found, "sessions": sessions}


def load(words: list[str], sessions: int | None = None, duration_s: float | None = None) -> LoadShape:
    return load_of(arguments_of(words, sessions), duration_s)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ([], "closed loop, 60 sessions at once, once each"),
        (["--load", "gamma", "--rate", "2"], "gamma arrivals, 60 sessions, 2 a second, burstiness 0.25 (CV 2)"),
        (["--load", "gamma", "--rate", "2", "--burstiness", "4"], "gamma arrivals, 60 sessions, 2 a second, burstiness "
         "4 (CV 0.5)"),
        (["--load", "ramp", "--rate", "0.5..2.5"], "ramp, 60 sessions, 0.5 to 2.5 a second over 40 s"),
        (["--load", "trace", "--time-scale", "0.5"], "trace replay, 60 sessions, times x 0.5"),
        (["--think", "exponential:1.5s", "--warm-up", "2m"], "closed loop, 60 sessions at once, once each; think times "
         "of about 1.5 s; 120 s of warm-up"),
        (["--pattern", "round-robin", "--warm-up", "8 sessions"], "closed loop, 60 sessions, once each; "
         "round-robin, 8 requests at once; 8 sessions of warm-up"),
        (["--churn", "0.2", "--churn-phase", "mid-answer,queued"], "closed loop, 60 sessions at once, once each; 20 % "
         "of the turns hung up upon (queued, mid-answer)"),
    ],
)  # fmt: skip
def test_words_say_it_and_repeat_it(words: list[str], shown: str) -> None:
    arguments = arguments_of(words)
    shape = load_of(arguments, None)
    assert shape.words() == shown
    again = load_words(arguments)
    assert load(again) == shape
    assert load_words(arguments_of(again)) == again
    assert {word for word in words if word.startswith("--")} <= set(again)


@pytest.mark.parametrize(
    ("words", "sessions", "duration_s", "sentence"),
    [
        (["--rate", "2"], None, None, "--rate belongs to"),
        (["--load", "trace", "--rate", "2"], None, None, "--rate belongs to"),
        (["--load", "gamma"], None, None, "needs --rate"),
        (["--load", "poisson", "--rate", "1..2"], None, None, "one number"),
        (["--load", "ramp", "--rate", "1"], None, None, "FIRST..LAST"),
        (["--load", "ramp", "--rate", "0..0"], None, None, "not both 0"),
        (["--load", "ramp", "--rate", "1..101"], None, None, "FIRST..LAST"),
        (["--load", "ramp", "--rate", "a..b"], None, None, "neither a number"),
        (["--load", "ramp", "--rate", "1..2"], 5, 60.0, "leave one of them out"),
        (["--load", "ramp", "--rate", "0..100"], None, 60.0, "1 to 512"),
        (["--burstiness", "2"], None, None, "belongs to --load gamma"),
        (["--time-scale", "2"], None, None, "belongs to --load trace"),
        (["--think", "soon"], None, None, "constant:SECONDS"),
        (["--think", "constant:9999"], None, None, "at most 3600 s"),
        (["--warm-up", "30"], None, None, "neither a time"),
        (["--warm-up", "60s"], None, 60.0, "leaves nothing"),
        (["--warm-up", "8 sessions"], 8, None, "leaves nothing"),
        (["--churn", "0"], None, None, "more than 0"),
        (["--churn", "0.95"], None, None, "at most 0.9"),
        (["--churn-phase", "queued"], None, None, "needs --churn"),
        (["--churn", "0.1", "--churn-phase", "later"], None, None, "no 'later'; allowed: queued, prefill"),
        (["--in-flight", "4"], None, None, "belongs to a --pattern"),
        (["--pattern", "round-robin", "--in-flight", "8"], 8, None, "at least 9 sessions"),
        (["--pattern", "evict-return"], 2, None, "at least 3 sessions"),
        (["--pattern", "round-robin"], None, 60.0, "leave --load"),
        (["--pattern", "round-robin", "--load", "poisson", "--rate", "1"], None, None, "leave --load"),
    ],
)
def test_what_does_not_go_together(
    words: list[str], sessions: int | None, duration_s: float | None, sentence: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(words, sessions, duration_s)
    assert sentence in str(caught.value)


def test_no_warm_up_is_none() -> None:
    assert load(["--warm-up", "0s"]).warm_up is None
    assert load(["--warm-up", "0 sessions"]).warm_up is None


def test_wrong_word_ends_the_command_with_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--pattern", "evict-return", "--set", "workload.turns_min=2", "--set", "workload.turns_max=2"]
    for words in (short, ["--pattern", "evict-return", "--duration", "1m"], ["--churn", "2"], ["--load", "gama"]):
        assert main(["stress", "--base-url", SERVER, *words]) == 2
        shown = capsys.readouterr()
        assert (shown.err.count("\n"), shown.out) == (1, "")

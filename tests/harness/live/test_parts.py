"""The small parts of a live run, each against figures worked out by hand."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from harness.live.arrivals import load_shape, with_arrivals
from harness.live.clock import LagMeter
from harness.live.credentials import Scrubber, read_credentials
from harness.live.latency import ClientLag, client_lag, latency_of
from harness.live.limits import ErrorStorm, TokenBudget
from harness.live.preflight import chosen_model, read_models, refuse_long_prompts
from harness.live.target import arms_of, is_loopback, target_of
from harness.transport.retry_after import retry_after_s
from kernels.errors import ConfigError
from results.report.client_lag import lag_notes
from tests.harness.live.live_requests import request, workload_of
from tests.results.builders import turn

MS = 1_000_000
ON_TIME = ClientLag(0.1, 0.2, 0.1, 0.2, 0.1)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "a.localhost"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("10.0.0.1:80", "is no base URL"),
        ("ftp://127.0.0.1/v1", "is no base URL"),
        ("http:///v1", "is no base URL"),
        ("http://127.0.0.1:99999/v1", "is no URL"),
        ("http://me:hunter2@127.0.0.1/v1", "holds a user name or password"),
        ("http://127.0.0.1/v1?key=hunter2", "ends before any"),
        ("http://192.168.0.1/v1", "--i-may-load-this-server"),
        ("http://127.0.0.1.example.com/v1", "--i-may-load-this-server"),
        ("http://localhost.example.com/v1", "--i-may-load-this-server"),
    ],
)
def test_servers_that_are_refused(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        target_of(url, is_permitted=False)
    assert "hunter2" not in str(caught.value)


def test_server_elsewhere_with_permission() -> None:
    assert target_of("https://api.example.com/v1/", is_permitted=True).base_url == "https://api.example.com/v1"


@pytest.mark.parametrize(
    "texts",
    [("on=http://127.0.0.1/v1",), ("on",), ("a=http://127.0.0.1/v1", "a=http://127.0.0.1/v1"), ("a b=x", "c=y")],
)
def test_arms_that_are_refused(texts: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="--arm"):
        arms_of(texts, is_permitted=False)


def test_keys_come_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-abcdef")
    file = tmp_path / "key"
    file.write_text("sk-fedcba\n")
    assert read_credentials("A_KEY", None, []).api_key == "sk-abcdef"
    assert read_credentials(None, file, ["X-Team: blue team"]).headers == {"X-Team": "blue team"}
    monkeypatch.setenv("A_KEY", "sk abc\ndef")
    for environment, path, headers in (
        ("A_KEY", None, []), ("NOT_SET", None, []), (None, tmp_path / "none", []), ("A_KEY", file, []),
        (None, None, ["no colon"]), (None, None, ["X: a\r\nY: b"]), (None, None, ["a b: c"]),
    ):  # fmt: skip
        with pytest.raises(ConfigError) as caught:
            read_credentials(environment, path, headers)
        assert "abc" not in str(caught.value)


def test_secrets_are_taken_out_as_json_spells_them_too() -> None:
    scrubber = Scrubber(['k"ey-long', "k"])
    assert scrubber.text('x k"ey-long y "k\\"ey-long"') == 'x [secret] y "[secret]"'
    assert Scrubber([]).text("anything") == "anything"


def test_load_shapes_that_do_not_go_together() -> None:
    for kind, sessions, rate, duration in (
        ("closed", None, 1.0, None), ("closed", 0, None, None), ("closed", 513, None, None),
        ("closed", 1, None, 1e9), ("constant", None, None, None), ("poisson", None, 101.0, None),
        ("poisson", 5, 1.0, 60.0), ("constant", None, 100.0, 60.0),
    ):  # fmt: skip
        with pytest.raises(ConfigError):
            load_shape(kind, sessions, rate, duration)  # type: ignore[arg-type]
    assert load_shape("poisson", None, 0.5, 60.0).sessions == 30


def test_poisson_arrivals_have_the_rate_and_the_spread_of_one() -> None:
    plans = workload_of(request("http://127.0.0.1:1/v1")).sessions * 60
    shape = load_shape("poisson", len(plans), 2.0, None)
    seed = 11
    starts = np.array([plan.start_ns for plan in with_arrivals(plans, shape, np.random.default_rng(seed))]) / 1e9
    gaps = np.diff(starts)
    # 479 exponential gaps of mean 0.5: both their mean and their deviation are 0.5, give or take 5 of their errors.
    assert abs(gaps.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(gaps))
    assert abs(gaps.std() - 0.5) < 5 * 0.5 * np.sqrt(2 / len(gaps))
    assert starts[0] == 0


def test_latency_counts_from_the_intended_time() -> None:
    late = turn(0, 0, scheduled_ns=0, sent_ns=30 * MS, first_token_ns=50 * MS, finished_ns=90 * MS)
    other = turn(1, 0, scheduled_ns=0, sent_ns=0, first_token_ns=50 * MS, finished_ns=90 * MS)
    after = turn(1, 1, scheduled_ns=90 * MS, sent_ns=90 * MS, first_token_ns=90 * MS, finished_ns=100 * MS)
    failed = turn(2, 0, scheduled_ns=0, sent_ns=0, first_token_ns=None, finished_ns=None, error="x")
    found = latency_of([late, other, after, failed], [10 * MS, 10 * MS, 0, 20 * MS], ON_TIME)
    assert (found.ttft_p50, found.e2e_p50) == (50.0, 90.0)
    assert (found.itl_p50, found.gaps, found.merged_share) == (10.0, 4, 0.25)
    assert found.streams_max == 2
    # 40 + 40 + 10 ms of open replies in 100 ms of load.
    assert found.streams_mean == 0.9
    assert found.verdict == "ok"


@pytest.mark.parametrize(
    ("gap_ms", "lag", "verdict"),
    [
        (10, ClientLag(0.1, 9.0, 0.1, 0.9, 0.5), "ok"),
        (10, ClientLag(0.1, 0.2, 0.1, 1.1, 0.5), "unknown"),
        (10, ClientLag(0.1, 1.1, None, None, 0.5), "unknown"),
        (10, ClientLag(None, None, None, None, 0.5), "unknown"),
    ],
)
def test_a_late_client_blames_nobody(gap_ms: int, lag: ClientLag, verdict: str) -> None:
    assert latency_of([], [gap_ms * MS] * 9, lag).verdict == verdict
    assert latency_of([], [], lag).verdict == "unknown"


@pytest.mark.asyncio
async def test_a_loop_that_is_held_up_is_seen_to_be() -> None:
    """The loop is kept busy for 60 ms of its own clock: both heartbeats must show at least a good part of it."""
    async with LagMeter() as lag:
        loop = asyncio.get_running_loop()
        until = loop.time() + 0.02
        while loop.time() < until:
            await asyncio.sleep(0)
        held_until = loop.time() + 0.06
        while loop.time() < held_until:
            pass
        until = loop.time() + 0.03
        while loop.time() < until:
            await asyncio.sleep(0)
    assert max(lag.loop_ns) > 40 * MS
    if lag.kernel_ns:
        assert max(lag.kernel_ns) > 40 * MS
        # The beats that were missed meanwhile count too, each as late as it was.
        assert sum(sample > 9 * MS for sample in lag.kernel_ns) >= 4
    assert client_lag(lag.loop_ns, lag.kernel_ns, lag.cpu_share).p99 is not None


def test_storm_needs_half_of_many() -> None:
    bad, good = turn(error="boom"), turn()
    storm = ErrorStorm()
    assert [storm.sentence(bad) for _ in range(19)] == [None] * 19
    assert storm.sentence(bad) == "error storm: 20 of the last 20 requests failed, the last with: boom"
    calm = ErrorStorm()
    assert [calm.sentence(bad if number % 3 == 0 else good) for number in range(300)] == [None] * 300


def test_budget_sets_aside_what_begun_sessions_may_spend() -> None:
    budget = TokenBudget(1_000)
    assert budget.reserve(600)
    assert not budget.reserve(600)
    budget.count(turn(prompt_tokens=100, completion_tokens=50), 600)
    assert (budget.spent, budget.reserved) == (150, 0)
    assert budget.reserve(850)
    budget.count(turn(prompt_tokens=None, completion_tokens=None), 850)
    assert (budget.spent, budget.is_passed) == (1_000, False)
    budget.count(turn(prompt_tokens=1, completion_tokens=0), 0)
    assert budget.is_passed


def test_every_report_says_how_late_the_client_was() -> None:
    assert lag_notes({"load_backs": 3}) == []
    on_time = {"client_lag_loop_ms_p99": 9.0, "client_lag_kernel_ms_p99": 0.5, "client_cpu_share": 0.25,
               "streams_open_max": 60, "client_is_too_late": 0}  # fmt: skip
    (sentence,) = lag_notes(on_time)
    assert "0.5 ms late (p99)" in sentence
    assert "60 replies" in sentence
    assert "UNKNOWN" not in sentence
    assert "UNKNOWN" in lag_notes({**on_time, "client_is_too_late": 1})[0]


@pytest.mark.parametrize(
    ("header", "seconds"), [(None, None), ("3", 3.0), ("1.5", 1.5), ("-1", None), ("inf", None), ("soon", None)]
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header) == seconds


def test_models_are_read_and_chosen() -> None:
    models = read_models(200, b'{"data": [{"id": "a", "max_model_len": 100}, {"id": "b"}, {"no": 1}, 3]}')
    assert (models.names, models.context_tokens) == (("a", "b"), {"a": 100})
    assert chosen_model("b", models) == "b"
    with pytest.raises(ConfigError, match="no model 'c'; allowed: a, b"):
        chosen_model("c", models)
    with pytest.raises(ConfigError, match="no --model was named, and the server has 2"):
        chosen_model(None, models)
    llama = b'{"data": [{"id": "a", "meta": {"n_ctx": 8192, "n_ctx_train": 131072}}, {"id": "b", "meta": null}]}'
    assert read_models(200, llama).context_tokens == {"a": 8192}
    unlisted = read_models(404, b"nothing here")
    assert chosen_model("any", unlisted) == "any"
    with pytest.raises(ConfigError, match="end in /v1"):
        chosen_model(None, unlisted)
    refuse_long_prompts(90, 10, "a", models)
    refuse_long_prompts(10**9, 10, "b", models)
    with pytest.raises(ConfigError, match="--prompt-tokens"):
        refuse_long_prompts(91, 10, "a", models)

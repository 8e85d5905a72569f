"""Each fix of the catalogue, put in for real: what the runs say, beside what the catalogue expects.

Owns: `harness.remedies.trial`, the catalogue's expectations. Floor: tests. The order that is missing under each wrong
fix is worked out by hand here, from where its wait and its record stand.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.options import DEFAULT_SEED
from harness.remedies.text import is_expected, trial_text
from harness.remedies.trial import Bench, Side, Trial, Verdict
from kernels.errors import ConfigError
from kernels.races import Code, explore
from scenarios.fixes import ring_of_one
from scenarios.fixes.catalogue import FIXES, fix_named

CODES = {
    "fp8_back": Code.LATE_WAIT,
    "index_k_first": Code.LATE_WAIT,
    "gate_layer_before": Code.WRONG_EVENT,
    "gate_behind_the_read": Code.LATE_WAIT,
    "gate_one_of_two": Code.LATE_WAIT,
    "first_attempt": Code.LATE_WAIT,
    "record_before_the_copy": Code.EARLY_RECORD,
    "host_asks_once": Code.LATE_WAIT,
    "host_gate_elsewhere": Code.WRONG_THREAD,
    "host_sync_elsewhere": Code.WRONG_THREAD,
    "ring_of_one_late_records": Code.WRONG_EVENT,
}
NO_EARLY_READ_SLIPS = {"one_read_path", "host_sync", "cache_off"}


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench("hicache_bf16", {}, DEFAULT_SEED, budget=1_000, watches=False)


@pytest.fixture(scope="module")
def before(bench: Bench) -> Side:
    return bench.before()


@pytest.fixture(scope="module")
def trials(bench: Bench, before: Side) -> dict[str, Trial]:
    """Each fix is tried once, when it is first asked for."""
    return _Trials(bench, before)


class _Trials(dict[str, Trial]):
    def __init__(self, bench: Bench, before: Side) -> None:
        super().__init__()
        self._bench, self._before = bench, before

    def __missing__(self, name: str) -> Trial:
        self[name] = self._bench.trial(fix_named(name), self._before)
        return self[name]


def test_the_catalogue_has_a_code_for_each_wrong_fix() -> None:
    assert CODES.keys() == {fix.name for fix in FIXES if not fix.is_fix}
    assert len({fix.name for fix in FIXES}) == len(FIXES)


@pytest.mark.parametrize("name", [fix.name for fix in FIXES if fix.is_fix])
def test_a_fix_leaves_no_order_in_which_the_read_is_early(name: str, trials: dict[str, Trial]) -> None:
    trial = trials[name]
    assert trial.verdict is Verdict.HOLDS
    assert trial.after.result.exhausted
    assert {sibling.pool for sibling in trial.siblings} == {"swa", "c4", "c128"}
    assert any(sibling.is_open for sibling in trial.siblings) is (name not in NO_EARLY_READ_SLIPS)
    assert bool(trial.after.result.masked) is (name == "fused_store")


@pytest.mark.parametrize("name", CODES)
def test_what_is_no_fix_is_refused_with_the_order_that_is_missing(name: str, trials: dict[str, Trial]) -> None:
    trial = trials[name]
    assert trial.verdict is Verdict.NOT_A_FIX
    assert is_expected(trial)
    assert [group.shown.code for group in trial.after.open_groups] == [CODES[name]]
    assert any(failure.outcome.stale for failure in trial.after.result.failures), "a schedule reads stale bytes"


def test_host_waits_cost_time_and_stream_waits_next_to_none(trials: dict[str, Trial]) -> None:
    def price_ns(name: str) -> int:
        price = trials[name].price_ns
        assert price is not None
        return price

    assert price_ns("host_sync") > 100_000 > 10_000 > price_ns("gate_index_k") >= 0


def test_a_scenario_without_the_race_shows_nothing_of_a_fix() -> None:
    bench = Bench("off_bf16", {}, DEFAULT_SEED, budget=100, watches=False)
    trial = bench.trial(fix_named("host_sync"), bench.before())
    assert trial.verdict is Verdict.NOTHING_TO_FIX
    assert trial.verdict.exit_code == 4
    text = trial_text(trial, {}, "off_bf16", "again")
    assert text.startswith("NOTHING TO FIX host_sync on off_bf16: it shows no race")


def test_a_search_that_ends_early_is_no_proof() -> None:
    late, in_time = (
        explore(one, budget=1, mend_schedules=0) for one in (ring_of_one.program, ring_of_one.records_first)
    )
    trial = Trial(fix_named("ring_of_one_late_records"), Side(late), Side(in_time))
    assert trial.verdict is Verdict.BOUNDED
    assert trial.verdict.exit_code == 4


def test_host_waits_under_tensor_parallelism_are_refused() -> None:
    bench = Bench("hicache_bf16", {"engine.tp": "2"}, DEFAULT_SEED, budget=10, watches=False)
    with pytest.raises(ConfigError, match=r"set engine\.tp = 1"):
        bench.trial(fix_named("host_gate"), bench.before())


def test_unknown_fixes_are_told_those_there_are() -> None:
    with pytest.raises(ConfigError, match="unknown fix 'hope'; allowed: gate_index_k, one_read_path"):
        fix_named("hope")


def test_a_verdict_against_the_catalogue_is_seen(before: Side) -> None:
    trial = Trial(fix_named("gate_index_k"), before, before)
    assert trial.verdict is Verdict.NOT_A_FIX
    assert not is_expected(trial)


def test_the_page_shows_every_fix_with_the_verdict_that_the_runs_give() -> None:
    page = (Path(__file__).parents[3] / "docs" / "remedies.md").read_text(encoding="utf-8")
    table = page.partition("verify-fix --all --seeds none -->\n```\n")[2].partition("\n```")[0]
    shown = {line.split()[0]: line for line in table.splitlines() if line}
    for fix in FIXES:
        expected = "holds" if fix.is_fix else f"not a fix  {CODES[fix.name]}"
        assert shown[fix.name].removeprefix(fix.name).lstrip().startswith(expected), shown[fix.name]

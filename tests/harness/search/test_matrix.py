"""What a matrix runs and compares, and what its records come to. Floor: tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import mean

import pytest
from scipy import stats

from harness.search.matrix import DEFAULT_ARMS, MatrixPlan, plan_matrix
from harness.search.matrix_figures import seeds_that_decide
from harness.search.matrix_making import MatrixRequest, matrix_record
from harness.search.matrix_sequence import Decider, whole_seeds
from harness.search.record import RunRecord
from harness.simulation.backends import BackendChoice
from kernels.errors import ConfigError
from results.matrix.record import MatrixRecord
from results.verdict import RunVerdict
from tests.harness.search.record_builder import record_for

_BAD = (3, 5, 2, 4, 6, 1, 3, 4)
_CORRUPTED: Mapping[str, Sequence[int]] = {"hicache_bf16": _BAD, "hicache_fp8": (0, 1, 0, 2, 1, 0, 0, 1)}


def _records(plan: MatrixPlan, corrupted: Mapping[str, Sequence[int]] = _CORRUPTED) -> dict[str, RunRecord]:
    """Ten sessions a run; arms that are not named are clean."""
    return {job.key: record_for(job, corrupted.get(job.arm.scenario.name, [0] * 99)[job.seed]) for job in plan.jobs}


def _made(plan: MatrixPlan, records: Mapping[str, RunRecord], *, is_partial: bool = False) -> MatrixRecord:
    request = MatrixRequest(plan, Path("nowhere"), 1, "python run.py matrix")
    return matrix_record(request, records, "2026-11-29T17:55:12+00:00", None, is_partial=is_partial)


def test_pairs_that_differ_in_one_switch_are_compared() -> None:
    plan = plan_matrix(DEFAULT_ARMS, range(3), {})
    assert {(one.first, one.second): one.factor for one in plan.comparisons} == {
        ("hicache_bf16", "hicache_bf16_gated"): "cache.gate_index_k",
        ("hicache_bf16", "hicache_fp8"): "cache.index_k",
        ("hicache_bf16", "off_bf16"): "cache.hicache",
        ("hicache_bf16_gated", "off_bf16"): "cache.hicache",
        ("hicache_fp8", "off_fp8"): "cache.hicache",
    }
    assert plan.controls == {
        "hicache_bf16": "off_bf16", "hicache_bf16_gated": "off_bf16", "hicache_fp8": "off_fp8",
        "off_bf16": None, "off_fp8": None,
    }  # fmt: skip
    assert len(plan.jobs) == 15
    assert plan.configuration_diff["cache.index_k"]["hicache_fp8"] == "fp8"


def test_order_of_the_arms_does_not_turn_a_comparison_around() -> None:
    plan = plan_matrix(("off_bf16", "hicache_bf16"), (0,), {})
    assert [(one.first, one.second) for one in plan.comparisons] == [("hicache_bf16", "off_bf16")]


def test_folder_name_follows_the_question_and_not_the_seeds() -> None:
    names = [plan_matrix(("hicache_bf16",), range(count), {}).name for count in (1, 5)]
    other = plan_matrix(("hicache_bf16",), range(5), {"workload.sessions": "30"}).name
    assert names[0] == names[1] != other


def test_arms_of_other_workloads_are_refused_with_the_difference() -> None:
    with pytest.raises(ConfigError, match=r"hicache_bf16 and short_context have different workloads.*workload\.turns"):
        plan_matrix(("hicache_bf16", "short_context"), (0,), {})


def test_one_arm_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="names off_bf16 twice"):
        plan_matrix(("off_bf16", "hicache_bf16", "off_bf16"), (0,), {})
    # With HiCache off for all of them, two names mean one configuration.
    with pytest.raises(ConfigError, match="hicache_bf16 and off_bf16 are one configuration"):
        plan_matrix(("hicache_bf16", "off_bf16"), (0,), {"cache.hicache": "false"})


def test_figures_of_a_whole_matrix() -> None:
    plan = plan_matrix(DEFAULT_ARMS, range(8), {})
    record = _made(plan, _records(plan))
    arms = {arm.scenario: arm for arm in record.arms}
    bad, gated = arms["hicache_bf16"], arms["hicache_bf16_gated"]
    assert (bad.sessions_corrupted, bad.sessions, bad.session_rate) == (28, 80, 0.35)
    assert (bad.verdict, bad.expectation_held, bad.zero) == (RunVerdict.CORRUPT, True, None)
    assert (gated.verdict, gated.expectation_held, gated.session_rate) == (RunVerdict.CLEAN, True, 0.0)
    # Eight empty seeds, whatever their sessions share: (1 - rate) ** 8 = 0.05.
    assert gated.rate_bound == pytest.approx(1 - 0.05 ** (1 / 8))
    assert gated.session_bound == pytest.approx(1 - 0.05 ** (1 / 80))
    assert (record.verdict, record.expectations_hold) == (RunVerdict.CORRUPT, True)
    assert record.verdict_reason == "2 of 5 arms corrupted: hicache_bf16, hicache_fp8"
    assert len(record.runs) == record.runs_wanted == 40


def test_comparisons_have_the_seed_as_unit_and_holm_over_all() -> None:
    plan = plan_matrix(DEFAULT_ARMS, range(8), {})
    record = _made(plan, _records(plan))
    found = {(one.first, one.second): one for one in record.comparisons}
    against_off = found["hicache_bf16", "off_bf16"]
    flips = [abs(mean(s * x for s, x in zip(signs, _BAD, strict=True))) for signs in product((1, -1), repeat=8)]
    p = sum(value >= mean(_BAD) - 1e-12 for value in flips) / len(flips)
    assert against_off.p == pytest.approx(p)
    assert against_off.p_holm == pytest.approx(5 * p), "the smallest p of five, with two others like it"
    interval = stats.ttest_1samp([count / 10 for count in _BAD], 0).confidence_interval(0.95)
    assert against_off.ci95 == pytest.approx((interval.low, interval.high))
    same = found["hicache_bf16_gated", "off_bf16"]
    assert (same.p, same.ci95, same.decided) == (1.0, None, False)
    assert (record.arms[0].p_vs_control, record.arms[0].p_vs_control_holm) == (against_off.p, against_off.p_holm)


def test_few_seeds_are_said_to_decide_nothing() -> None:
    plan = plan_matrix(DEFAULT_ARMS, range(3), {})
    notes = _made(plan, _records(plan)).notes
    assert notes == ("3 seeds cannot decide any comparison: with 5 comparisons it takes 8 or more.",)
    for count in (1, 5, 20):
        seeds = seeds_that_decide(count)
        assert count * 2.0 ** (1 - seeds) <= 0.05 < count * 2.0 ** (2 - seeds)


def test_a_reproduction_that_stays_clean_is_not_as_expected() -> None:
    plan = plan_matrix(("hicache_bf16", "off_bf16"), range(2), {})
    record = _made(plan, _records(plan, {}))
    assert (record.verdict, record.expectations_hold) == (RunVerdict.CLEAN, False)


def test_an_arm_that_was_not_exercised_is_never_a_pass() -> None:
    plan = plan_matrix(("hicache_bf16_gated", "off_bf16"), range(2), {})
    records = _records(plan)
    job = plan.jobs[0]
    records[job.key] = record_for(job, verdict="unknown", verdict_reason="nothing was loaded back", load_backs=0)
    record = _made(plan, records)
    assert (record.verdict, record.expectations_hold) == (RunVerdict.UNKNOWN, None)
    assert record.arms[0].verdict_reason == "1 of 2 seeds could not be judged (seed 0: nothing was loaded back)"


def test_an_interrupted_matrix_shows_what_there_is() -> None:
    plan = plan_matrix(("hicache_bf16", "off_bf16"), range(4), {})
    records = _records(plan)
    kept = {job.key: records[job.key] for job in plan.jobs[:3]}
    record = _made(plan, kept, is_partial=True)
    assert (record.partial, len(record.runs), record.runs_wanted) == (True, 3, 8)
    assert record.notes[0] == "Interrupted: 3 of 8 runs are there."
    nothing = _made(plan, {}, is_partial=True)
    assert nothing.verdict is RunVerdict.UNKNOWN
    assert [arm.session_rate for arm in nothing.arms] == [None, None]


def test_only_the_first_whole_seeds_count_at_a_look() -> None:
    plan = plan_matrix(("hicache_bf16", "off_bf16"), (5, 1, 3), {})
    records = _records(plan)
    late = next(job for job in plan.jobs if (job.arm.scenario.name, job.seed) == ("off_bf16", 1))
    del records[late.key]
    assert whole_seeds(plan, records) == [5]


def test_decided_as_soon_as_every_arm_is() -> None:
    plan = plan_matrix(("hicache_bf16", "off_bf16"), range(60), {})
    decider = Decider(plan)
    needed = None
    records: dict[str, RunRecord] = {}
    for job in plan.jobs:
        records[job.key] = record_for(job, 4 if job.arm.scenario.name == "hicache_bf16" else 0)
        if decider.is_enough(records):
            needed = len(whole_seeds(plan, records))
            break
    assert needed is not None
    assert needed < 20, "40 % against nothing is no close call"
    state = decider.state(records)
    assert (state.is_decided, state.seeds_used, state.seeds_max) == (True, needed, 60)
    assert [(claim["arm"], claim["control"], claim["verdict"]) for claim in state.claims] == [
        ("hicache_bf16", "off_bf16", "higher")
    ]
    request = MatrixRequest(plan, Path("nowhere"), 1, "")
    record = matrix_record(request, records, "", decider, is_partial=False)
    assert (len(record.seeds), record.runs_wanted, len(record.runs)) == (needed, 2 * needed, 2 * needed)


def test_figures_of_a_stop_that_depends_on_the_data_hold_at_every_look() -> None:
    """The p of a fixed number of seeds would be the smallest that there is, whenever it is looked at."""
    plan = plan_matrix(DEFAULT_ARMS, range(8), {})
    decider, records = Decider(plan), _records(plan)
    request = MatrixRequest(plan, Path("nowhere"), 1, "")
    record = matrix_record(request, records, "", decider, is_partial=False)
    fixed = _made(plan, records)
    arms, others = ({arm.scenario: arm for arm in made.arms} for made in (record, fixed))
    bad, plain = arms["hicache_bf16"], others["hicache_bf16"]
    assert bad.p_vs_control is not None
    assert plain.p_vs_control is not None
    assert bad.p_vs_control > plain.p_vs_control
    for name in ("hicache_bf16", "off_fp8"):
        mine, theirs = arms[name].session_ci95, others[name].session_ci95
        assert mine is not None
        assert theirs is not None
        assert mine[1] - mine[0] > theirs[1] - theirs[0], name
        assert "valid at every look" in arms[name].ci_method
    assert "at whichever seed it stopped" in str(arms["off_fp8"].zero)
    found = {(one.first, one.second): one for one in record.comparisons}
    assert found["hicache_bf16", "off_bf16"].p == bad.p_vs_control
    untested = found["hicache_bf16", "hicache_fp8"]
    assert (untested.p, untested.ci95, untested.decided) == (None, None, None)
    assert untested.difference is not None
    assert not any("cannot decide" in note for note in record.notes)


def test_undecided_is_no_clean_verdict() -> None:
    plan = plan_matrix(("hicache_bf16_gated", "off_bf16"), range(3), {})
    records = _records(plan)
    decider = Decider(plan)
    assert not decider.is_enough(records)
    request = MatrixRequest(plan, Path("nowhere"), 1, "")
    record = matrix_record(request, records, "", decider, is_partial=False)
    assert record.verdict is RunVerdict.UNKNOWN
    assert record.verdict_reason.endswith("but not every answer is sure after 3 seeds")


def test_no_control_nothing_to_decide() -> None:
    with pytest.raises(ConfigError, match="needs a control"):
        Decider(plan_matrix(("hicache_bf16", "hicache_fp8"), (0,), {}))


def test_a_matrix_on_another_backend_is_another_question() -> None:
    virtual, threaded = (
        plan_matrix(("hicache_bf16", "hicache_bf16_gated"), (1,), {}, BackendChoice(name))
        for name in ("virtual", "threaded")
    )
    assert virtual.name != threaded.name
    assert virtual.jobs[0].key == plan_matrix(("hicache_bf16", "hicache_bf16_gated"), (1,), {}).jobs[0].key
    assert threaded.jobs[0].repeat.endswith("--backend threaded")

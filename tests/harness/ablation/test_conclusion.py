"""The conclusion follows the numbers, whichever way they come out.

Owns: verdicts and intervals over made-up observations. Floor: tests.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from harness.search.ablation.counts import compare, count_flips, observation_frame, rows_of, select
from harness.search.ablation.files import INTERRUPTED, AblationReport, json_cells, make_report
from harness.search.ablation.measure import Measured
from harness.search.ablation.observations import CleanCase, Observation, Setting, Slip
from harness.search.ablation.spec import POOLS, AblationSpec
from results.stats.intervals import clopper_pearson
from tests.harness.ablation.small import FLASH

SESSIONS = 20
SPEC = AblationSpec(sessions=SESSIONS, questions=1, redundancies=(1, 2), page_shares=(1.0,), layer_shares=(1.0,))


def made_up(flips: Mapping[str, int]) -> Measured:
    """One question a session; the first so many sessions of each pool flip, under every slip."""
    measured = Measured()
    for setting in (Setting("long", 1), Setting("long", 2), Setting("short", 1)):
        for session in range(SESSIONS):
            measured.clean.append(CleanCase(setting, session, 0, 25_000, 80, 60, is_right=True, margin=700.0))
            for pool in POOLS:
                flipped = session < flips.get(pool, 0)
                slips = [Slip(pool, 1.0, "answer", 1.0)]
                if setting.length == "long":
                    slips += [Slip(pool, 1.0, "random", 1.0), Slip(pool, 1.0, delay_us=50.0)]
                measured.observations += [
                    Observation(
                        setting, slip, session, 0, stale_share=1.0, torn_pages=0, answer_stale=True, flipped=flipped,
                        margin=-500.0 if flipped else 690.0, layer_lost=flipped, selection_change=0.5,
                    )
                    for slip in slips
                ]  # fmt: skip
    return measured


def report(flips: Mapping[str, int]) -> AblationReport:
    return make_report(SPEC, made_up(flips), FLASH)


def test_the_claim_can_hold() -> None:
    found = report({"index_k": 15}).conclusion
    assert found.hidden == ("c4", "c128", "swa")
    assert {comparison.verdict for _, comparison in found.latents} == {"less sensitive"}
    assert found.text.endswith(
        "So the claim holds for c128 and swa, and for c4 too: its slip does less harm than index_k's."
    )


def test_the_claim_can_fail_for_the_latents() -> None:
    found = report({"index_k": 5, "c4": 18}).conclusion
    assert found.hidden == ("c128", "swa")
    assert {comparison.verdict for _, comparison in found.latents} == {"more sensitive"}
    assert "does not hold for c4: with 1 and 2 copies" in found.text
    assert "it was c4 in 13 of 13" in found.text


def test_the_claim_can_fail_for_an_averaged_pool() -> None:
    found = report({"index_k": 15, "swa": 1}).conclusion
    assert found.hidden == ("c4", "c128")
    assert "holds for c128, and for c4 too" in found.text
    assert "swa changed 7 of 140 first tokens" in found.text


def test_too_few_cases_leave_it_open() -> None:
    found = report({"index_k": 2, "c4": 1}).conclusion
    assert {comparison.verdict for _, comparison in found.latents} == {"not told apart"}
    assert found.text.endswith("for c4 it is open, these cases are too few.")


def test_equal_pools_are_equally_sensitive() -> None:
    found = report({"index_k": 9, "c4": 9}).conclusion
    assert {comparison.verdict for _, comparison in found.latents} == {"as sensitive"}
    assert "does not hold for c4" in found.text


def test_without_any_flip_nothing_is_claimed() -> None:
    assert report({}).conclusion.text.endswith("so the claim was not put to the test.")


def test_a_rate_and_its_interval() -> None:
    (row,) = rows_of(
        select(report({"c4": 0}).counts, length="long", redundancy=1, axis="pages", variant="random", pool="c4")
    )
    exact = clopper_pearson(0, SESSIONS)
    assert (row["cases"], row["flips"], row["rate"]) == (SESSIONS, 0, 0.0)
    assert (row["low"], row["high"]) == (exact.low, exact.high)
    assert (row["stale_layers"], row["pool_layers"], row["margin_moved_max"]) == (21, 21, 10.0)


def test_comparison_counts_only_where_the_pools_differ() -> None:
    frame = observation_frame(made_up({"index_k": 4, "c4": 10}))
    strongest = select(frame, length="long", redundancy=1, axis="pages", variant="random")
    found = compare(strongest, "index_k", "c4")
    assert (found.discordant, found.only_second, found.of_second.estimate) == (6, 6, 1.0)


def test_one_row_for_each_slip_and_plain_values_for_json() -> None:
    counts = count_flips(observation_frame(made_up({"c4": 3})), FLASH)
    assert len(counts) == len(POOLS) * (2 * 3 + 1)
    delays = [cell for cell in json_cells(counts) if cell["axis"] == "delay"]
    assert {cell["page_share"] for cell in delays} == {None}
    assert all(type(value) in (str, int, float, type(None)) for cell in json_cells(counts) for value in cell.values())


@pytest.mark.parametrize("kept", [1, 30])
def test_an_interrupted_ablation_shows_what_it_has(kept: int) -> None:
    whole = made_up({"index_k": 12, "c4": 12})
    part = Measured(whole.observations[: kept * len(POOLS) * 3], whole.clean[:kept], [])
    found = make_report(SPEC, part, FLASH, partial=True)
    assert found.text.startswith(INTERRUPTED)
    assert found.spec.redundancies == ((1,) if kept == 1 else (1, 2))

"""What slips do, measured: nothing where nothing is stale, harm where the answer's bytes are gone.

Owns: the outcomes over cases. Floor: tests.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.search.ablation.files import make_report
from harness.search.ablation.measure import Measured
from harness.search.ablation.spec import POOLS
from tests.harness.ablation.small import FLASH, SPEC, measure, of_pages


@pytest.fixture(scope="module")
def measured() -> Measured:
    return measure()


def test_every_case_is_right_without_a_slip(measured: Measured) -> None:
    assert {case.setting.length for case in measured.clean} == {"long", "short"}
    assert all(case.is_right and case.margin > 0 for case in measured.clean)
    assert all(1 <= case.window_reach_tokens <= 127 for case in measured.clean)


@pytest.mark.parametrize("pool", POOLS)
def test_nothing_stale_flips_nothing(measured: Measured, pool: str) -> None:
    no_pages = of_pages(measured, pool, 0.0)
    no_delay = [seen for seen in measured.observations if seen.slip.pool == pool and seen.slip.delay_us == 0.0]
    for observations in (no_pages, no_delay):
        assert len(observations) >= SPEC.sessions
        assert not any(seen.flipped or seen.stale_share or seen.layer_lost for seen in observations)
        assert all(seen.selection_change == 0 for seen in observations)


def test_stale_keys_everywhere_flip_a_fact_that_is_written_once(measured: Measured) -> None:
    observations = of_pages(measured, "index_k", 1.0)
    assert all(seen.answer_stale and seen.selection_change > 0.5 for seen in observations)
    assert sum(seen.flipped for seen in observations) > len(observations) / 2
    # The few that survive do so because foreign keys happened to select the answer, not by luck in the sum.
    assert all(seen.flipped == seen.layer_lost for seen in observations)


def test_stale_latents_everywhere_flip_every_token(measured: Measured) -> None:
    assert all(seen.flipped and seen.selection_change == 0 for seen in of_pages(measured, "c4", 1.0))


@pytest.mark.parametrize("pool", ["c128", "swa"])
def test_the_averaged_pools_move_the_margin_a_little(measured: Measured, pool: str) -> None:
    clean = {(case.setting, case.session, case.turn): case.margin for case in measured.clean}
    observations = of_pages(measured, pool, 1.0)
    moved = [abs(seen.margin - clean[seen.setting, seen.session, seen.turn]) for seen in observations]
    assert max(moved) > 0, "the stale bytes were read"
    assert not any(seen.flipped for seen in observations)


def test_below_the_reach_of_the_top_k_stale_keys_change_nothing(measured: Measured) -> None:
    short = [seen for seen in measured.observations if seen.setting.length == "short"]
    keys = [seen for seen in short if seen.slip.pool == "index_k"]
    assert len(keys) >= SPEC.sessions
    assert all(case.prompt_tokens < FLASH.reach_tokens for case in measured.clean if case.setting.length == "short")
    assert all(seen.stale_share == 1 and seen.selection_change == 0 and not seen.flipped for seen in keys)
    assert any(seen.flipped for seen in short if seen.slip.pool == "c4"), "the same pages matter to another pool"


def test_a_page_that_holds_no_answer_harms_nobody(measured: Measured) -> None:
    others = [seen for seen in of_pages(measured, "index_k", 0.5) if not seen.answer_stale]
    assert others
    assert all(seen.selection_change > 0 and not seen.flipped for seen in others)


def test_a_derailed_reply_is_no_call_and_a_right_token_gives_the_right_call(measured: Measured) -> None:
    assert {seen.pool for seen in measured.replies} == set(POOLS)
    for seen in measured.replies:
        assert (seen.outcome == "right") == (not seen.first_token_flipped), seen
    assert any(seen.first_token_flipped for seen in measured.replies)


def test_the_same_seed_writes_the_same_table_and_another_seed_another() -> None:
    def csv(seed: int) -> str:
        spec = replace(SPEC, seed=seed, sessions=2, questions=1)
        return str(make_report(spec, measure(spec), FLASH).counts.to_csv(index=False))

    first = csv(5)
    assert csv(5) == first
    assert csv(6) != first

"""The slip is the same for every pool, and its stale bytes are another session's.

Owns: the choice of pages, layers and previous owners. Floor: tests.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from harness.search.ablation.cases import Case
from harness.search.ablation.slips import VARIANTS, Variant, stale_layers, stale_pages, view_of_pages
from harness.search.ablation.spec import POOLS
from kernels.engine.recall.shape import PAGE_TOKENS, WINDOW_TOKENS
from kernels.engine.shared import SharedModel
from tests.harness.ablation.small import FLASH, small_cases

SHARES = (0.0, 0.1, 0.5, 0.9, 1.0)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return small_cases(SharedModel(), redundancy=2)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_larger_share_only_adds_pages(cases: list[Case], variant: Variant) -> None:
    for case in cases:
        chosen = [set(stale_pages(case, variant, share, seed=7).tolist()) for share in SHARES]
        assert all(smaller <= larger for smaller, larger in itertools.pairwise(chosen))
        assert chosen[0] == set()
        assert chosen[-1] == set(range(len(case.loaded)))
        if variant == "random":
            assert [len(pages) for pages in chosen] == [round(share * len(case.loaded)) for share in SHARES]


def test_the_worst_case_takes_every_copy_of_the_answer_and_the_last_page(cases: list[Case]) -> None:
    for case in cases:
        pages = set(stale_pages(case, "answer", 0.01, seed=7).tolist())
        assert len(case.answers) == 2
        assert pages == {page for first, last in case.answers for page in (first, last)} | {len(case.loaded) - 1}


def test_answers_and_window_lie_where_the_case_says(cases: list[Case]) -> None:
    for case in cases:
        name = case.prompt.reference.name if case.prompt.reference else None
        begins = [fact.begin for fact in case.prompt.facts if fact.name == name]
        assert [(begin // PAGE_TOKENS) - case.loaded.start for begin in begins] == [first for first, _ in case.answers]
        assert {int(case.prompt.tokens[begin]) for begin in begins} == {case.expected}
        inside = case.loaded.stop * PAGE_TOKENS - (case.position - WINDOW_TOKENS)
        assert 0 < case.window_reach_tokens == inside < WINDOW_TOKENS


def test_all_pools_see_the_same_pages_and_the_window_its_last_one(cases: list[Case]) -> None:
    for case in cases:
        count = len(case.loaded)
        for share in SHARES:
            pages = stale_pages(case, "random", share, seed=7)
            views = {pool: view_of_pages(case, pool, pages) for pool in POOLS}
            for pool in ("index_k", "c4", "c128"):
                seen = views[pool]
                stale = np.flatnonzero(seen.view.stale[0]).tolist() if seen else []
                assert stale == pages.tolist()
            window = views["swa"]
            assert (window is not None) == (count - 1 in pages)
            if window is not None:
                assert (window.view.head.tolist(), window.first_page) == ([[2 * count]], case.loaded.stop - 1)


def test_a_stale_page_holds_another_session_s_bytes(cases: list[Case]) -> None:
    for case in cases:
        count = len(case.loaded)
        own = {content.identity for content in case.contents}
        previous = [case.ledger.content(version) for version in range(count + 1, 2 * count + 1)]
        right = [case.ledger.content(version) for version in range(1, count + 1)]
        assert [page.identity for page in right] == [case.contents[page].identity for page in case.loaded]
        assert not own & {page.identity for page in previous}
        assert all(page.token_count == PAGE_TOKENS for page in previous)
    owners = {case.ledger.content(len(case.loaded) + 1).identity for case in cases}
    assert len(owners) > 1, "each case draws its own"


def test_the_resident_prefix_is_the_system_message(cases: list[Case]) -> None:
    # Two sessions of one workload share their group's system message and nothing behind it.
    first, second = cases[0], cases[1]
    for case in (first, second):
        assert case.loaded.start > 0
    group = [case for case in small_cases(SharedModel(), count=5) if case.session % 4 == 0]
    assert [case.session for case in group] == [0, 4]
    shared = [a == b for a, b in zip(group[0].prompt.page_keys, group[1].prompt.page_keys, strict=False)]
    assert shared.index(False) == group[0].loaded.start == group[1].loaded.start


@pytest.mark.parametrize(
    ("pool", "full", "half"),
    [
        ("index_k", (21, 21, 0), (10, 10, 0)),
        ("c4", (21, 21, 0), (10, 10, 0)),
        ("c128", (20, 0, 20), (10, 0, 10)),
        ("swa", (43, 21, 20), (22, 11, 11)),
    ],
)
def test_layers_are_the_pool_s_own(pool: str, full: tuple[int, ...], half: tuple[int, ...]) -> None:
    kind = next(kind for kind in POOLS if kind == pool)
    for share, wanted in ((1.0, full), (0.5, half), (0.0, (0, 0, 0))):
        layers = stale_layers(FLASH, kind, share)
        assert (layers.all, layers.indexed, layers.summary) == wanted

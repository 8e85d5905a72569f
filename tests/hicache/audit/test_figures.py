"""The audit's figures against SGLang's formula and pools, written out here once more from their description.

Owns: the reference. Its numbers are those of facts/sglang.md section 3 and of experiments/sglang_real/overcommit.py.
Floor: tests.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.errors import ConfigError
from kernels.hicache.audit.costs import FORMULAS, Formula, formula_named
from kernels.hicache.audit.judgement import Audit, Question, audit
from kernels.hicache.audit.rules import RULES, RulesName
from kernels.hicache.geometry import paged, preset
from kernels.hicache.sizing import IndexFormat, PoolFormats

GB = 10**9
INDEX_ENTRY = {"fp8": 128 + 4, "fp4": 64 + 4, "bf16": 2 * 128}


def formula_of_sglang(layers: int, c4: int, c128: int, entry: int, *, ring_tokens: int = 128) -> float:
    """Bytes of a full token as 0.5.16 counts them: latents of 584, fp32 states, a tenth of a window slot."""
    latent, window = 448 + 2 * 64 + 8, 0.1
    states = 4 * 512 * 4 + 4 * 128 * 4
    return (
        window * latent * layers
        + latent / 4 * c4
        + latent / 128 * c128
        + entry / 4 * c4
        + window * 8 / ring_tokens * states * c4
    )


def ask(
    name: str = "deepseek-v4-flash",
    index_k: IndexFormat = "bf16",
    formula: Formula = "fp8",
    memory: float = 80 * GB,
    *,
    rules: RulesName = "0.5.16",
    requests: int = 0,
) -> Audit:
    formats = PoolFormats(index_k=index_k)
    return audit(Question(preset(name), formats, formula, round(memory), RULES[rules], requests=requests))


@pytest.mark.parametrize(("name", "shape"), [("deepseek-v4-flash", (43, 21, 20)), ("deepseek-v4-pro", (61, 30, 31))])
@pytest.mark.parametrize("formula", ["fp8", "fp4", "bf16"])
def test_counted_bytes_are_those_of_the_formula(name: str, shape: tuple[int, int, int], formula: Formula) -> None:
    found = ask(name, "bf16", formula)
    assert found.counted_per_token == pytest.approx(formula_of_sglang(*shape, INDEX_ENTRY[formula]))
    assert found.stored_per_token == pytest.approx(formula_of_sglang(*shape, INDEX_ENTRY["bf16"]))
    assert found.tokens == int(80 * GB / formula_of_sglang(*shape, INDEX_ENTRY[formula])) // 256 * 256


def test_the_incidents_figures() -> None:
    found = ask(memory=13.02 * GB)
    assert (round(found.counted_per_token, 2), round(found.stored_per_token, 2)) == (7_705.45, 8_356.45)
    assert found.under_count_per_token == pytest.approx(651.0)
    assert found.tokens == pytest.approx(1.690e6, rel=0.001)
    assert found.over_commit_bytes == pytest.approx(1.1e9, rel=0.005)
    assert found.is_over_committed


@pytest.mark.parametrize(("name", "missing"), [("deepseek-v4-flash", 651), ("deepseek-v4-pro", 930), ("dsa", 7_564)])
@pytest.mark.parametrize("rules", RULES)
def test_what_bf16_index_k_lacks_by_the_fp8_formula(name: str, missing: int, rules: RulesName) -> None:
    found = ask(name, rules=rules)
    assert found.under_count_per_token == pytest.approx(missing)
    by_pool = {cost.kind: cost.under_count_bytes for cost in found.costs if cost.under_count_bytes}
    assert by_pool == {"index_k": pytest.approx(missing)}
    # The granted tokens' index-K, and nothing else, is beyond the memory: up to a page of each window layer.
    assert found.over_commit_bytes == pytest.approx(missing * found.tokens, abs=61 * 149_760 + missing * 256 * 2 + 1e6)


def test_with_the_right_index_k_term_its_share_is_nothing_and_padding_is_told_apart() -> None:
    found = ask(formula="bf16")
    assert (found.under_count_per_token, found.over_commit_bytes, found.is_over_committed) == (0.0, 0, False)
    # By hand: pages of 256 and 64 latents lack 256 and 64 bytes to whole rows of 576, and pages of 2 lack 560.
    by_hand = {"swa": 43 * 0.1 * 256 / 256, "c4": 21 * 64 / 256, "c128": 20 * 560 / 256}
    padded = {cost.kind: cost.padding_bytes for cost in found.costs if cost.padding_bytes}
    assert padded == pytest.approx(by_hand)
    assert found.padding_per_token == pytest.approx(53.3)
    assert 0 < found.beyond_memory_bytes <= 53.3 * found.tokens


def test_a_smaller_format_than_counted_is_no_fault() -> None:
    found = ask(index_k="fp4", formula="fp8")
    assert found.under_count_per_token == pytest.approx(-(132 - 68) / 4 * 21)
    assert (found.over_commit_bytes, found.beyond_memory_bytes, found.failure) == (0, 0, None)


def test_newer_rules_count_padding_and_one_ring_a_page() -> None:
    found = ask(index_k="fp8", rules="0.5.23")
    padding = 43 * 0.1 + 21 / 4 + 20 * 280 / 128
    assert found.counted_per_token == pytest.approx(formula_of_sglang(43, 21, 20, 132, ring_tokens=256) + padding)
    assert (found.padding_per_token, found.idle_state_per_token, found.beyond_memory_bytes) == (0, 0.0, 0)
    assert ask().idle_state_per_token == pytest.approx(0.1 * 8 / 256 * (8_192 + 2_048) * 21)


def test_states_of_requests_are_set_aside_first() -> None:
    found = ask(formula="bf16", requests=100)
    # SGLang: (100 + 1) rings of 128 rows, a ring and a row to spare, rounded up to 128 rows; 1,024 fp32 values a row.
    rows = -(-(101 * 128 + 128 + 1) // 128) * 128
    assert found.request_state_bytes == rows * 1_024 * 4 * 20
    assert found.request_slot_bytes == 128 * 1_024 * 4 * 20
    assert found.tokens == int((80 * GB - rows * 1_024 * 4 * 20) / formula_of_sglang(43, 21, 20, 256)) // 256 * 256
    assert found.over_commit_bytes == 0


def test_the_first_allocation_that_fails_is_found_by_walking() -> None:
    found = ask()
    tokens, left = found.tokens, 80 * GB
    pages, window = tokens // 256, int(tokens * 0.1) // 256
    ratios = [0, 0, *([4, 128] * 20), 4]
    walk = [("swa", layer, window * 149_760) for layer in range(43)]
    walk += [("c4", layer, pages * 37_440) for layer, ratio in enumerate(ratios) if ratio == 4]
    walk += [("c128", layer, pages * 1_728) for layer, ratio in enumerate(ratios) if ratio == 128]
    walk += [("index_k", layer, pages * 16_384) for layer, ratio in enumerate(ratios) if ratio == 4]
    for layer, ratio in enumerate(ratios):
        if ratio == 4:
            walk += [("c4_state", layer, window * 2 * 65_536), ("index_state", layer, window * 2 * 16_384)]
    used = 0
    first = next(step for step in walk if (used := used + step[2]) > left)
    failure = found.failure
    assert failure is not None
    assert (failure.kind, failure.layer, failure.needed_bytes) == first
    assert failure.left_bytes == left - (used - first[2])


@given(
    name=st.sampled_from(["deepseek-v4-flash", "deepseek-v4-pro", "dsa", "tiny"]),
    index_k=st.sampled_from(["fp8", "fp4", "bf16"]),
    rules=st.sampled_from(sorted(RULES)),
    memory=st.integers(min_value=10**9, max_value=10**12),
)
def test_what_counts_everything_always_fits(name: str, index_k: IndexFormat, rules: RulesName, memory: int) -> None:
    found = ask(name, index_k, "allocated", memory, rules=rules)
    assert found.allocated_bytes <= memory
    assert found.failure is None
    assert not found.is_over_committed
    # And it grants nearly all: two pages of each pool more would not have fitted.
    per_page = sum(pool.layer_count * pool.page_bytes * 2 for pool in found.pools)
    assert found.allocated_bytes > memory - per_page - 256 * found.counted_per_token


@given(memory=st.integers(min_value=10**9, max_value=10**12), index_k=st.sampled_from(["fp8", "fp4", "bf16"]))
def test_over_committed_is_what_is_stored_beyond_the_memory(memory: int, index_k: IndexFormat) -> None:
    for formula in FORMULAS:
        found = ask("deepseek-v4-flash", index_k, formula, memory)
        assert found.is_over_committed == (formula != "allocated" and INDEX_ENTRY[index_k] > INDEX_ENTRY[formula])


@pytest.mark.parametrize("memory", [1, 100_000, 9_000_000])
def test_a_memory_of_less_than_a_page_of_each_pool_is_refused(memory: int) -> None:
    with pytest.raises(ConfigError, match="less than one page of each pool"):
        ask(memory=memory)


def test_a_memory_that_leaves_one_pool_empty_is_refused_by_its_name() -> None:
    with pytest.raises(ConfigError, match=r"leave swa, c4_state, index_state without a page"):
        ask(memory=18_000_000)


def test_states_that_eat_the_memory_are_told() -> None:
    with pytest.raises(ConfigError, match="set aside for c128 states"):
        ask(memory=GB, requests=500)


def test_an_unknown_formula_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"unknown formula 'fp88'.*'fp8'.*allowed: fp8, fp4, bf16, allocated"):
        formula_named("fp88")


@pytest.mark.parametrize(("name", "tokens"), [("deepseek-v4-flash", 100), ("deepseek-v4-flash", 0), ("dsa", -64)])
def test_pages_that_do_not_hold_whole_entries_are_refused(name: str, tokens: int) -> None:
    with pytest.raises(ConfigError, match="needs a multiple of"):
        paged(preset(name), tokens)

"""The folded sum is the whole model, and it is made of bytes.

Owns: the evaluation of one slip. The reference reads every layer by itself, through the engine's own path.
Floor: tests.
"""

from __future__ import annotations

import numpy as np
import pytest

from harness.search.ablation.cases import Case
from harness.search.ablation.early import LoadPlan, early_reads
from harness.search.ablation.outputs import CaseReader, LayerOutputs
from harness.search.ablation.slips import count_layers, seen_by, stale_pages, view_of_pages
from harness.search.ablation.spec import POOLS
from kernels.engine.pages_read import Context, PagesRead, Seen, window_begin
from kernels.engine.recall.generate import reply_state, state_context
from kernels.engine.recall.queries import queries_at
from kernels.engine.recall.recall import Recalled, recall
from kernels.engine.shared import SharedModel
from kernels.hicache.geometry import PoolKind
from kernels.hicache.paths import TransferPath
from kernels.hicache.sizing import PoolFormats
from kernels.substrate.cost_file import load_cost_model
from tests.harness.ablation.small import FLASH, small_cases


@pytest.fixture(scope="module")
def shared() -> SharedModel:
    return SharedModel()


@pytest.fixture(scope="module")
def case(shared: SharedModel) -> Case:
    return small_cases(shared, count=1)[0]


def whole_model(shared: SharedModel, case: Case, pool: PoolKind, seen: Seen, layers: tuple[int, ...]) -> Recalled:
    """What 41 layers recall, those of `layers` from the stale pages."""
    model = shared.model(FLASH)
    pages = PagesRead(FLASH, case.ledger)
    begin = window_begin(case.position)
    clean = pages.reading(Context(case.contents, begin, {}))
    reading = pages.reading(Context(case.contents, begin, {(pool, layer): seen for layer in layers}))
    state = reply_state(model, clean, case.prompt.reference, case.position)
    return recall(model, reading, queries_at(state_context(state), case.position), reference=clean)


def check(shared: SharedModel, case: Case, pool: PoolKind, seen: Seen, layers: tuple[int, ...]) -> None:
    """The folded evaluation of this slip agrees with the whole model."""
    reader = CaseReader(shared.model(FLASH), FLASH, case)
    outputs = reader.outputs(pool, seen)
    verdicts = reader.verdicts(reader.total([(outputs, count_layers(FLASH, layers))])[None])
    whole = whole_model(shared, case, pool, seen, layers)
    assert verdicts.tokens[0] == whole.tokens[0]
    if whole.tokens[0] == case.expected:
        assert verdicts.margins[0] == whole.margins[0]
    else:
        assert verdicts.margins[0] <= -whole.margins[0]
    assert whole.selection_changes is not None
    # The last layer of all is one that selects, and it is among the stale ones of every pool that it has.
    changed = reader.selection_change(outputs) * len(outputs.selected)
    assert round(changed) == whole.selection_changes[0, -1]


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("layer_count", [9, 11, 100])
def test_the_folded_sum_is_the_whole_model(shared: SharedModel, case: Case, pool: PoolKind, layer_count: int) -> None:
    seen = view_of_pages(case, pool, stale_pages(case, "answer", 0.4, seed=3))
    assert seen is not None
    layers = FLASH.layers_with(pool)[-layer_count:]
    check(shared, case, pool, seen, layers)


@pytest.mark.parametrize("delay_us", [3, 11, 60])
@pytest.mark.parametrize("pool", POOLS)
def test_torn_pages_too(shared: SharedModel, case: Case, pool: PoolKind, delay_us: int) -> None:
    plan = LoadPlan(
        FLASH, PoolFormats("bf16"), TransferPath("layer_first", "kernel"), load_cost_model(), len(case.loaded)
    )
    (early,) = early_reads(plan, [pool], [delay_us * 1_000])[pool, delay_us * 1_000]
    seen = seen_by(case, pool, early.view)
    assert early.layers == FLASH.layers_with(pool)
    check(shared, case, pool, seen, early.layers)


@pytest.mark.parametrize("pool", POOLS)
def test_a_stale_page_with_the_same_bytes_changes_nothing(shared: SharedModel, pool: PoolKind) -> None:
    case = small_cases(shared, count=1)[0]
    count = len(case.loaded)
    seen = view_of_pages(case, pool, np.arange(count))
    assert seen is not None
    assert seen.view.stale.all()
    foreign = CaseReader(shared.model(FLASH), FLASH, case)
    assert not are_equal(foreign.outputs(pool, seen), foreign.clean)
    for place, page in enumerate(case.loaded):
        case.ledger.replace(count + 1 + place, case.contents[page])
    same = CaseReader(shared.model(FLASH), FLASH, case)
    assert are_equal(same.outputs(pool, seen), same.clean)


def are_equal(left: LayerOutputs, right: LayerOutputs) -> bool:
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in ("indexed", "selected", "summary"))


def test_the_margin_is_the_right_token_s(shared: SharedModel, case: Case) -> None:
    reader = CaseReader(shared.model(FLASH), FLASH, case)
    seen = view_of_pages(case, "c4", np.arange(len(case.loaded)))
    assert seen is not None
    stale = reader.total([(reader.outputs("c4", seen), count_layers(FLASH, FLASH.layers_with("c4")))])
    verdicts = reader.verdicts(np.stack([reader.total([]), stale]))
    logits = shared.model(FLASH).embeddings[:-2] @ np.stack([reader.total([]), stale]).T
    for number in (0, 1):
        others = np.delete(logits[:, number], case.expected)
        assert verdicts.margins[number] == logits[case.expected, number] - others.max()
        assert (verdicts.tokens[number] == case.expected) == (verdicts.margins[number] > 0)

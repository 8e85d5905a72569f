"""One read of one pool of one case: what was stale about it, and what one layer makes of it.

Owns: the facts that explain an outcome. Does not own: the outcome, which is a sum over layers (`outputs`). Floor 5.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.search.ablation.cases import Case
from harness.search.ablation.outputs import CaseReader, LayerOutputs
from kernels.engine.pages_read import Seen
from kernels.hicache.geometry import WINDOW_POOLS, PoolKind


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """stale_share, torn_pages, answer_stale, selection_change: as in `Observation`."""

    outputs: LayerOutputs
    stale_share: float
    torn_pages: int
    answer_stale: bool
    selection_change: float


def look(case: Case, reader: CaseReader, pool: PoolKind, seen: Seen | None) -> Look:
    """Evaluate a read. Args: seen: None where nothing was stale."""
    if seen is None:
        return Look(reader.clean, 0.0, 0, answer_stale=False, selection_change=0.0)
    outputs = reader.outputs(pool, seen)
    stale = seen.view.stale[0, seen.span]
    return Look(
        outputs=outputs,
        stale_share=float(stale.mean()),
        torn_pages=int((seen.view.tear[0, seen.span] < 1).sum()),
        # The window's page is the last one; no answer begins there.
        answer_stale=pool not in WINDOW_POOLS and all(bool(stale[first]) for first, _ in case.answers),
        selection_change=reader.selection_change(outputs),
    )

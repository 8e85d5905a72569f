"""What the model makes of a slip: the outputs of stale layers, added to those of the layers that read right.

Owns: the sum over layers and the verdict on it. Does not own: single layers and logits (`kernels.engine.recall`), the
pages (`kernels.engine.pages_read`). Floor 5.

All stale layers of a pool read the same pages, so one of each kind is evaluated, through the engine's own machinery,
and counted as often as there are such layers. The sum is exact in float32, in any order; a test compares it with the
whole model reading every layer by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from harness.search.ablation.cases import Case
from harness.search.ablation.slips import StaleLayers
from kernels.engine.pages_read import Context, PagesRead, Seen, window_begin
from kernels.engine.recall.generate import reply_state, state_context
from kernels.engine.recall.indexed import indexed_output
from kernels.engine.recall.model import RecallModel
from kernels.engine.recall.queries import queries_at
from kernels.engine.recall.recall import best_tokens, logits_of
from kernels.engine.recall.summaries import summary_output
from kernels.hicache.geometry import Geometry, PoolKind

Values = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class LayerOutputs:
    """One layer of each kind. indexed, summary: [64]. selected: [k] int64, the entries that the indexed one chose."""

    indexed: Values
    selected: NDArray[np.int64]
    summary: Values


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Of each sum. tokens: [n] int32. margins: [n] float32, the right token's logit minus the best other one's."""

    tokens: NDArray[np.int32]
    margins: Values


class CaseReader:
    """Reads one case's pages, clean or with a slip."""

    def __init__(self, model: RecallModel, geometry: Geometry, case: Case) -> None:
        # One layer of each kind stands for all that read the same.
        self._folded = replace(geometry, layer_kinds=("c4", "c128"))
        self._pages = PagesRead(self._folded, case.ledger)
        self._model = model
        self._case = case
        self._known: dict[bytes, LayerOutputs] = {}
        clean = Context(case.contents, window_begin(case.position), {})
        state = reply_state(model, self._pages.reading(clean), case.prompt.reference, case.position)
        self._queries = queries_at(state_context(state), case.position)
        self.clean = self._outputs(clean, None)

    def outputs(self, pool: PoolKind, seen: Seen) -> LayerOutputs:
        """Outputs of layers in which the pool was read like this, and every other pool right. The same read of the same
        pool is evaluated once."""
        view = seen.view
        key = pool.encode() + b"".join(array.tobytes() for array in (view.head, view.tail, view.tear))
        if key not in self._known:
            stale = {(pool, layer): seen for layer in self._folded.layers_with(pool)}
            context = Context(self._case.contents, window_begin(self._case.position), stale)
            self._known[key] = self._outputs(context, pool)
        return self._known[key]

    def total(self, parts: Sequence[tuple[LayerOutputs, StaleLayers]]) -> Values:
        """[64]: the sum over all layers, of which these are stale and the others clean."""
        shape = self._model.shape
        indexed = shape.indexed_layers - sum(count.indexed for _, count in parts)
        summary = shape.summary_layers - sum(count.summary for _, count in parts)
        total: Values = np.float32(indexed) * self.clean.indexed + np.float32(summary) * self.clean.summary
        for outputs, count in parts:
            total += np.float32(count.indexed) * outputs.indexed + np.float32(count.summary) * outputs.summary
        return total

    def verdicts(self, totals: Values) -> Verdicts:
        """Args: totals: [n, 64]."""
        logits = logits_of(self._model, totals)
        tokens = logits.argmax(axis=1).astype(np.int32)
        right = logits[:, self._case.expected].copy()
        logits[:, self._case.expected] = -np.inf
        return Verdicts(tokens, right - logits.max(axis=1))

    def loses(self, indexed: Values) -> NDArray[np.bool_]:
        """Whether a layer with this output would by itself say another token than the right one. Args: [n, 64]."""
        lost: NDArray[np.bool_] = best_tokens(self._model, indexed) != self._case.expected
        return lost

    def selection_change(self, outputs: LayerOutputs) -> float:
        """Share of the selected entries that a clean layer does not select."""
        kept = len(np.intersect1d(outputs.selected, self.clean.selected, assume_unique=True))
        return 1.0 - kept / len(outputs.selected)

    def _outputs(self, context: Context, pool: PoolKind | None) -> LayerOutputs:
        """Effect: none. Only the kind of layer that has the pool is evaluated; the other is the clean one's."""
        reading = self._pages.reading(context)
        if pool == "c128":
            indexed, selected = self.clean.indexed, self.clean.selected
        else:
            output = indexed_output(self._model, reading.indexed[0], self._queries)
            indexed, selected = output.values[0], output.selected[0]
        if pool in ("index_k", "c4"):
            summary = self.clean.summary
        else:
            summary = summary_output(self._model, reading.summaries[0], self._queries)[0]
        return LayerOutputs(indexed, selected, summary)

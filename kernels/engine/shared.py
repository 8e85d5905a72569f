"""What runs of one process may share: everything that depends on text and content alone.

Owns: reader, model tables, page shelves and memos. Does not own: anything of a machine or a run. Floor 2c.
"""

from __future__ import annotations

from kernels.engine.prompt import PromptReader
from kernels.engine.readout import ReplyMemos
from kernels.engine.recall.content import PageBuilder
from kernels.engine.recall.memo import Memo
from kernels.engine.recall.model import RecallModel, build_model
from kernels.engine.recall.shape import PAGE_TOKENS, RecallShape
from kernels.engine.shelf import PageShelf
from kernels.errors import ConfigError
from kernels.hicache.geometry import Geometry, preset_names
from kernels.hicache.sizing import IndexFormat

MEMO_ENTRIES_MAX = 100_000


class SharedModel:
    """Made once; every run of the process gets it. It only ever holds results that are functions of content."""

    def __init__(self) -> None:
        self.reader = PromptReader()
        self._models: dict[RecallShape, RecallModel] = {}
        self._memos: dict[RecallShape, ReplyMemos] = {}
        self._shelves: dict[IndexFormat, PageShelf] = {}

    def model(self, geometry: Geometry) -> RecallModel:
        """The recall model of a geometry's layers. Raises: ConfigError where its pages are not the model's."""
        if geometry.page_tokens != PAGE_TOKENS or not geometry.layers_with("c4"):
            raise ConfigError(
                f"preset '{geometry.name}' can be sized but not run: the recall model has c4 layers and pages of "
                f"{PAGE_TOKENS} tokens",
                key="cache.preset",
                value=geometry.name,
                allowed=tuple(name for name in preset_names() if name != geometry.name),
            )
        shape = _shape_of(geometry)
        if shape not in self._models:
            self._models[shape] = build_model(shape)
        return self._models[shape]

    def memos(self, geometry: Geometry) -> ReplyMemos:
        """Results of that geometry's model: another one recalls other things from the same pages."""
        return self._memos.setdefault(
            _shape_of(geometry),
            ReplyMemos(
                first_tokens=Memo(MEMO_ENTRIES_MAX),
                states=Memo(MEMO_ENTRIES_MAX),
                anchors=Memo(MEMO_ENTRIES_MAX),
                replies=Memo(MEMO_ENTRIES_MAX),
            ),
        )

    def shelf(self, index_format: IndexFormat) -> PageShelf:
        """Page contents in one number format of index-K. Raises: ConfigError for a format without a codec."""
        if index_format == "fp4":
            raise ConfigError("index_k = fp4 can be sized but not run", key="cache.index_k", allowed=("bf16", "fp8"))
        if index_format not in self._shelves:
            # The rows do not depend on the number of layers, so any shape's tables will do.
            self._shelves[index_format] = PageShelf(PageBuilder(build_model(RecallShape()), index_format))
        return self._shelves[index_format]


def _shape_of(geometry: Geometry) -> RecallShape:
    return RecallShape(
        indexed_layers=len(geometry.layers_with("index_k")),
        summary_layers=len(geometry.layers_with("c128")),
        top_k=geometry.top_k,
    )

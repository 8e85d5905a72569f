"""The figures of an ablation: flips over the share of pages, over copies of the fact, and over microseconds.

Owns: which lines a figure has. Does not own: drawing (`results.report.plots`). Floor 5.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from harness.search.ablation.counts import select
from harness.search.ablation.spec import POOLS, AblationSpec
from results.report.plots import SERIES_MAX, Series, plot_sweep

_Y_LABEL = "first tokens that changed"


def draw_figures(folder: Path, spec: AblationSpec, counts: pd.DataFrame) -> tuple[Path, ...]:
    """Effect: writes the figures into the folder; the one over copies has the first three redundancies at most.

    Raises: StorageProblem.
    """
    fewest, layers = min(spec.redundancies), max(spec.layer_shares)
    every = select(counts, length="long")
    by_pages = select(every, axis="pages", variant="random", layer_share=layers)
    by_delay = select(every, axis="delay", redundancy=fewest)
    written = f"each fact written {'once' if fewest == 1 else f'{fewest} times'}"
    pages, copies, delays = (folder / name for name in ("ablation.png", "ablation_copies.png", "ablation_delays.png"))
    plot_sweep(
        pages,
        [_series(pool, select(by_pages, redundancy=fewest, pool=pool), "page_share") for pool in POOLS],
        title=f"The same slip in four pools, {written}",
        x_label="share of loaded pages stale, drawn at random",
        y_label=_Y_LABEL,
        caption=_caption(spec, select(by_pages, redundancy=fewest)),
    )
    lines = [
        _series(f"{pool}, {redundancy}x", select(by_pages, redundancy=redundancy, pool=pool), "page_share")
        for redundancy in spec.redundancies[: SERIES_MAX // 2]
        for pool in ("index_k", "c4")
    ]
    plot_sweep(
        copies,
        lines,
        title="index-K and c4, by how often each fact is written",
        x_label="share of loaded pages stale, drawn at random",
        y_label=_Y_LABEL,
        caption=_caption(spec, by_pages),
    )
    plot_sweep(
        delays,
        [_series(pool, select(by_delay, pool=pool), "delay_us") for pool in POOLS],
        title=f"Each pool read too early by the same time, {written}",
        x_label="microseconds before the pool's own copy of the layer ends",
        y_label=_Y_LABEL,
        caption=_caption(spec, by_delay),
    )
    return pages, copies, delays


def _series(label: str, rows: pd.DataFrame, axis: str) -> Series:
    ordered = rows.sort_values(axis)
    return Series(label, *(ordered[name].tolist() for name in (axis, "rate", "low", "high")))


def _caption(spec: AblationSpec, rows: pd.DataFrame) -> str:
    cases, sessions = int(rows["cases"].max()), int(rows["sessions"].max())
    return f"Seed {spec.seed}; up to {cases} questions of {sessions} sessions a point; bars: 95 %, session as cluster"

"""Counting observations: one row for each slip, with flips, an interval, and what explains them.

Owns: the columns, and who is compared with whom. Does not own: intervals (`results.stats`), words (`conclusion`,
`tables`). Floor 5.

Questions of one session share its history, so the session is the cluster of every interval. Sessions themselves are
independent here: each case is evaluated by itself, and no load is merged with another's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.search.ablation.measure import Measured
from harness.search.ablation.observations import Observation
from harness.search.ablation.slips import stale_layers
from kernels.hicache.geometry import Geometry, PoolKind
from results.stats.clusters import clustered_rate
from results.stats.intervals import Interval

SLIP = ("length", "redundancy", "axis", "variant", "pool", "page_share", "layer_share", "delay_us")
"""Columns that tell one slip from another."""


def observation_frame(measured: Measured) -> pd.DataFrame:
    """One row for each observation. clean_margin: of the same case without a slip."""
    clean = {(case.setting, case.session, case.turn): case.margin for case in measured.clean}
    return pd.DataFrame([_row(seen, clean[seen.setting, seen.session, seen.turn]) for seen in measured.observations])


def count_flips(frame: pd.DataFrame, geometry: Geometry) -> pd.DataFrame:
    """One row for each slip, in the order in which they were made.

    cases, sessions, flips, rate, low, high, method: first tokens that changed. answer_stale, stale_pages, torn_pages:
    means over cases; the first two as shares. layer_lost: share of cases in which one stale layer alone loses the
    answer. selection_change: mean share of the top-k that changed. margin_*: the right token's logit before the best
    other one's, over cases; margin_moved_max: the largest change that the slip made to it, either way.
    """
    rows: list[dict[str, Any]] = []
    for key, group in frame.groupby(list(SLIP), sort=False, dropna=False):
        slip: dict[str, Any] = dict(zip(SLIP, key, strict=True))
        interval = flip_rate(group, group["flipped"])
        rows.append(
            {
                **slip,
                "stale_layers": stale_layers(geometry, slip["pool"], slip["layer_share"]).all,
                "pool_layers": len(geometry.layers_with(slip["pool"])),
                "cases": len(group),
                "sessions": group["session"].nunique(),
                "flips": int(group["flipped"].sum()),
                "rate": interval.estimate,
                "low": interval.low,
                "high": interval.high,
                "method": interval.method,
                "stale_pages": group["stale_share"].mean(),
                "torn_pages": group["torn_pages"].mean(),
                "answer_stale": group["answer_stale"].mean(),
                "layer_lost": group["layer_lost"].mean(),
                "selection_change": group["selection_change"].mean(),
                "margin_median": group["margin"].median(),
                "margin_p05": group["margin"].quantile(0.05),
                "margin_clean_median": group["clean_margin"].median(),
                "margin_moved_max": (group["margin"] - group["clean_margin"]).abs().max(),
            }
        )
    return pd.DataFrame(rows)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two pools over the same cases under the same slip. of_second: share of the second among `discordant`, the cases
    in which exactly one of the two flipped."""

    first: PoolKind
    second: PoolKind
    discordant: int
    only_second: int
    of_second: Interval

    @property
    def verdict(self) -> str:
        """How sensitive the second pool is, against the first."""
        if self.discordant == 0:
            return "as sensitive"
        if self.of_second.low > 0.5:
            return "more sensitive"
        return "less sensitive" if self.of_second.high < 0.5 else "not told apart"


def compare(frame: pd.DataFrame, first: PoolKind, second: PoolKind) -> Comparison:
    """Args: frame: observations of one slip, for several pools."""
    flips = frame.pivot(index=["session", "turn"], columns="pool", values="flipped").reset_index()
    differing = flips[flips[first] != flips[second]]
    return Comparison(
        first=first,
        second=second,
        discordant=len(differing),
        only_second=int(differing[second].sum()),
        of_second=flip_rate(differing, differing[second]),
    )


def select(frame: pd.DataFrame, **values: object) -> pd.DataFrame:
    """The rows that have these values; None stands for a value that a slip does not have."""
    for column, value in values.items():
        frame = frame[frame[column].isna()] if value is None else frame[frame[column] == value]
    return frame


Row = Mapping[str, Any]
"""One row of a frame, by column."""


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """The rows, in order."""
    return [dict(zip(frame.columns, values, strict=True)) for values in frame.itertuples(index=False)]


def flip_rate(cases: pd.DataFrame, events: pd.Series[Any]) -> Interval:
    """The rate of an event, with the session as cluster."""
    by_session = events.astype(bool).groupby(cases["session"])
    hits: Sequence[int] = by_session.sum().astype(int).tolist()
    return clustered_rate(hits, by_session.size().tolist())


def _row(seen: Observation, clean_margin: float) -> dict[str, Any]:
    slip = seen.slip
    return {
        "length": seen.setting.length,
        "redundancy": seen.setting.redundancy,
        "axis": "pages" if slip.delay_us is None else "delay",
        "variant": slip.variant,
        "pool": slip.pool,
        "page_share": slip.page_share,
        "layer_share": slip.layer_share,
        "delay_us": slip.delay_us,
        "session": seen.session,
        "turn": seen.turn,
        "stale_share": seen.stale_share,
        "torn_pages": seen.torn_pages,
        "answer_stale": seen.answer_stale,
        "flipped": seen.flipped,
        "margin": seen.margin,
        "clean_margin": clean_margin,
        "layer_lost": seen.layer_lost,
        "selection_change": seen.selection_change,
    }

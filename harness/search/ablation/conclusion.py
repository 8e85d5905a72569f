"""The conclusion of an ablation in one paragraph, computed from its numbers.

Owns: which part of the incident report's claim the numbers support, and the sentences. Does not own: the numbers
(`counts`). Floor 5.

The claim: index-K is uniquely sensitive, because it feeds a discrete top-k selection, while the pools that attention
averages (c4 latents, c128, sliding window) hide the same slip.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import pandas as pd

from harness.search.ablation.counts import Comparison, Row, compare, rows_of, select
from harness.search.ablation.spec import POOLS, AblationSpec
from kernels.hicache.geometry import PoolKind
from results.report.words import listed, percent, percent_interval

AVERAGED: tuple[PoolKind, ...] = ("c128", "swa")
"""Pools of which a read only ever has a weighted mean, or a copy of what c4 holds too."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """hidden: pools other than index-K under whose slip no first token changed in any cell, short contexts included.

    latents: c4 against index-K under the strongest slip, by redundancy.
    """

    hidden: tuple[PoolKind, ...]
    latents: tuple[tuple[int, Comparison], ...]
    text: str


def conclude(spec: AblationSpec, observations: pd.DataFrame, counts: pd.DataFrame) -> Conclusion:
    """Args: observations, counts: from `counts.observation_frame` and `counts.count_flips`."""
    flips = counts.groupby("pool")["flips"].sum()
    hidden = tuple(pool for pool in POOLS if pool != "index_k" and flips[pool] == 0)
    latents = tuple(
        (redundancy, compare(_strongest(spec, observations, redundancy), "index_k", "c4"))
        for redundancy in spec.redundancies
    )
    sentences = [
        _rates(spec, counts, latents),
        _why(spec, counts),
        _elsewhere(observations),
        _averaged(counts),
        _delays(spec, counts),
        _short(counts),
        _verdict(counts, hidden, latents),
    ]
    return Conclusion(hidden, latents, " ".join(sentence for sentence in sentences if sentence))


def _strongest(spec: AblationSpec, rows: pd.DataFrame, redundancy: int) -> pd.DataFrame:
    """The slip of most pages in most layers, with pages drawn at random."""
    return select(
        rows,
        length="long",
        redundancy=redundancy,
        axis="pages",
        variant="random",
        page_share=max(spec.page_shares),
        layer_share=max(spec.layer_shares),
    )


def _rates(spec: AblationSpec, counts: pd.DataFrame, latents: tuple[tuple[int, Comparison], ...]) -> str:
    """What changed under the strongest slip, for each redundancy."""
    pages, layers = percent(max(spec.page_shares)), percent(max(spec.layer_shares))
    sentences = [f"First tokens that changed with {pages} of the loaded pages stale in {layers} of the layers."]
    for redundancy, comparison in latents:
        rows = _by_pool(_strongest(spec, counts, redundancy))
        figures = ", ".join(f"{pool} {_rate(rows[pool])}" for pool in POOLS)
        sentences.append(
            f"Fact written {_times(redundancy)} ({rows['index_k']['cases']} cases): {figures}; {_against(comparison)}."
        )
    return " ".join(sentences)


def _why(spec: AblationSpec, counts: pd.DataFrame) -> str:
    """The chance that a wrong selection holds the answer all the same."""
    parts = []
    for redundancy in spec.redundancies:
        rows = _by_pool(_strongest(spec, counts, redundancy))
        kept = [percent(1 - rows[pool]["layer_lost"]) for pool in ("index_k", "c4")]
        parts.append(f"{kept[0]} against {kept[1]} with {_copies(redundancy)}")
    changed = percent(_by_pool(_strongest(spec, counts, min(spec.redundancies)))["index_k"]["selection_change"])
    return (
        f"Stale keys change {changed} of a layer's selection, but what foreign keys select still holds the answer now "
        f"and then, whereas a stale latent is not there to be found: a layer keeps the answer under stale index_k "
        f"against stale c4 in {listed(parts)}."
    )


def _elsewhere(observations: pd.DataFrame) -> str:
    """Whether a stale page harms where it does not hold the answer: what a selection that tips over would do."""
    rows = select(observations, length="long", axis="pages", variant="random")
    parts = []
    for pool in ("index_k", "c4"):
        others = rows[(rows["pool"] == pool) & (rows["stale_share"] > 0) & ~rows["answer_stale"]]
        parts.append(f"{pool} in {int(others['flipped'].sum()):,} of {len(others):,} reads")
    return f"While one copy of the answer lay on a page that was read right, the token changed for {listed(parts)}."


def _averaged(counts: pd.DataFrame) -> str:
    parts = []
    for pool in AVERAGED:
        rows = select(counts, pool=pool)
        moved, clean = rows["margin_moved_max"].max(), rows["margin_clean_median"].median()
        flips, reads = int(rows["flips"].sum()), int(rows["cases"].sum())
        parts.append(
            f"{pool} changed {flips:,} of {reads:,} first tokens and moved the right one's margin of {clean:.0f} by "
            f"{moved:.0f} at most"
        )
    return f"Over all slips, {listed(parts)}: in this model they are context, never the only copy of the answer."


def _delays(spec: AblationSpec, counts: pd.DataFrame) -> str:
    rows = select(counts, length="long", axis="delay", redundancy=min(spec.redundancies))
    half: dict[PoolKind, float] = {}
    for pool in POOLS:
        reached = select(rows, pool=pool)
        reached = reached[reached["rate"] >= 0.5]
        if not reached.empty:
            half[pool] = float(reached["delay_us"].min())
    figures = [f"{pool} {f'from {half[pool]:g} us' if pool in half else 'at no delay'}" for pool in POOLS]
    text = f"Read too early by the same time, not the same pages, half of the first tokens change for {listed(figures)}"
    if half.get("index_k", inf) < half.get("c4", inf):
        text += "; by the clock index_k is the more exposed of the two, because its copy is the shorter one"
    return f"{text}."


def _short(counts: pd.DataFrame) -> str:
    rows = _by_pool(select(counts, length="short"))
    if not rows:
        return ""
    index_k, c4 = rows["index_k"], rows["c4"]
    return (
        f"In contexts below the top-k's reach, where everything is selected, index_k changed {index_k['flips']} of "
        f"{index_k['cases']} first tokens and c4 {c4['flips']} of {c4['cases']}."
    )


def _verdict(counts: pd.DataFrame, hidden: tuple[PoolKind, ...], latents: tuple[tuple[int, Comparison], ...]) -> str:
    if select(counts, pool="index_k")["flips"].sum() == 0:
        return "No slip of index_k changed anything here, so the claim was not put to the test."
    averaged = [pool for pool in AVERAGED if pool in hidden]
    holds = f"for {listed(averaged)}" if averaged else "for no pool"
    exposed = [copies for copies, found in latents if found.verdict in ("more sensitive", "as sensitive")]
    if exposed:
        numbers = listed([str(copies) for copies in exposed])
        return (
            f"So the claim that these pools hide the slip holds {holds} and does not hold for c4: with {numbers} "
            f"{'copy' if exposed == [1] else 'copies'} of the fact, stale c4 latents do as much harm as stale index-K "
            f"or more, so index-K is not uniquely sensitive."
        )
    if all(found.verdict == "less sensitive" for _, found in latents):
        return f"So the claim holds {holds}, and for c4 too: its slip does less harm than index_k's."
    return f"So the claim holds {holds}; for c4 it is open, these cases are too few."


def _by_pool(rows: pd.DataFrame) -> dict[str, Row]:
    return {row["pool"]: row for row in rows_of(rows)}


def _rate(row: Row) -> str:
    return f"{percent(row['rate'])} ({percent_interval(row['low'], row['high'])})"


def _against(latents: Comparison) -> str:
    if latents.discordant == 0:
        return "index_k and c4 changed the same ones"
    where = f"where only one of index_k and c4 changed it, it was c4 in {latents.only_second} of {latents.discordant}"
    told = {"more sensitive": "c4 is the more sensitive one", "less sensitive": "c4 is the less sensitive one"}
    return f"{where}: {told.get(latents.verdict, 'too few to tell them apart')}"


def _times(redundancy: int) -> str:
    return {1: "once", 2: "twice"}.get(redundancy, f"{redundancy} times")


def _copies(redundancy: int) -> str:
    return "one copy" if redundancy == 1 else f"{redundancy} copies"

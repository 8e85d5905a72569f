"""The tables that an ablation prints: pools against shares, layers and microseconds, and why.

Owns: what stands in a cell. Does not own: counting (`counts`), the spelling of a table (`results.report`). Floor 5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median

import pandas as pd

from harness.search.ablation.counts import Row, rows_of, select
from harness.search.ablation.measure import Measured
from harness.search.ablation.observations import CleanCase, ReplySeen
from harness.search.ablation.spec import AblationSpec
from results.report.tables import Cell, markdown_table
from results.report.words import percent

HEAD = """\
First tokens that changed, in percent, with the 95 % interval in brackets (the session is the cluster). A whole reply
changes exactly when its first token does: decode reads right pages and goes on from the token that it is given.
"""


def tables(spec: AblationSpec, counts: pd.DataFrame, measured: Measured) -> str:
    """All tables, each under a line that says what it shows."""
    pages, layers = max(spec.page_shares), max(spec.layer_shares)
    every = select(counts, length="long")
    by_pages = select(every, axis="pages", layer_share=layers)
    by_layers = select(every, axis="pages", variant="random", page_share=pages)
    by_delay = select(every, axis="delay")
    strongest = select(by_layers, layer_share=layers)
    sections = (
        (f"Share of loaded pages stale, drawn at random, in {percent(layers)} of the pool's layers.",
         _grid(select(by_pages, variant="random"), "page_share", percent, _rate)),
        ("The same, with the answer's pages (of every copy) and the last loaded page always among the stale ones.",
         _grid(select(by_pages, variant="answer"), "page_share", percent, _rate)),
        (f"Share of the pool's own layers stale, the last ones; {percent(pages)} of the loaded pages.",
         _grid(by_layers, "layer_share", percent, _rate)),
        ("Microseconds: in every layer the pool is read this long before its own copy of that layer ends.",
         _grid(by_delay, "delay_us", lambda value: f"{value:g} us", _rate)),
        ("What that leaves stale: share of the pool's loaded pages in percent, mean over cases.",
         _grid(select(by_delay, redundancy=min(spec.redundancies)), "delay_us", lambda value: f"{value:g} us",
               lambda row: f"{100 * row['stale_pages']:.0f}")),
        ("Below the top-k's reach: short contexts, all loaded pages stale in all layers, the fact written once.",
         _reasons(select(counts, length="short"))),
        (f"Why: {percent(pages)} of the loaded pages stale in {percent(layers)} of the layers.", _reasons(strongest)),
        ("Whole replies under that slip, written by decode from right pages; one question a session.",
         _replies(measured.replies)),
    )  # fmt: skip
    return "\n".join([describe_cases(measured.clean), HEAD, *(f"{title}\n\n{table}" for title, table in sections)])


def describe_cases(clean: Sequence[CleanCase]) -> str:
    """What was asked, and whether it was answered right without a slip."""
    lines: list[list[Cell]] = []
    for setting in dict.fromkeys(case.setting for case in clean):
        cases = [case for case in clean if case.setting == setting]
        columns = (
            [case.prompt_tokens for case in cases],
            [case.loaded_pages for case in cases],
            [case.window_reach_tokens for case in cases],
        )
        right = sum(case.is_right for case in cases)
        counts = (setting.length, str(setting.redundancy), str(len(cases)), str(right))
        lines.append([*counts, *(f"{min(column):,}-{max(column):,}" for column in columns)])
    headings = ("contexts", "copies", "n", "right without a slip", "tokens", "loaded pages", "window tokens loaded")
    return markdown_table(headings, lines)


def _grid(rows: pd.DataFrame, axis: str, heading: Callable[[float], str], cell: Callable[[Row], Cell]) -> str:
    """One line for each redundancy and pool, one column for each value of the axis."""
    values = [float(value) for value in rows[axis].drop_duplicates()]
    lines: list[list[Cell]] = []
    for (redundancy, pool), group in rows.groupby(["redundancy", "pool"], sort=False):
        by_value = {row[axis]: row for row in rows_of(group)}
        shown = [cell(by_value[value]) for value in values]
        lines.append([str(redundancy), str(pool), str(group["cases"].max()), *shown])
    return markdown_table(["copies", "pool", "n", *(heading(value) for value in values)], lines)


def _reasons(rows: pd.DataFrame) -> str:
    headings = (
        "copies", "pool", "n", "stale layers", "flips", "one layer alone loses it", "top-k changed",
        "margin, clean", "margin, median", "margin, 5 %", "margin moved at most",
    )  # fmt: skip
    lines: list[list[Cell]] = [
        [
            str(row["redundancy"]),
            str(row["pool"]),
            str(row["cases"]),
            f"{row['stale_layers']} of {row['pool_layers']}",
            _rate(row),
            percent(row["layer_lost"]),
            percent(row["selection_change"]),
            *(f"{row[name]:.0f}" for name in ("margin_clean_median", "margin_median", "margin_p05")),
            f"{row['margin_moved_max']:.0f}",
        ]
        for row in rows_of(rows)
    ]
    return markdown_table(headings, lines)


def _replies(replies: Sequence[ReplySeen]) -> str:
    lines: list[list[Cell]] = []
    for redundancy, pool in dict.fromkeys((seen.setting.redundancy, seen.pool) for seen in replies):
        chosen = [seen for seen in replies if (seen.setting.redundancy, seen.pool) == (redundancy, pool)]
        outcomes = Counter(seen.outcome for seen in chosen)
        flipped = [seen for seen in chosen if seen.first_token_flipped]
        length = f"{median(seen.tokens for seen in flipped):.0f}" if flipped else None
        counted = (outcomes["right"], outcomes["another call"], outcomes["no call"])
        lines.append([str(redundancy), pool, str(len(chosen)), str(len(flipped)), *map(str, counted), length])
    headings = ("copies", "pool", "n", "first token flipped", "right call", "another call", "no call", "tokens, median")
    return markdown_table(headings, lines)


def _rate(row: Row) -> str:
    return f"{100 * row['rate']:.1f} ({100 * row['low']:.0f}-{100 * row['high']:.0f})"

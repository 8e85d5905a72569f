"""Fills the tables of docs/gpu.md, and draws its figure, from the stored measurements under benchmarks/results/gpu.

Owns: what is shown of them. Does not own: measuring (`run.py bench`, `run.py --backend cuda`).
Run it as `python docs/gpu.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
STORED = DOCS.parent / "benchmarks" / "results" / "gpu"
PAGE = DOCS / "gpu.md"
FIGURE = DOCS / "figures" / "gpu_window.png"
_BLOCK = re.compile(r"(<!-- table: (?P<name>[a-z]+) -->\n)(?P<table>.*?)(<!-- end -->)", re.DOTALL)

Record = Mapping[str, Any]


def stored(name: str) -> Record:
    record: Record = json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))
    return record


def arms() -> Iterator[str]:
    yield "| scenario | delay of each index-K load | sessions corrupted | 95 % | stale page reads | load-backs |"
    yield "|---|---|---|---|---|---|"
    for run in stored("arms")["runs"]:
        low, high = (f"{100 * bound:.1f}" for bound in run["session_ci95"])
        yield (
            f"| {run['scenario']} | {run['delay']} | {run['sessions_corrupted']} of {run['sessions']} |"
            f" {low}-{high} % | {run['stale_reads']:,} | {run['load_backs']} |"
        )


def pair() -> Iterator[str]:
    yield "| run | delay | sessions corrupted | stale reads, prefill / decode | load-backs |"
    yield "|---|---|---|---|---|"
    for run in stored("two_gpus")["runs"]:
        planted = " + told early" if run["planted"] else ""
        yield (
            f"| {run['scenario']}{planted} | {run['delay']} | {run['sessions_corrupted']} of {run['sessions']} |"
            f" {run['stale_reads']:,} / {run['decode_stale_reads']:,} | {run['load_backs']} |"
        )


def window() -> Iterator[str]:
    yield "| compute over load | stale, layer 0 / 5 / 10 / 20 | torn pages | trials with stale | with the gate |"
    yield "|---|---|---|---|---|"
    yield from _curve(stored("window"), lambda point: f"{point['compute_us'] / point['load_us']:.2f}")


def dose() -> Iterator[str]:
    yield "| delay of a load, us | stale, layer 0 / 5 / 10 / 20 | torn pages | trials with stale | with the gate |"
    yield "|---|---|---|---|---|"
    yield from _curve(stored("dose"), lambda point: f"{point['delay_us']:.0f}")


def _curve(record: Record, name: Callable[[Record], str]) -> Iterator[str]:
    bare = [point for point in record["points"] if not point["has_gate"]]
    gated = [point for point in record["points"] if point["has_gate"]]
    for one, twin in zip(bare, gated, strict=True):
        shares = " / ".join(f"{100 * one['stale_share'][layer]:.0f}" for layer in (0, 5, 10, 20))
        yield (
            f"| {name(one)} | {shares} % | {100 * one['torn_share']:.2f} % |"
            f" {one['trials_with_stale']} of {one['trials']} | {twin['trials_with_stale']} of {twin['trials']} |"
        )


def kernels() -> Iterator[str]:
    yield "| what | who | median, us | quartiles | over its floor | rate |"
    yield "|---|---|---|---|---|---|"
    yield from _figures(stored("kernels"))


def transfers() -> Iterator[str]:
    yield "| what | who | median, us | quartiles | over its floor | rate |"
    yield "|---|---|---|---|---|---|"
    yield from _figures(stored("transfers"))


def _figures(record: Record) -> Iterator[str]:
    for figure in record["figures"]:
        spread, floor_us = figure["spread"], figure["floor_us"]
        over = "" if floor_us is None else f"{spread['median_us'] / floor_us:.2f} x {floor_us:.1f}"
        rate = "" if figure["rate"] is None else f"{figure['rate']:.1f} {figure['rate_unit']}"
        yield (
            f"| {figure['name']} | {figure['who']} | {spread['median_us']:.1f} |"
            f" {spread['low_us']:.1f}-{spread['high_us']:.1f} | {over} | {rate} |"
        )


TABLES: Mapping[str, Callable[[], Iterator[str]]] = {
    "arms": arms, "pair": pair, "window": window, "dose": dose, "kernels": kernels, "transfers": transfers
}  # fmt: skip


def _lines(name: str) -> str:
    return "".join(f"{line}\n" for line in TABLES[name]())


def rebuilt(text: str) -> str:
    """The page with every table made again."""
    return _BLOCK.sub(lambda match: match[1] + _lines(match["name"]) + match[4], text)


def draw() -> None:
    """Effect: writes the figure."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 3.8), sharey=True, layout="constrained")
    colours = plt.colormaps["viridis"]
    for axes, name, label in ((left, "window", "{:.2f}"), (right, "dose", "{:.0f} us")):
        points = [point for point in stored(name)["points"] if not point["has_gate"]]
        for index, point in enumerate(points):
            key = point["compute_us"] / point["load_us"] if name == "window" else point["delay_us"]
            shares = [100 * share for share in point["stale_share"]]
            colour = colours(index / len(points))
            axes.plot(range(len(shares)), shares, marker="o", markersize=3, color=colour, label=label.format(key))
        gated = [point for point in stored(name)["points"] if point["has_gate"]]
        highest = [100 * max(point["stale_share"][layer] for point in gated) for layer in range(len(shares))]
        axes.plot(range(len(shares)), highest, "k--", linewidth=1.2, label="with the gate, all")
        axes.set_xlabel("layer")
        axes.set_xticks(range(0, len(shares), 5))
        axes.grid(alpha=0.3)
    left.set_ylabel("pages read stale, %")
    left.set_title("no delay: compute of a layer / load of a layer", fontsize=10)
    right.set_title("compute 1.5 x load: injected delay of each load", fontsize=10)
    for axes in (left, right):
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    PAGE.write_text(rebuilt(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    draw()

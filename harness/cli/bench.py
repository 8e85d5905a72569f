"""`run.py bench`: floors, kernels and transfers of a CUDA device, and the natural race on any backend.

Owns: its options, what it prints, the JSON file. Does not own: what is measured (`harness.bench`). Floor 6.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from harness.bench.figures import Figure, host_facts
from harness.bench.window import WindowPoint
from harness.cli.options import DEFAULT_SEED
from harness.simulation.backends import BACKENDS
from kernels.errors import ConfigError

_WINDOW_LINE = "{:>12}  {:>8}  {:<5}{:<34}{:>8}  {}"
_CASES = ("kernels", "transfers", "window", "dose")
_HELP = """Measure what this machine can do.

kernels: index scores and top-k beside torch and CuPy, with the ceilings that bound them. transfers: copies over the
bus, contiguous and by gathered pages. window: the race without any injected delay, as compute per layer grows from
nothing to twice a layer's load. dose: compute stays longer than a load, and the injected delay grows. With the gate
nothing may be stale in either; if something is, the exit code is 1."""


@click.command("bench", help=_HELP)
@click.argument("case", type=click.Choice(_CASES))
@click.option("--backend", type=click.Choice(BACKENDS), default="cuda", show_default=True, help="What it runs on.")
@click.option("--seed", default=DEFAULT_SEED, show_default=True, type=click.IntRange(min=0), help="Of all inputs.")
@click.option(
    "--trials", default=20, show_default=True, type=click.IntRange(min=1), help="Of each point of the window."
)
@click.option("--json", "is_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--out", default=None, metavar="FILE", help="Keep the JSON in FILE.")
def bench_command(case: str, backend: str, seed: int, trials: int, is_json: bool, out: str | None) -> int:
    if case in ("kernels", "transfers") and backend != "cuda":
        raise ConfigError(f"bench {case} measures a device", key="--backend", value=backend, allowed=("cuda",))
    if case in ("window", "dose"):
        return _race(case, backend, seed, trials, is_json, out)
    figures: list[Figure] = []
    try:
        _measure(case, seed, figures)
    finally:
        # An interrupted run keeps what it has.
        _keep({"figures": [figure.as_json() for figure in figures]}, case, backend, seed, is_json, out)
    if not is_json:
        for figure in figures:
            click.echo(_line(figure))
    return 0


def _measure(case: str, seed: int, figures: list[Figure]) -> None:
    from harness.bench.kernels import measure_kernels
    from harness.bench.transfers import measure_transfers

    (measure_kernels if case == "kernels" else measure_transfers)(seed, figures)


def _line(figure: Figure) -> str:
    spread = figure.spread
    text = f"{figure.name:<58}{figure.who:<21}{spread.median_us:>10.1f} us  [{spread.low_us:.1f}, {spread.high_us:.1f}]"
    if figure.floor_us is not None:
        text += f"  {spread.median_us / figure.floor_us:.2f} x floor {figure.floor_us:.1f}"
    return text + (f"  {figure.rate:.1f} {figure.rate_unit}" if figure.rate is not None else "")


def _race(case: str, backend: str, seed: int, trials: int, is_json: bool, out: str | None) -> int:
    from harness.bench.run_window import dose_response, window_curve

    points = (window_curve if case == "window" else dose_response)(backend, seed=seed, trials=trials)
    _keep({"points": [asdict(point) for point in points]}, case, backend, seed, is_json, out)
    if not is_json:
        click.echo(
            _WINDOW_LINE.format(
                "compute/load", "delay us", "gate", "stale: first, middle, last layer", "torn", "stale trials"
            )
        )
        for point in points:
            click.echo(_window_line(point))
    return int(any(point.trials_with_stale for point in points if point.has_gate))


def _window_line(point: WindowPoint) -> str:
    shares = point.stale_share
    some = ", ".join(f"{100 * share:.1f} %" for share in (shares[0], shares[len(shares) // 2], shares[-1]))
    return _WINDOW_LINE.format(
        f"{point.compute_us / point.load_us:.2f}",
        f"{point.delay_us:.0f}",
        "yes" if point.has_gate else "no",
        some,
        f"{100 * point.torn_share:.2f} %",
        f"{point.trials_with_stale} of {point.trials}",
    )


def _keep(found: dict[str, Any], case: str, backend: str, seed: int, is_json: bool, out: str | None) -> None:
    command = f"python run.py bench {case} --backend {backend} --seed {seed}"
    record = {"command": command, "facts": host_facts(), "backend": backend, "seed": seed, **found}
    if out is not None:
        Path(out).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"kept in {out}", file=sys.stderr)
    if is_json:
        click.echo(json.dumps(record))

"""The natural race: layer after layer is loaded on one stream and read on another, and nothing is delayed.

Owns: the program, written on the substrate's contract, and what its reads saw as compute per layer grows. Does not own:
any machine. Floor 6.

All copies are enqueued, then the forward, as an engine does it. Where a layer's compute is short, the reader overtakes
the load and the later layers are stale; where it is longer than a layer's load, the load stays ahead. With the gate,
nothing is ever stale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kernels.substrate.contract import Machine, PageView, Region, Write

LAYERS = 21
PAGES = 256
PAGE_BYTES = 256 << 10
_DEVICE = "device:0"


@dataclass(frozen=True, slots=True)
class WindowPoint:
    """delay_us: injected in front of every layer's load.

    stale_share: of each layer's pages, over all trials. torn_share: of all pages, those that were half old.

    load_us: how long one layer's load took, from the trials themselves; compute_us: what a layer was given.
    """

    compute_us: float
    load_us: float
    delay_us: float
    has_gate: bool
    trials: int
    stale_share: tuple[float, ...]
    torn_share: float
    trials_with_stale: int


class WindowProgram:
    """Pools and streams, made once; each trial loads what the one before did not."""

    def __init__(self, machine: Machine, settle: Callable[[], None]) -> None:
        self._machine = machine
        self._settle = settle
        shape = {"layer_count": LAYERS, "page_count": PAGES, "page_bytes": PAGE_BYTES}
        self._pages = np.arange(PAGES, dtype=np.int64)
        self._pool: Any = machine.buffer("pool", space=_DEVICE, **shape)
        self._load, self._compute = machine.stream("load", device=0), machine.stream("forward", device=0)
        self._loaded = [machine.event(f"loaded[{layer}]") for layer in range(LAYERS)]
        self._started, self._begun = machine.event("started"), machine.event("begun")
        self._sources = [self._filled(number) for number in (1, 2)]

    def _filled(self, version: int) -> Any:
        """A host pool that holds this version everywhere; it gets there from the device."""
        host = self._machine.buffer(
            f"host {version}", space="host", layer_count=LAYERS, page_count=PAGES, page_bytes=PAGE_BYTES
        )
        layers = tuple(range(LAYERS))
        here = Region(self._pool, layers, self._pages)
        versions = np.full(PAGES, version, dtype=np.int64)
        self._load.launch("fill", duration_ns=0, point="compute.layer", writes=[Write(here, versions)])
        self._load.copy(here, Region(host, layers, self._pages), point="d2h.backup", label="fill")
        self._settle()
        return host

    def trial(self, compute_ns: int, has_gate: bool) -> list[PageView]:
        """One load and one forward. Returns: what each layer's read saw."""
        seen: list[PageView] = []
        # What the pool holds is the other source's.
        self._sources.reverse()
        source = self._sources[0]
        self._compute.record(self._started)
        self._load.wait(self._started)
        for layer in range(LAYERS):
            there = Region(self._pool, (layer,), self._pages)
            self._load.copy(
                Region(source, (layer,), self._pages), there, point="h2d.index_k", label=f"load[{layer}]", layer=layer
            )
            self._load.record(self._loaded[layer])
        for layer in range(LAYERS):
            if has_gate:
                self._compute.wait(self._loaded[layer])
            self._compute.launch(
                f"read[{layer}]",
                duration_ns=compute_ns,
                point="compute.indexer",
                reads=[Region(self._pool, (layer,), self._pages)],
                body=partial(_keep, seen),
                layer=layer,
            )
        # The next trial's forward begins when this one's load has ended, whoever was faster.
        self._load.record(self._begun)
        self._compute.wait(self._begun)
        self._settle()
        return seen


def _keep(seen: list[PageView], views: Sequence[PageView]) -> None:
    seen.extend(views)


def measure_window(
    machine: Machine,
    settle: Callable[[], None],
    load_us: float | Callable[[], float],
    *,
    ratios: Sequence[float],
    trials: int,
    delay_us: float = 0.0,
) -> list[WindowPoint]:
    """The curve, without the gate and with it.

    load_us: how long a layer's load takes without a delay; a function is asked after some loads were made.
    ratios: compute of a layer over that. delay_us: what the machine was told to inject, for the record.
    """
    program = WindowProgram(machine, settle)
    for _ in range(3):
        program.trial(0, has_gate=False)
    load_us = load_us() if callable(load_us) else load_us
    points = []
    for ratio in ratios:
        for has_gate in (False, True):
            compute_ns = round(ratio * load_us * 1_000)
            views = [program.trial(compute_ns, has_gate) for _ in range(trials)]
            points.append(_point((compute_ns / 1_000, load_us, delay_us, has_gate), views))
    return points


def _point(given: tuple[float, float, float, bool], trials: Sequence[Sequence[PageView]]) -> WindowPoint:
    stale = np.array([[view.stale.mean() for view in views] for views in trials])
    torn = np.mean([[(view.head != view.tail).mean() for view in views] for views in trials])
    shares = tuple(round(float(share), 4) for share in stale.mean(axis=0))
    return WindowPoint(*given, len(trials), shares, round(float(torn), 6), int((stale.sum(axis=1) > 0).sum()))

"""How long work on a CUDA device takes, by events around it.

Owns: warm-up, repeats, rotation over several input sets, the median. Does not own: what is timed. Floor 6.

Launches are captured into a graph and replayed, so that the host's cost of a launch (some microseconds in Python) is
not in the figure. Each launch of the graph takes the next set of inputs, so that a set has left the second-level
cache by the time it comes round, if the sets together are larger than it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.bench.figures import Spread

Launch = Callable[[], None]


def by_graph(launches: Sequence[Launch], *, repeats: int = 20) -> Spread:
    """Time of one launch; `launches` are the same work on different inputs, run one after the other in one graph."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for launch in launches:
            launch()
        stream.synchronize()
        stream.begin_capture()
        for launch in launches:
            launch()
        graph = stream.end_capture()
        return _repeat(lambda: graph.launch(stream), stream, len(launches), repeats)


def by_events(launches: Sequence[Launch], *, repeats: int = 20, stream: Any = None) -> Spread:
    """The same without a graph, for work that cannot be captured: long enough that launching is hidden."""
    import cupy

    chosen = stream or cupy.cuda.Stream(non_blocking=True)

    def run_all() -> None:
        for launch in launches:
            launch()

    with chosen:
        return _repeat(run_all, chosen, len(launches), repeats)


def _repeat(run: Launch, stream: Any, count: int, repeats: int) -> Spread:
    import cupy

    for _ in range(3):
        run()
    stream.synchronize()
    times = []
    for _ in range(repeats):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record(stream)
        run()
        end.record(stream)
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) * 1000 / count)
    return Spread.of(times)

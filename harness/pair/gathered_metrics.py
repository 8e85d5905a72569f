"""One page of metrics made of several registries.

Owns: putting families of the same name together, as the text format wants each of them once. Does not own: any counter.
Floor 5. Source: prometheus_client; sglang-router and smg gather their workers' metrics too (`/engine_metrics`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric


class _Gathered:
    """What a registry asks for its families."""

    def __init__(self, registries: Iterable[CollectorRegistry]) -> None:
        self._registries = tuple(registries)

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for registry in self._registries:
            for family in registry.collect():
                whole = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                whole.samples += family.samples
        yield from families.values()


def gathered(registries: Iterable[CollectorRegistry]) -> bytes:
    """Samples of different registries must differ in a label."""
    page = CollectorRegistry()
    page.register(_Gathered(registries))
    return generate_latest(page)

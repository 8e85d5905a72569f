"""A scenario's injected delays as the substrate's records, each mistake shown where it was written.

Owns: the place in the error. Does not own: the text form, the points (`kernels.substrate.delays`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from harness.config.schema import Scenario
from harness.config.toml_source import Entry
from kernels.errors import ConfigError
from kernels.hicache.geometry import preset
from kernels.substrate.contract import Delay
from kernels.substrate.delays import parse_delay

WITHOUT_LAYERS = frozenset({"d2h.backup", "handoff", "decode.step", "host.schedule"})
NO_PLACES: Mapping[str, Entry] = MappingProxyType({})


def scenario_delays(scenario: Scenario, entries: Mapping[str, Entry] = NO_PLACES) -> tuple[Delay, ...]:
    """All delays, in the order in which they were written.

    Raises: ConfigError for a point, distribution or layer that does not exist, with file and line where known.
    """
    return tuple(
        _delay(scenario, point, text, entries.get(f"delays.{point}")) for point, text in scenario.delays.items()
    )


def _delay(scenario: Scenario, point: str, text: str, place: Entry | None) -> Delay:
    file, line = (place.file, place.line) if place else (None, None)
    try:
        delay = parse_delay(f"{point}={text}")
    except ConfigError as error:
        raise ConfigError(
            error.what, key=error.key, value=error.value, allowed=error.allowed, file=file, line=line
        ) from error
    layer_count = preset(scenario.cache.preset).layer_count
    if delay.layers and delay.layers[-1] >= layer_count:
        beyond = f"{scenario.cache.preset} has no layer {delay.layers[-1]}, only 0 to {layer_count - 1}"
        what = f"delay '{text}' at {point}: {beyond}"
        raise ConfigError(what, key=f"delays.{point}", value=text, file=file, line=line)
    if delay.layers and point in WITHOUT_LAYERS:
        what = f"delay '{text}' at {point}: an operation there serves all layers, so it takes no layers"
        raise ConfigError(what, key=f"delays.{point}", value=text, file=file, line=line)
    return delay

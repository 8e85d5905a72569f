"""The numbers whose sensitivity is asked for, and the overrides that move one of them.

Owns: the list, each number's value in a scenario, and how a relative step is written. Does not own: why a number has
its value (docs/calibration.md). Floor 5. Source: ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.config import Scenario, flat_view
from harness.simulation.assembly import cost_model

Overrides = Mapping[str, str]

HEAD_STARTS_US = (3_000, 5_000, 7_000)
"""The real engine enqueues all copies before the forward: 3 to 7 ms on its kernel path."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One number. value: in a scenario. moved: the scenario's overrides that give it `value * factor`."""

    name: str
    unit: str
    value: Callable[[Scenario], float]
    moved: Callable[[Scenario, float], Overrides]


def _keys(name: str, unit: str, *keys: str) -> Parameter:
    """A number that stands in the scenario, under one key or under several that move together; the first is shown."""

    def value(scenario: Scenario) -> float:
        return float(flat_view(scenario)[keys[0]])

    def moved(scenario: Scenario, factor: float) -> Overrides:
        flat = flat_view(scenario)
        return {key: _scaled(flat[key], factor) for key in keys}

    return Parameter(name, unit, value, moved)


def _cost(name: str, unit: str, key: str, figure: str) -> Parameter:
    """A number of the cost file, which a scenario may replace."""

    def value(scenario: Scenario) -> float:
        return _cost_figure(scenario, figure)

    def moved(scenario: Scenario, factor: float) -> Overrides:
        return {key: _scaled(_cost_figure(scenario, figure), factor)}

    return Parameter(name, unit, value, moved)


def _cost_figure(scenario: Scenario, figure: str) -> float:
    section, _, name = figure.partition(".")
    return float(getattr(getattr(cost_model(scenario), section), name).value)


def _median(name: str, unit: str, key: str) -> Parameter:
    """The median of a lognormal whose logarithm stands in the scenario."""

    def value(scenario: Scenario) -> float:
        return math.exp(float(flat_view(scenario)[key]))

    def moved(scenario: Scenario, factor: float) -> Overrides:
        return {key: repr(round(float(flat_view(scenario)[key]) + math.log(factor), 6))}

    return Parameter(name, unit, value, moved)


def load_gbps(scenario: Scenario) -> float:
    """The rate of a load that has its link to itself: of the gather kernel, or of the link on the direct path."""
    model = cost_model(scenario)
    is_gather = scenario.cache.io == "kernel"
    return round(model.gather_bandwidth if is_gather else model.link.h2d.value * model.copy.bandwidth_scale.value, 9)


def load_gbps_moved(scenario: Scenario, factor: float) -> Overrides:
    """Links and copies together: with `cost.h2d_gbps` the link would be no faster than one copy on it, and a backup in
    the other direction would then slow every load."""
    return {"cost.bandwidth_scale": f"{scenario.cost.bandwidth_scale * factor:.9g}"}


def _scaled(value: object, factor: float) -> str:
    """Counts stay counts; other numbers are written to six digits, which is far below a step."""
    if isinstance(value, int):
        return str(max(1, round(value * factor)))
    assert isinstance(value, float), value
    return f"{value * factor:.6g}"


PARAMETERS: tuple[Parameter, ...] = (
    _keys("compute, fixed part", "us/layer", "cost.compute_fixed_us"),
    _keys("compute, slope", "us/token/layer", "cost.compute_slope_us_per_token"),
    Parameter("host copy bandwidth", "GB/s", load_gbps, load_gbps_moved),
    _cost("copy launch", "us", "cost.copy_launch_us", "copy.launch"),
    _cost("host enqueue", "us", "cost.host_enqueue_us", "host.enqueue"),
    _keys("jitter", "1", "cost.jitter"),
    _keys("largest batch", "requests", "engine.batch_max"),
    _keys("chunk of a prefill", "tokens", "engine.chunk_tokens"),
    _keys("device pool", "tokens", "cache.device_tokens"),
    _keys("host pool", "tokens", "cache.host_tokens"),
    _keys("think time", "s", "workload.think_s"),
    _keys("spread of starts", "s", "workload.start_spread_s"),
    _keys(
        "private first message",
        "tokens (shortest)",
        "workload.first_message_tokens_min",
        "workload.first_message_tokens_max",
    ),
    _median("tool result, median", "tokens", "workload.tool_result_log_mean"),
    _keys("decode step", "ms", "engine.decode_step_ms"),
    _keys("scheduler step", "us", "engine.host_step_us"),
)

"""Configuration: a scenario's TOML and the command line's overrides become one frozen, checked `Scenario`.

Owns: the public names of this package. Does not own: what the values mean to the machine or the workload.
Floor 5.
"""

from __future__ import annotations

from harness.config.checks import cost_file_path
from harness.config.delays import scenario_delays
from harness.config.loading import SCENARIOS_DIR, ScenarioLine, list_scenarios, load_scenario, scenario_file
from harness.config.schema import CacheConfig, CostConfig, EngineConfig, Scenario, WorkloadSpec
from harness.config.views import diff, flat_view, to_dict

__all__ = [
    "SCENARIOS_DIR",
    "CacheConfig",
    "CostConfig",
    "EngineConfig",
    "Scenario",
    "ScenarioLine",
    "WorkloadSpec",
    "cost_file_path",
    "diff",
    "flat_view",
    "list_scenarios",
    "load_scenario",
    "scenario_delays",
    "scenario_file",
    "to_dict",
]

"""A small ablation for the tests: short histories, few sessions, all the real code.

Owns: its sizes. Asserts nothing. Floor: tests.
"""

from __future__ import annotations

from dataclasses import replace

from harness.config import Scenario, load_scenario
from harness.search.ablation.cases import Case, CaseSource
from harness.search.ablation.measure import Ablation, Measured
from harness.search.ablation.observations import Observation, Setting
from harness.search.ablation.spec import AblationSpec
from harness.search.ablation.workloads import workload_of
from kernels.engine.shared import SharedModel
from kernels.hicache.geometry import preset

FLASH = preset("deepseek-v4-flash")
SPEC = AblationSpec(
    sessions=5,
    questions=2,
    redundancies=(1,),
    page_shares=(0.0, 0.5, 1.0),
    layer_shares=(0.5, 1.0),
    delays_us=(0.0, 20.0, 1_000.0),
)


def small_scenario() -> Scenario:
    """Histories of some 12,000 tokens: 3,000 entries, of which the top-k takes 512."""
    return load_scenario(
        "hicache_bf16",
        {
            "workload.first_message_tokens_min": 9_000,
            "workload.first_message_tokens_max": 11_000,
            "workload.system_tokens": 900,
            "workload.tool_result_log_mean": 5.0,
        },
    )


def small_cases(shared: SharedModel, *, redundancy: int = 1, count: int = 3) -> list[Case]:
    """One case of each of the first sessions."""
    setting = Setting("long", redundancy)
    workload = workload_of(small_scenario().workload, replace(SPEC, sessions=count + 1), setting)
    source = CaseSource(workload, SPEC.seed, shared, "bf16", tokens_max=None)
    return [case for session in range(count) for case in source.cases(session, 1)]


def measure(spec: AblationSpec = SPEC) -> Measured:
    return Ablation(spec, small_scenario(), SharedModel()).run()


def of_pages(measured: Measured, pool: str, page_share: float, layer_share: float = 1.0) -> list[Observation]:
    """Long contexts, pages drawn at random."""
    return [
        seen
        for seen in measured.observations
        if (seen.slip.pool, seen.slip.page_share, seen.slip.layer_share) == (pool, page_share, layer_share)
        and seen.slip.variant == "random"
        and seen.setting.length == "long"
    ]

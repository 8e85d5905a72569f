"""What the sessions of a live run send: the builtin planted-recall workload, made as short as the server needs.

Owns: which figures of a workload follow from a length of prompt. Does not own: workloads (`harness/load/workload`),
their defaults (`scenarios/base.toml`). Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.config import load_scenario
from harness.config.schema import WorkloadSpec
from harness.live.arrivals import LoadShape

_ANY_SCENARIO = "off_bf16"
"""All scenarios that ship share one workload."""
_SHARED_SHARE = 6
_RESULT_SHARE = 12
_DECOYS_FROM_TOKENS = 8_000


def live_workload(
    load: LoadShape, *, source: str, prompt_tokens: int | None, overrides: Mapping[str, str]
) -> WorkloadSpec:
    """Raises: ConfigError for a key or value that the workload does not take.

    Args:
        prompt_tokens: aim for the first message of each session; its tool lists and results shrink with it.
    """
    values: dict[str, str] = {"workload.source": source, "workload.sessions": str(load.sessions)}
    if load.rate is not None:
        # A fork waits for its parent, which is a closed loop's business.
        values["workload.fork_share"] = "0"
    if load.pattern is not None:
        values |= load.pattern.workload_values(load.sessions)
    if prompt_tokens is not None:
        values |= {
            "workload.first_message_tokens_min": str(max(1, prompt_tokens * 4 // 5)),
            "workload.first_message_tokens_max": str(prompt_tokens),
            "workload.system_tokens": str(max(400, min(3_500, prompt_tokens // _SHARED_SHARE))),
            "workload.fork_note_tokens": str(max(200, min(1_500, prompt_tokens // _RESULT_SHARE))),
            "workload.tool_result_tokens_max": str(max(120, min(4_000, prompt_tokens // _RESULT_SHARE))),
        }
        if prompt_tokens < _DECOYS_FROM_TOKENS:
            values["workload.decoys"] = "1"
            values["workload.anchored_per_result"] = "1"
    spec = load_scenario(_ANY_SCENARIO, {**values, **overrides}).workload
    if load.pattern is not None:
        load.pattern.refuse_short(spec.turns_max)
    return spec

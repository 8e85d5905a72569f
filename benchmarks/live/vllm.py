"""vLLM on CPU, in float32 and in bfloat16, with a tiny model of random weights: real scheduler, batches, prefix cache.

Owns: how it is started and what is asked of it. Does not own: the model (`tiny_model.py`). Source:
facts/real-servers.md section 2. In float32 a reply does not depend on the batch, so nothing may differ from the reply
alone; in bfloat16 some replies do, which the A/A baseline must explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.live.commands import run
from benchmarks.live.launching import HOST, Launch, free_ports, running
from benchmarks.live.llamacpp import PROBED, STRESSED
from benchmarks.live.real_server import VENVS
from benchmarks.live.record import Part
from benchmarks.live.tiny_model import CONTEXT_TOKENS, write_tiny_model

_MODEL = "tiny"
_DTYPES = ("float32", "bfloat16")
# The module and not the command: that asks for a package named vllm. Sequences: all sessions may be in one batch.
_MODULE = ("-m", "vllm.entrypoints.openai.api_server")
_OPTIONS = (
    "--max-num-seqs", "64", "--enforce-eager", "--enable-prefix-caching", "--enable-prompt-tokens-details",
    "--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--max-model-len", str(CONTEXT_TOKENS),
)  # fmt: skip
_OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
_SIZES = ("--sessions", "60", "--prompt-tokens", "1800", "--max-tokens", "48", "--set", "workload.turns_max=3",
          "--set", "workload.turns_min=3", "--set", "workload.think_s=0.2", "--serial-check", "60")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Vllm:
    name: str = "vllm"
    python: Path = VENVS / "vllm" / "bin" / "python"
    packages: Sequence[str] = ("vllm-cpu", "torch", "transformers")

    def measure(self, folder: Path) -> Sequence[Part]:
        model = write_tiny_model(self.python, folder / _MODEL)
        return [self._part(dtype, model, folder) for dtype in _DTYPES]

    def _part(self, dtype: str, model: Path, folder: Path) -> Part:
        (port,) = free_ports(1)
        options = [*_OPTIONS, "--dtype", dtype]
        words = [str(self.python), *_MODULE, "--model", str(model), "--served-model-name", _MODEL, "--host", HOST]
        words += ["--port", str(port), *options]
        started = Launch(f"{self.name}-{dtype}", words, (port, "/health"), _OFFLINE, patience_s=900.0, end_s=30.0)
        with running(started, folder) as server:
            where = ["--base-url", f"http://{HOST}:{port}/v1", "--read-timeout", "600"]
            runs = [
                run(f"{dtype}, probe", ["probe", *where], folder=folder).kept(PROBED),
                run(f"{dtype}, stress", ["stress", *where, *_SIZES], folder=folder).kept(STRESSED),
            ]
            return Part(started.name, {"options": options}, server.start_s, round(server.memory_mb()), runs)

"""NVIDIA Dynamo's frontend and its mock workers as a prefill/decode pair: a real KV router in front of random text.

Owns: how the three processes are started, what is asked, and the prefill worker's death in the middle of it. Does not
own: the model's folder (`tiny_model.py`), of which the mocker reads the tokenizer alone. Source: facts/real-servers.md
section 3. The text differs each time, so no reply can be judged: what counts is that every turn has one record, that a
failure is told as one, and that nothing is called corruption.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.live.clock import now_s, wait_s
from benchmarks.live.commands import Ran, run
from benchmarks.live.launching import HOST, Launch, Process, ServerProblem, answer, free_ports, running
from benchmarks.live.llamacpp import PROBED, STRESSED
from benchmarks.live.real_server import VENVS
from benchmarks.live.record import Part
from benchmarks.live.tiny_model import write_tiny_model

_MODEL = "tiny"
_PATIENCE_S = 60.0
_KILLED_AFTER_S = 8.0
_WORKER = ("--model-name", _MODEL, "--block-size", "16", "--num-gpu-blocks-override", "8192")
_SIZES = ("--prompt-tokens", "1800", "--max-tokens", "48", "--task", "none", "--serial-check", "0",
          "--set", "workload.turns_max=3", "--set", "workload.turns_min=3", "--read-timeout", "20")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dynamo:
    name: str = "dynamo"
    python: Path = VENVS / "dynamo" / "bin" / "python"
    packages: Sequence[str] = ("ai-dynamo", "ai-dynamo-runtime", "transformers")

    def measure(self, folder: Path) -> Sequence[Part]:
        model = write_tiny_model(self.python, folder / _MODEL)
        port, bootstrap_port = free_ports(2)
        with ExitStack() as stack:
            pair = [stack.enter_context(running(one, folder)) for one in self._launches(model, port, bootstrap_port)]
            _wait_for_model(port, pair)
            where = ["--base-url", f"http://{HOST}:{port}/v1"]
            runs = [
                run("probe", ["probe", *where, "--read-timeout", "60"], folder=folder),
                run("stress", ["stress", *where, "--sessions", "60", *_SIZES], folder=folder),
                self._with_a_dead_prefill(where, pair[1], folder),
            ]
            memory_mb = sum(process.memory_mb() for process in pair)
        settings = {"worker": " ".join(_WORKER), "router": "kv"}
        start_s = max(process.start_s for process in pair)
        return [Part(self.name, settings, start_s, round(memory_mb), [one.kept((*PROBED, *STRESSED)) for one in runs])]

    def _with_a_dead_prefill(self, where: list[str], prefill: Process, folder: Path) -> Ran:
        def kill_in_the_middle() -> None:
            wait_s(_KILLED_AFTER_S)
            prefill.kill()

        words = ["stress", *where, "--sessions", "8", "--duration", "40s", *_SIZES]
        return run("prefill killed in the middle", words, folder=folder, beside=kill_in_the_middle)

    def _launches(self, model: Path, port: int, bootstrap_port: int) -> list[Launch]:
        # Without etcd and NATS: the workers find each other through files.
        environment = {
            "DYN_DISCOVERY_BACKEND": "file", "DYN_FILE_KV": str(model.with_name("dynamo_files")),
            "DYN_REQUEST_PLANE": "tcp", "DYN_EVENT_PLANE": "zmq", "HF_HUB_OFFLINE": "1",
        }  # fmt: skip
        python, worker = str(self.python), ["--model-path", str(model), *_WORKER, "--disaggregation-mode"]
        frontend = [python, "-m", "dynamo.frontend", "--http-host", HOST, "--http-port", str(port)]
        frontend += ["--router-mode", "kv", "--kv-cache-block-size", "16"]
        prefill = [python, "-m", "dynamo.mocker", *worker, "prefill", "--bootstrap-ports", str(bootstrap_port)]
        decode = [python, "-m", "dynamo.mocker", *worker, "decode"]
        return [
            Launch("dynamo-frontend", frontend, (port, "/health"), environment),
            Launch("dynamo-prefill", prefill, None, environment),
            Launch("dynamo-decode", decode, None, environment),
        ]


def _wait_for_model(port: int, pair: Sequence[Process]) -> None:
    """The frontend answers before its workers do. Raises: ServerProblem."""
    ends_s = now_s() + _PATIENCE_S
    while _MODEL.encode() not in answer(port, "/v1/models")[1]:
        if now_s() > ends_s or not all(process.is_running for process in pair):
            raise ServerProblem("dynamo", "serves no model", pair[1].log)
        wait_s(0.2)

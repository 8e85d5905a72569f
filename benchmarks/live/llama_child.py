"""llama.cpp's server with one small model, on loopback, until it is told to end: run by the Python that has xllamacpp.

Owns: the parameters of the server. Does not own: its start and end (`llamacpp.py`). Nothing of this project is
imported, since this runs in another environment. Source: facts/real-servers.md section 4.

Usage: llama_child.py MODEL PORT SLOTS CONTEXT_TOKENS_OF_A_SLOT THREADS
"""

from __future__ import annotations

import importlib
import signal
import sys


def main(model: str, port: int, slots: int, context_tokens: int, threads: int) -> None:
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"smollm2-135m"}
    params.n_parallel = slots
    params.n_ctx = slots * context_tokens
    params.port = port
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.endpoint_metrics = True
    params.use_jinja = True
    params.offline = True
    server = xllamacpp.Server(params)
    print(f"serves at {server.listening_address}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main(sys.argv[1], *(int(word) for word in sys.argv[2:6]))

"""A tiny model's folder, for servers that load one: its text is that of our own sessions.

Owns: the corpus and the sizes. Does not own: the model (`tiny_child.py`, which runs where torch or tokenizers are).
Source: ours.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness.live.arrivals import load_shape
from harness.live.workload import live_workload
from harness.load.workload import build_workload
from kernels.engine.shared import SharedModel

VOCABULARY, CONTEXT_TOKENS, WEIGHTS_SEED = 4_096, 32_768, 22811
CORPUS_SEED = 1
"""Of sessions that no run asks for: secret words that stand in the vocabulary are words that a model can make up."""


def write_tiny_model(python: Path, folder: Path) -> Path:
    """Effect: files in `folder`, and a corpus beside it. Raises: subprocess.CalledProcessError."""
    load = load_shape("closed", 8, None, None)
    spec = live_workload(load, source="builtin", prompt_tokens=1_800, overrides={})
    sessions = build_workload(spec, CORPUS_SEED, SharedModel().reader.count_tokens).sessions
    texts = [str(message["content"]) for plan in sessions for message in plan.messages(len(plan.turns) - 1)]
    corpus = folder.with_suffix(".txt")
    corpus.write_text("\n".join(texts), encoding="utf-8")
    words = [str(python), str(Path(__file__).with_name("tiny_child.py")), str(folder), str(corpus)]
    subprocess.run([*words, str(VOCABULARY), str(CONTEXT_TOKENS), str(WEIGHTS_SEED)], check=True)
    return folder

"""A small package with the two classes that `audit --sglang` looks for, with formulas of our own, as text.

Owns: the stand-in. Its arithmetic is ours, not SGLang's; its names are those by which the reader finds things.
Floor: tests.
"""

from __future__ import annotations

from pathlib import Path

SIZING = '''
import logging


class DSV4PoolConfigurator(Base):
    def __init__(self, kvc):
        self.per_entry = entry_bytes(self.indexer_head_dim)

    def latent(self, ratio=1):
        if _is_npu:
            return unknown_thing.bytes
        return LATENT / ratio

    def layers(self, ratio: int) -> int:
        return len(self.stage_owner_layers.get(ratio, ()))

    def _get_bytes_per_full_token(self) -> float:
        """Bytes."""
        from somewhere import anything

        window, first = self.swa_ratio, 4 if self.c4_shrink_factor == 1 else 8
        parts = sum(self.latent(ratio) * len(owned) for ratio, owned in self.stage_owner_layers.items())
        states = ROWS / self.page_size * (8192 + 16 * self.indexer_head_dim) * self.layers(4)
        logging.info(f"{parts}")
        index = self.per_entry / first * self.layers(4)
        return window * (self.latent() * self.num_layers_total + states) + parts + index

    def _compute_dsv4_sizes(self, full_token: int, page_size: int):
        window = int(full_token * self.swa_ratio) // page_size * page_size
        return _DSV4PoolSizes(swa_max_total_num_tokens=window, c4_state_pool_size=window // page_size * ROWS)
'''

POOL = """
def entry_bytes(dimensions, *, scale=4):
    assert dimensions >= 0
    return ENTRY if dimensions else 0


class DeepSeekV4IndexerPool(Base):
    def get_bytes_per_token(self) -> int:
        return 68 if self.use_fp4_indexer else 132
"""


def write_package(folder: Path, *, entry: str = "132", latent: str = "584", rows: str = "8", **extra: str) -> Path:
    """A package whose formula counts entries and latents of so many bytes. extra: replacements in either text."""
    root = folder / "sglang"
    texts = {"srt/model_executor/pool_configurator.py": SIZING, "srt/mem_cache/deepseek_v4_memory_pool.py": POOL}
    for name, text in texts.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        for word, value in {"ENTRY": entry, "LATENT": latent, "ROWS": rows, **extra}.items():
            text = text.replace(word, value)
        file.write_text(text, encoding="utf-8")
    (root / "version.py").write_text('__version__ = "9.8.7"\n', encoding="utf-8")
    return folder

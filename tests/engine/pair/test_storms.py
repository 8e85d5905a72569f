"""Storms: requests and aborts at random times on pairs of random sizes. Nothing hangs, leaks or disturbs the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from kernels.engine.shared import SharedModel
from kernels.hicache.invariants import check
from kernels.hicache.paths import transfer_path
from kernels.substrate.virtual.invariants import check_invariants
from tests.engine.pair.stage import BARE, GATED, HALVES, MASKED, PAGE, Asked, Stage
from tests.engine.pair.talks import Talk, Writer

STEPS = 28
DELAYS = ("h2d.index_k=exponential:200us", "handoff=exponential:3ms", "d2h.backup=exponential:2ms")


@dataclass
class Storm:
    """A stage, the talks on it, and who was given up."""

    rng: np.random.Generator
    stage: Stage
    writer: Writer
    talks: list[Talk]
    given_up: set[str] = field(default_factory=set)

    def step(self) -> None:
        """One random thing happens, and then some time passes."""
        asked = self.stage.asked
        is_abort = bool(asked) and self.rng.random() < 0.25
        if is_abort:
            victim = asked[int(self.rng.integers(len(asked)))]
            halves = [HALVES, ("prefill",), ("decode",)][int(self.rng.integers(3))]
            self.stage.abort(victim, halves)
            self.given_up.add(victim.request.request_id)
        else:
            index = int(self.rng.integers(len(self.talks)))
            talk = self.talks[index]
            if self.rng.random() < 0.3:
                self.talks[index] = talk = talk.told("\n".join(self.writer.filler(int(self.rng.integers(50, 1_500)))))
            self.stage.submit(talk, talk.names[int(self.rng.integers(len(talk.names)))], max_new_tokens=40)
        self.stage.run_ns(int(self.rng.exponential(4e6)))
        check(self.stage.pair.cache)
        check_invariants(self.stage.machine)

    def fits(self, asked: Asked) -> bool:
        prompt_tokens = asked.prefill.usage.prompt_tokens
        setting = self.stage.setting
        return prompt_tokens <= setting.device_pages * PAGE and prompt_tokens + 40 <= setting.decode_pages * PAGE


def pick(rng: np.random.Generator, *options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def storm(shared: SharedModel, seed: int) -> Storm:
    rng = np.random.default_rng(seed)
    changes: dict[str, Any] = {
        "variant": pick(rng, GATED, GATED, BARE, MASKED),
        "delays": tuple(delay for delay in DELAYS if rng.random() < 0.5),
        "device_pages": int(rng.integers(24, 70)),
        "host_pages": pick(rng, 0, 40, 300),
        "decode_pages": int(rng.integers(24, 90)),
        "index_k": pick(rng, "bf16", "fp8"),
        "policy": pick(rng, "write_through", "write_through_selective", "write_back"),
        "path": transfer_path(pick(rng, "layer_first", "page_first"), pick(rng, "kernel", "direct")),
        "batch_max": int(rng.integers(1, 6)),
        "chunk_tokens": pick(rng, 256, 700, 2_048, 16_384),
        "decode_batch_max": int(rng.integers(1, 5)),
        "tp": pick(rng, 1, 1, 1, 2),
        "jitter": pick(rng, 0.0, 0.3),
        "layer_us": 60.0,
        "seed": seed,
    }
    writer = Writer(shared, seed)
    base = writer.talk(900)
    talks = [writer.talk(int(rng.integers(300, 6_000)), after=pick(rng, None, base)) for _ in range(5)]
    return Storm(rng, Stage(shared, **changes), writer, talks)


@pytest.mark.parametrize("seed", [0, 1, 5, 6, 7])
def test_a_storm_passes(shared: SharedModel, seed: int) -> None:
    weather = storm(shared, seed)
    for _ in range(STEPS):
        weather.step()
    stage = weather.stage
    stage.settle()
    served = [asked for asked in stage.asked if asked.request.request_id not in weather.given_up]
    assert served
    for asked in served:
        if not weather.fits(asked):
            assert "error" in (asked.prefill.reason, asked.decode.reason)
        else:
            assert (asked.prefill.reason, asked.decode.reason in ("stop", "length")) == ("stop", True)
            assert stage.setting.variant is BARE or asked.is_right, asked.decode.text
    assert stage.setting.variant is BARE or stage.trace.stale_rows == []

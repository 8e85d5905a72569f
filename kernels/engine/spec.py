"""What an engine pair is built from: batch limits, step times, tensor parallel width, and the named switches.

Owns: frozen parameters, already checked by the configuration floor. Does not own: their source (TOML, command
line), nor the cost model's numbers. Floor 2c.
"""

from __future__ import annotations

from dataclasses import dataclass

ACTIVATION_BYTES_PER_TOKEN = 3 * 2**19
"""Device memory of one new token in a forward: the 1.5 MiB by which SGLang itself sets memory aside for a chunk
(0.5.16 `server_args`, "activation_tokens * 1.5"; its authors call it a heuristic)."""


@dataclass(frozen=True, slots=True)
class PrefillSpec:
    """Limits and host times of the prefill engine's scheduler loop.

    chunk_tokens: most new tokens in one forward; a longer prompt is cut at a page border (chunked prefill).
    step_ns: host time of one turn of the scheduler loop before it launches.
    head_start_ns: further host time between the enqueueing of a load and of the forward that needs it.
    poll_ns: pause of the idle loop while transfers are in flight.
    workspace_bytes: device memory that the pools leave to a forward's activations; None: as much as it takes.
    """

    batch_max: int
    chunk_tokens: int
    step_ns: int
    head_start_ns: int
    poll_ns: int = 200_000
    workspace_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class DecodeSpec:
    """step_ns: time of one decode step, whatever the batch; batch_max: most requests in one step."""

    batch_max: int
    step_ns: int
    poll_ns: int = 200_000


@dataclass(frozen=True, slots=True)
class LayerShare:
    """How one layer's compute time is split among its kernels; the shares add up to 1.

    Assumed, not measured. Only the part between two gates matters for the race, and that is one whole layer
    wherever the cuts are (facts: the gate of layer L-1 is taken in its attention, the index read comes after
    the projections of layer L).
    """

    project: float = 0.15
    index: float = 0.15

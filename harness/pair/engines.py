"""What the servers ask of the engines behind them.

Owns: the protocols of the two engines and of the gate in front of them. Does not own: any engine, the request and
the sink as an engine sees them (`kernels.engine`), HTTP, or text of an API.
Floor 5. Source: facts/sglang.md section 4 (both halves get one body and meet by room); the rest is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kernels.engine.request import Candidate, FinishReason, GenerateRequest, Scores, TokenSink, Usage

__all__ = [
    "Candidate",
    "DecodeEngine",
    "Engine",
    "FinishReason",
    "Gate",
    "GenerateRequest",
    "HostHits",
    "ModelFacts",
    "PrefillEngine",
    "Scores",
    "TokenSink",
    "Usage",
]


class PrefillEngine(Protocol):
    """Its sink gets the first token and then `on_finish`, when the pages are handed off.

    Both engines are called at one virtual instant at a time and never re-entered from a sink.
    """

    @property
    def running_requests(self) -> int:
        """Requests that are being computed together; those that wait do not count."""

    def submit(self, request: GenerateRequest, sink: TokenSink) -> None: ...

    def abort(self, request_id: str) -> None:
        """The client is gone, or the other half failed. A request that is not known is not an error.

        Effect: the sink gets `on_finish("abort", ...)` if it has not been finished.
        """

    def flush_cache(self) -> bool:
        """Drop every page that nobody uses; False, and nothing done, while requests are running."""


class DecodeEngine(Protocol):
    """Its sink gets every token, the first one included (it comes with the hand-off)."""

    @property
    def running_requests(self) -> int: ...

    def submit(self, request: GenerateRequest, sink: TokenSink) -> None: ...

    def abort(self, request_id: str) -> None: ...

    def flush_cache(self) -> bool: ...


Engine = PrefillEngine | DecodeEngine

HostHits = Callable[[str], int]
"""How many of a request's prompt tokens came back from the host tier, asked by its id when it has ended."""


class Gate(Protocol):
    """Where requests enter simulated time: a `Conductor` in virtual runs, a `Pacer` in `serve`."""

    @property
    def is_virtual(self) -> bool: ...

    @property
    def now_ns(self) -> int: ...

    def hold(self, key: str) -> None: ...

    def release(self, key: str) -> None: ...

    def is_held(self, key: str) -> bool: ...

    def submit(self, order: tuple[int, ...], deliver: Callable[[], None]) -> None: ...


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What the servers say about the model when asked.

    tokenizer_path: a local folder, which need not hold a tokenizer: real routers try to load one from it, and ask a
        model hub when the folder does not exist.
    details: further fields of `/server_info`, such as `page_size`; they must be JSON values.
    """

    name: str = "kvrace-recall"
    context_tokens: int = 1_048_576
    tokenizer_path: str = field(default_factory=lambda: str(Path(__file__).resolve().parent))
    details: Mapping[str, object] = field(default_factory=dict)

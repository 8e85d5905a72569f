"""Latency as a user feels it, with the client's own lag beside it, and whether it can be believed.

Owns: which times count from where, and the rule that a late client blames nobody. Does not own: the stamps.
Pure. Floor 5. Source: facts/loadgen.md section 3 ("honest ITL"): a lag of more than a tenth of the usual gap is seen
in the tail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

import numpy as np

from results.records import TurnRecord

LAG_SHARE_MAX = 0.1


@dataclass(frozen=True, slots=True)
class ClientLag:
    """Milliseconds. kernel_*: from the kernel's readiness to our handling; None where it cannot be measured."""

    loop_p50: float | None
    loop_p99: float | None
    kernel_p50: float | None
    kernel_p99: float | None
    cpu_share: float

    @property
    def p99(self) -> float | None:
        return self.loop_p99 if self.kernel_p99 is None else self.kernel_p99


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds. ttft, e2e: from the intended send time, so that waiting for a slow server is not left out.

    itl: the gaps between pieces of text of one reply. merged_share: of the gaps, those whose two ends came in one read.
    streams_max, streams_mean: replies that were really open (first token to end) at once, and over the load's time.
    verdict: unknown where the client's own lag may have made the figures.
    """

    ttft_p50: float | None
    ttft_p99: float | None
    e2e_p50: float | None
    e2e_p99: float | None
    itl_p50: float | None
    itl_p99: float | None
    gaps: int
    merged_share: float | None
    streams_max: int
    streams_mean: float | None
    verdict: Literal["ok", "unknown"]
    verdict_reason: str


def client_lag(loop_ns: Sequence[int], kernel_ns: Sequence[int], cpu_share: float) -> ClientLag:
    return ClientLag(_ms(loop_ns, 50), _ms(loop_ns, 99), _ms(kernel_ns, 50), _ms(kernel_ns, 99), round(cpu_share, 4))


def latency_of(turns: Sequence[TurnRecord], gaps_ns: Sequence[int], lag: ClientLag) -> Latency:
    whole = [turn for turn in turns if turn.error is None]
    itl_p50 = _ms(gaps_ns, 50)
    verdict, reason = _verdict(itl_p50, lag)
    streams_max, streams_mean = _streams(turns)
    return Latency(
        ttft_p50=_ms(waits := _since_intended(whole, is_first=True), 50),
        ttft_p99=_ms(waits, 99),
        e2e_p50=_ms(ends := _since_intended(whole, is_first=False), 50),
        e2e_p99=_ms(ends, 99),
        itl_p50=itl_p50,
        itl_p99=_ms(gaps_ns, 99),
        gaps=len(gaps_ns),
        merged_share=round(sum(gap == 0 for gap in gaps_ns) / len(gaps_ns), 4) if gaps_ns else None,
        streams_max=streams_max,
        streams_mean=streams_mean,
        verdict=verdict,
        verdict_reason=reason,
    )


def _verdict(itl_p50: float | None, lag: ClientLag) -> tuple[Literal["ok", "unknown"], str]:
    if itl_p50 is None:
        return "unknown", "no reply had two pieces of text, so there are no gaps"
    if lag.p99 is None:
        return "unknown", "the client's own lag was not measured"
    shown = f"the client's own lag is {lag.p99:.2f} ms (p99), the usual gap {itl_p50:.2f} ms"
    if lag.p99 > LAG_SHARE_MAX * itl_p50:
        return "unknown", f"{shown}: the client may have made the tail itself"
    return "ok", shown


def _since_intended(turns: Sequence[TurnRecord], *, is_first: bool) -> list[int]:
    stamps = ((turn.first_token_ns if is_first else turn.finished_ns, turn.scheduled_ns) for turn in turns)
    return [at - scheduled for at, scheduled in stamps if at is not None]


def _streams(turns: Sequence[TurnRecord]) -> tuple[int, float | None]:
    spans = [
        (turn.first_token_ns, turn.finished_ns)
        for turn in turns
        if turn.first_token_ns is not None and turn.finished_ns is not None
    ]
    if not spans:
        return 0, None
    # An end and a beginning at one instant do not overlap.
    edges = sorted([(end, -1) for _, end in spans] + [(begin, 1) for begin, _ in spans])
    lasted_ns = max(end for _, end in spans) - min(turn.sent_ns for turn in turns)
    together = sum(end - begin for begin, end in spans)
    return max(accumulate(step for _, step in edges)), round(together / lasted_ns, 2) if lasted_ns > 0 else None


def _ms(values_ns: Sequence[int], percent: float) -> float | None:
    return round(float(np.percentile(np.asarray(values_ns), percent)) / 1e6, 3) if values_ns else None

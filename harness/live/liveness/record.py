"""What a run found out about the server's liveness.

Owns: the fields and the sentences. Does not own: finding any of it. Pure. Floor 5. Source: ours. Times are seconds of
the run, as in the records of its turns.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing came on any stream while requests were open, for at least the timeout.

    since_s: when the last sign of life was. found_s: when it was noticed. lasted_s: until the next sign of life, or
    until the run gave up. is_hang: nothing came any more. open_count, open_requests: at the time it was noticed.
    counters_moved: the server's own counters grew meanwhile (it works for somebody); None where they were not read.
    """

    timeout_s: float
    since_s: float
    found_s: float
    lasted_s: float
    is_hang: bool
    open_count: int
    open_requests: tuple[str, ...]
    counters_moved: bool | None

    @property
    def found_after_s(self) -> float:
        return self.found_s - self.since_s

    def short(self) -> str:
        return f"HANG: no byte on any stream for {self.lasted_s:.1f} s, requests open: {self.open_count}"

    def words(self) -> str:
        what = "HANG" if self.is_hang else "stall"
        shown = ", ".join(self.open_requests)
        rest = self.open_count - len(self.open_requests)
        more = f" and {rest} more" if rest > 0 else ""
        noticed = f"noticed after {self.found_after_s:.1f} s (timeout {self.timeout_s:g} s)"
        said = f"{what}: no byte on any stream for {self.lasted_s:.1f} s from {self.since_s:.1f} s on, {noticed}, "
        said += f"with {self.open_count} open: {shown}{more}"
        if self.counters_moved:
            said += "; the server's own counters moved meanwhile, so it worked on something"
        return said


@dataclass(frozen=True, slots=True)
class StuckQueue:
    """The server's gauges: nothing running, and requests waiting, for at least the timeout."""

    since_s: float
    lasted_s: float
    waiting: int

    def words(self) -> str:
        return (
            f"stuck queue: nothing running and up to {self.waiting} waiting for {self.lasted_s:.1f} s "
            f"from {self.since_s:.1f} s on, by the server's own gauges"
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """One small request with a known answer, after the load. after_s: since the load's end."""

    after_s: float
    took_s: float
    is_answered: bool
    is_right: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """running, waiting: the server's gauges once it had time to settle, less what they were before the run.

    None where no gauge tells. Requests of ours have all ended by then.
    """

    asked: tuple[Asked, ...]
    running: int | None
    waiting: int | None

    @property
    def is_healthy(self) -> bool:
        return all(one.is_answered for one in self.asked)

    @property
    def leaked(self) -> int:
        return max(0, self.running or 0) + max(0, self.waiting or 0)

    def words(self) -> str:
        failed = next((one for one in self.asked if not one.is_answered), None)
        if failed is not None:
            said = f"NOT RECOVERED: a small request {failed.after_s:.1f} s after the load failed: {failed.detail}"
        else:
            took = ", ".join(f"{one.took_s:.1f} s" for one in self.asked)
            right = "" if all(one.is_right for one in self.asked) else ", not with the planted call"
            said = f"answered {len(self.asked)} small requests after the load{right} (in {took})"
        if self.running is None and self.waiting is None:
            return f"{said}; no gauge tells whether requests were left behind"
        if self.leaked:
            left = f"{self.running or 0} running and {self.waiting or 0} waiting"
            return f"{said}; LEFT BEHIND: {left} more than before, though all of ours have ended"
        return f"{said}; no request was left behind"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Victims' time to the first token with a toxic neighbour, over that without it: a ratio of block medians.

    pairs: of blocks next to each other, one with and one without. low, high: 95 %; p: of no difference; both None
    where there are too few pairs. failed_on, failed_off: victims without a first token. corrupted_*: of the victims.
    """

    toxic: str
    block_s: float
    pairs: int
    victims_on: int
    victims_off: int
    ttft_on_ms: float | None
    ttft_off_ms: float | None
    ratio: float | None
    low: float | None
    high: float | None
    p: float | None
    failed_on: int
    failed_off: int
    corrupted_on: int
    corrupted_off: int
    requests: int
    note: str

    def words(self) -> str:
        head = f"{self.toxic}, {self.requests} requests"
        if self.ratio is None:
            return f"{head}: UNKNOWN: {self.note}"
        interval = "" if self.low is None else f" (95 %: {self.low:.2f} to {self.high:.2f}; p {self.p:.3g})"
        said = f"{head}: the others' first token takes {self.ratio:.2f} times as long{interval}, "
        said += (
            f"{self.ttft_on_ms:,.0f} ms beside it and {self.ttft_off_ms:,.0f} ms without, {self.pairs} pairs of blocks"
        )
        for what, on, off in (("failed", self.failed_on, self.failed_off),
                              ("corrupted", self.corrupted_on, self.corrupted_off)):  # fmt: skip
            if on or off:
                said += f"; {what} {on} of {self.victims_on} beside it, {off} of {self.victims_off} without"
        return f"{said}; {self.note}" if self.note else said


@dataclass(frozen=True, slots=True)
class LivenessReport:
    """hang_timeout_s: 0 where nobody watched."""

    hang_timeout_s: float = 0.0
    silences: tuple[Silence, ...] = ()
    stuck: tuple[StuckQueue, ...] = ()
    recovery: Recovery | None = None
    neighbour: Neighbour | None = None

    @property
    def verdict(self) -> str:
        """hang, stuck, not recovered, stalled or ok; unknown where nobody looked."""
        if any(one.is_hang for one in self.silences):
            return "hang"
        if self.stuck:
            return "stuck queue"
        if self.recovery is not None and not self.recovery.is_healthy:
            return "not recovered"
        if self.silences:
            return "stalled"
        return "ok" if self.hang_timeout_s or self.recovery is not None else "unknown"

    def counters(self) -> dict[str, int | float]:
        """The figures that travel with the run folder."""
        known: dict[str, int | float | None] = {}
        if self.hang_timeout_s:
            known |= {
                "hang_timeout_s": self.hang_timeout_s, "hangs": sum(one.is_hang for one in self.silences),
                "stalls": sum(not one.is_hang for one in self.silences),
                "silence_s_max": max((one.lasted_s for one in self.silences), default=None),
                "hang_found_after_s_max": max((one.found_after_s for one in self.silences), default=None),
                "stuck_queues": len(self.stuck),
            }  # fmt: skip
        if self.recovery is not None:
            known |= {"recovered": int(self.recovery.is_healthy), "requests_left_behind": self.recovery.leaked}
        if self.neighbour is not None and self.neighbour.ratio is not None:
            known |= {
                "neighbour_ttft_ratio": self.neighbour.ratio, "neighbour_ttft_ratio_low": self.neighbour.low,
                "neighbour_ttft_ratio_high": self.neighbour.high,
            }  # fmt: skip
        return {name: round(value, 4) for name, value in known.items() if value is not None}

    def bad_words(self) -> list[str]:
        """Only what is wrong, where there is no room for more."""
        words = [one.words() for one in self.silences] + [one.words() for one in self.stuck]
        is_bad = self.recovery is not None and (not self.recovery.is_healthy or self.recovery.leaked > 0)
        return [*words, self.recovery.words()] if is_bad and self.recovery is not None else words

    def rows(self) -> list[tuple[str, str]]:
        """Label and sentence, for the screen and for reports."""
        rows = [("liveness", one.words()) for one in self.silences]
        rows += [("liveness", one.words()) for one in self.stuck]
        if self.hang_timeout_s and not rows:
            rows.append(("liveness", f"never {self.hang_timeout_s:g} s without a byte while requests were open"))
        if self.recovery is not None:
            rows.append(("recovery", self.recovery.words()))
        if self.neighbour is not None:
            rows.append(("neighbour", self.neighbour.words()))
        return rows

"""The main command, timed several times, each time beside a fixed piece of work that tells how fast the machine is now.

Owns: the command, the yardstick, and the ratio of the two. Does not own: whether it has become slower (`regression`).
Floor 5. Source: ours. A wall time alone says as much of the machine as of the command; the ratio of two that were
measured one after the other says less of the machine, and how much it still varies is measured with it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from statistics import median

import numpy as np

from harness.nightly.checks.contract import NightContext
from harness.nightly.checks.matrix import setting_words
from harness.nightly.clock import NightClock
from harness.nightly.exit_codes import CLEAN, COULD_NOT_JUDGE, FOUND
from harness.nightly.record import CheckResult, Status

RATIOS = "main command / yardstick"
WALL = "main command, s"
_ENDED_WELL = (CLEAN, FOUND, COULD_NOT_JUDGE)
_YARDSTICK_ROUNDS = 150
_YARDSTICK_SEED = 22811


class SpeedCheck:
    """Measures only; a slower command is a matter of the comparison with the baseline."""

    name = "speed"

    def __repr__(self) -> str:
        return "SpeedCheck()"

    def run(self, night: NightContext) -> CheckResult:
        part = night.config.speed
        words = ["--scenario", part.scenario, "--seed", str(part.seed), "--sessions", str(part.sessions)]
        words += setting_words(night.config.settings)
        command = " ".join(["python run.py", *words])
        where = ["--json", "--quiet", "--out", str(night.folder / self.name)]
        began_s = night.clock.elapsed_s()
        walls_s: list[float] = []
        ratios: list[float] = []
        for number in range(part.repeats):
            before_s = yardstick_s(night.clock)
            ended = night.command(self.name, [*words, *where])
            if ended.is_late or ended.is_interrupted or ended.code not in _ENDED_WELL:
                why = "the budget ended first" if ended.is_late else f"exit code {ended.code}: {ended.last_words}"
                sentence = f"measured {number} of {part.repeats} times: {why}"
                wall_s = night.clock.elapsed_s() - began_s
                return CheckResult(self.name, Status.UNKNOWN, sentence, wall_s, command=command)
            after_s = yardstick_s(night.clock)
            walls_s.append(ended.wall_s)
            ratios.append(2 * ended.wall_s / (before_s + after_s))
            night.on_line(f"{number + 1} of {part.repeats}: {ended.wall_s:.1f} s, {ratios[-1]:.1f} yardsticks")
        wall_s = night.clock.elapsed_s() - began_s
        return _measured(command, walls_s, ratios, wall_s)


def yardstick_s(clock: NightClock) -> float:
    """Seconds for a fixed piece of work of the kinds that the main command does: small arrays, JSON, hashing, dicts."""
    rng = np.random.default_rng(_YARDSTICK_SEED)
    scores = rng.standard_normal((64, 4096)).astype(np.float32)
    row = {"session": 1, "text": "a fixed line of text that is encoded and read back", "pages": list(range(400))}
    began_s = clock.elapsed_s()
    digest, seen = blake2b(), {}
    for number in range(_YARDSTICK_ROUNDS):
        best = np.argpartition(scores, -512, axis=1)[:, -512:]
        text = json.dumps({**row, "number": number})
        digest.update(text.encode())
        seen[digest.hexdigest()] = json.loads(text)["pages"][int(best[0, 0]) % 400]
    assert len(seen) == _YARDSTICK_ROUNDS, len(seen)
    return clock.elapsed_s() - began_s


def _measured(command: str, walls_s: Sequence[float], ratios: Sequence[float], wall_s: float) -> CheckResult:
    spread = f"{min(walls_s):.1f} to {max(walls_s):.1f} s"
    sentence = f"{median(walls_s):.1f} s ({spread} in {len(walls_s)} runs), {median(ratios):.1f} yardsticks"
    return CheckResult(
        "speed",
        Status.PASSED,
        sentence,
        wall_s,
        figures={WALL: median(walls_s), RATIOS: median(ratios)},
        samples={WALL: tuple(walls_s), RATIOS: tuple(ratios)},
        command=command,
    )

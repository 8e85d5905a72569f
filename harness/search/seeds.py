"""Seeds as people write them: `20` for the first twenty, `100-119`, `3,5,8`.

Owns: the text form. Does not own: which seeds calibrate and which report (docs). Floor 5.
"""

from __future__ import annotations

import re

from kernels.errors import ConfigError

SEEDS_MAX = 100_000
SEEDS_FORM = "write a number of seeds (20), a range (100-119) or a list (3,5,8)"

_RANGE = re.compile(r"(\d{1,12})(?:-(\d{1,12}))?")


def parse_seeds(text: str) -> tuple[int, ...]:
    """`20` means 0 to 19; a comma makes a list of single seeds and ranges, where `20,` is the seed 20 alone.

    Raises: ConfigError.
    """
    stripped = text.strip()
    if re.fullmatch(r"\d{1,12}", stripped):
        return tuple(range(_bounded(int(stripped), text)))
    seeds: list[int] = []
    for word in (word.strip() for word in stripped.split(",") if word.strip()):
        match = _RANGE.fullmatch(word)
        if match is None:
            raise ConfigError(f"--seeds '{text}': '{word}' is no seed; {SEEDS_FORM}", key="--seeds", value=text)
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ConfigError(f"--seeds '{text}': the range {word} is empty", key="--seeds", value=text)
        _bounded(last - first + 1 + len(seeds), text)
        seeds += range(first, last + 1)
    if len(set(seeds)) != len(seeds):
        twice = next(seed for seed in seeds if seeds.count(seed) > 1)
        raise ConfigError(f"--seeds '{text}' names the seed {twice} twice", key="--seeds", value=text)
    _bounded(len(seeds), text)
    return tuple(seeds)


def _bounded(count: int, text: str) -> int:
    if not 1 <= count <= SEEDS_MAX:
        what = f"--seeds '{text}' gives {count} seeds, but 1 to {SEEDS_MAX:,} can be run; {SEEDS_FORM}"
        raise ConfigError(what, key="--seeds", value=text)
    return count


def seeds_text(seeds: tuple[int, ...]) -> str:
    """The shortest form that reads back as the same seeds."""
    if seeds == tuple(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}-{seeds[-1]}"
    return ",".join(map(str, seeds))

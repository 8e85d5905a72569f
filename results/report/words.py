"""Numbers and ranges in words, and text that cannot harm a terminal.

Owns: how rates, bytes, page ranges and foreign text are spelled. Floor 3. Source: ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# Controls, and the characters that turn the direction of a whole line around.
_HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def percent(rate: float | None) -> str:
    return "-" if rate is None else f"{100 * rate:.1f} %"


def percent_interval(low: float, high: float) -> str:
    return f"{100 * low:.1f}-{100 * high:.1f} %"


def percent_points(difference: float | None) -> str:
    """A difference of two rates, with its sign."""
    return "-" if difference is None else f"{100 * difference:+.1f} pp"


def p_value(p: float | None) -> str:
    return "-" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def p_words(p: float) -> str:
    """`p = 0.0281` or `p < 0.0001`, in one piece where lines are broken."""
    shown = p_value(p)
    return f"p {shown}".replace(" ", "\u00a0") if shown.startswith("<") else f"p\u00a0=\u00a0{shown}"


def kind_words(kind: str) -> str:
    return kind.replace("_", " ")


def byte_size(count: int) -> str:
    """Decimal units, as bandwidths are given in."""
    size, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            break
        size /= 1000
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def ranges(numbers: Iterable[int], limit: int = 6) -> str:
    """`3-7, 9, 12-14`; after `limit` ranges, how many numbers more."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs[:limit]]
    left_out = sum(len(run) for run in runs[limit:])
    return ", ".join(shown) + (f" and {left_out} more" if left_out else "")


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def harmless(text: str) -> str:
    """The text with line ends kept and every other control character spelled out, so that it cannot run a terminal."""
    return _HARMFUL.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text)

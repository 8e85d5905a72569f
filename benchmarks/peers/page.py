"""The tables of docs/peers.md, made of the stored runs: `python -m benchmarks.peers.page`.

Owns: what is counted as found, as a false alarm and as a right exit code, and the intervals. Does not own: measuring.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import comb
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.page import Figures, refill
from benchmarks.peers.record import Stored, stored

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "peers.md"
_OURS, _CORRUPT, _CLEAN = "ours", 1, 0
_CONFIDENCE: Final = 0.95

Run = Mapping[str, Any]


def refill_page(record: Stored) -> None:
    """Effect: writes the page's tables again."""
    tables = {"tools": tool_table(record), "planted": planted_table(record), "sound": sound_table(record)}
    refill(PAGE, tables | {"named": named_table(record)})


def tool_table(record: Stored) -> Figures:
    columns = ("tool", "planted, found", "always found", "false alarms", "seconds", "requests", "cause named", "replay",
               "exit code right")  # fmt: skip
    rows = [_tool_row(record, name) for name in _tools(record)]
    return Figures(columns, tuple(rows), _measured(record))


def _tool_row(record: Stored, tool: str) -> tuple[str | int | float, ...]:
    runs = [run for run in record["runs"] if run["tool"] == tool]
    sound = _sound(record)
    planted = [run for run in runs if run["target"] not in sound]
    found = [run for run in planted if is_found(run)]
    names = sorted({run["target"] for run in planted})
    always = sum(all(is_found(run) for run in planted if run["target"] == name) for name in names)
    false = [run for run in runs if run["target"] in sound and run["is_alarm"]]
    return (
        tool,
        f"{len(found)} of {len(planted)}",
        f"{always} of {len(names)}",
        f"{len(false)} of {len(runs) - len(planted)}",
        _spread([run["alarm_s"] for run in found], 1),
        _spread([run["alarm_requests"] for run in found], 0),
        "symptom only" if tool == _OURS else "no",
        _replays(record, tool, found),
        _exit_codes(runs, sound),
    )


def planted_table(record: Stored) -> Figures:
    names = _tools(record)
    rows = []
    for target in record["targets"]:
        if not target["is_sound"]:
            cells = [_cell(record, target["name"], tool) for tool in names]
            rows.append((f"`{target['name']}`: {target['what']}", *cells))
    measured = "Runs that found it, and the median of the seconds to the first true alarm."
    return Figures(("planted", *names), tuple(rows), measured)


def sound_table(record: Stored) -> Figures:
    names = _tools(record)
    rows = []
    for target in record["targets"]:
        if target["is_sound"]:
            runs = [_of(record, target["name"], tool) for tool in names]
            cells = [f"{sum(run['is_alarm'] for run in each)} of {len(each)}" for each in runs]
            rows.append((f"`{target['name']}`: {target['what']}", *cells))
    return Figures(("sound", *names), tuple(rows), "Runs with an alarm; each of them is a false one.")


def named_table(record: Stored) -> Figures:
    rows = []
    for one in record["named"]:
        report = one["report"] or ("nothing is reported" if not one["reports"] else "something else is reported")
        rows.append((f"`{one['target']}`", one["reports"], report if len(report) < 150 else f"{report[:147]}..."))
    return Figures(("target", "reports", "the first that names it"), tuple(rows), "One run of each, in virtual time.")


def is_found(run: Run) -> bool:
    """An alarm that points at a wrong reply."""
    return bool(run["is_alarm"]) and run["is_true"] is True


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """By order statistics: the narrowest pair of places that holds the median with 95 %, else the whole range."""
    ordered = sorted(values)
    count = len(ordered)
    best = (ordered[0], ordered[-1])
    for outside in range(count // 2):
        # The median lies outside when all but `outside` values fall on one side of it.
        missed = 2 * sum(comb(count, k) for k in range(outside + 1)) / 2**count
        if missed <= 1 - _CONFIDENCE:
            best = (ordered[outside], ordered[-1 - outside])
    return best


def _spread(values: Sequence[float], digits: int) -> str:
    if not values:
        return "-"
    low, high = median_interval(values)
    return f"{median(values):,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


def _replays(record: Stored, tool: str, found: Iterable[Run]) -> str:
    if tool == _OURS:
        times = [(again, of) for _, again, of in record["replays"] if of]
    else:
        times = [tuple(run["replays"]) for run in found if run["replays"]]
    if not times:
        return "-"
    share = sum(again for again, _ in times) / len(times)
    return f"{share:.1f} of {times[0][1]}"


def _exit_codes(runs: Sequence[Run], sound: frozenset[str]) -> str:
    told = [run for run in runs if run["exit_code"] is not None]
    if not told:
        return "-"
    right = sum(run["exit_code"] == (_CLEAN if run["target"] in sound else _CORRUPT) for run in told)
    return f"{right} of {len(told)}"


def _cell(record: Stored, target: str, tool: str) -> str:
    runs = _of(record, target, tool)
    found = [run for run in runs if is_found(run)]
    seconds = f", {median(run['alarm_s'] for run in found):.1f} s" if found else ""
    return f"{len(found)}/{len(runs)}{seconds}"


def _of(record: Stored, target: str, tool: str) -> list[Run]:
    return [run for run in record["runs"] if (run["target"], run["tool"]) == (target, tool)]


def _tools(record: Stored) -> tuple[str, ...]:
    return tuple(dict.fromkeys(run["tool"] for run in record["runs"]))


def _sound(record: Stored) -> frozenset[str]:
    return frozenset(target["name"] for target in record["targets"] if target["is_sound"])


def _measured(record: Stored) -> str:
    seeds = sorted({run["seed"] for run in record["runs"]})
    load = record["load_average"]
    starts = [run["start_s"] for run in record["runs"] if run["start_s"] is not None]
    started = f" Of our seconds, {median(starts):.1f} go by before the first request." if starts else ""
    return (
        f"`{record['command']}`: {len(seeds)} seeds ({seeds[0]}-{seeds[-1]}), "
        f"{len(record['runs'])} runs, load average {min(load):g} to {max(load):g}.{started} {record['note']}".rstrip()
    )


if __name__ == "__main__":
    refill_page(stored())

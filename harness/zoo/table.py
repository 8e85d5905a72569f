"""The zoo's results as text, as JSON, and as the table of docs/zoo.md.

Owns: layout and totals. Does not own: verdicts (`judge.py`). Floor 5. The first line begins with ZOO.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from harness.zoo.judge import Found, Judged
from scenarios.zoo.left_out import LEFT_OUT
from scenarios.zoo.specimen import SYMPTOMS, Expected


def zoo_text(judged: Sequence[Judged], seeds: int) -> str:
    """The totals, what is not as expected, and a line a switch."""
    lines = [f"ZOO {totals(judged, seeds)}", ""]
    for one in judged:
        lines += [f"NOT AS EXPECTED {what}" for what in reasons(one)]
    lines += [""] if len(lines) > 2 else []
    rows = [("specimen", "class", "expected", "got", "schedules", "time")]
    for one in judged:
        for index, found in enumerate(one.found):
            name, kind = (one.specimen.name, str(one.specimen.race_class)) if index == 0 else (f"  {found.switch}", "")
            got = "as expected" if found.is_expected else str(found.got)
            rows.append((name, kind, str(found.expected), got, _schedules(found), f"{found.seconds:.2f} s"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def totals(judged: Sequence[Judged], seeds: int) -> str:
    """One sentence: what was found, and what was clean."""
    wrong = [one.specimen.name for one in judged if not one.is_expected]
    switches = [found for one in judged for found in one.found]
    fixes = len(switches) - len(judged)
    classes = len({one.specimen.race_class for one in judged})
    named = sum(found.is_expected for found in switches)
    clean = sum(one.fixed.is_clean for one in judged)
    proved = sum(one.fixed.is_proved for one in judged)
    text = (
        f"{_counted(len(judged), 'specimen', 'specimens')} of {_counted(classes, 'class', 'classes')}: "
        f"{named} of {_counted(len(switches), 'switch', 'switches')} found and named as expected "
        f"({_counted(fixes, 'wrong fix', 'wrong fixes')} among them); "
        f"fixed: {clean} of {len(judged)} clean in {seeds:,} random schedules each, {proved} in every order"
    )
    return f"{text}; not as expected: {', '.join(wrong)}" if wrong else text


def reasons(one: Judged) -> list[str]:
    """Why a specimen is not as expected, a sentence each."""
    name = one.specimen.name
    lines = [
        f"{name}:{found.switch} expected {found.expected}; got {found.got}"
        for found in one.found
        if not found.is_expected
    ]
    return lines if one.fixed.is_clean else [*lines, f"{name}:fixed is not clean: {one.fixed.why}"]


def zoo_json(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """The field `specimens` of `zoo --json`."""
    return [
        {
            "name": one.specimen.name,
            "class": str(one.specimen.race_class),
            "rows": list(one.specimen.rows),
            "source": one.specimen.source,
            "symptom": one.specimen.symptom,
            "missing": one.specimen.missing,
            "trigger": one.specimen.trigger,
            **_found_json(one.found[0]),
            "seconds": round(one.seconds, 4),
            "as_expected": one.is_expected,
            "wrong_fixes": [
                {"name": fix.name, "why": fix.why, **_found_json(found)}
                for fix, found in zip(one.specimen.wrong_fixes, one.found[1:], strict=True)
            ],
            "fixed": {
                "clean": one.fixed.is_clean,
                "seeds": one.fixed.seeds,
                "exhausted": one.fixed.is_proved,
                "why": one.fixed.why or None,
            },
        }
        for one in judged
    ]


def zoo_markdown(judged: Sequence[Judged], seeds: int) -> str:
    """The table for docs/zoo.md. Times are left out: they are the machine's."""
    head = ("row", "specimen", "class", "source", "missing edge, or kind", "symptom", "verdicts", "schedules")
    rows = []
    for one in judged:
        specimen, found = one.specimen, one.found[0]
        symptom = f"{specimen.symptom} {SYMPTOMS[specimen.symptom]}"
        rows.append(
            (
                " ".join(specimen.rows) or "-",
                f"`{specimen.name}`",
                str(specimen.race_class),
                specimen.source,
                specimen.missing,
                symptom,
                _verdicts(found.got),
                _schedules(found),
            )
        )
    fixes = [
        (f"`{one.specimen.name}:{fix.name}`", fix.why, _verdicts(found.got))
        for one in judged
        for fix, found in zip(one.specimen.wrong_fixes, one.found[1:], strict=True)
    ]
    left = [(row, why) for row, why in LEFT_OUT.items()]
    parts = [f"{totals(judged, seeds)}.", _markdown(head, rows), "Wrong fixes:"]
    parts += [_markdown(("switch", "what it misses", "verdicts"), fixes), "Rows without a specimen:"]
    return "\n\n".join([*parts, _markdown(("row", "why"), left)])


def _found_json(found: Found) -> dict[str, Any]:
    return {
        "expected": _verdict_json(found.expected),
        "got": _verdict_json(found.got),
        "schedules": found.schedules,
        "seconds": round(found.seconds, 4),
        "breaches": list(found.breaches),
    }


def _verdict_json(what: Expected) -> dict[str, Any]:
    return {
        "codes": sorted(what.codes),
        "stale_bytes": what.stale,
        "output_changed": what.output,
        "laws": sorted(what.laws),
    }


def _verdicts(what: Expected) -> str:
    return str(what).replace("clean by order", "*clean by order*")


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _schedules(found: Found) -> str:
    return f"{found.schedules:,}" if found.schedules else "-"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)

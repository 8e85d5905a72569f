"""The text and JSON of a look: the reports of `kernels.races`, and around them what a scenario adds.

Owns: the order of parts, the served run's lines, commands that work as they stand. Does not own: a race's report.
Floor 5. The first line begins with one of RACE, FAILS, CLEAN, BOUNDED, UNKNOWN.
"""

from __future__ import annotations

from typing import Any

from harness.races.looking import Look
from harness.races.rates import rates_sentence
from harness.races.served import Served
from kernels.races.naming.naming import Group
from kernels.races.report.as_json import exploration_json, race_json
from kernels.races.report.commands import spelt
from kernels.races.report.page_model import Note
from kernels.races.report.phrases import counted, place_of, spans
from kernels.races.report.text import findings_text, predicted_text, verdict_line
from kernels.races.search.result import Answer, RaceReport


def look_text(look: Look, *, shows_all: bool = False) -> str:
    """Everything that was found, and the answer: at the end where there is something to read, first otherwise."""
    result = look.result
    findings = findings_text(result)
    for index, price_ns in enumerate(look.prices_ns):
        if price_ns is not None:
            findings[index] = _with_price(findings[index], price_ns)
    findings += [predicted_text(report) for report in look.predicted]
    notes = ["\n".join(map(_note_text, notes_of(look)))] if notes_of(look) else []
    listed = [_each(look)] if shows_all else []
    verdict = verdict_of(look)
    is_found = bool(result.races or result.failures or look.predicted)
    parts = [*findings, *notes, *listed, verdict] if is_found else [verdict, *findings, *notes, *listed]
    return usable("\n\n".join(parts), look) + "\n"


def verdict_of(look: Look) -> str:
    """The answer in one line; a clean one only where the path was exercised."""
    if look.not_exercised and look.result.answer is Answer.CLEAN:
        return f"UNKNOWN {look.result.program}: {look.not_exercised}"
    return verdict_line(look.result)


def look_json(look: Look) -> dict[str, Any]:
    """The fields of `race --json`; see docs/races.md."""
    plain = exploration_json(look.result)
    for race, price_ns in zip(plain["races"], look.prices_ns, strict=True):
        race["wait_price_ns"] = price_ns
    if look.served is not None:
        predicted = [race_json(report) for report in look.predicted]
        plain["races"] += predicted
        plain["served"] = _served_json(look.served)
        plain["verdict"] = "races" if predicted else plain["verdict"]
    if look.drawn is not None:
        plain["random_schedules"] = look.drawn._asdict()
    if look.shrunk is not None:
        shape = look.shrunk.shape
        sizes = {"sessions": shape.sessions, "layers": list(shape.layers), "pages": shape.pages, "turns": shape.turns}
        plain["shrunk"] = {**sizes, "tried": look.shrunk.tried}
    if look.not_exercised and look.exit_code:
        plain["verdict"] = "unknown" if plain["verdict"] == "clean" else plain["verdict"]
        plain["reason"] = look.not_exercised
    return {**plain, "source": look.target.source, "token_files": {key: str(path) for key, path in look.files.items()}}


def notes_of(look: Look) -> list[Note]:
    """How it was found: rates of random orders, the served run, shrinking."""
    notes: list[Note] = []
    if look.drawn is not None:
        alone = look.result.races[0] if len(look.result.races) == 1 else None
        notes.append(Note("rates", (rates_sentence(look.drawn, alone),)))
    served = look.served
    if served is None:
        return notes
    workload, detector = served.scenario.workload, served.detector
    pairs = sum(group.race_count for group in served.groups)
    head = f"{counted(workload.sessions, 'session')}, {counted(served.turns, 'turn')}, seed {served.seed}: "
    head += f"{counted(detector.row_count, 'trace row')}, {counted(served.loads, 'load-back')}; "
    head += f"{counted(pairs, 'unordered pair')}; {counted(detector.stale_count, 'stale read')}"
    problems = [f"UNKNOWN row {problem.row}: {problem.reason}" for problem in detector.problems]
    notes.append(Note("served", (head, *map(_group_line, served.groups), *problems)))
    if look.shrunk is not None:
        notes.append(Note("shrunk", (f"{served.scenario.cache.preset} to {look.shrunk}",)))
    elif served.groups:
        notes.append(Note("shrunk", ("no small shape shows all of these; the standard one was explored",)))
    return notes


def _note_text(note: Note) -> str:
    first, *others = note.lines
    return "\n".join([f"  {note.name:<9}{first}", *(f"           {line}" for line in others)])


def _group_line(group: Group) -> str:
    finding = group.shown
    race = finding.race
    labels = f"{race.second.operation.label} not after {race.first.operation.label}"
    return f"{finding.code}  {race.buffer} layers {spans(group.layers)}: {counted(group.race_count, 'pair')}, {labels}"


def _each(look: Look) -> str:
    """One line for each layer of each race: what `--all` unfolds."""
    groups = [report.group for report in look.result.races]
    groups += look.served.groups if look.served is not None else ()
    lines = ["  every race, one a line"]
    for group in groups:
        for finding in (group.shown, *group.others):
            first, second = finding.race.first.operation, finding.race.second.operation
            times = f" ({1 + finding.race.repeats} times)" if finding.race.repeats else ""
            what = f"#{second.ordinal} {second.label} not after #{first.ordinal} {first.label}"
            lines.append(f"    {finding.code}  {place_of(finding.race)}  {what}{times}; add {finding.mend}")
    return "\n".join(lines)


def price_words(price_ns: int | None) -> str:
    """What a wait costs; empty where it cannot be told."""
    return f"virtual cost {price_ns / 1_000:+.1f} us" if price_ns is not None else ""


def _with_price(text: str, price_ns: int) -> str:
    """The line `checked` with what the wait costs."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if line.startswith("  checked  "):
            lines[index] = f"{line}; {price_words(price_ns)}"
    return "\n".join(lines)


def usable(text: str, look: Look) -> str:
    """Commands that work as they stand: with the file of a long token, and with what a token cannot say."""
    return spelt(text, {token: str(path) for token, path in look.files.items()}, look.target.options)


def _served_json(served: Served) -> dict[str, Any]:
    return {
        "sessions": served.scenario.workload.sessions,
        "turns": served.turns,
        "seed": served.seed,
        "rows": served.detector.row_count,
        "loads": served.loads,
        "stale_reads": served.detector.stale_count,
        "verdict": str(served.detector.verdict),
        "problems": [problem._asdict() for problem in served.detector.problems],
        "races": [race_json(RaceReport(group, served.detector)) for group in served.groups],
    }

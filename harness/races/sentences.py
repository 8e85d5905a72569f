"""The text and JSON of a look: the reports of `kernels.races`, and around them what a scenario adds.

Owns: the order of parts, the served run's lines, commands that work as they stand. Does not own: a race's report.
Floor 5. The first line begins with one of RACE, FAILS, CLEAN, BOUNDED, UNKNOWN.
"""

from __future__ import annotations

import shlex
from typing import Any

from harness.races.looking import Look
from harness.races.served import Served
from kernels.races.naming.naming import Group
from kernels.races.report.as_json import exploration_json, race_json
from kernels.races.report.phrases import counted, place_of, spans
from kernels.races.report.text import REPLAY_COMMAND, findings_text, predicted_text, verdict_line
from kernels.races.search.result import Answer, RaceReport


def look_text(look: Look, *, shows_all: bool = False) -> str:
    """Everything that was found, and the answer: at the end where there is something to read, first otherwise."""
    result = look.result
    findings = findings_text(result)
    for index, price_ns in enumerate(look.prices_ns):
        if price_ns is not None:
            findings[index] = _with_price(findings[index], price_ns)
    findings += [predicted_text(group) for group in look.predicted]
    served = [served_text(look.served, look)] if look.served is not None else []
    listed = [_each(look)] if shows_all else []
    verdict = verdict_line(result)
    if look.not_exercised and result.answer is Answer.CLEAN:
        verdict = f"UNKNOWN {result.program}: {look.not_exercised}"
    is_found = bool(result.races or result.failures or look.predicted)
    parts = [*findings, *served, *listed, verdict] if is_found else [verdict, *findings, *served, *listed]
    return _usable("\n\n".join(parts), look) + "\n"


def look_json(look: Look) -> dict[str, Any]:
    """The fields of `race --json`; see docs/races.md."""
    plain = exploration_json(look.result)
    for race, price_ns in zip(plain["races"], look.prices_ns, strict=True):
        race["wait_price_ns"] = price_ns
    if look.served is not None:
        predicted = [race_json(RaceReport(group, look.served.detector)) for group in look.predicted]
        plain["races"] += predicted
        plain["served"] = _served_json(look.served)
        plain["verdict"] = "races" if predicted else plain["verdict"]
    if look.shrunk is not None:
        shape = look.shrunk.shape
        sizes = {"sessions": shape.sessions, "layers": list(shape.layers), "pages": shape.pages}
        plain["shrunk"] = {**sizes, "tried": look.shrunk.tried}
    if look.not_exercised and look.exit_code:
        plain["verdict"] = "unknown" if plain["verdict"] == "clean" else plain["verdict"]
        plain["reason"] = look.not_exercised
    return {**plain, "source": look.target.source, "token_files": {key: str(path) for key, path in look.files.items()}}


def served_text(served: Served, look: Look) -> str:
    """What the detector saw in the served run."""
    workload = served.scenario.workload
    detector = served.detector
    pairs = sum(group.race_count for group in served.groups)
    head = f"  served   {counted(workload.sessions, 'session')}, {counted(served.turns, 'turn')}, seed {served.seed}: "
    lines = [
        head + f"{counted(detector.row_count, 'trace row')}, {counted(served.loads, 'load-back')}; "
        f"{counted(pairs, 'unordered pair')}; {counted(detector.stale_count, 'stale read')}"
    ]
    lines += [f"           {_group_line(group)}" for group in served.groups]
    lines += [f"           UNKNOWN row {problem.row}: {problem.reason}" for problem in detector.problems]
    if look.shrunk is not None:
        layers = served.scenario.cache.preset
        lines.append(f"  shrunk   {layers} to {look.shrunk.shape}, {counted(look.shrunk.tried, 'shape')} tried")
    elif served.groups:
        lines.append("  shrunk   no small shape shows all of these; the standard one was explored")
    return "\n".join(lines)


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


def _with_price(text: str, price_ns: int) -> str:
    """The line `checked` with what the wait costs."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if line.startswith("  checked  "):
            lines[index] = f"{line}; virtual cost {price_ns / 1_000:+.1f} us"
    return "\n".join(lines)


def _usable(text: str, look: Look) -> str:
    """Commands that work as they stand: with the file of a long token, and with what a token cannot say."""
    for token, path in look.files.items():
        text = text.replace(token, str(path))
    if look.target.is_named:
        return text
    option = "--program" if look.target.scenario is None else "--scenario"
    words = shlex.join([option, look.target.source])
    return text.replace(f"{REPLAY_COMMAND} ", f"{REPLAY_COMMAND} {words} ").replace(
        "python run.py trace ", f"python run.py trace {words} "
    )


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

"""The report on a fix, and the table of many: as text.

Owns: wording and layout. Does not own: verdicts (`trial.py`), figures. Floor 5.
The first line begins with HOLDS, NOT A FIX, BOUNDED or NOTHING TO FIX.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from harness.remedies.figures import BEFORE, Figures
from harness.remedies.trial import Side, Trial, Verdict
from kernels.races.report.phrases import counted
from kernels.races.search.result import Answer
from results.report.words import percent, percent_interval
from scenarios.fixes.catalogue import FIXES

_LABEL = 9
_WIDTH = 118


def trial_text(trial: Trial, figures: Mapping[str, Figures], source: str, repeat: str) -> str:
    """Everything about one fix."""
    fix = trial.fix
    where = source if fix.programs is None else "a program of its own"
    lines = [f"{trial.verdict.upper()} {fix.name} on {where}: {headline(trial)}", ""]
    lines += [_row("does", fix.does), _row("why" if fix.is_fix else "why not", fix.why), _row("costs", fix.cost)]
    if fix.is_fix != (trial.verdict is Verdict.HOLDS):
        lines.append(_row("note", "the catalogue expects otherwise; the line above is what the runs say"))
    lines += [_row("seen" if index == 0 else "", text) for index, text in enumerate(_seen(trial.after))]
    lines += ["", *_columns(_comparison(trial, figures)), ""]
    lines += [_row("open" if index == 0 else "", text) for index, text in enumerate(_still_open(trial))]
    return "\n".join([*lines, _row("repeat", repeat)]) + "\n"


def headline(trial: Trial) -> str:
    """The verdict's reason, in one clause."""
    after = trial.after
    if trial.verdict is Verdict.NOTHING_TO_FIX:
        return "it shows no race without the fix, so nothing can be shown of the fix"
    if trial.verdict is Verdict.NOT_A_FIX:
        return f"{code_of(after)} on {after.open_groups[0].shown.mend.event}" if after.open_groups else "stale bytes"
    looked = f"{counted(after.result.stats.orders, 'order')}"
    if trial.verdict is Verdict.BOUNDED:
        return after.not_exercised or f"nothing found in {looked}, but these are not all"
    return f"the race is gone; {looked}, exhausted"


def code_of(side: Side) -> str:
    """The name of the missing order; empty where nothing is unordered."""
    return str(side.open_groups[0].shown.code) if side.open_groups else ""


def fixes_text() -> str:
    """The catalogue: one line a fix."""
    width = max(len(fix.name) for fix in FIXES)
    return "\n".join(f"{fix.name:<{width}}  {'fix   ' if fix.is_fix else 'no fix'}  {fix.does}" for fix in FIXES)


def table_text(trials: Sequence[Trial], figures: Mapping[str, Figures], source: str, repeat: str) -> str:
    """One line a fix, and how many are what the catalogue expects."""
    rows = [["fix", "verdict", "missing order", "corrupted", "host hits", "first token", "turns/s", "small", "open"]]
    before = figures.get(BEFORE)
    unfixed = next((code_of(trial.before) for trial in trials if trial.fix.programs is None), "")
    rows.append([f"({source})", "", unfixed, *_figure_cells(before), "", ""])
    for trial in trials:
        price = "-" if trial.price_ns is None else f"{trial.price_ns / 1_000:+.1f} us"
        siblings = " ".join(sibling.pool for sibling in trial.siblings if sibling.is_open)
        masked = " masked" if trial.after.result.masked and trial.verdict is Verdict.HOLDS else ""
        cells = _figure_cells(figures.get(trial.fix.name))
        verdict = str(trial.verdict) + ("" if is_expected(trial) else " (!)")
        rows.append([trial.fix.name, verdict, code_of(trial.after), *cells, price, f"{siblings}{masked}".strip()])
    as_expected = sum(map(is_expected, trials))
    lines = [f"{as_expected} of {counted(len(trials), 'verdict')} are what the catalogue expects", ""]
    return "\n".join([*lines, *_columns(rows, indent=""), "", f"repeat  {repeat}"]) + "\n"


def is_expected(trial: Trial) -> bool:
    """Whether the runs say what the catalogue says."""
    return trial.verdict is (Verdict.HOLDS if trial.fix.is_fix else Verdict.NOT_A_FIX)


def _figure_cells(figures: Figures | None) -> list[str]:
    if figures is None:
        return ["-", "-", "-", "-"]
    sessions = figures.sessions
    return [_rate(figures), percent(sessions.host_hit_share), _ms(figures.ttft_ms_p50), _per_s(figures.turns_per_s)]


def _rate(figures: Figures) -> str:
    sessions = figures.sessions
    if sessions.rate is None or sessions.low is None or sessions.high is None:
        return percent(sessions.rate)
    return f"{percent(sessions.rate)} ({percent_interval(sessions.low, sessions.high)})"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} ms"


def _per_s(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _comparison(trial: Trial, figures: Mapping[str, Figures]) -> list[list[str]]:
    """Rows of the two columns, before and after."""
    sides = (trial.before, trial.after)
    rows = [["", "before", "after"], ["small program", *map(_program, sides)]]
    if trial.fix.programs is not None:
        rows[0] = ["", *trial.fix.programs]
        return rows
    rows.append(["served, watched", *map(_served, sides)])
    ends = ["-" if side.end_ns is None else f"{side.end_ns / 1_000:,.1f} us" for side in sides]
    price = "" if trial.price_ns is None else f" ({trial.price_ns / 1_000:+.1f})"
    rows.append(["small program ends", ends[0], ends[1] + price])
    before, after = figures.get(BEFORE), figures.get(trial.fix.name)
    if before is None or after is None:
        rows.append(["served, over seeds", "not run", "not run"])
        return rows
    both = (before, after)
    rows.append(["sessions corrupted", *map(_rate, both)])
    rows.append(["turns with host hits", *(percent(one.sessions.host_hit_share) for one in both)])
    rows.append(["first token, median", *(_ms(one.ttft_ms_p50) for one in both)])
    rows.append(["first token, 95 %", *(_ms(one.ttft_ms_p95) for one in both)])
    rows.append(["turns a second", *(_per_s(one.turns_per_s) for one in both)])
    seeds = f"{counted(before.sessions.seeds, 'seed')} of {counted(before.sessions.sessions, 'session')} in all"
    rows.append(["", seeds, ""])
    return rows


def _program(side: Side) -> str:
    result = side.result
    orders = counted(result.stats.orders, "order")
    if result.answer is Answer.RACES:
        return f"{code_of(side) or 'stale bytes'}, {counted(len(result.failures), 'way')} to fail"
    return f"clean, {orders}, {'exhausted' if result.exhausted else 'bounded'}"


def _served(side: Side) -> str:
    if side.served is None:
        return "not watched"
    pairs = sum(group.race_count for group in side.served.groups)
    return f"{counted(pairs, 'unordered pair')}, {counted(side.served.loads, 'load-back')}"


def _seen(side: Side) -> list[str]:
    """What the detector or the schedules say where the fix is none."""
    if side.open_groups:
        seen = [side.open_groups[0].shown.because]
    else:
        seen = [f"{', '.join(failure.key)}, found by {failure.strategy}" for failure in side.result.failures]
    tokens = [report.token for report in side.result.races if report.token is not None]
    return seen + [f"python run.py replay {token}" for token in tokens[:1]]


def _still_open(trial: Trial) -> list[str]:
    """Siblings: what the same slip would do elsewhere, and accesses that only another wait orders."""
    lines: list[str] = []
    for is_open, what in ((True, "races"), (False, "is ordered by this fix")):
        pools = ", ".join(sibling.pool for sibling in trial.siblings if sibling.is_open is is_open)
        if pools:
            lines.append(f"{pools}: the same slip, a read in front of its layer's gate, {what}")
    if trial.verdict is Verdict.HOLDS:
        lines += [f"{one}; {one.details[0].partition('  ')[2].strip()}" for one in trial.after.result.masked]
    return lines


def _row(label: str, text: str) -> str:
    """A labelled line, folded behind its label; words, tokens among them, stay whole."""
    margin = " " * (2 + _LABEL)
    folded = textwrap.wrap(text, _WIDTH - len(margin), break_long_words=False, break_on_hyphens=False)
    return f"  {label:<{_LABEL}}" + f"\n{margin}".join(folded)


def _columns(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [(indent + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))).rstrip()
            for row in rows]  # fmt: skip

"""The one screen that ends a run: how much was corrupted, was the path exercised, what it looks like, how to repeat it.

Owns: the layout, made for 100 columns. A pure function of the summary, the manifest and the first corrupted turn.
Floor 3. Source: ours; drawn by rich, which measures wide characters.
"""

from __future__ import annotations

from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from results.findings import CORRUPTION_KINDS
from results.records import RunManifest
from results.report.repeats import repeats_note
from results.report.witness import Witness, difference_at, expected_text, race_lines, received_text
from results.report.words import byte_size, harmless, percent, percent_interval, plural
from results.stats.intervals import clopper_pearson
from results.summary import RunSummary
from results.verdict import RunVerdict

WIDTH = 100
_SIDE_CHARACTERS = 47
_SIDE_LINES_MAX = 8
_LABEL_CHARACTERS = 12
_VERDICT_STYLES = {RunVerdict.CLEAN: "bold green", RunVerdict.CORRUPT: "bold red", RunVerdict.UNKNOWN: "bold yellow"}


def screen(summary: RunSummary, manifest: RunManifest, first: Witness | None) -> RenderableType:
    """The screen as something that rich can print, in colour where the terminal has it."""
    parts: list[RenderableType] = [_headline(summary, manifest), Text(), _kinds(summary), _assumption(summary)]
    evidence = _evidence(summary)
    parts += [Text(), *evidence] if evidence else []
    if first is not None:
        parts += [Text(), *_first_corrupted(first)]
    parts += [Text(), *_labelled("run folder", Text(summary.run_dir)), *_labelled("repeat", Text(summary.repeat))]
    return Group(*parts)


def screen_text(summary: RunSummary, manifest: RunManifest, first: Witness | None, *, width: int = WIDTH) -> str:
    """The same screen as plain text, without colour and without trailing blanks."""
    console = Console(file=StringIO(), width=width, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as capture:
        console.print(screen(summary, manifest, first))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def _headline(summary: RunSummary, manifest: RunManifest) -> Text:
    line = Text()
    line.append(summary.verdict.upper(), style=_VERDICT_STYLES[summary.verdict])
    line.append(f"  {summary.scenario}, seed {summary.seed}, {summary.backend}", style="bold")
    line.append(f"  {plural(summary.sessions, 'session')}, {plural(summary.turns, 'turn')}, {summary.wall_s:.1f} s")
    if summary.partial and not manifest.partial:
        line.append("\nDAMAGED  not everything that was stored could be read", style="bold yellow")
    elif summary.partial:
        begun = f"{summary.sessions} of {manifest.session_count} sessions begun"
        line.append(f"\nINTERRUPTED  {begun}; what was done is kept", style="bold yellow")
    line.append(f"\n{summary.verdict_reason}")
    return line


def _kinds(summary: RunSummary) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("corrupted", min_width=20)
    for heading in ("sessions", "rate", "95 %", "turns", "rate", "95 %"):
        table.add_column(heading, justify="right", min_width=7)
    for kind in (str(kind) for kind in CORRUPTION_KINDS if str(kind) in summary.kinds):
        sessions, turns = summary.session_kinds.get(kind, 0), summary.kinds[kind]
        interval = clopper_pearson(sessions, summary.sessions_judged)
        table.add_row(
            kind.replace("_", " "),
            f"{sessions:,}",
            percent(sessions / summary.sessions_judged),
            percent_interval(interval.low, interval.high),
            f"{turns:,}",
            percent(turns / summary.turns_judged),
            percent_interval(*summary.kind_ci95[kind]),
        )
    table.add_row(
        "all kinds",
        f"{summary.sessions_corrupted:,} of {summary.sessions_judged:,}",
        percent(summary.session_rate),
        percent_interval(*summary.session_ci95),
        f"{summary.turns_corrupted:,} of {summary.turns_judged:,}",
        percent(summary.turn_rate),
        percent_interval(*summary.turn_ci95),
        style="bold",
    )
    return table


def _assumption(summary: RunSummary) -> Text:
    kinds = "A session counts under its first kind. " if summary.kinds else ""
    assumed = "The intervals take sessions as independent, yet those of one run share prefixes and loads:"
    repeats = repeats_note(summary.counters)
    return Text(f"{kinds}{assumed} a claim needs more seeds.{f' {repeats}' if repeats else ''}", style="dim")


def _evidence(summary: RunSummary) -> list[RenderableType]:
    share = percent(summary.host_hit_turns / summary.turns if summary.turns else None)
    host = (
        f"{plural(summary.load_backs, 'load-back')}, {byte_size(summary.loaded_bytes)}; "
        f"{summary.host_hit_turns:,} of {plural(summary.turns, 'turn')} ({share}) hit the host tier"
    )
    reads = (
        f"{summary.stale_reads:,} stale page reads in prefill ({summary.torn_reads:,} torn), "
        f"{summary.poisoned_reads:,} poisoned; {summary.decode_stale_reads:,} stale in decode"
    )
    # Nobody can see into a live server; a zero here would be taken for a measurement.
    is_seen = summary.backend != "live"
    rows = [*_labelled("host tier", Text(host)), *_labelled("reads", Text(reads))] if is_seen else []
    origins = [f"{count:,} {origin}" for origin, count in summary.session_origins.items() if count]
    if origins:
        rows += _labelled("origin", Text(f"{', '.join(origins)} (sessions, by the first corrupted turn)"))
    if summary.turns_known < summary.turns_judged:
        by_text = summary.turns_judged - summary.turns_known
        known = f"{summary.turns_known:,} judged turns had a known answer; {by_text:,} were judged by their text alone"
        rows += _labelled("answers", Text(known))
    if summary.turns_unknown:
        kinds = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in summary.unknown_kinds.items())
        rows += _labelled("not judged", Text(f"{plural(summary.turns_unknown, 'turn')}: {kinds}", style="yellow"))
    return rows


def _first_corrupted(first: Witness) -> list[RenderableType]:
    turn, judgement = first.turn, first.judgement
    assert judgement.kind is not None and judgement.primary is not None, "a corrupted turn has a kind and its finding"
    title = Text("first corrupted turn: ", style="bold")
    title.append(f"session {turn.session} turn {turn.turn} at {turn.scheduled_ns / 1e9:.3f} s: ")
    title.append(judgement.kind.replace("_", " "), style="bold red")
    expected, received = harmless(expected_text(turn)), harmless(received_text(turn))
    at = difference_at(expected, received)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in ("expected call", "received text"):
        table.add_column(heading, width=_SIDE_CHARACTERS, no_wrap=True, header_style="dim")
    table.add_row(_side(expected or "(nobody knows it)", at, "green"), _side(received, at, "red"))
    why, race = Text(harmless(judgement.primary.reason)), Text(harmless("\n".join(race_lines(turn))))
    return [title, Padding(table, (0, 0, 0, 2)), *_labelled("why", why), *_labelled("race", race)]


def _side(text: str, at: int, style: str) -> Text:
    """At most a few lines of a text, broken at words, with everything from character `at` on in a style."""
    styled = Text(text)
    styled.stylize(style, at)
    # Wrapping asks a console only for the width of characters, so any console will do.
    lines = styled.wrap(Console(file=StringIO(), width=WIDTH), _SIDE_CHARACTERS, overflow="fold")
    if len(lines) > _SIDE_LINES_MAX:
        left_out = sum(map(len, lines[_SIDE_LINES_MAX - 1 :]))
        rest = Text(f"... and {left_out:,} characters more", style="dim")
        return Text("\n").join([*lines[: _SIDE_LINES_MAX - 1], rest])
    return Text("\n").join(lines)


def _labelled(label: str, text: Text) -> list[RenderableType]:
    """A line with its label in front, continued under the text and not under the label."""
    row = Table.grid(padding=0)
    row.add_column(width=_LABEL_CHARACTERS)
    row.add_column(overflow="fold")
    row.add_row(Text(label, style="dim"), text)
    return [row]

"""What the screen says, that it fits, and that foreign text cannot run a terminal. Floor: tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from matplotlib.image import imread
from rich.cells import cell_len

from results.findings import Judgement
from results.oracles.judge import judge_turns
from results.records import Measured, RunManifest, TurnRecord
from results.report.plots import Series, plot_sweep
from results.report.screen import WIDTH, screen_text
from results.report.tables import markdown_table
from results.report.witness import Witness, difference_at, expected_text, first_corrupted, race_lines, received_text
from results.report.words import byte_size, harmless, listed, percent, plural, ranges
from results.summary import RunSummary, summarise
from tests.results.builders import call, context, machine, manifest, said, stale_machine, turn
from tests.results.corpus import salad_texts

SALAD = next(iter(salad_texts(seed=8, count=1)))


def story() -> list[TurnRecord]:
    """Twelve sessions of three turns: one salad by a stale read, one damaged call by a poisoned page, one cut."""
    turns = []
    for session in range(12):
        for number in range(3):
            record = turn(session, number, machine=machine())
            if (session, number) == (4, 1):
                record = said(SALAD, session=4, number=1, machine=stale_machine())
            elif (session, number) == (9, 2):
                record = turn(9, 2, tool_calls=(call(guests=44),), machine=machine(poisoned_reads=31))
            elif (session, number) == (11, 2):
                record = said("", session=11, number=2, finish_reason=None, machine=machine())
            turns.append(record)
    return turns


def told(turns: list[TurnRecord], **changes: object) -> tuple[RunSummary, RunManifest, Witness | None]:
    begun = manifest(session_count=12, exact_replies=True, requires_host_tier=True)
    judgements = judge_turns(turns, context(exact_replies=True))
    measured = Measured(len(turns), 12.5, "00ff", {"load_backs": 1204, "loaded_bytes": 86_412_000_000})
    run_dir = "results/runs/20261129T175512Z-hicache_bf16-s1"
    summary = summarise(begun, turns, judgements, measured=measured, run_dir=run_dir, **changes)  # type: ignore[arg-type]
    return summary, begun, first_corrupted(turns, judgements)


def test_the_screen_says_what_happened_and_how_to_repeat_it() -> None:
    lines = screen_text(*told(story())).splitlines()
    assert lines[0] == "CORRUPT  hicache_bf16, seed 1, virtual  12 sessions, 36 turns, 12.5 s"
    assert lines[1] == "2 of 35 judged turns are corrupted"
    table = [line.split() for line in lines if line.startswith(("token salad", "damaged", "all kinds"))]
    assert table == [
        ["token", "salad", "1", "8.3", "%", "0.2-38.5", "%", "1", "2.9", "%", "0.0-16.8", "%"],
        ["damaged", "arguments", "1", "8.3", "%", "0.2-38.5", "%", "1", "2.9", "%", "0.0-16.8", "%"],
        ["all", "kinds", "2", "of", "12", "16.7", "%", "2.1-48.4", "%", "2", "of", "35", "5.7", "%", "0.5-20.8", "%"],
    ]
    text = "\n".join(lines)
    assert "The intervals take sessions as independent" in text
    assert "host tier   1,204 load-backs, 86.4 GB; 36 of 36 turns (100.0 %) hit the host tier" in text
    assert "reads       96 stale page reads in prefill (7 torn), 31 poisoned; 0 stale in decode" in text
    assert "origin      1 primary, 1 secondary (sessions, by the first corrupted turn)" in text
    assert "not judged  1 turn: 1 cut stream" in text
    assert "first corrupted turn: session 4 turn 1 at 0.002 s: token salad" in text
    assert '  book_table {"restaurant": "Lindenhof",' in text
    assert "race        its prefill made 96 stale page reads (7 torn) of index_k, in 18 layers" in lines
    assert "            index_k[layer 7] pages 12-14, 20: read 212.4 us before they arrived" in lines
    assert "run folder  results/runs/20261129T175512Z-hicache_bf16-s1" in text
    assert lines[-1] == "repeat      python run.py --scenario hicache_bf16 --sessions 2 --seed 1"


@pytest.mark.parametrize("content", [SALAD, "x" * 4_000, "的" * 900, "a\n" * 50, "\x1b[2J\x07" * 40, "مرحبا " * 90])
def test_the_screen_fits_whatever_the_reply_holds(content: str) -> None:
    turns = [said(content, machine=stale_machine()), turn(1, 0, machine=machine())]
    text = screen_text(*told(turns))
    assert max(map(cell_len, text.splitlines())) <= WIDTH
    assert len(text.splitlines()) <= 36
    assert "\x1b" not in text
    assert "\x07" not in text


def test_a_clean_run_shows_no_turn_and_its_bound() -> None:
    text = screen_text(*told([turn(session, 0, machine=machine()) for session in range(12)]))
    assert text.startswith("CLEAN  hicache_bf16")
    assert "no corruption in 12 turns of 12 sessions: rates up to 23 % are open if sessions are independent" in text
    assert "first corrupted turn:" not in text
    assert "origin" not in text
    assert "0.0-26.5 %" in text


def test_an_empty_and_an_interrupted_run_can_be_shown() -> None:
    text = screen_text(*told([], partial=True))
    assert text.startswith("UNKNOWN")
    assert "INTERRUPTED  0 of 12 sessions begun" in text
    assert "no turn was run" in text


def test_the_first_corrupted_turn_is_the_one_that_was_due_first() -> None:
    late, early = said("one two three", session=0, number=1), said("one two three", session=1, number=0)
    turns = [late, turn(0, 0), early]
    witness = first_corrupted(turns, judge_turns(turns, context()))
    assert witness is not None
    assert witness.turn == early
    assert first_corrupted([turn()], judge_turns([turn()], context())) is None


def test_expected_and_received_are_spelled_alike() -> None:
    compact = turn(tool_calls=(call(arguments='{"restaurant":"Krone","guests":4}'),))
    expected, received = expected_text(compact), received_text(compact)
    at = difference_at(expected, received)
    assert (expected[at:][:9], received[at:][:5]) == ("Lindenhof", "Krone")
    assert received_text(said("")) == "(nothing)"
    assert received_text(turn(content="Sure.")).startswith("Sure.\nbook_table {")
    assert difference_at("abc", "abcd") == 3


@pytest.mark.parametrize(
    ("record", "first", "second"),
    [
        (turn(), "no evidence: the server does not say what its cache did", "compare with an arm"),
        (
            turn(machine=machine(poisoned_reads=1)),
            "no stale read of its own, but 1 read of poisoned pages",
            "an earlier",
        ),
        (
            turn(machine=machine(decode_stale_reads=4)),
            "its decode made 4 stale page reads, its prefill none",
            "it began",
        ),
        (turn(machine=machine()), "unexplained: the machine saw neither", "please report"),
        (
            turn(machine=machine(stale_reads=1, stale_layers=1)),
            "its prefill made 1 stale page read, in 1 layer",
            "which",
        ),
    ],
)
def test_the_race_takes_two_lines_whatever_is_known(record: TurnRecord, first: str, second: str) -> None:
    lines = race_lines(record)
    assert lines[0].startswith(first)
    assert lines[1].startswith(second)


def test_lateness_that_is_not_known_is_not_invented() -> None:
    sample = stale_machine().stale_sample[1]
    unknown = type(sample)(sample.pool, sample.layer, sample.pages, -1.0, 0)
    line = race_lines(turn(machine=stale_machine(stale_sample=(unknown,))))[1]
    assert line == "index_k[layer 9] page 12: read before it arrived (when is not known)"


def test_words() -> None:
    assert ranges([]) == ""
    assert ranges([5, 3, 4, 9, 9]) == "3-5, 9"
    assert ranges(range(0, 30, 2), limit=2) == "0, 2 and 13 more"
    assert [byte_size(count) for count in (0, 999, 1_000, 86_412_000_000, 10**16)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "86.4 GB",
        "10000.0 TB",
    ]
    assert (percent(None), percent(0.12345)) == ("-", "12.3 %")
    assert (plural(1, "turn"), plural(1_200, "turn")) == ("1 turn", "1,200 turns")
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert harmless("a\x1b[31m\u202eb\n\tc") == "a\\u001b[31m\\u202eb\n\\u0009c"


def test_markdown_tables_align_and_escape() -> None:
    table = markdown_table(["arm", "rate | n", "p"], [["bf16", 0.15, 1_200], ["a|b\nc", None, 7]])
    assert table == (
        "| arm    | rate \\| n |     p |\n"
        "| ------ | --------: | ----: |\n"
        "| bf16   |      0.15 | 1,200 |\n"
        "| a\\|b c |         - |     7 |\n"
    )
    with pytest.raises(AssertionError):
        markdown_table(["one"], [["a", "b"]])


def test_a_figure_is_drawn_whole_and_says_its_units(tmp_path: Path) -> None:
    lines = [Series("bf16", [1, 30, 60], [0, 0.05, 0.15], [0, 0.02, 0.12], [0.1, 0.08, 0.18])]
    for name in ("sweep.png", "sweep.svg"):
        plot_sweep(tmp_path / name, lines, title="T", x_label="sessions", y_label="corrupted sessions")
    image = imread(tmp_path / "sweep.png")
    assert image.shape == (645, 1200, 4)
    colours = {tuple(round(255 * float(part)) for part in pixel[:3]) for pixel in image.reshape(-1, 4)[::7]}
    assert (0x00, 0x72, 0xB2) in colours, "the line is drawn, in its colour"
    svg = (tmp_path / "sweep.svg").read_text()
    assert svg.startswith("<?xml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sweep.png", "sweep.svg"]
    with pytest.raises(AssertionError, match="cannot be read"):
        plot_sweep(tmp_path / "none.png", [], title="", x_label="", y_label="")


def test_judgements_of_the_story_are_what_the_screen_counts() -> None:
    judgements: list[Judgement] = judge_turns(story(), context(exact_replies=True))
    assert sum(judgement.is_corrupted for judgement in judgements) == 2
    planted = story()[0].expected
    assert planted is not None
    assert json.loads(json.dumps(planted.arguments)) == planted.arguments

"""A run folder is whole or says what is missing, wherever the writer died. Floor: tests."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kernels.errors import ConfigError, EnvironmentProblem
from results import layout
from results.errors import NewerRun, NotARun, StorageProblem
from results.frames import finding_frame, turn_frame
from results.lines import LineFile
from results.reader import open_run, read_raw
from results.records import RunManifest
from results.rejudge import judge_run
from results.store import RunWriter, create_run
from results.summary import summarise
from tests.results.builders import SESSIONS, TOOLS, judged, manifest, measured, said, turn

STAMP = "20261129T175512Z"
KEYS = [(session, number) for session in (0, 1) for number in (0, 1)]


def begin(root: Path, **changes: object) -> RunWriter:
    return create_run(root, stamp=STAMP, manifest=manifest(**changes), tools=TOOLS, sessions=SESSIONS)


def finish(writer: RunWriter, count: int, *, partial: bool = False) -> RunManifest:
    return writer.close(
        finished="2026-11-29T17:55:30Z", measured=measured(count), summary={"turns": count}, partial=partial
    )


def stored_run(root: Path) -> Path:
    """A closed run of four sound turns."""
    with begin(root) as writer:
        for key in KEYS:
            writer.append(turn(*key, raw=f"data: {key}\n\n"), judged(*key))
        finish(writer, len(KEYS))
    return writer.path


def test_a_closed_run_comes_back(tmp_path: Path) -> None:
    path = stored_run(tmp_path)
    run = open_run(path)
    assert path.name == "20261129T175512Z-hicache_bf16-s1"
    assert run.turns == tuple(turn(*key) for key in KEYS)
    assert run.judgements == tuple(judged(*key) for key in KEYS)
    assert (run.tools, run.sessions, run.faults) == (TOOLS, SESSIONS, ())
    assert not run.is_partial
    assert run.manifest.finished == "2026-11-29T17:55:30Z"
    assert run.manifest.measured == measured(4)
    assert read_raw(run)[0][1, 0] == "data: (1, 0)\n\n"
    assert json.loads((path / layout.SUMMARY).read_text()) == {"turns": 4}
    assert sorted(turn_frame(run)["session"]) == [0, 0, 1, 1]
    assert len(finding_frame(run)) == 0
    assert [item for item in os.listdir(path) if item.endswith(".partial")] == []


def test_every_turn_is_readable_as_soon_as_it_is_appended(tmp_path: Path) -> None:
    with begin(tmp_path) as writer:
        writer.append(turn(0, 0, raw="data: x"), judged(0, 0))
        run = open_run(writer.path)
        assert run.turns == (turn(0, 0),)
        assert run.is_partial
        assert len(turn_frame(run)) == 1
        assert list(finding_frame(run).columns) == list(finding_frame(open_run(stored_run(tmp_path))).columns)


def test_a_run_that_is_not_closed_stays_partial(tmp_path: Path) -> None:
    with begin(tmp_path) as writer:
        writer.append(turn(0, 0), judged(0, 0))
    run = open_run(writer.path)
    assert run.manifest.partial
    assert run.faults == ()
    assert not (writer.path / layout.TURNS_TABLE).exists()


def test_an_interrupted_run_can_be_tidied_up_and_stays_partial(tmp_path: Path) -> None:
    with begin(tmp_path) as writer:
        writer.append(turn(0, 0), judged(0, 0))
        assert finish(writer, 1, partial=True).partial
    run = open_run(writer.path)
    assert run.is_partial
    assert run.faults == ()
    assert len(turn_frame(run)) == 1


def test_runs_of_one_second_get_folders_of_their_own(tmp_path: Path) -> None:
    names = [begin(tmp_path).path.name for _ in range(3)]
    assert names == [f"{STAMP}-hicache_bf16-s1{suffix}" for suffix in ("", "-2", "-3")]


def test_a_scenario_of_the_zoo_makes_one_folder(tmp_path: Path) -> None:
    assert begin(tmp_path, scenario="zoo/early free").path == tmp_path / f"{STAMP}-zoo-early-free-s1"


@pytest.mark.parametrize("file", [layout.TURNS, layout.FINDINGS])
def test_a_file_cut_at_any_byte_gives_its_whole_lines_and_names_the_rest(tmp_path: Path, file: str) -> None:
    path = stored_run(tmp_path) / file
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        run = open_run(path.parent)
        records = run.turns if file == layout.TURNS else run.judgements
        assert [record.key for record in records] == KEYS[: whole[:cut].count(b"\n")]
        torn = [fault for fault in run.faults if "torn last line" in fault.reason]
        assert len(torn) == (cut > 0 and whole[cut - 1 : cut] != b"\n"), cut
        assert run.is_partial, "a closed run that has lost turns or judgements is not whole"


def test_a_damaged_line_in_the_middle_is_named_and_skipped(tmp_path: Path) -> None:
    path = stored_run(tmp_path) / layout.TURNS
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"\0\0\0\0\n" + lines[2] + lines[3])
    run = open_run(path.parent)
    assert [record.key for record in run.turns] == [KEYS[0], KEYS[2], KEYS[3]]
    assert str(run.faults[0]).startswith("turns.jsonl:2: damaged line")


def test_a_turn_stored_twice_is_named_and_kept_once(tmp_path: Path) -> None:
    path = stored_run(tmp_path) / layout.TURNS
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[1])
    run = open_run(path.parent)
    assert "session 0 turn 1 is stored 2 times" in [fault.reason for fault in run.faults]
    assert [turn.key for turn in run.turns] == KEYS, "and nobody counts it twice"


def test_a_missing_file_and_missing_turns_are_named(tmp_path: Path) -> None:
    path = stored_run(tmp_path)
    (path / layout.TURNS).unlink()
    reasons = [fault.reason for fault in open_run(path).faults]
    assert "the file is missing" in reasons
    assert "the manifest counts 4 turns, 0 could be read" in reasons
    assert "4 planned turns are missing (first: session 0 turn 0)" in reasons


def test_a_newer_format_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = stored_run(tmp_path)
    text = (path / layout.MANIFEST).read_text().replace("kvrace-run/3", "kvrace-run/4")
    (path / layout.MANIFEST).write_text(text.replace('"seed"', '"seed_of_a_new_kind"'))
    with pytest.raises(NewerRun, match=r"was written in format 'kvrace-run/4', and this version reads up to") as caught:
        open_run(path)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda path: (path / layout.MANIFEST).unlink(), "it holds no manifest.json"),
        (lambda path: (path / layout.MANIFEST).write_text('{"schema": "kvrace-ru'), "its manifest.json cannot be read"),
        (lambda path: (path / layout.MANIFEST).write_text('{"schema": "kvrace-run/1"}'), "cannot be read"),
        (lambda path: (path / layout.MANIFEST).write_text('{"schema": "other/1"}'), "its format is 'other/1'"),
    ],
)
def test_what_is_no_run_is_refused(tmp_path: Path, spoil: Callable[[Path], object], sentence: str) -> None:
    path = stored_run(tmp_path)
    spoil(path)
    with pytest.raises(NotARun, match=sentence):
        open_run(path)


def test_a_path_that_does_not_exist_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such folder") as caught:
        open_run(tmp_path / "nothing")
    assert caught.value.exit_code == 2


def test_a_place_that_cannot_be_written_is_one_clear_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match=r"'.*file/runs' cannot be written \(Not a directory\)") as caught:
        begin(tmp_path / "file" / "runs")
    assert caught.value.exit_code == 3


def test_a_disk_that_fills_up_leaves_only_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with begin(tmp_path) as writer:
        writer.append(turn(0, 0), judged(0, 0))
        fill_disk(monkeypatch, after_bytes=100)
        with pytest.raises(StorageProblem, match=r"the disk that holds '.*turns\.jsonl' is full") as caught:
            writer.append(turn(0, 1), judged(0, 1))
        assert caught.value.errno == errno.ENOSPC
    run = open_run(writer.path)
    assert [record.key for record in run.turns] == [(0, 0)]
    assert run.faults == (), "the half line was cut back"
    assert run.manifest.partial


def test_control_c_inside_a_line_leaves_only_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = LineFile(tmp_path / "lines.jsonl")
    lines.append({"whole": True})
    fill_disk(monkeypatch, after_bytes=5, error=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        lines.append({"whole": False})
    lines.close(sync=True)
    assert (tmp_path / "lines.jsonl").read_bytes() == b'{"whole":true}\n'


def test_a_disk_that_fills_up_while_closing_leaves_the_run_partial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with begin(tmp_path) as writer:
        writer.append(turn(0, 0), judged(0, 0))
        monkeypatch.setattr("results.parquet.pq.write_table", lambda *_, **__: full())
        with pytest.raises(StorageProblem, match="is full"):
            finish(writer, 1)
    run = open_run(writer.path)
    assert run.manifest.partial
    assert len(run.turns) == 1
    assert not (writer.path / layout.TURNS_TABLE).exists()
    assert not (writer.path / (layout.TURNS_TABLE + ".partial")).exists()


def test_a_disk_that_is_full_at_the_start_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StorageProblem):
        begin(tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_stored_run_is_judged_again_from_its_folder_alone(tmp_path: Path) -> None:
    """Tools, secrets and the model's freedom all come from the folder: nothing else is given to the judge."""
    foreign = said(f"the word is {SESSIONS[1].secrets[0]}", turn=0)
    at_limit = said("one two three four five", turn=1, finish_reason="length")
    kinds = {}
    for exact in (False, True):
        with begin(tmp_path, exact_replies=exact) as writer:
            for item in (foreign, at_limit):
                writer.append(item, judged(*item.key))
        run = open_run(writer.path)
        kinds[exact] = [judgement.kind for judgement in judge_run(run)]
        summary = summarise(run.manifest, run.turns, judge_run(run), measured=measured(2), run_dir=str(run.path))
        assert summary.exit_code() == 1
    assert kinds == {False: ["cross_talk", "truncated"], True: ["cross_talk", "token_salad"]}


def fill_disk(monkeypatch: pytest.MonkeyPatch, *, after_bytes: int, error: BaseException | None = None) -> None:
    """Make `os.write` take some bytes of the next line and then fail."""
    real, room = os.write, after_bytes

    def write(descriptor: int, content: bytes) -> int:
        nonlocal room
        if room == 0:
            raise error or OSError(errno.ENOSPC, "No space left on device")
        written = real(descriptor, bytes(content)[:room])
        room -= written
        return written

    monkeypatch.setattr("results.lines.os.write", write)

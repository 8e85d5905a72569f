"""`run.py zoo` and `run.py laws` as a user meets them: tables, JSON, the page, exit codes, wrong inputs.

Owns: `harness/cli/zoo.py`, `harness/cli/laws.py`, `harness/zoo/{table,page,keeping}.py`. Floor: tests.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import main
from harness.zoo.page import BEGIN, END, generated_part
from harness.zoo.table import zoo_markdown
from kernels.races.laws.marks import FACTS, parse_mark
from kernels.races.naming.codes import Code
from scenarios.zoo import registry
from scenarios.zoo.registry import FOLDER, named, specimens
from scenarios.zoo.specimen import expected
from tests.zoo.conftest import FEW, Judge
from tests.zoo.lawful import trace_of

DOCS = Path(__file__).resolve().parents[2] / "docs" / "zoo.md"
FORGETS = f"{FOLDER / 'partial_set' / 'parents_host_pool.py'}"


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    said = capsys.readouterr()
    return code, said.out, said.err


def ran_json(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code, out, _ = ran(capsys, *words, "--json")
    body = json.loads(out)
    assert isinstance(body, dict)
    return code, body


def test_json_has_what_is_promised(capsys: pytest.CaptureFixture[str]) -> None:
    code, body = ran_json(capsys, "zoo", "--class", "slot-aba", "--seeds", "5", "--seed", "3")
    assert code == 0
    assert (body["as_expected"], body["partial"], body["seed"], body["seeds"]) == (True, False, 3, 5)
    names = [specimen["name"] for specimen in body["specimens"]]
    assert names == ["metadata_slot_reissued", "shared_room", "slot_not_cleared"]
    for row in body["specimens"]:
        assert row["class"] == "SLOT-ABA"
        assert row["got"] == row["expected"]
        assert row["schedules"] >= 1
        assert row["seconds"] > 0
        assert row["fixed"] == {"clean": True, "seeds": 5, "exhausted": True, "why": None}
    assert body["specimens"][0]["expected"] == {
        "codes": ["MISSING_WAIT"],
        "stale_bytes": True,
        "output_changed": True,
        "laws": [],
    }
    assert [fix["name"] for fix in body["specimens"][0]["wrong_fixes"]] == ["room_is_checked"]
    assert [breach.partition(":")[0] for breach in body["specimens"][1]["breaches"]] == ["endings", "owners"]


def test_text_begins_with_the_totals(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ran(capsys, "zoo", "--name", "lease_lapses", "--seeds", "5", "--strategy", "random")
    assert code == 0
    assert out.startswith(
        "ZOO 1 specimen of 1 class: 2 of 2 switches found and named as expected (1 wrong fix among them)"
    )
    assert "  checked_behind_the_copy" in out
    assert err.splitlines() == ["seed 22811, 1 specimen", "1 of 1 specimens"]


def test_what_is_not_as_expected_ends_with_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = replace(named("inputs_read_in_place"), expected=expected(Code.LATE_WAIT, stale=True, output=True))
    monkeypatch.setattr(registry, "specimens", lambda: [odd])
    code, out, _ = ran(capsys, "zoo", "--seeds", "0")
    assert code == 1
    first, _, why, *_ = out.splitlines()
    assert first.endswith("; not as expected: inputs_read_in_place")
    assert why.startswith("NOT AS EXPECTED inputs_read_in_place:defect expected LATE_WAIT, stale, output; got REUSE")
    code, body = ran_json(capsys, "zoo", "--seeds", "0")
    assert (code, body["as_expected"]) == (1, False)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--class", "geometri"], "unknown class 'geometri'; allowed: ARRIVAL-GATE"),
        (["--name", "lease_lapse"], "unknown specimen 'lease_lapse' (did you mean 'lease_lapses'?)"),
        (["--strategy", "luck"], "unknown strategy 'luck'; allowed: auto"),
        (["--name", "lease_lapses", "--class", "ALIAS"], "--class and --name do not go together"),
        (["--seeds", "-1"], "-1 is not in the range"),
        (["--page", "nowhere.md"], "the page nowhere.md cannot be read"),
        (["--json", "new", "x"], "options of zoo mean nothing with 'new'"),
        (["new", "X"], "cannot be called 'X'"),
        (["new", "x", "--class", "none"], "unknown class 'none'"),
    ],
)
def test_mistakes_are_one_sentence(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ran(capsys, "zoo", *words)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1


def test_an_incomplete_record_is_refused_with_its_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    blank = replace(named("inputs_read_in_place"), source="")
    monkeypatch.setattr(registry, "specimens", lambda: [blank])
    code, out, err = ran(capsys, "zoo")
    assert (code, out) == (2, "")
    assert "inputs_read_in_place.py: inputs_read_in_place: source must name a project and a number" in err


def test_template_is_written_and_its_name_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, "zoo", "new", "my_bug", "--class", "alias", "--folder", str(tmp_path))
    assert code == 0
    path = tmp_path / "alias" / "my_bug.py"
    assert out.splitlines()[0].endswith("alias/my_bug.py")
    assert path.is_file()
    assert ran(capsys, "zoo", "new", "my_bug", "--folder", str(tmp_path))[0] == 2


def test_interrupt_keeps_what_was_done(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.zoo import judge as judging

    whole = judging.judge
    done: list[judging.Judged] = []

    def twice(*given: Any) -> judging.Judged:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(whole(*given))
        return done[-1]

    monkeypatch.setattr(judging, "judge", twice)
    code, body = ran_json(capsys, "zoo", "--class", "ALIAS", "--seeds", "0")
    assert code == 130
    assert body["partial"]
    assert not body["as_expected"]
    assert len(body["specimens"]) == 2


def test_docs_show_what_runs_say(judged: Judge) -> None:
    """The totals are of 1,000 schedules; the tables do not depend on how many."""
    _, _, tables = zoo_markdown([judged(specimen) for specimen in specimens()], FEW).partition("\n\n")
    totals, _, shown = generated_part(DOCS).partition("\n\n")
    assert shown == tables, "python run.py zoo --page docs/zoo.md"
    assert "clean in 1,000 random schedules each" in totals


def test_row_of_the_docs_is_a_mark() -> None:
    block = DOCS.read_text(encoding="utf-8").partition("```json\n")[2].partition("\n```")[0]
    row = json.loads(block)
    mark = parse_mark(row["label"], row["op"], row["thread"])
    assert (mark.kind, mark["owner"], mark["pages"]) == ("claim", "request 7", [12, 13])
    firsts = [line.split("|")[1] for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    shown = {kind.strip(" `") for cell in firsts for kind in cell.split(",")}
    assert FACTS.keys() <= shown, "each kind of mark is in the table"


def test_page_is_changed_between_its_marks_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nbehind\n", encoding="utf-8")
    assert ran(capsys, "zoo", "--name", "shared_room", "--seeds", "0", "--page", str(page))[0] == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n1 specimen of 1 class")
    assert text.endswith(f"{END}\nbehind\n")
    assert "| B18 | `shared_room` |" in text
    assert "old" not in text
    page.write_text("no place", encoding="utf-8")
    assert ran(capsys, "zoo", "--page", str(page))[0] == 2


def test_laws_of_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, "laws", "--program", f"{FORGETS}:defect")
    assert code == 1
    assert out.splitlines()[0].startswith(f"BROKEN {FORGETS}:defect: companions (")
    code, body = ran_json(capsys, "laws", "--program", f"{FORGETS}:fixed")
    assert (code, body["verdict"], body["breaches"], body["marks"]) == (0, "kept", [], 2)


def test_laws_with_a_failure_put_in(capsys: pytest.CaptureFixture[str]) -> None:
    code, body = ran_json(capsys, "laws", "--program", f"{FORGETS}:fixed", "--fail", "load index_k")
    assert (code, [row["law"] for row in body["breaches"]]) == (1, ["companions"])


def test_laws_of_what_says_nothing_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    plain = f"{FOLDER / 'store_early' / 'pending_under_the_wrong_key.py'}:defect"
    code, out, _ = ran(capsys, "laws", "--program", plain)
    assert code == 4
    assert out.startswith(f"UNKNOWN {plain}: it has no marks")


def test_laws_of_a_stored_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from kernels.substrate.trace import Operation
    from kernels.substrate.trace_json import JsonLinesTrace

    trace, path = trace_of(named("parents_host_pool").program("defect")), tmp_path / "t.jsonl"
    with path.open("wb") as out:
        sink = JsonLinesTrace(out)
        for buffer in trace.buffers:
            sink.buffer(buffer)
        for row in trace.rows:
            if isinstance(row, Operation):
                sink.operation(row)
            else:
                sink.host(row)
        sink.finish()
    assert ran_json(capsys, "laws", "--trace", str(path))[1]["verdict"] == "broken"
    path.write_bytes(path.read_bytes()[:-20])
    code, said, _ = ran(capsys, "laws", "--trace", str(path))
    assert code == 4
    assert said.startswith(f"UNKNOWN {path}: line ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "give one of --program and --trace"),
        (["--program", FORGETS, "--trace", "t"], "give one of --program and --trace"),
        (["--trace", "t", "--fail", "x"], "--fail needs --program"),
        (["--trace", "none.kvt"], "the trace none.kvt cannot be read"),
        (["--program", f"{FORGETS}:fixed", "--together", "device.kv"], "--together names at least two pools"),
        (["--program", f"{FORGETS}:fixed", "--together", "device.kv,device.k"], "there is no buffer 'device.k'"),
        (
            ["--program", f"{FORGETS}:fixed", "--fail", "load kvv"],
            "no copy is called 'load kvv' (did you mean 'load kv'?)",
        ),
    ],
)
def test_mistakes_with_laws_are_one_sentence(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ran(capsys, "laws", *words)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1

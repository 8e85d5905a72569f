"""BFCL as a workload: translation, what is left out, and errors that name file and line.

Owns: a small folder of our own, and the real data where it lies beside the repository. Floor: tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import numpy as np
import pytest

from harness.config import WorkloadSpec, load_scenario
from harness.load.workload import Workload, build_workload
from harness.load.workload.bfcl.schemas import wire_name
from harness.load.workload.bfcl.source import BfclSource
from kernels.errors import ConfigError
from tests.harness.workload.bfcl_files import ANSWERS, QUESTIONS, STORE, write_folder, write_rows
from tests.harness.workload.counting import count_tokens, facts_in, has_stray_marks, references_in, text_of

REAL_DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "bfcl"


def calls_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Wire name -> arguments of each usable call."""
    found: dict[str, list[dict[str, Any]]] = {}
    for call in BfclSource(folder, count_tokens).tool_set(10**9, np.random.default_rng(0)).calls:
        found.setdefault(call.name, []).append(dict(call.arguments))
    return found


def test_first_allowed_values_become_the_calls(tmp_path: Path) -> None:
    calls = calls_of(write_folder(tmp_path))
    assert calls["store_find_item"] == [{"name": "lamp", "price": 3.5, "sizes": [1, 2], "where": {"city": "Rome"}}]
    assert calls["store_find_item_2"] == [{"count": 7}]
    # Positional values take the names of the doc's parameters, and a tuple is a list in JSON.
    assert calls["mean"] == [{"numbers": [1, 2]}, {"numbers": [3]}]
    assert calls["search"] == [{"pattern": r"\d+"}]
    assert calls["round_to"] == [{"number": 2.5, "digits": 1}]


def test_what_cannot_be_used_is_left_out_and_counted(tmp_path: Path) -> None:
    source = BfclSource(write_folder(tmp_path), count_tokens)
    # A nested list would be read as a fact; `count` takes no text.
    assert source.left_out == {"brackets that our grammar uses": 1, "arguments do not fit the schema": 1}


def test_schemas_become_json_schema(tmp_path: Path) -> None:
    tools = BfclSource(write_folder(tmp_path), count_tokens).tool_set(10**9, np.random.default_rng(0)).tools
    (store,) = (tool["function"] for tool in tools if tool["function"]["name"] == "store_find_item")
    properties = store["parameters"]["properties"]
    kinds = {name: schema.get("type") for name, schema in properties.items()}
    assert kinds == {
        "name": "string", "price": "number", "sizes": "array", "place": "array", "extra": None, "where": "object"
    }  # fmt: skip
    assert store["parameters"]["type"] == "object"
    assert properties["where"]["properties"]["city"] == {"type": "string"}
    assert "optional" not in properties["extra"]
    assert store["description"] == "Find an item; a [ [note] ] in brackets."
    for tool in tools:
        jsonschema_rs.meta.validate(tool["function"]["parameters"])


def test_renames_lead_back_to_the_source(tmp_path: Path) -> None:
    assert BfclSource(write_folder(tmp_path), count_tokens).renames == {
        "store_find_item": "store.find_item",
        "store_find_item_2": "store_find_item",
    }


def test_wire_names_are_short_and_free() -> None:
    taken = {"a_b": "a.b"}
    assert wire_name("a.b", taken) == "a_b"
    assert wire_name("a/b", taken) == "a_b_2"
    assert wire_name("a_b", taken | {"a_b_2": "a/b"}) == "a_b_3"
    long = "x" * 80
    assert wire_name(long, {}) == "x" * 64
    assert wire_name(long, {"x" * 64: "y"}) == "x" * 62 + "_2"


def _line(number: int, text: str) -> Callable[[Path], None]:
    """A mistake: replaces one line of a file."""

    def spoil(file: Path) -> None:
        lines = file.read_text(encoding="utf-8").splitlines()
        lines[number - 1] = text
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    return spoil


def _question(**changes: object) -> str:
    return json.dumps({**QUESTIONS[1], **changes})


def _answer(**changes: object) -> str:
    return json.dumps({**ANSWERS[1], **changes})


Q, A = "BFCL_v4_simple_python.json", "possible_answer/BFCL_v4_simple_python.json"
T, TA, M = (
    "BFCL_v4_multi_turn_base.json",
    "possible_answer/BFCL_v4_multi_turn_base.json",
    "multi_turn_func_doc/math_api.json",
)


@pytest.mark.parametrize(
    ("name", "line", "text", "reason"),
    [
        (Q, 2, "{oops", "Expecting property name enclosed in double quotes at column 2"),
        (Q, 2, "[1]", "a line must hold a JSON object, not list"),
        (Q, 2, "[" * 100_000, "nested too deeply"),
        (Q, 2, r'{"id": "\ud800"}', "half of a surrogate pair"),
        (Q, 2, "{}", "field 'id' is missing"),
        (Q, 2, _question(id=3), "field 'id' is int, not str"),
        (Q, 2, _question(id="simple_python_0"), "id 'simple_python_0' is also on line 1"),
        (Q, 2, _question(function={}), "field 'function' is dict, not list"),
        (Q, 2, _question(function=[{}]), "a function has no name"),
        (Q, 2, _question(function=[{"name": "f"}]), "function 'f' has no parameters"),
        (Q, 2, _question(function=[{"name": "f", "parameters": {"type": "hash"}}]), "unknown type 'hash'"),
        (Q, 2, _question(function=[{"name": "f", "parameters": {"type": ["string"]}}]), "unknown type"),
        (Q, 2, _question(function=[{"name": "f", "parameters": {"required": 1}}]), "`required`"),
        (Q, 2, _question(function=[{"name": "f", "parameters": {"properties": {"a": 1}}}]), "not objects"),
        (A, 2, _answer(id="other"), "no question has the id 'other'"),
        (A, 2, _answer(ground_truth="x"), "field 'ground_truth' is str, not list"),
        (A, 2, _answer(ground_truth=[{}]), "an answer must be an object with one function"),
        (A, 2, _answer(ground_truth=[{"f": 1}]), "the answer for 'f' has no parameters"),
        (A, 2, _answer(ground_truth=[{"g": {}}]), "calls 'g', which its question does not describe"),
        (A, 2, _answer(ground_truth=[{"store_find_item": {"count": 7}}]), "must have a list of allowed values"),
        (A, 2, _answer(ground_truth=[{"store_find_item": {"count": [float("nan")]}}]), "a value that JSON has not"),
        (T, 1, '{"id": "multi_turn_base_0", "involved_classes": ["Zoo"]}', "unknown class 'Zoo'"),
        (TA, 1, '{"id": "multi_turn_base_0", "ground_truth": [["mean("]]}', "'mean(' is not a call"),
        (TA, 1, '{"id": "multi_turn_base_0", "ground_truth": [["a.b()"]]}', "'a.b()' is not a call"),
        (TA, 1, json.dumps({"id": "multi_turn_base_0", "ground_truth": [["(" * 10_000]]}), "is not a call"),
        (TA, 1, '{"id": "multi_turn_base_0", "ground_truth": [["mean(x)"]]}', "a value that is not a literal"),
        (TA, 1, '{"id": "multi_turn_base_0", "ground_truth": [["mean(1, 2)"]]}', "2 values for 1 parameters"),
        (TA, 1, '{"id": "multi_turn_base_0", "ground_truth": [["mean({1})"]]}', "a value that JSON has not"),
        (M, 2, '{"name": "f", "parameters": {"type": "dictionary"}}', "unknown type 'dictionary'"),
    ],
)
def test_malformed_line_is_named(tmp_path: Path, name: str, line: int, text: str, reason: str) -> None:
    _line(line, text)(write_folder(tmp_path) / name)
    with pytest.raises(ConfigError) as caught:
        BfclSource(tmp_path, count_tokens)
    assert str(caught.value).startswith(f"{tmp_path / name}:{line}: not a BFCL file: ")
    assert reason in str(caught.value)
    assert caught.value.exit_code == 2


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no BFCL folder at"):
        BfclSource(tmp_path / "absent", count_tokens)
    with pytest.raises(ConfigError, match=r"one of these is needed: BFCL_v4_simple_python\.json"):
        BfclSource(tmp_path, count_tokens)
    for name, wanted in ((A, "no answers for BFCL_v4_simple_python.json"), (M, "cannot read this file: No such file")):
        write_folder(tmp_path)
        (tmp_path / name).unlink()
        with pytest.raises(ConfigError, match=wanted) as caught:
            BfclSource(tmp_path, count_tokens)
        assert caught.value.file == tmp_path / name
    write_folder(tmp_path)
    (tmp_path / Q).write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="it is not UTF-8 text"):
        BfclSource(tmp_path, count_tokens)


def test_folder_without_a_usable_call_is_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / Q, QUESTIONS[2:])
    write_rows(tmp_path / A, ANSWERS[2:])
    with pytest.raises(ConfigError, match="no usable call"):
        BfclSource(tmp_path, count_tokens)


def test_reference_in_a_schema_is_not_followed(tmp_path: Path) -> None:
    parameters = {**STORE["parameters"], "$ref": "http://127.0.0.1:9/schema"}  # type: ignore[dict-item]
    write_rows(tmp_path / Q, [{**QUESTIONS[0], "function": [{**STORE, "parameters": parameters}]}])
    write_rows(tmp_path / A, ANSWERS[:1])
    assert list(calls_of(tmp_path)) == ["store_find_item"]


def bfcl_spec(folder: Path) -> WorkloadSpec:
    overrides = {
        "workload.source": f"bfcl:{folder}",
        "workload.sessions": "12",
        "workload.first_message_tokens_min": "3000",
        "workload.first_message_tokens_max": "3500",
    }
    return load_scenario("hicache_bf16", overrides).workload


def check_answerable(workload: Workload) -> None:
    for plan in workload.sessions:
        schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in plan.tools}
        assert len(schemas) == len(plan.tools)
        for index, turn in enumerate(plan.turns):
            text = text_of(plan.messages(index))
            bodies = {(fact.key, fact.anchor): fact.body for fact in facts_in(text)}
            assert bodies[references_in(text)[-1]] == turn.expected.body
            assert jsonschema_rs.is_valid(schemas[turn.expected.name], turn.expected.arguments)
    for group in workload.groups:
        assert not has_stray_marks(group.system + msgspec.json.encode(group.tools).decode())


def test_small_folder_makes_a_workload_with_repeated_calls(tmp_path: Path) -> None:
    check_answerable(build_workload(bfcl_spec(write_folder(tmp_path)), 1, count_tokens))


@pytest.mark.skipif(not REAL_DATA.is_dir(), reason="BFCL's data does not lie beside the repository")
def test_the_leaderboards_own_data_makes_a_workload() -> None:
    workload = build_workload(bfcl_spec(REAL_DATA), 1, count_tokens)
    check_answerable(workload)
    assert workload == build_workload(bfcl_spec(REAL_DATA), 1, count_tokens)
    # Nearly everything is usable: what is left out are its own mistakes, such as a text where a number is due.
    assert sum(workload.left_out.values()) < 50
    assert len(workload.renames) > 300
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool["function"]["name"]) for tool in workload.tools)
    bodies = [turn.expected.body for plan in workload.sessions for turn in plan.turns]
    assert len(set(bodies)) > 0.5 * len(bodies)

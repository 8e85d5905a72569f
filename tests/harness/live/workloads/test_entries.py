"""Files of JSON objects, read in pieces: the same entries as a parser of the whole, and a sentence for each mistake."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.live.workloads import entries
from harness.live.workloads.entries import read_entries, read_object
from kernels.errors import ConfigError

VALUES = st.text(max_size=9) | st.integers() | st.lists(st.text(max_size=3))
OBJECTS = st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(OBJECTS, st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_pieces_of_any_size_give_what_the_whole_gives(
    tmp_path_factory: pytest.TempPathFactory, values: list[dict[str, Any]], piece: int, indent: int | None, ascii: bool
) -> None:
    folder = tmp_path_factory.mktemp("pieces")
    array, rows = folder / "a.json", folder / "b.jsonl"
    array.write_text("\n " + json.dumps(values, indent=indent, ensure_ascii=ascii))
    rows.write_text("\n".join(json.dumps(value, ensure_ascii=ascii) for value in values))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entries, "_PIECE_CHARACTERS", piece)
        assert [entry.fields for entry in read_entries(array)] == values
        assert [(entry.line, entry.fields) for entry in read_entries(rows)] == list(enumerate(values, start=1))


def test_lines_of_an_array_are_where_its_entries_begin(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[\n{"a":\n 1}\n,\n\n{"b": "\\n"}, [{"role": "user"}]]')
    found = [(entry.line, dict(entry.fields)) for entry in read_entries(path)]
    assert found == [(2, {"a": 1}), (6, {"b": "\n"}), (6, {"messages": [{"role": "user"}]})]


def test_packed_files_and_marks_of_byte_order_are_read(tmp_path: Path) -> None:
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(b'\xef\xbb\xbf{"a": 1}\r\n\r\n{"a": 2}\r\n'))
    assert [(entry.line, entry.fields["a"]) for entry in read_entries(packed)] == [(1, 1), (3, 2)]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "a.json: this file holds no entry"),
        (b" \n\n", "this file holds no entry"),
        (b"[]", "this file holds no entry"),
        (b'{"a": 1}\n{"a": \n', "a.json:2: not JSON: Expecting value at column 7"),
        (b'{"a": 1}\n7\n', "a.json:2: an entry must be a JSON object, not a whole number"),
        (b'[{"a": 1},\n"x"]', "a.json:2: an entry must be a JSON object, not text"),
        (b'[{"a": 1},\n{"a": 1', "a.json:2: not JSON: Expecting ',' delimiter"),
        (b'[{"a": 1},\n{"a" 1}, {"b": 2}, {"c": 3}]', "a.json:2: not JSON: Expecting ':' delimiter"),
        (b'[{"a": 1}\n', "a.json:2: not JSON: the array does not end"),
        (b'[{"a": "xy\nz', "a.json:1: not JSON: Invalid control character at"),
        (b'{"a": "\xff"}', "a.json: this file is not UTF-8 text"),
        (b'{"a": 1}\n{"a": ' + b"1" * 5_000 + b"}", "a.json:2: not JSON: a number has too many digits"),
        (b'[{"a": ' + b"1" * 5_000 + b"}]", "a.json:1: not JSON: a number has too many digits"),
        (b"[" * 100_000, "not JSON"),
        (b"[[" + b"[" * 100_000 + b"]" * 100_000 + b"]]", "nested too deeply"),
    ],
)
def test_broken_files(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        list(read_entries(path))
    assert sentence in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    damaged = tmp_path / "d.gz"
    damaged.write_bytes(gzip.compress(b'{"a": 1}\n' * 50)[:-20])
    for path, sentence in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory"), (damaged, "cannot read")):
        with pytest.raises(ConfigError, match=sentence):
            list(read_entries(path))


def test_halves_of_surrogate_pairs_are_no_text_that_can_be_sent(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    row = '{"a": "x\\ud83dy \\ud83d\\ude00 \\uDE00"}'
    for content in (row, f"[{row}]", f"{row}\n"):
        path.write_text(content)
        assert [entry.fields["a"] for entry in read_entries(path)] == ["x\ufffdy \U0001f600 \ufffd"]
    path.write_text(row)
    found = read_object(path)
    assert found is not None
    found.fields["a"].encode()


def test_one_object_is_told_from_rows_and_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for content, expected in (('\n{"a":\n1}\n', {"a": 1}), ('{"a": 1}\n{"a": 2}', None), ('[{"a": 1}]', None)):
        path.write_text(content)
        found = read_object(path)
        assert (None if found is None else found.fields) == expected
    path.write_text('{"a":\n 1,, }')
    with pytest.raises(ConfigError, match=r"a\.json:2: not JSON"):
        read_object(path)


def test_fields_of_another_type_are_named_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('\n{"n": true, "t": 1.5, "s": "x"}')
    (entry,) = read_entries(path)
    assert entry.optional("t", float) == 1.5
    assert entry.optional("none", int) is None
    for name, kind, sentence in (
        ("n", int, "field 'n' is true or false, not a whole number"), ("s", list, "field 's' is text, not a list"),
        ("t", int, "field 't' is a number, not a whole number"), ("gone", str, "field 'gone' is missing"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=rf"a\.json:2: {sentence}"):
            entry.field(name, kind)

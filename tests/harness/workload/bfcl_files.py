"""A small folder in BFCL's format, with every oddity that the reader has to bear.

Owns: the rows. Written for these tests after the format's description; no row is the leaderboard's. Floor: tests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Rows = Sequence[Mapping[str, Any]]

STORE = {
    "name": "store.find_item",
    "description": "Find an item; a [[note]] in brackets.",
    "parameters": {
        "type": "dict",
        "properties": {
            "name": {"type": "string", "description": "What to find ((exactly))."},
            "price": {"type": "float"},
            "sizes": {"type": "array", "items": {"type": "integer"}},
            "place": {"type": "tuple", "items": {"type": "float"}},
            "extra": {"type": "any", "optional": True},
            "where": {
                "type": "dict",
                "properties": {"city": {"type": "string"}, "street": {"type": "string"}},
                "required": ["city"],
            },
        },
        "required": ["name", "price"],
    },
}
# A name that becomes the same as the first one's once its dot is gone.
STORE_TWIN = {
    "name": "store_find_item",
    "description": "Another one.",
    "parameters": {"type": "dict", "properties": {"count": {"type": "integer"}}, "required": ["count"]},
}
MATRIX = {
    "name": "matrix.sum",
    "description": "Sum of a matrix.",
    "parameters": {
        "type": "dict",
        "properties": {"rows": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}},
        "required": ["rows"],
    },
}

QUESTIONS: Rows = (
    {"id": "simple_python_0", "question": [[{"role": "user", "content": "?"}]], "function": [STORE]},
    {"id": "simple_python_1", "question": [[{"role": "user", "content": "?"}]], "function": [STORE_TWIN, MATRIX]},
    {"id": "simple_python_2", "question": [[{"role": "user", "content": "?"}]], "function": [STORE_TWIN]},
)
ANSWERS: Rows = (
    {
        "id": "simple_python_0",
        "ground_truth": [
            {
                "store.find_item": {
                    "name": ["lamp", "a lamp"],
                    "price": [3.5],
                    "sizes": [[1, 2], [2, 1]],
                    "place": ["", [1.0, 2.0]],
                    "where": [{"city": ["Rome", "Roma"], "street": ["", "Via"]}],
                }
            }
        ],
    },
    {
        "id": "simple_python_1",
        "ground_truth": [{"store_find_item": {"count": [7]}}, {"matrix.sum": {"rows": [[[1, 2], [3, 4]]]}}],
    },
    {"id": "simple_python_2", "ground_truth": [{"store_find_item": {"count": ["seven"]}}]},
)
TURNS: Rows = ({"id": "multi_turn_base_0", "question": [], "involved_classes": ["MathAPI"]},)
TURN_ANSWERS: Rows = (
    {
        "id": "multi_turn_base_0",
        "ground_truth": [
            ["mean([1, 2])", "round_to(number=2.5, digits=1)", r"search(pattern='\d+')"],
            [],
            ["mean((3,))"],
        ],
    },
)
MATH_DOCS: Rows = (
    {
        "name": "mean",
        "description": "Mean.",
        "parameters": {
            "type": "dict",
            "properties": {"numbers": {"type": "array", "items": {"type": "float"}}},
            "required": ["numbers"],
        },
        "response": {"type": "dict"},
    },
    {
        "name": "search",
        "description": "Search.",
        "parameters": {"type": "dict", "properties": {"pattern": {"type": "string"}}, "required": ["pattern"]},
    },
    {
        "name": "round_to",
        "description": "Round.",
        "parameters": {
            "type": "dict",
            "properties": {"number": {"type": "float"}, "digits": {"type": "integer"}},
            "required": ["number"],
        },
    },
)


def write_rows(file: Path, rows: Rows) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_folder(folder: Path) -> Path:
    """Effect: writes one single-turn and one multi-turn category. Returns: the folder."""
    write_rows(folder / "BFCL_v4_simple_python.json", QUESTIONS)
    write_rows(folder / "possible_answer" / "BFCL_v4_simple_python.json", ANSWERS)
    write_rows(folder / "BFCL_v4_multi_turn_base.json", TURNS)
    write_rows(folder / "possible_answer" / "BFCL_v4_multi_turn_base.json", TURN_ANSWERS)
    write_rows(folder / "multi_turn_func_doc" / "math_api.json", MATH_DOCS)
    return folder

"""Small files of every format, and rounds of them.

Owns: the files' contents and the defaults of rounds. Does not own: any assertion. Floor: tests. Source: our own texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from harness.live.arrivals import load_shape
from harness.live.workload import live_workload
from harness.live.workloads.formats import file_workload
from harness.live.workloads.rounds import FileRounds
from kernels.engine.prompt import PromptReader
from kernels.engine.shared import SharedModel

SEED = 7
TOOLS = [
    {"type": "function", "function": {"name": f"tool_{at}", "description": f"Does {at}.", "parameters": {
        "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}}
    for at in range(42)
]  # fmt: skip


@cache
def _reader() -> PromptReader:
    return SharedModel().reader


def count_tokens(text: str) -> int:
    return _reader().count_tokens(text)


def lines(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def whole(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value, indent=1))
    return path


def row(ids: Sequence[object], *, block: int = 512, short: int = 100, **fields: Any) -> dict[str, Any]:
    """One request of a trace whose last block is `short` tokens short."""
    return {
        "timestamp": 0,
        "input_length": len(ids) * block - short,
        "output_length": 9,
        "hash_ids": list(ids),
        **fields,
    }


def rounds(words: str, sessions: int, *, plant: str | None = None, **changes: Any) -> FileRounds:
    """words: as `--workload` has them. changes: block_tokens, room_tokens, max_tokens, load, seed, first."""
    from dataclasses import replace

    files = file_workload(words, plant=plant, block_tokens=changes.get("block_tokens"))
    assert files is not None
    files = replace(files, room_tokens=changes.get("room_tokens"), first=changes.get("first", 0))
    load = load_shape(changes.get("load", "closed"), sessions, None, None)
    spec = live_workload(load, source="builtin", prompt_tokens=None, overrides={})
    return FileRounds(
        files, spec, changes.get("seed", SEED), count_tokens, max_tokens=changes.get("max_tokens", 160),
        keeps_times=load.kind == "trace", keeps_waits=True, is_once=load.kind == "trace",
    )  # fmt: skip


def text_of(messages: Sequence[Any]) -> str:
    """Everything that is said, in order."""
    return "\n".join(str(message.get("content") or "") for message in messages)


def said(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in pairs]


def sharegpt(path: Path, count: int = 3) -> Path:
    talk = [("human", "Which river?"), ("gpt", "The long one."), ("human", "How deep?"), ("gpt", "Very.")]
    return whole(path, [
        {"id": f"c{at}", "conversations": [{"from": who, "value": f"{text} ({at})"} for who, text in talk]}
        for at in range(count)
    ])  # fmt: skip


def captured(path: Path, count: int = 3, messages: int = 90) -> Path:
    """Requests as agents send them: many tools, long histories, and the answer beside some."""
    rows = []
    for at in range(count):
        history = said(("system", "You are an agent."), ("user", f"Task {at}."))
        while len(history) < messages - 1:
            number = len(history)
            call = {
                "id": f"c{number}",
                "type": "function",
                "function": {"name": "tool_1", "arguments": '{"text": "x"}'},
            }
            history += [{"role": "assistant", "content": None, "tool_calls": [call]},  # type: ignore[dict-item]
                        {"role": "tool", "tool_call_id": f"c{number}", "content": "done"}]  # fmt: skip
        history.append({"role": "user", "content": "Go on."})
        body = {"model": "m", "messages": history, "tools": TOOLS, "temperature": 1, "max_tokens": 48}
        rows.append(body if at % 2 else {**body, "response": {"choices": [{"message": {"content": "I do not know."}}]}})
    return lines(path, rows)

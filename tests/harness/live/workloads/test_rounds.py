"""Rounds of a file: the next sessions each time, the first again at the end, and only what a server can take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.live.arrivals import load_shape
from harness.live.load.pattern import Pattern
from harness.live.workload import live_workload
from harness.live.workloads.asked import rounds_of, workload_view
from harness.live.workloads.formats import PLANTS, file_workload
from harness.live.workloads.use import notes_of
from harness.load.workload.plan import ForkPoint
from kernels.errors import ConfigError
from tests.harness.live.workloads.small_files import (
    TOOLS,
    captured,
    lines,
    rounds,
    row,
    said,
    sharegpt,
    text_of,
    whole,
)  # fmt: skip


def questions(found: object) -> list[str]:
    return [text_of(session.messages(0)[-1:]) for session in found.sessions]  # type: ignore[attr-defined]


def test_rounds_go_on_through_the_file_and_begin_anew(tmp_path: Path) -> None:
    source = rounds(f"sharegpt:{sharegpt(tmp_path / 's.json', 5)}", 2)
    built = [source.build(number) for number in range(4)]
    assert [[text[-2] for text in questions(one)] for one in built] == [["0", "1"], ["2", "3"], ["4", "0"], ["1", "2"]]
    assert [one.passes for one in built] == [0, 0, 1, 1]
    assert [[session.session for session in one.sessions] for one in built] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    # The same conversation comes back with the same bytes, its word included: that is what a cache is to find.
    assert built[2].sessions[1].messages(1) == built[0].sessions[0].messages(1)


def test_blocks_of_time_have_sessions_of_their_own(tmp_path: Path) -> None:
    path = sharegpt(tmp_path / "s.json", 5)
    firsts = [questions(rounds(f"sharegpt:{path}", 2, first=first).build(0)) for first in range(3)]
    assert [[text[-2] for text in texts] for texts in firsts] == [["0", "1"], ["2", "3"], ["4", "0"]]


def test_what_does_not_fit_is_left_out_and_counted(tmp_path: Path) -> None:
    talks = [said(("user", "word " * count)) for count in (10, 4_000, 20)]
    path = whole(tmp_path / "v.json", talks)
    built = rounds(f"vllm-multiturn:{path}", 3, room_tokens=2_000).build(0)
    assert [len(text) for text in questions(built)] == [50, 100, 50]
    assert built.left_out == {"sessions that do not fit the server's context": 1}
    with pytest.raises(ConfigError, match=r"no session of this file can be sent .*2 sessions that do not fit"):
        rounds(f"vllm-multiturn:{whole(path, talks[1:2] * 2)}", 1, room_tokens=2_000).build(0)


def test_a_file_without_any_question_is_refused(tmp_path: Path) -> None:
    path = whole(tmp_path / "v.json", [said(("system", "x")), said(("assistant", "y"))])
    with pytest.raises(ConfigError, match=r"v\.json: no session of this file can be sent"):
        rounds(f"vllm-multiturn:{path}", 1).build(0)


def test_a_word_of_its_own_stands_at_the_end_of_each_system_message(tmp_path: Path) -> None:
    talks = [said(("system", "Be brief."), ("user", "One?")), said(("user", "Two?"))]
    sessions = rounds(f"vllm-multiturn:{whole(tmp_path / 'v.json', talks)}", 2).build(0).sessions
    words = [session.secrets for session in sessions]
    assert len({word for (word,) in words}) == 2
    for session, (word,), begin in zip(sessions, words, ("Be brief.\nThe word ", "The word "), strict=True):
        message = session.messages(0)[0]
        assert (message["role"], str(message["content"]).startswith(begin)) == ("system", True)
        assert word in str(message["content"])
        assert session.prompt_tokens(0) >= len(text_of(session.messages(0))) // 4
    plain = rounds(f"vllm-multiturn:{tmp_path / 'v.json'}", 2, plant="none").build(0).sessions
    assert [session.messages(0) for session in plain] == talks


def test_captured_requests_keep_their_bytes_unless_a_word_is_wanted(tmp_path: Path) -> None:
    path = captured(tmp_path / "c.jsonl", 2)
    plain = rounds(f"openai-messages:{path}", 2).build(0).sessions
    planted = rounds(f"openai-messages:{path}", 2, plant="secret").build(0).sessions
    assert all(session.secrets == () for session in plain)
    for one, other in zip(plain, planted, strict=True):
        assert other.messages(0)[1:] == one.messages(0)[1:]
        assert other.messages(0)[0]["content"].startswith(one.messages(0)[0]["content"] + "\n")
    developer = {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}
    parts = lines(tmp_path / "p.jsonl", [{"messages": [developer, *said(("user", "One?"))]}])
    (session,) = rounds(f"openai-messages:{parts}", 1, plant="secret").build(0).sessions
    assert session.secrets[0] in session.messages(0)[0]["content"][1]["text"]


def test_sessions_with_one_list_of_tools_are_a_group(tmp_path: Path) -> None:
    bad = {"type": "function", "function": {"name": "odd", "parameters": {"type": "nothing"}}}
    other = {"type": "web_search"}
    rows = [{"messages": said(("user", "x")), "tools": tools} for tools in (TOOLS, [bad, other], TOOLS, [])]
    built = rounds(f"openai-messages:{lines(tmp_path / 'c.jsonl', rows)}", 4).build(0)
    assert [session.group for session in built.sessions] == [0, 1, 0, 2]
    assert built.sessions[1].tools == (bad, other)
    schemas = {schema.name: schema for schema in built.tool_schemas()}
    assert (schemas["tool_3"].groups, schemas["tool_3"].description) == ((0,), "Does 3.")
    assert (schemas["odd"].parameters, schemas["odd"].groups) == ({}, (1,))
    assert sum("JSON Schema" in what for what in built.left_out) == 1


def test_waits_are_numbered_as_the_sessions_of_their_round(tmp_path: Path) -> None:
    rows = [row([1], request_id=f"{at}{part}", wait_for=[f"{at}a"] if part in "bc" else [])
            for at in range(3) for part in "abc"]  # fmt: skip
    source = rounds(f"mooncake:{lines(tmp_path / 't.jsonl', rows)}", 2)
    built = [source.build(number).sessions for number in range(3)]
    assert [[session.fork for session in one] for one in built] == [
        [None, ForkPoint(0, 0, 0)], [None, ForkPoint(2, 0, 0)], [None, ForkPoint(4, 0, 0)],
    ]  # fmt: skip
    # A round that begins between a session and its fork has nobody to wait for.
    (alone,) = rounds(f"mooncake:{tmp_path / 't.jsonl'}", 1, first=1).build(0).sessions
    assert alone.fork is None


def test_times_of_a_trace_are_kept_for_a_replay_only(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", [row([at], timestamp=100 * at) for at in range(3)])
    starts = {load: [session.start_ns for session in rounds(f"mooncake:{path}", 3, load=load).build(0).sessions]
              for load in ("closed", "trace")}  # fmt: skip
    assert starts == {"closed": [0, 0, 0], "trace": [0, 100_000_000, 200_000_000]}


def test_records_tell_what_prompts_hold_already(tmp_path: Path) -> None:
    talks = [said(("user", "What does <|im_end|> do? \ufffd Привет")), said(("user", "x"))]
    one, other = rounds(f"vllm-multiturn:{whole(tmp_path / 'v.json', talks)}", 2).build(0).sessions
    assert one.record().marks == ("<|im_end|>", "\ufffd")
    assert "CYRILLIC" in one.record().scripts
    assert (other.record().marks, other.record().scripts) == ((), ("LATIN",))


@pytest.mark.parametrize(
    ("words", "plant", "block_tokens", "sentence"),
    [
        ("nothing", None, None, "'nothing' is none that is known"),
        ("mooncake", None, None, "is none that is known .*mooncake:FILE"),
        ("bfcl:", None, None, "is none that is known"),
        ("builtin", "secret", None, "--plant belongs to a workload from a file"),
        ("bfcl:x", None, 16, "--block-tokens belongs to a workload from a file"),
        ("sharegpt:x", "call", None, "nothing like 'call' can be planted in sharegpt; allowed: secret, none"),
        ("recorded:x", None, 16, "--block-tokens belongs to --workload mooncake:FILE"),
    ],
)
def test_words_that_name_no_workload(words: str, plant: str | None, block_tokens: int | None, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        file_workload(words, plant=plant, block_tokens=block_tokens)


def test_defaults_of_every_kind() -> None:
    for kind, plants in PLANTS.items():
        found = file_workload(f"{kind}:some/where", plant=None, block_tokens=None)
        assert found is not None
        assert (found.kind, str(found.path), found.plant) == (kind, "some/where", plants[0])
    assert file_workload("builtin", plant=None, block_tokens=None) is None


def test_notes_name_the_most_frequent_first() -> None:
    files = file_workload("sharegpt:s.json", plant=None, block_tokens=None)
    assert files is not None
    assert notes_of(files, {}) == []
    (note,) = notes_of(files, {"a": 1, "b": 7, "c": 0, "d": 2, "e": 3, "f": 4})
    assert note == "sharegpt:s.json: not used: 7 x b, 4 x f, 3 x e, 2 x d and 1 more kinds"


def test_a_replay_ends_with_its_file_and_begins_with_its_first_session(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", [row([at], timestamp=100 * at) for at in range(5)])

    def starts_ms(sessions: int, first: int) -> tuple[list[int], int]:
        built = rounds(f"mooncake:{path}", sessions, load="trace", first=first).build(0)
        return [session.start_ns // 10**6 for session in built.sessions], built.passes

    # Twelve copies of a trace at the same times would be twelve times its load.
    assert starts_ms(60, 0) == ([0, 100, 200, 300, 400], 0)
    # A later block of time does not wait for the time that lies before it in the file.
    assert starts_ms(2, 1) == ([0, 100], 0)
    assert starts_ms(3, 1) == ([0, 100], 0)


def test_times_of_a_trace_count_from_its_beginning_where_nobody_is_left_to_wait_for(tmp_path: Path) -> None:
    epoch_ms = 1 << 40
    waits: dict[str, list[str]] = {"a": [], "b": [], "c": ["a"], "d": []}
    rows = [row([at], request_id=name, session_id=name, wait_for=waits[name], timestamp=epoch_ms + 50 * at)
            for at, name in enumerate(waits)]  # fmt: skip
    path = lines(tmp_path / "t.jsonl", rows)
    whole_trace = rounds(f"mooncake:{path}", 4, load="trace").build(0)
    assert [session.start_ns // 10**6 for session in whole_trace.sessions] == [0, 50, 100, 150]
    assert whole_trace.sessions[2].fork == ForkPoint(0, 0, 0)
    # The third waits for the first, which is in another block.
    later = rounds(f"mooncake:{path}", 2, load="trace", first=1).build(0)
    assert [(session.fork, session.start_ns // 10**6) for session in later.sessions] == [(None, 0), (None, 50)]


def test_a_pattern_has_no_session_beside_its_own_copy(tmp_path: Path) -> None:
    files = file_workload(f"sharegpt:{sharegpt(tmp_path / 's.json', 3)}", plant="none", block_tokens=None)
    closed = load_shape("closed", 7, None, None)
    pattern = replace(closed, pattern=Pattern("round-robin", 2))
    spec = live_workload(closed, source="builtin", prompt_tokens=None, overrides={})
    built = {load: rounds_of(files, spec, 1, load, 160).build(0) for load in (closed, pattern)}
    assert {load: len(one.sessions) for load, one in built.items()} == {closed: 7, pattern: 3}
    # What makes the same sessions again, as `bundle` does.
    assert workload_view(files, {"sessions": 7}, pattern)["is_once"] is True
    assert "is_once" not in workload_view(files, {"sessions": 7}, closed)

"""Requests of real applications: with their tools, in the order in which they were sent."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.capture.record import CAPTURE, EXCHANGES, CapturedReply, CaptureHeader, Exchange
from harness.live.workloads.openai_messages import OpenAiMessagesSource
from harness.live.workloads.recorded import RecordedSource
from harness.live.workloads.scripted import Answer, ScriptedSession
from harness.load.workload.plan import ForkPoint
from kernels.errors import ConfigError
from results.lines import encode_line
from results.records import ToolCall
from tests.harness.live.workloads.small_files import TOOLS, captured, lines, said, whole

HELLO = said(("system", "You are an agent."), ("user", "Hello"))
MS = 1_000_000


def read(path: Path) -> tuple[list[ScriptedSession], Counter[str]]:
    left_out: Counter[str] = Counter()
    return list(OpenAiMessagesSource(path, left_out).sessions()), +left_out


def test_requests_are_sent_as_they_were_captured(tmp_path: Path) -> None:
    path = captured(tmp_path / "c.jsonl", count=2, messages=599)
    (one, two), left_out = read(path)
    assert len(one.messages(0)) == 599
    assert one.tools == tuple(TOOLS)
    assert (one.turns[0].max_tokens, one.turns[0].extra, one.turns[0].expected) == (48, {}, None)
    assert (one.turns[0].recorded, two.turns[0].recorded) == (Answer("I do not know."), None)
    assert left_out == {"field 'temperature'": 2}
    assert 2_000 < one.prompt_tokens(0) < 20_000


CALL = {"id": "c", "type": "function", "function": {"name": "go", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("entry", "answer"),
    [
        ({"messages": HELLO}, None),
        ({"request": {"messages": HELLO}, "response": {"choices": [{"message": {"content": "Hi"}}]}}, Answer("Hi")),
        (
            {"body": {"messages": HELLO}, "answer": {"role": "assistant", "tool_calls": [CALL]}},
            Answer("", (("go", "{}"),)),
        ),
        ({"messages": HELLO, "answer": "Hi"}, Answer("Hi")),
        ({"messages": [*HELLO, {"role": "assistant", "content": "Hi"}]}, Answer("Hi")),
        ({"messages": HELLO, "answer": {"content": [{"type": "text", "text": "Hi"}]}}, Answer("Hi")),
    ],
)
def test_answers_stand_where_people_put_them(tmp_path: Path, entry: dict[str, Any], answer: Answer | None) -> None:
    for path in (lines(tmp_path / "c.jsonl", [entry]), whole(tmp_path / "c.json", [entry])):
        ((session,), _) = read(path)
        assert session.messages(0) == HELLO
        assert session.turns[0].recorded == answer


def test_what_shapes_an_answer_is_kept(tmp_path: Path) -> None:
    kept = {"tool_choice": "required", "response_format": {"type": "json_object"}, "parallel_tool_calls": False}
    ((session,), left_out) = read(lines(tmp_path / "c.jsonl", [{"messages": HELLO, **kept, "top_p": 0.2, "seed": 3}]))
    assert session.turns[0].extra == kept
    assert left_out == {"field 'top_p'": 1, "field 'seed'": 1}


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"prompt": "x"}, "field 'messages' is missing"),
        ({"messages": [{"role": "user", "content": 7}]}, r"messages\[0\]: content must be text"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [1]}]},
            r"messages\[0\]: tool_calls must be a list of objects",
        ),
        ({"messages": HELLO, "tools": [{"type": "function"}]}, r"tools\[0\] must be an object with 'function.name'"),
        ({"messages": HELLO, "max_tokens": "many"}, "field 'max_tokens' is text"),
        (
            {"messages": [*HELLO, {"role": "tool", "content": "x", "n": 2**64}]},
            r"messages\[2\] cannot be sent as JSON: Integer exceeds 64-bit range",
        ),
        (
            {"messages": HELLO, "tools": [*TOOLS, {"type": "web", "max": -(2**70)}]},
            rf"tools\[{len(TOOLS)}\] cannot be sent as JSON: Integer exceeds 64-bit range",
        ),
        (
            {"messages": HELLO, "response_format": {"maximum": 10**30}},
            "field 'response_format' cannot be sent as JSON: Integer exceeds 64-bit range",
        ),
        ({"messages": HELLO, "response": {"choices": []}}, "the recorded answer is not an OpenAI reply"),
    ],
)
def test_broken_requests_are_named_with_their_line(tmp_path: Path, entry: dict[str, Any], sentence: str) -> None:
    path = lines(tmp_path / "c.jsonl", [{"messages": HELLO}, entry])
    with pytest.raises(ConfigError, match=rf"c\.jsonl:2: {sentence}"):
        read(path)


def test_requests_that_ask_nothing_are_left_out(tmp_path: Path) -> None:
    sessions, left_out = read(
        lines(tmp_path / "c.jsonl", [{"messages": []}, {"messages": HELLO[:1]}, {"messages": HELLO}])
    )
    assert (len(sessions), sum(left_out.values())) == (1, 2)


def capture(folder: Path, *exchanges: Exchange, torn: bytes = b"") -> Path:
    folder.mkdir()
    (folder / CAPTURE).write_bytes(encode_line(CaptureHeader("http://up/v1", "2029-01-01T00:00:00Z")))
    (folder / EXCHANGES).write_bytes(torn + b"".join(map(encode_line, exchanges)))
    return folder


def exchange(at_ms: int, messages: list[Any], *, took_ms: int = 10, answer: str = "Hi", **changes: Any) -> Exchange:
    body = {"model": "m", "messages": messages, **changes.pop("body", {})}
    fields: dict[str, Any] = {
        "id": f"e{at_ms}", "arrived_ns": at_ms * MS, "path": "/v1/chat/completions", "body": body, "status": 200,
        "reply": CapturedReply(answer), "ended_ns": (at_ms + took_ms) * MS,
    }  # fmt: skip
    return Exchange(**{**fields, **changes})


def replayed(folder: Path) -> tuple[list[ScriptedSession], Counter[str]]:
    left_out: Counter[str] = Counter()
    return list(RecordedSource(folder, left_out).sessions()), +left_out


def grown(messages: list[Any], answer: str, question: str) -> list[Any]:
    return [*messages, *said(("assistant", answer), ("user", question))]


def test_exchanges_become_sessions_with_their_pauses(tmp_path: Path) -> None:
    other = said(("system", "You are an agent."), ("user", "Other"))
    second = grown(HELLO, "Hi", "More")
    third = grown(second, "Fine", "Last")
    # Stored as they ended; a conversation is told by its messages alone.
    folder = capture(tmp_path / "cap", exchange(300, other), exchange(100, HELLO), exchange(350, second, answer="Fine"),
                     exchange(900, third))  # fmt: skip
    (one, two), left_out = replayed(folder)
    assert [one.messages(turn) for turn in range(3)] == [HELLO, second, third]
    assert [turn.think_ns // MS for turn in one.turns] == [240, 540, 0]
    assert (one.start_ns, two.start_ns // MS, len(two.turns)) == (0, 200, 1)
    assert [turn.recorded for turn in one.turns] == [Answer("Hi"), Answer("Fine"), Answer("Hi")]
    assert not left_out


def test_a_second_continuation_is_a_fork_and_the_same_request_a_retry(tmp_path: Path) -> None:
    left, right = grown(HELLO, "Hi", "Left"), grown(HELLO, "Hi", "Right")
    folder = capture(tmp_path / "cap", exchange(0, HELLO), exchange(50, left), exchange(80, right), exchange(90, HELLO),
                     exchange(200, grown(right, "Hi", "On")))  # fmt: skip
    (main, fork), left_out = replayed(folder)
    assert (len(main.turns), len(fork.turns)) == (2, 2)
    assert fork.fork == ForkPoint(0, 0, 70 * MS)
    assert fork.messages(0) == right
    assert left_out == {"requests that were only sent again": 1}


def test_other_tools_are_another_conversation(tmp_path: Path) -> None:
    folder = capture(
        tmp_path / "cap", exchange(0, HELLO, body={"tools": TOOLS}), exchange(50, grown(HELLO, "Hi", "On"))
    )
    sessions, _ = replayed(folder)
    assert [session.tools for session in sessions] == [tuple(TOOLS), ()]


def test_a_capture_is_not_held_in_memory(tmp_path: Path) -> None:
    """Thirty conversations of a megabyte each: far less than they are is kept of them."""

    def large(number: int) -> list[Any]:
        return said(("system", f"{number} " + "x" * 1_000_000), ("user", "Hello"))

    folder = capture(tmp_path / "cap", *(exchange(number, large(number)) for number in range(30)))
    left_out: Counter[str] = Counter()
    tracemalloc.start()
    try:
        source = RecordedSource(folder, left_out)
        lengths = [len(session.messages(0)[0]["content"]) for session in source.sessions()]
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(lengths) == 30
    assert min(lengths) > 1_000_000
    assert most_bytes < 12_000_000
    assert [session.start_ns // MS for session in source.sessions()] == list(range(30)), "and once more from the start"


def test_what_was_no_served_chat_is_left_out_and_counted(tmp_path: Path) -> None:
    calls = CapturedReply("", "", (ToolCall("c", "go", "{}"),))
    folder = capture(
        tmp_path / "cap", exchange(0, HELLO, reply=calls), exchange(1, HELLO, path="/v1/completions"),
        exchange(2, HELLO, status=400), exchange(3, grown(HELLO, "Hi", "x"), status=0, error="gone", ended_ns=None),
        exchange(4, []), torn=b"{broken\n",
    )  # fmt: skip
    (session,), left_out = replayed(folder)
    assert [turn.recorded for turn in session.turns] == [Answer("", (("go", "{}"),)), None]
    assert left_out == {"exchanges with /v1/completions": 1, "exchanges that the server had refused": 1,
                        "lines of the capture that cannot be read": 1,
                        "requests without any message that asks": 1}  # fmt: skip


def test_captures_that_hold_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no capture"):
        replayed(tmp_path)
    with pytest.raises(ConfigError, match="holds no chat that was served"):
        replayed(capture(tmp_path / "cap"))
    broken = capture(tmp_path / "broken", exchange(0, HELLO), exchange(1, [{"role": "?"}]), torn=b"{\n")
    with pytest.raises(ConfigError, match=r"exchanges\.jsonl:3: messages\[0\]: the role"):
        replayed(broken)
    large = exchange(1, HELLO, body={"tools": [{"type": "web"}]})
    large_text = encode_line(large).replace(b'"web"', b'"web","max":123456789012345678901')
    with pytest.raises(ConfigError, match=r"exchanges\.jsonl:1: tools\[0\] cannot be sent as JSON"):
        replayed(capture(tmp_path / "large", torn=large_text))

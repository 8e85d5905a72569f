"""What is a secret, and what of a reply may be changed because of one: nothing that a verdict could come from."""

from __future__ import annotations

import json

import pytest

from harness.live.credentials import Scrubber, read_credentials
from harness.transport.contract import Reply, Stamps
from harness.transport.errors import EngineProtocolError
from harness.transport.reply import ReplyBuilder
from results.findings import Verdict
from results.oracles.judge import judge_turn
from results.records import ToolCall
from tests.results.builders import EXPECTED, context, turn

KEY = "sk-" + "live-0123456789abcdefghijklmnopqrstuvwxyz"
NOTHING = Stamps(None, None)


def reply(content: str = "", calls: tuple[ToolCall, ...] = (), raw: str = "") -> Reply:
    return Reply(200, content, "", calls, "tool_calls", None, None, NOTHING, NOTHING, None, (), raw)


def test_right_reply_that_holds_an_ordinary_headers_value_stays_right() -> None:
    text = json.dumps(EXPECTED.arguments, ensure_ascii=False)
    words = [str(value) for value in EXPECTED.arguments.values()] + ["normal"]
    asked = read_credentials(None, None, [f"X-Priority: {word}" for word in words])
    call = ToolCall("call_0", EXPECTED.name, text)
    cleaned = Scrubber([*asked.secrets]).reply(reply("a normal answer", (call,), text))
    assert (cleaned.content, cleaned.tool_calls, cleaned.raw) == ("a normal answer", (call,), text)
    assert judge_turn(turn(tool_calls=cleaned.tool_calls), context()).verdict is Verdict.OK


@pytest.mark.parametrize(
    ("header", "secret"),
    [
        ("Authorization: Bearer abcdef-123456", "abcdef-123456"),
        ("proxy-authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="),
        ("Cookie: theme=dark; session=5f1e9ab0c7", "5f1e9ab0c7"),
        ("X-Api-Key: 0a1b2c3d", "0a1b2c3d"),
        ("X-Team-Token: 0a1b2c3d", "0a1b2c3d"),
        ("Client-Secret: 0a1b2c3d", "0a1b2c3d"),
        ("X-Password: 0a1b2c3d", "0a1b2c3d"),
    ],
)
def test_secret_headers_are_known_by_their_names(header: str, secret: str) -> None:
    scrubber = Scrubber(read_credentials(None, None, [header]).secrets)
    assert scrubber.reply(reply(f"it is {secret}.")).content == "it is [secret]."


@pytest.mark.parametrize("header", ["X-Priority: 0a1b2c3d", "X-Trace: 5f1e9ab0c7", "X-Title: load quiet", "X-Key: kv"])
def test_other_headers_hold_no_secret(header: str) -> None:
    assert read_credentials(None, None, [header]).secrets == ()


@pytest.mark.parametrize("secret", ["normal", "131072", "quiet load"])
def test_secret_that_could_be_a_word_is_taken_out_of_what_nobody_judges(secret: str) -> None:
    scrubber = Scrubber(read_credentials(None, None, [f"X-Key: {secret}"]).secrets)
    right = reply(f"a {secret} day", (ToolCall("1", "f", f'{{"a": "{secret}"}}'),), f"a {secret} day")
    assert scrubber.reply(right) == right
    refused = ReplyBuilder(status=401)
    refused.refused(f'{{"error": {{"message": "no key {secret}"}}}}'.encode())
    cleaned = scrubber.reply(refused.reply(end_ns=1))
    assert str(cleaned.error) == "the server answered 401: no key [secret]"
    assert cleaned.raw is not None
    assert secret not in cleaned.raw
    assert scrubber.text(f"a log with {secret}") == "a log with [secret]"


@pytest.mark.parametrize("before", range(440, 510, 3))
@pytest.mark.parametrize("kind", ["refused", "refused in plain words", "no JSON", "no JSON in a stream", "in a stream"])
def test_key_is_taken_out_before_a_long_error_is_cut(kind: str, before: int) -> None:
    words = f"{'x' * before} {KEY} is no key"
    builder = ReplyBuilder(status=200)
    match kind:
        case "refused":
            builder.refused(json.dumps({"error": {"message": words}}).encode())
        case "refused in plain words":
            builder.refused(words.encode())
        case "no JSON":
            builder.body(words.encode(), now_ns=1)
        case "no JSON in a stream":
            builder.feed(f"data: {words}\n\n".encode(), now_ns=1)
        case _:
            builder.feed(f"data: {json.dumps({'error': {'message': words}})}\n\n".encode(), now_ns=1)
    cleaned = Scrubber([KEY]).reply(builder.reply(end_ns=1)).error
    assert isinstance(cleaned, EngineProtocolError)
    assert "x" * 100 in str(cleaned)
    assert KEY[:6] not in f"{cleaned} {cleaned.detail}"
    assert len(str(cleaned)) < 600

"""The chat template: prefixes stay prefixes, history has the tokens that were emitted, bad messages are named."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.engine.tokenizer import Tokenizer
from kernels.engine.tokenizer_chat import ChatTemplate, MessageError, SegmentCache, call_text
from kernels.engine.vocabulary import ASSISTANT, END, NEWLINE, SYSTEM, TOOL, USER, build_vocabulary

TOKENIZER = Tokenizer(build_vocabulary())
Message = dict[str, Any]

CONTENT = st.text(max_size=20)
CALLS = st.builds(
    lambda name, value: [{"id": "call_1", "type": "function", "function": {"name": name, "arguments": value}}],
    st.sampled_from(["get_order", "send.mail"]),
    st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 9)).map(json.dumps),
)
MESSAGES = st.lists(
    st.one_of(
        st.builds(lambda text: {"role": "user", "content": text}, CONTENT),
        st.builds(lambda text: {"role": "tool", "content": text}, CONTENT),
        st.builds(lambda text: {"role": "assistant", "content": text}, CONTENT),
        st.builds(lambda calls: {"role": "assistant", "content": None, "tool_calls": calls}, CALLS),
    ),
    min_size=1,
    max_size=6,
)


def template(byte_count_max: int = 1 << 20) -> ChatTemplate:
    return ChatTemplate(TOKENIZER, SegmentCache(byte_count_max))


@given(MESSAGES, st.booleans())
def test_a_longer_conversation_extends_the_shorter_one(messages: list[Message], has_system: bool) -> None:
    chat = template()
    conversation = [{"role": "system", "content": "be brief"}, *messages] if has_system else messages
    whole = chat.render(conversation).tokens
    assert whole[-1] == ASSISTANT
    for count in range(1, len(conversation)):
        part = chat.render(conversation[:count]).tokens[:-1]
        assert np.array_equal(whole[: len(part)], part)
        assert whole[len(part) - 1] == END


def test_history_extends_what_the_model_emitted() -> None:
    chat = template()
    arguments = '{"order_id": "A-17", "grid": [[1, 2], [3]]}'
    question = {"role": "user", "content": "please ((k1))"}
    prompt = chat.render([question]).tokens
    emitted = [*TOKENIZER.encode(call_text("get_order", arguments)).tolist(), NEWLINE]
    call = {"role": "assistant", "tool_calls": [{"function": {"name": "get_order", "arguments": arguments}}]}
    history = chat.render([question, call]).tokens.tolist()
    assert history == [*prompt.tolist(), *emitted, END, ASSISTANT]


def test_text_replies_end_with_one_newline_whether_or_not_the_client_kept_it() -> None:
    chat = template()
    bare, kept = (chat.render([{"role": "assistant", "content": text}]).tokens for text in ("done", "done\n"))
    assert np.array_equal(bare, kept)
    assert bare.tolist()[-4:] == [*TOKENIZER.encode("done").tolist(), NEWLINE, END, ASSISTANT]


def test_each_role_opens_its_segment() -> None:
    roles = ["user", "assistant", "tool", "function", "developer"]
    chat = template().render([{"role": role, "content": "x"} for role in roles])
    assert [int(segment.tokens[0]) for segment in chat.segments] == [
        SYSTEM,
        USER,
        ASSISTANT,
        TOOL,
        TOOL,
        SYSTEM,
        ASSISTANT,
    ]


def test_tools_do_not_depend_on_the_order_of_their_keys() -> None:
    messages = [{"role": "user", "content": "hi"}]
    first = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    second = {"function": {"parameters": {"properties": {}, "type": "object"}, "name": "f"}, "type": "function"}
    chat = template()
    assert np.array_equal(chat.render(messages, [first]).tokens, chat.render(messages, [second]).tokens)
    text = TOKENIZER.decode(chat.render(messages, [first]).segments[0].tokens)
    assert '"name": "f"' in text


def test_text_parts_are_the_text() -> None:
    chat = template()
    parts = [{"type": "text", "text": "hello "}, {"type": "text", "text": "world"}]
    assert np.array_equal(
        chat.render([{"role": "user", "content": parts}]).tokens,
        chat.render([{"role": "user", "content": "hello world"}]).tokens,
    )


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ({"role": "robot", "content": "x"}, r"messages\[1\]: role 'robot' is unknown; use one of system, "),
        ({"content": "x"}, r"messages\[1\]: role None is unknown"),
        ({"role": "user", "content": [{"type": "image_url"}]}, r"messages\[1\]: content is neither text"),
        ({"role": "user", "content": 5}, r"messages\[1\]: content is neither text"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}, r"messages\[1\]: a tool call lacks"),
        ({"role": "assistant", "tool_calls": ["f"]}, r"messages\[1\]: a tool call lacks"),
    ],
)
def test_a_bad_message_is_named(message: Message, sentence: str) -> None:
    with pytest.raises(MessageError, match=sentence) as caught:
        template().render([{"role": "user", "content": "hi"}, message])
    assert caught.value.index == 1


def test_repeated_messages_come_from_the_cache_until_it_is_full() -> None:
    cache = SegmentCache(byte_count_max=20_000)
    chat = ChatTemplate(TOKENIZER, cache)
    message = {"role": "user", "content": "the same text again"}
    first = chat.render([message]).segments[1]
    assert chat.render([message]).segments[1] is first
    for number in range(50):
        chat.render([{"role": "user", "content": f"another text, number {number} " * 5}])
        assert cache.byte_count <= cache.byte_count_max
    again = chat.render([message]).segments[1]
    assert again is not first
    assert again.digest == first.digest


def test_a_message_larger_than_the_cache_is_rendered_and_not_kept() -> None:
    cache = SegmentCache(byte_count_max=100)
    chat = ChatTemplate(TOKENIZER, cache)
    assert len(chat.render([{"role": "user", "content": "word " * 500}]).tokens) > 500
    assert cache.byte_count == 0

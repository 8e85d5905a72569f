"""Which request goes on from which: histories, forks, retries, and what is another conversation from the start."""

from __future__ import annotations

from typing import Any

import pytest

from harness.capture.conversations import Conversations, Place

A, B, C, D = ({"role": "user", "content": word} for word in "abcd")


def chat(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **fields}


def test_histories_forks_and_retries() -> None:
    conversations = Conversations()
    asked = [chat(A), chat(A, B), chat(A, B), chat(A, B, C), chat(A, B, D), chat(B), chat(A, B, C, D), chat()]
    assert [conversations.add(body) for body in asked] == [
        Place(0, 0, None, 0), Place(0, 1, (0, 0), 1), None, Place(0, 2, (0, 1), 2), Place(1, 0, (0, 1), 2),
        Place(2, 0, None, 0), Place(0, 3, (0, 2), 3), None,
    ]  # fmt: skip
    assert conversations.count == 3
    fork = conversations.add(chat(A, B, D, A))
    assert fork == Place(1, 1, (1, 0), 3)
    assert not fork.is_fork
    again = conversations.add(chat(A, B, D, B))
    assert again == Place(3, 0, (1, 0), 3)
    assert again.is_fork


@pytest.mark.parametrize(
    "front",
    [{"model": "other"}, {"system": "another agent"}, {"tools": [{"type": "function", "function": {"name": "go"}}]}],
)
def test_what_stands_in_front_tells_conversations_apart(front: dict[str, Any]) -> None:
    conversations = Conversations()
    conversations.add(chat(A))
    assert conversations.add(chat(A, B, **front)) == Place(1, 0, None, 0)
    assert conversations.add(chat(A, B, C, **front)) == Place(1, 1, (1, 0), 2)
    assert conversations.add(chat(A, B, tools=[], system=None)) == Place(0, 1, (0, 0), 1)


def test_whatever_json_holds() -> None:
    conversations = Conversations()
    odd = {"content": "\ud83d", "n": 10**30, "deep": [{"x": None}]}
    for body in ({"prompt": "once"}, {"prompt": ["twice"]}, chat(odd), chat(odd, A), {"messages": "x"}, {}):
        conversations.add(body)
    assert conversations.count == 3

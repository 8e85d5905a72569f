"""Requests that can never be served are refused at once, and nobody waits behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kernels.engine.shared import SharedModel
from tests.engine.pair.stage import GATED, Stage
from tests.engine.pair.talks import Writer


@pytest.mark.parametrize(
    ("tokens", "max_new_tokens", "reasons", "sentence"),
    [
        (13_000, 64, ("error", "abort"), "do not fit into the prefill pool of 12288 tokens"),
        (9_000, 100_000, ("abort", "error"), "and a reply of up to 100000 do not fit into the decode pool of 51200"),
        (60_000, 64, ("error", "error"), "do not fit into the"),
    ],
)
def test_what_can_never_fit(
    shared: SharedModel, tokens: int, max_new_tokens: int, reasons: tuple[str, str], sentence: str
) -> None:
    stage = Stage(shared, variant=GATED)
    writer = Writer(shared, 61)
    large, small = writer.talk(tokens), writer.talk(1_000)
    refused = stage.submit(large, large.names[0], max_new_tokens=max_new_tokens)
    served = stage.submit(small, small.names[0])
    stage.settle()
    assert (refused.prefill.reason, refused.decode.reason) == reasons
    for half in (refused.prefill, refused.decode):
        _, usage, t_ns, message = half.end
        assert usage.completion_tokens == 0
        assert half.pieces == []
        assert t_ns == 0, "at once"
        assert sentence in message, "also the half that could have served it"
    assert served.is_right


def test_what_just_fits_is_served(shared: SharedModel) -> None:
    stage = Stage(shared, variant=GATED)
    writer = Writer(shared, 62)
    talk = writer.talk(12_100)
    asked = stage.ask(talk, talk.names[0])
    assert 47 * 256 < asked.decode.usage.prompt_tokens <= 48 * 256, "all pages of the pool"
    assert asked.is_right


@pytest.mark.parametrize(
    "message",
    [
        {"role": "oracle", "content": "hello"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    ],
)
def test_what_cannot_be_read(shared: SharedModel, message: Mapping[str, Any]) -> None:
    stage = Stage(shared, variant=GATED)
    talk = Writer(shared, 63).talk(1_000)
    refused = stage.submit_messages((message, *talk.asking(talk.names[0])), "")
    served = stage.submit(talk, talk.names[0])
    stage.settle()
    assert (refused.prefill.reason, refused.decode.reason) == ("error", "error")
    assert "messages[0]" in refused.decode.end[3]
    assert served.is_right

"""For valid streams the split does not matter; for any bytes at all, nothing breaks."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.transport.contract import Reply, Stamps
from tests.harness.transport.streams import DONE, call, chunk, event, read

TEXT = st.text(max_size=8)
DELTAS = st.one_of(
    TEXT.map(lambda text: chunk({"content": text})),
    TEXT.map(lambda text: chunk({"role": None, "content": None, "reasoning_content": text})),
    st.tuples(st.integers(0, 2), TEXT).map(lambda pair: chunk(call(pair[1], index=pair[0], id=None, name=None))),
    st.integers(0, 2).map(lambda index: chunk(call("", index=index, id=f"id{index}", name=f"tool{index}"))),
    st.sampled_from([": ping\n\n", ":\n\n", "data:\n\n"]),
)
ENDS = st.sampled_from([chunk({}, reason="tool_calls") + event({"choices": [], "usage": {"prompt_tokens": 1}}) + DONE])


@st.composite
def cut_streams(draw: st.DrawFn) -> tuple[bytes, list[int]]:
    text = "".join(draw(st.lists(DELTAS, max_size=8))) + draw(ENDS)
    raw = text.replace("\n", draw(st.sampled_from(["\n", "\r\n", "\r"]))).encode("utf-8", "surrogatepass")
    return raw, draw(st.lists(st.integers(0, len(raw)), max_size=10))


def _timeless(reply: Reply) -> dict[str, Any]:
    fields = dataclasses.asdict(dataclasses.replace(reply, arrived=Stamps(None, None), error=None, text_ns=()))
    return {**fields, "error": str(reply.error)}


@given(cut_streams())
def test_any_split_of_a_valid_stream_gives_the_same_reply(cut: tuple[bytes, list[int]]) -> None:
    raw, cuts = cut
    whole = read(raw)
    assert whole.error is None
    assert _timeless(read(raw, cuts=cuts)) == _timeless(whole)
    assert _timeless(read(raw, cuts=range(len(raw)))) == _timeless(whole)


@given(
    st.lists(st.binary(max_size=30) | DELTAS.map(str.encode) | st.just(b"data: "), max_size=10).map(b"".join), st.data()
)
def test_any_bytes_at_all_are_survived_and_kept(raw: bytes, data: st.DataObject) -> None:
    reply = read(raw, cuts=data.draw(st.lists(st.integers(0, len(raw)), max_size=5)))
    assert _timeless(reply) == _timeless(read(raw))
    assert reply.raw == raw.decode(errors="replace")
    reply.content.encode()

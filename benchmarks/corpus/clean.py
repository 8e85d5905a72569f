# ruff: noqa: RUF001 - the bars of DeepSeek's tokens are what this file is about.
"""Sound replies, in batches: whatever an oracle objects to here is a false alarm.

Owns: which families there are, how replies end (by themselves, at a limit, cut, refused, failed), and how a server may
show a sound reply badly (quirks, a parser that is off). Source: ours; the quirks are those of public servers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.corpus.calls import PoolCall, as_text, own_call, spelled
from benchmarks.corpus.case import Batch, Case, sound_turn, streamed
from benchmarks.corpus.prose import any_paragraph
from benchmarks.corpus.structured import STRUCTURED
from harness.planting.damage.edits import without_call
from results.records import SessionRecord, ToolCall, TurnRecord

BATCH_SESSIONS = 25
BATCH_TURNS = 20
OWN_SHARE = 0.6
"""Of the calls, where BFCL is there at all."""

_SYLLABLES = ("ka", "lo", "mi", "ren", "tu", "vos", "pli", "dar", "shen", "quo", "bex", "nim")


def clean_batches(seed: int, count: int, bfcl: Sequence[PoolCall] = ()) -> Iterator[Batch]:
    """At least `count` sound replies. The same seed gives the same replies."""
    rng = np.random.default_rng(seed)
    made = 0
    while made < count:
        batch = clean_batch(rng, bfcl)
        made += len(batch.cases)
        yield batch


def clean_batch(rng: np.random.Generator, bfcl: Sequence[PoolCall] = ()) -> Batch:
    sessions = new_sessions(rng)
    calls = _pool(rng, sessions, bfcl)
    tools = {call.tool.name: call.tool for _, _, call in calls}
    cases = (_case(rng, session, number, call) for session, number, call in calls if tools[call.tool.name] == call.tool)
    return Batch(tuple(tools.values()), sessions, tuple(cases))


def new_sessions(rng: np.random.Generator) -> tuple[SessionRecord, ...]:
    """Sessions with two secret words each, and prompts in Latin script."""
    return tuple(
        SessionRecord(number, group=0, turn_count=BATCH_TURNS, secrets=(new_secret(rng), new_secret(rng)))
        for number in range(BATCH_SESSIONS)
    )


def new_secret(rng: np.random.Generator) -> str:
    syllables = "".join(str(rng.choice(_SYLLABLES)) for _ in range(4))
    return f"{syllables}-{int(rng.integers(1000, 10_000))}"


def _pool(
    rng: np.random.Generator, sessions: Sequence[SessionRecord], bfcl: Sequence[PoolCall]
) -> list[tuple[SessionRecord, int, PoolCall]]:
    pool = []
    for session in sessions:
        for number in range(session.turn_count):
            is_own = not bfcl or rng.random() < OWN_SHARE
            call = own_call(rng, session.secrets) if is_own else bfcl[int(rng.integers(len(bfcl)))]
            pool.append((session, number, call))
    return pool


def _case(rng: np.random.Generator, session: SessionRecord, number: int, call: PoolCall) -> Case:
    family, content = _content(rng)
    turn = sound_turn(session, number, call.expected, content=content, arguments=spelled(rng, call.expected))
    dice = rng.random()
    if dice < 0.70:
        return Case(turn, None, family)
    if dice < 0.80:
        return _shown_badly(rng, turn)
    return _ended_otherwise(rng, turn, family)


def _content(rng: np.random.Generator) -> tuple[str, str]:
    dice = rng.random()
    if dice < 0.12:
        return "call alone", ""
    if dice < 0.55:
        return "prose", any_paragraph(rng)[1]
    family = str(rng.choice(list(STRUCTURED)))
    text = STRUCTURED[family](rng)
    if dice < 0.80:
        return family, text
    return family, f"{any_paragraph(rng, 2)[1]}\n\n{text}\n\n{any_paragraph(rng, 1)[1]}"


def _shown_badly(rng: np.random.Generator, turn: TurnRecord) -> Case:
    """The engine said the right thing, and the server's parser or its protocol shows it oddly."""
    dice = int(rng.integers(6))
    if dice == 0:
        return Case(replace(turn, finish_reason="stop"), None, "quirk: stop with calls")
    if dice == 1:
        thought = f"<think>\n{turn.content or 'The user wants this now.'}\n</think>\n\n"
        return Case(replace(turn, content=thought), None, "reasoning left in the content")
    if dice == 2:
        thought = f"{turn.content or 'The user wants this now.'}\n</think>\n\n"
        return Case(replace(turn, content=thought), None, "reasoning left in the content")
    if dice == 3:
        token = str(rng.choice(["<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<｜end▁of▁sentence｜>"]))
        return Case(replace(turn, content=f"{turn.content}{token}"), None, "end token not stripped")
    if dice == 4:
        # OpenAI's own ids may be missing, and a second turn may reuse them.
        return Case(replace(turn, tool_calls=(replace(turn.tool_calls[0], id=""),)), None, "quirk: no call id")
    assert turn.expected is not None, "every turn of the corpus has its planted call"
    markup, text = as_text(rng, turn.expected)
    content = f"{turn.content}\n{text}" if rng.random() < 0.5 and turn.content else text
    return Case(streamed(without_call(turn, content)), None, f"call left in the content ({markup})")


def _ended_otherwise(rng: np.random.Generator, turn: TurnRecord, family: str) -> Case:
    """Sound as far as it came."""
    dice = int(rng.integers(6))
    if dice == 0:
        if family == "meant repetition":
            # No prompt of ours asks for a text that repeats itself up to the limit in front of a call; in an argument
            # it may be asked for.
            turn = replace(turn, content="")
        return Case(_cut(rng, turn, "length"), None, f"cut by the limit: {family}")
    if dice == 1:
        return Case(_cut(rng, turn, None), None, f"stream cut: {family}")
    if dice == 2:
        error = str(rng.choice(["HTTP 503: overloaded", "the answer is not JSON: <html>", "connection reset by peer"]))
        return Case(replace(_cut(rng, turn, None), error=error, finished_ns=None), None, "transport fault")
    if dice == 3:
        refusal = without_call(turn, any_paragraph(rng, 1)[1], "content_filter")
        return Case(refusal, None, "refused by a filter")
    if dice == 4:
        return Case(replace(_cut(rng, turn, "abort"), finished_ns=None), None, "aborted")
    silent = replace(_cut(rng, turn, None), error="http://x/v1: nothing more came within 2 s", finished_ns=None)
    return Case(silent, None, "silence")


def _cut(rng: np.random.Generator, turn: TurnRecord, finish_reason: str | None) -> TurnRecord:
    """Everything up to some character: in the text, or in the arguments."""
    (call,) = turn.tool_calls
    at = int(rng.integers(0, len(turn.content) + len(call.arguments) + 1))
    if at <= len(turn.content):
        return without_call(turn, turn.content[:at], finish_reason)
    rest = ToolCall(call.id, call.name, call.arguments[: at - len(turn.content)])
    return replace(turn, tool_calls=(rest,), finish_reason=finish_reason)

"""Request traces as sessions: text for their blocks, and a call to be recalled.

Owns: what a row's request sends, and how its right answer comes into it. Does not own: the text of a block
(`blocks.py`), order and waiting (`trace_chains.py`). Floor 5. Source: facts/formats.md section 1.

A trace says how long prompts are and which blocks they share. The same id is the same text, so requests share in a
cache what they shared when the trace was taken. Behind the blocks stands a question for a call that one of them holds;
rules and tools stand in front. So a prompt is longer than its row says by a few hundred tokens, the same for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from harness.config.schema import WorkloadSpec
from harness.live.workloads.blocks import BlockCall, BlockId, BlockText, asked_call, secret_word
from harness.live.workloads.formats import CALL, FileWorkload
from harness.live.workloads.messages import checked_messages, checked_tools
from harness.live.workloads.scripted import CountTokens, ScriptedSession, ScriptedTurn, tools_tokens, written
from harness.live.workloads.trace_chains import Chain, chains_of
from harness.live.workloads.trace_file import TraceFile
from harness.live.workloads.trace_rows import BAILIAN, RowBody, read_body
from harness.load.workload.calls import CallDrawer, Tool
from harness.load.workload.catalog import BuiltinSource, tool_tokens
from harness.load.workload.grammar import fact_line, reference
from harness.load.workload.plan import ForkPoint, Message
from harness.load.workload.texts import question, result_head, system_head
from harness.load.workload.words import load_vocabulary
from results.oracles.scripts import LATIN

BLOCK_TOKENS: Final = 512
BAILIAN_BLOCK_TOKENS: Final = 16
TOOLS_TOKENS: Final = 600
_CALL_ROOM_TOKENS: Final = 32
"""Beside twice the call's own tokens: a server's tokenizer is not ours, and its markup costs some."""
_OTHER_TOOLS: Final = "rows whose tools are not those of their session's first row"
_PLAIN_QUESTION: Final = "\nSay in one sentence what the parts above have in common.\n"


@dataclass(frozen=True, slots=True)
class Synthesised:
    """Blocks, and what stands behind them. The text is made when it is sent: there may be gigabytes of it.

    before: the exchange that the turn before ended with. blocks: id and tokens of each.
    """

    text: BlockText
    before: tuple[Message, ...]
    blocks: tuple[tuple[BlockId, int], ...]
    tail: str
    tokens: int
    scripts: frozenset[str] = frozenset((LATIN,))
    marks: frozenset[str] = frozenset()

    def messages(self) -> list[Message]:
        lines = "".join(self.text.line(block, tokens).text for block, tokens in self.blocks)
        return [*self.before, {"role": "user", "content": lines + self.tail}]


@dataclass(slots=True)
class _Story:
    """What a session has come to so far. seen: the blocks of its conversation."""

    seen: list[tuple[BlockId, int]] = field(default_factory=list)
    first_block: BlockId | None = None
    exchange: tuple[Message, ...] = ()
    secrets: dict[str, None] = field(default_factory=dict)


class MooncakeSource:
    """Raises, when it is made: ConfigError for any row that is broken."""

    def __init__(
        self, asked: FileWorkload, spec: WorkloadSpec, seed: int, count_tokens: CountTokens, left_out: Counter[str]
    ) -> None:
        self._left_out = left_out
        self._seed = seed
        self._count_tokens = count_tokens
        self._file = TraceFile(asked.path, left_out)
        self._chains = chains_of(self._file.heads, asked.path, left_out)
        is_bailian = BAILIAN in self._file.entry(self._file.heads[0]).fields
        self._block_tokens = asked.block_tokens or (BAILIAN_BLOCK_TOKENS if is_bailian else BLOCK_TOKENS)
        self._begin_ns = min((head.at_ns for head in self._file.heads if head.at_ns is not None), default=0)
        vocabulary = load_vocabulary()
        drawer = None
        self._tools: tuple[Tool, ...] = ()
        self._opening: tuple[Message, ...] = ()
        if asked.plant == CALL:
            tool_set = BuiltinSource(vocabulary, count_tokens).tool_set(TOOLS_TOKENS, np.random.default_rng([seed, 13]))
            drawer = CallDrawer(tool_set, count_tokens, spec.call_tokens_max)
            self._tools = tool_set.tools
            self._opening = ({"role": "system", "content": system_head("trace")},)
        self._opening_tokens = _tokens_of(self._opening, count_tokens)
        self._opening_tokens += sum(tool_tokens(tool, count_tokens) for tool in self._tools)
        self._is_planted = drawer is not None
        self._text = BlockText(seed, self._block_tokens, drawer, vocabulary, count_tokens)

    def __repr__(self) -> str:
        return f"MooncakeSource({self._file}, {len(self._chains)} sessions, blocks of {self._block_tokens})"

    def sessions(self) -> Iterator[ScriptedSession]:
        for number, chain in enumerate(self._chains):
            yield self._session(number, chain)

    def _session(self, number: int, chain: Chain) -> ScriptedSession:
        entries = [self._file.entry(self._file.heads[link.row]) for link in chain]
        bodies = [read_body(entry, self._block_tokens) for entry in entries]
        is_written = bodies[0].messages is not None
        story = _Story(secrets={self._own_word(number): None} if self._is_planted and not is_written else {})
        turns: list[ScriptedTurn] = []
        pauses = [link.pause_ns for link in chain[1:]] + [0]
        for entry, body, link, think_ns in zip(entries, bodies, chain, pauses, strict=True):
            if (body.messages is not None) != is_written:
                raise entry.refuse("its session has rows with messages and rows without")
            waits_for = link.waits_for[1:] if not turns else link.waits_for
            if body.messages is not None:
                prompt = written(checked_messages(entry, body.messages))
                if body.tools != bodies[0].tools:
                    self._left_out[_OTHER_TOOLS] += 1
                turn = ScriptedTurn(prompt, think_ns, None, body.output_tokens or None, body.extra, waits_for, True)
            else:
                turn = self._synthesised(number, link.row, body, story, think_ns, waits_for)
            turns.append(turn)
        first, head = chain[0], self._file.heads[chain[0].row]
        tools = checked_tools(entries[0], bodies[0].tools) if is_written else self._tools
        opening = () if is_written else self._opening
        return ScriptedSession(
            session=number,
            turns=tuple(turns),
            # Its own time, where what it waits for is not sent.
            start_ns=0 if head.at_ns is None else head.at_ns - self._begin_ns,
            opening=opening,
            opening_tokens=tools_tokens(tools) if is_written else self._opening_tokens,
            tools=tools,
            secrets=tuple(story.secrets),
            fork=ForkPoint(*first.waits_for[0], first.pause_ns) if first.waits_for else None,
        )

    def _synthesised(
        self, number: int, row: int, body: RowBody, story: _Story, think_ns: int, waits_for: tuple[tuple[int, int], ...]
    ) -> ScriptedTurn:
        blocks = self._sized(row, body)
        is_whole = body.is_whole
        if is_whole is None:
            # A row that begins as the one before did holds that one's context; any other only goes on from it.
            is_whole = bool(body.blocks) and body.blocks[0] == story.first_block
        story.first_block = body.blocks[0] if body.blocks else None
        if is_whole:
            story.seen, story.exchange = [], ()
        story.seen += blocks
        before = story.exchange
        story.secrets |= dict.fromkeys(
            self._text.secret(block) for block, tokens in blocks if self._text.holds_call(block, tokens)
        )
        rng = np.random.default_rng([self._seed, 14, row])
        asked, tail = self._question(number, row, story, rng) if self._is_planted else (None, _PLAIN_QUESTION)
        texts = _tokens_of(before, self._count_tokens) + self._count_tokens(tail)
        tokens = texts + sum(self._text.line(block, count).tokens for block, count in blocks)
        limit = body.output_tokens
        if asked is not None:
            story.exchange = _exchange(number, row, asked, rng)
            needed = 2 * self._count_tokens(asked.call.body) + _CALL_ROOM_TOKENS
            limit = None if limit is None else max(limit, needed)
        else:
            story.exchange = ({"role": "assistant", "content": "They are parts of one text."},)
        return ScriptedTurn(
            Synthesised(self._text, before, blocks, tail, tokens),
            think_ns=think_ns,
            expected=None if asked is None else asked.call,
            max_tokens=None if limit is None else max(1, limit),
            extra=body.extra,
            waits_for=waits_for,
            restarts=is_whole,
        )

    def _sized(self, row: int, body: RowBody) -> tuple[tuple[BlockId, int], ...]:
        """Each block with its tokens; what the ids do not cover is the row's own."""
        count = -(-body.input_tokens // self._block_tokens)
        ids = [*body.blocks, *(f"row {row} block {at}" for at in range(len(body.blocks), count))]
        rest = body.input_tokens - (count - 1) * self._block_tokens
        return tuple((block, rest if at == count - 1 else self._block_tokens) for at, block in enumerate(ids))

    def _question(self, number: int, row: int, story: _Story, rng: np.random.Generator) -> tuple[BlockCall, str]:
        """What is asked for, and the text behind the blocks: the session's own word, and the question. Where no block
        holds a call, the row has one of its own."""
        word = self._own_word(number)
        tail = f"\n{word.capitalize()} notes. The word {word} belongs to this user only.\n"
        asked = asked_call(self._text, story.seen, rng)
        if asked is None:
            asked = self._text.call(f"row {row}")
            story.secrets[asked.secret] = None
            tail += fact_line(asked.key, asked.call.body)
        return asked, tail + question(rng, reference(asked.key))

    def _own_word(self, number: int) -> str:
        return secret_word(self._seed, "session", number)


def _exchange(number: int, row: int, asked: BlockCall, rng: np.random.Generator) -> tuple[Message, ...]:
    """The call as it must come, and what the tool answers."""
    call_id = f"call_{number}_{row}"
    function = {"name": asked.call.name, "arguments": asked.call.arguments_text}
    return (
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call_id, "content": result_head(rng)},
    )


def _tokens_of(messages: Sequence[Message], count_tokens: CountTokens) -> int:
    texts = [message.get("content") or message["tool_calls"][0]["function"]["arguments"] for message in messages]
    return sum(count_tokens(str(text)) for text in texts)

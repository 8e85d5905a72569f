"""Facts and references in a run of tokens.

Owns: the automaton, and the carry that lets it stop and go on anywhere. Does not own: hashes of positions
(`contexts.py`). Floor 2c. Source: ours.

    [[key]] body \\n            a fact: `body` can be recalled under `key`
    [[key|anchor]] body \\n     an anchored fact: its hashes also depend on the first token recalled under `anchor`
    ((key))  ((key|anchor))    a reference: the last one in the prompt is what the reply recalls

A newline or `<|end|>` ends a body and belongs to it: recalling it ends the reply. What stands in a body is body,
whatever it looks like. Outside bodies an opening mark begins anew; a line's end, the other kind's closing mark, or a
key of more than KEY_TOKENS_MAX tokens make it plain text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from kernels.engine.recall.hashing import key_state, start_state
from kernels.engine.tokenizer import TokenIds
from kernels.engine.vocabulary import (
    BAR,
    END,
    FACT_BODY,
    FACT_CLOSE,
    FACT_OPEN,
    NEWLINE,
    NOTHING,
    REFERENCE_CLOSE,
    REFERENCE_OPEN,
    VOCABULARY_SIZE,
)

KEY_TOKENS_MAX = 32

_CLOSED_BY = {FACT_OPEN: (FACT_BODY, FACT_CLOSE), REFERENCE_OPEN: (REFERENCE_CLOSE,)}
_LINE_ENDS = (NEWLINE, END)


@dataclass(frozen=True, slots=True)
class Name:
    """What stands between the marks. key, anchor: `key_state` of their tokens."""

    key: int
    anchor: int | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A definition in a prompt.

    begin, end: tokens [begin, end) are the body and the token that ends it, counted from the prompt's start.
    recalled: for an anchored fact, the first token that stands under its anchor earlier in the prompt, which is
        what a clean model recalls; None for a plain fact and where nothing stands there.
    """

    name: Name
    begin: int
    end: int
    recalled: int | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """position: of the token behind the closing mark, counted from the prompt's start."""

    name: Name
    position: int


@dataclass(frozen=True, slots=True)
class OpenMark:
    """An opening mark that was not closed yet, and the tokens since."""

    mark: int
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OpenFact:
    """A fact whose body has begun. state: the rolling state in front of the next token of the body."""

    name: Name
    begin: int
    recalled: int | None
    state: int


@dataclass(frozen=True, slots=True)
class Carry:
    """Everything that later tokens need to know of the earlier ones.

    position: tokens seen. recent: the last four. first_tokens: key -> first token of the latest plain fact.
    """

    position: int = 0
    recent: tuple[int, int, int, int] = (NOTHING,) * 4
    pending: OpenMark | OpenFact | None = None
    first_tokens: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    reference: Reference | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """The part of a fact's body that lies in one run. begin, end: in the run. fact: what is known of it."""

    begin: int
    end: int
    fact: OpenFact
    is_closed: bool


def marks() -> NDArray[np.bool_]:
    """[vocabulary] true for the tokens at which the automaton may change its state."""
    table = np.zeros(VOCABULARY_SIZE, dtype=np.bool_)
    table[[*_CLOSED_BY, FACT_BODY, FACT_CLOSE, REFERENCE_CLOSE, *_LINE_ENDS]] = True
    return table


class Automaton:
    """Walks over the marks of one run of tokens and collects bodies and references."""

    def __init__(self, tokens: TokenIds, carry: Carry) -> None:
        self.bodies: list[Body] = []
        self.reference = carry.reference
        self.pending = carry.pending
        self._tokens = tokens
        self._base = carry.position
        self._carried = carry.first_tokens
        self._added: dict[int, int] = {}
        self._begin = 0

    def walk(self, mark_positions: NDArray[np.intp]) -> None:
        for position in mark_positions.tolist():
            self._meet(int(self._tokens[position]), position)
        if isinstance(self.pending, OpenFact):
            self._add_body(self.pending, len(self._tokens), is_closed=False)
        elif isinstance(self.pending, OpenMark):
            self.pending = OpenMark(self.pending.mark, self._key_tokens(self.pending, len(self._tokens)))

    @property
    def first_tokens(self) -> Mapping[int, int]:
        """The carry's, and those of this run."""
        return MappingProxyType({**self._carried, **self._added}) if self._added else self._carried

    def _first_token(self, key: int) -> int | None:
        return self._added.get(key, self._carried.get(key))

    def _meet(self, token: int, position: int) -> None:
        pending = self.pending
        if isinstance(pending, OpenFact):
            if token in _LINE_ENDS:
                self._add_body(pending, position + 1, is_closed=True)
                self.pending = None
        elif token in _CLOSED_BY:
            self.pending = OpenMark(token, ())
            self._begin = position + 1
        elif isinstance(pending, OpenMark):
            self.pending = self._close(pending, token, position)

    def _close(self, pending: OpenMark, token: int, position: int) -> OpenFact | None:
        key = self._key_tokens(pending, position)
        if token not in _CLOSED_BY[pending.mark] or len(key) > KEY_TOKENS_MAX:
            return None
        self._begin = position + 1
        name = _name(key)
        if pending.mark == REFERENCE_OPEN:
            self.reference = Reference(name, self._base + position + 1)
            return None
        recalled = None if name.anchor is None else self._first_token(name.anchor)
        return OpenFact(name, self._base + position + 1, recalled, start_of(name, recalled))

    def _key_tokens(self, pending: OpenMark, end: int) -> tuple[int, ...]:
        """The tokens since the mark; one more than a key may have is enough to know that it is none."""
        room = KEY_TOKENS_MAX + 1 - len(pending.tokens)
        return pending.tokens + tuple(self._tokens[self._begin : min(end, self._begin + room)].tolist())

    def _add_body(self, fact: OpenFact, end: int, *, is_closed: bool) -> None:
        self.bodies.append(Body(self._begin, end, fact, is_closed))
        is_first = fact.begin == self._base + self._begin
        if is_first and fact.name.anchor is None and end > self._begin:
            self._added[fact.name.key] = int(self._tokens[self._begin])


def start_of(name: Name, recalled: int | None) -> int:
    """The state in front of the first token of what stands under `name`.

    Args: recalled: the first token recalled under the anchor, where there is one; None where nothing stands there.
    """
    if name.anchor is None:
        return start_state(name.key, None)
    return start_state(name.key, NOTHING if recalled is None else recalled)


def _name(tokens: tuple[int, ...]) -> Name:
    if BAR not in tokens:
        return Name(key_state(tokens))
    bar = tokens.index(BAR)
    return Name(key_state(tokens[:bar]), key_state(tokens[bar + 1 :]))

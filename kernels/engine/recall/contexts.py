"""Context hashes: what each token's row is keyed by.

Owns: one hash per token, and the carry from one run of tokens to the next. Does not own: the grammar (`grammar.py`),
the arithmetic (`hashing.py`), rows (`content.py`). Floor 2c. Source: ours.

Inside a fact's body the hash is the fact's state in front of the token; elsewhere it is made of the four tokens in
front of it. So a token's hash never depends on the token itself nor on later ones: the model predicts the token from
it, and a prefix keeps its hashes when the conversation grows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.engine.recall.grammar import Automaton, Carry, Fact, OpenFact, marks, start_of
from kernels.engine.recall.hashing import RunningStates, Words, fact_contexts, text_contexts, token_words, unroll
from kernels.engine.tokenizer import TokenIds


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """What one run of tokens means.

    contexts: [n] uint64; an anchored fact's are those that follow from the clean recall of its anchor.
    facts: those whose last token lies in this run; a fact that is still open is in the carry.
    carry: what the next run starts from.
    """

    contexts: Words
    facts: tuple[Fact, ...]
    carry: Carry


class Scanner:
    """Scans runs of tokens. Holds only a constant table."""

    def __init__(self) -> None:
        self._marks = marks()

    def scan(self, tokens: TokenIds, carry: Carry) -> Scan:
        """Hash a run of tokens that follows what `carry` stands for.

        Cutting a text into runs anywhere gives the same hashes, facts and final carry as scanning it whole.

        Args:
            tokens: [n] int32.
        """
        words = token_words(np.concatenate([np.array(carry.recent, dtype=np.int32), tokens]))
        contexts = text_contexts(words)
        automaton = Automaton(tokens, carry)
        automaton.walk(np.flatnonzero(self._marks[tokens]))
        facts: list[Fact] = []
        pending = automaton.pending
        running = RunningStates(words[4:]) if automaton.bodies else None
        for body in automaton.bodies:
            assert running is not None
            states = running.states(body.fact.state, body.begin, body.end)
            contexts[body.begin : body.end] = fact_contexts(states[:-1])
            if body.is_closed:
                end = carry.position + body.end
                facts.append(Fact(body.fact.name, body.fact.begin, end, body.fact.recalled))
            else:
                pending = OpenFact(body.fact.name, body.fact.begin, body.fact.recalled, int(states[-1]))
        contexts.setflags(write=False)
        after = Carry(
            position=carry.position + len(tokens),
            recent=_last_four(carry, tokens),
            pending=pending,
            first_tokens=automaton.first_tokens,
            reference=automaton.reference,
        )
        return Scan(contexts, tuple(facts), after)


def anchored_contexts(fact: Fact, body: TokenIds, recalled: int) -> Words:
    """The hashes of an anchored fact's tokens if `recalled` is what was recalled under its anchor.

    Args: body: [end - begin] int32, the fact's tokens. Returns: [end - begin] uint64.
    """
    assert fact.name.anchor is not None
    assert len(body) == fact.end - fact.begin, (len(body), fact)
    return fact_contexts(unroll(start_of(fact.name, recalled), body)[:-1])


def _last_four(carry: Carry, tokens: TokenIds) -> tuple[int, int, int, int]:
    first, second, third, fourth = (*carry.recent, *tokens[-4:].tolist())[-4:]
    return first, second, third, fourth

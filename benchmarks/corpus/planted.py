"""Corrupted replies, in batches: each is a sound one with one known damage.

Owns: how many of each class, and which batch they stand in. Does not own: the damages (`damage_text`, `damage_calls`,
`damage_ends`). Source: the symptom classes of public reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import numpy as np

from benchmarks.corpus import damage_calls, damage_ends, damage_text
from benchmarks.corpus.calls import OWN_TOOLS, own_call
from benchmarks.corpus.case import Batch, Case, sound_turn, streamed
from benchmarks.corpus.clean import BATCH_TURNS, new_sessions
from benchmarks.corpus.damage import Damaged, Scene
from benchmarks.corpus.prose import any_paragraph
from results.findings import Kind

Damage = Callable[[np.random.Generator, Scene], Damaged]

DAMAGES: Mapping[Kind, Damage] = MappingProxyType(
    {
        Kind.CROSS_TALK: damage_text.cross_talk,
        Kind.EMPTY_REPLY: damage_ends.empty,
        Kind.REPETITION: damage_ends.repetition,
        Kind.TOKEN_SALAD: damage_text.salad,
        Kind.CONTROL_TOKENS: damage_text.control_token,
        Kind.WRONG_FIRST_TOKEN: damage_calls.first_token,
        Kind.MISPLACED_MARKUP: damage_text.markup,
        Kind.LOST_CALL: damage_calls.lost_call,
        Kind.WRONG_CALL: damage_calls.wrong_call,
        Kind.DAMAGED_ARGUMENTS: damage_calls.arguments,
        Kind.HANG: damage_ends.hang,
        Kind.TRANSPORT_ERROR: damage_ends.transport_error,
        Kind.CUT_STREAM: damage_ends.cut_stream,
        Kind.REFUSED: damage_ends.refused,
        Kind.TRUNCATED: damage_ends.truncated,
        Kind.UNPARSED_CALL: damage_ends.unparsed_call,
    }
)


def planted_batches(seed: int, per_class: int) -> Iterator[Batch]:
    """`per_class` damaged replies of every class, in any order. The same seed gives the same replies."""
    rng = np.random.default_rng(seed)
    kinds = [kind for kind in DAMAGES for _ in range(per_class)]
    order = [kinds[int(index)] for index in rng.permutation(len(kinds))]
    while order:
        yield _batch(rng, order)


def _batch(rng: np.random.Generator, order: list[Kind]) -> Batch:
    sessions = new_sessions(rng)
    planted = {
        (session.session, number): own_call(rng, session.secrets)
        for session in sessions
        for number in range(BATCH_TURNS)
    }
    cases = []
    for (session, number), call in planted.items():
        if not order:
            break
        kind = order.pop()
        owner = sessions[session]
        content = any_paragraph(rng, 3)[1] if rng.random() < 0.5 else ""
        others = [other for (place, _), other in planted.items() if place != session]
        other = others[int(rng.integers(len(others)))].expected
        foreign = sessions[(session + 1 + int(rng.integers(len(sessions) - 1))) % len(sessions)].secrets
        scene = Scene(sound_turn(owner, number, call.expected, content=content), other, foreign)
        damaged = DAMAGES[kind](rng, scene)
        cases.append(Case(streamed(damaged.turn), kind, str(kind), damaged.strength))
    return Batch(OWN_TOOLS, sessions, tuple(cases))

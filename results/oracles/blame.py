"""Parser or engine? Answered for a corrupted turn where its raw text allows it.

Owns: the argument. A parser cuts, drops and misplaces text; it does not invent any. So a word that nobody asked for
came from the engine, the planted call whole in another channel from the parser, and what our client lost from us.
Does not own: whether the turn is corrupted. Floor 3. Source: ours.
"""

from __future__ import annotations

import re

from results.findings import Blame, Kind, Side
from results.oracles.raw_reply import RawReply, is_faithful, read_raw_reply
from results.oracles.reply import Reply
from results.oracles.text_call import planted_in

TOKENS_UNSEEN_MIN = 8
"""Fewer tokens than this may be the tags and the end mark that every server strips."""

_WORD = re.compile(r"[^\W_]{3,}")
_INVENTED_KINDS = (Kind.CROSS_TALK, Kind.TOKEN_SALAD, Kind.CONTROL_TOKENS, Kind.REPETITION, Kind.WRONG_FIRST_TOKEN)


def blame_of(reply: Reply, kind: Kind) -> Blame:
    """Who made a corrupted reply wrong."""
    turn = reply.turn
    if turn.raw is None:
        return Blame(Side.UNDECIDED, "no raw text is stored")
    raw = read_raw_reply(turn.raw)
    if raw is None:
        return Blame(Side.UNDECIDED, "the raw text holds no answer")
    if not is_faithful(turn, raw):
        return Blame(Side.CLIENT, "our client put together something else than what arrived")
    if kind in _INVENTED_KINDS:
        return Blame(Side.ENGINE, "a parser cuts and misplaces text, and invents none")
    place = _planted_channel(reply, raw)
    if place is not None:
        return Blame(Side.PARSER, f"the planted call stands whole in the {place}")
    unseen = _tokens_unseen(reply, raw)
    if unseen is not None:
        return Blame(Side.PARSER, unseen)
    if reply.turn.expected is None:
        return Blame(Side.UNDECIDED, "nobody knows the right answer, so what was lost or invented cannot be told")
    invented = _invented_word(reply, raw)
    if invented is not None:
        return Blame(Side.ENGINE, f"'{invented}' is in no part of the planted call, and a parser invents no words")
    if kind is Kind.EMPTY_REPLY and turn.completion_tokens is not None:
        return Blame(Side.ENGINE, f"the server itself counts no more than {turn.completion_tokens} tokens")
    return Blame(Side.UNDECIDED, "what came is a part of the planted call: the engine or the parser lost the rest")


def _planted_channel(reply: Reply, raw: RawReply) -> str | None:
    expected = reply.turn.expected
    if expected is None:
        return None
    if planted_in(raw.content, expected) is not None:
        return "content"
    return "reasoning" if planted_in(raw.reasoning, expected) is not None else None


def _tokens_unseen(reply: Reply, raw: RawReply) -> str | None:
    """No token is shorter than a character: more tokens than characters means that text was thrown away."""
    tokens, characters = reply.turn.completion_tokens, len("".join(raw.text.split()))
    if tokens is None or tokens < characters + TOKENS_UNSEEN_MIN:
        return None
    return f"the server counts {tokens} tokens and sent {characters} characters: the rest was thrown away behind it"


def _invented_word(reply: Reply, raw: RawReply) -> str | None:
    expected = reply.expected_text
    words = (match[0] for match in _WORD.finditer(f"{raw.content}\n{raw.calls}"))
    return next((word for word in words if word not in expected), None)

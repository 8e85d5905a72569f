"""The tool-call parser: a reference that sees the whole text, and every way of cutting it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.pair.call_parser import CallArguments, CallName, CallParser, ContentPiece, Piece

NAMES = ("order_find", "order_find_all", "mail", "größe")
PARTS = st.sampled_from([*NAMES, "order", "_", "m", " ", "  ", '{"a": 1}', "x", "\n", "find", "語", ""])
CUTS = st.lists(PARTS, max_size=8)


def whole(text: str, names: Sequence[str]) -> tuple[str | None, str, str]:
    """(name, arguments, content) as the grammar says it: a name of the request, one space, the rest."""
    head, space, rest = text.partition(" ")
    return (head, rest, "") if space and head in names else (None, "", text)


def joined(pieces: Sequence[Piece]) -> tuple[str | None, str, str]:
    names = [piece.name for piece in pieces if isinstance(piece, CallName)]
    assert len(names) <= 1
    if names:
        assert isinstance(pieces[0], CallName), "the name goes first"
    return (
        names[0] if names else None,
        "".join(piece.text for piece in pieces if isinstance(piece, CallArguments)),
        "".join(piece.text for piece in pieces if isinstance(piece, ContentPiece)),
    )


@given(CUTS, st.sets(st.sampled_from(NAMES)))
def test_any_cut_of_any_text_gives_what_the_whole_text_means(cuts: list[str], names: set[str]) -> None:
    parser = CallParser(names)
    pieces = [piece for cut in cuts for piece in parser.feed(cut)] + parser.close()
    assert joined(pieces) == whole("".join(cuts), sorted(names))
    assert all(not isinstance(piece, ContentPiece | CallArguments) or piece.text for piece in pieces)


@given(CUTS)
def test_content_is_not_kept_back_once_it_cannot_be_a_name(cuts: list[str]) -> None:
    parser = CallParser(NAMES)
    fed, out = "", ""
    for cut in cuts:
        fed += cut
        out += "".join(piece.text for piece in parser.feed(cut) if isinstance(piece, ContentPiece))
        head, space, _ = fed.partition(" ")
        could_be = head in NAMES if space else any(name.startswith(head) for name in NAMES)
        assert out == ("" if could_be else fed)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("mail {}", [CallName("mail"), CallArguments("{}")]),
        ("mail ", [CallName("mail")]),
        ("mail", [ContentPiece("mail")]),
        ("mailx {}", [ContentPiece("mailx {}")]),
        (" mail {}", [ContentPiece(" mail {}")]),
        ("order_find_all  x", [CallName("order_find_all"), CallArguments(" x")]),
        ("", []),
    ],
)
def test_examples(text: str, pieces: list[Piece]) -> None:
    parser = CallParser(NAMES)
    assert parser.feed(text) + parser.close() == pieces
    assert parser.is_call == any(isinstance(piece, CallName) for piece in pieces)


def test_without_tools_everything_is_content_at_once() -> None:
    parser = CallParser(())
    assert parser.feed("m") == [ContentPiece("m")]

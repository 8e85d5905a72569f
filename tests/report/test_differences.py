"""Differences put together again give both texts, and hide nothing in chance matches. Floor: tests."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from results.report.differences import difference
from results.report.parts import Piece

_TEXT = st.text(alphabet='ab {}":,\n\u00e9\u05e9', max_size=60)


@given(_TEXT, _TEXT)
def test_pieces_are_both_texts(expected: str, received: str) -> None:
    pieces = difference(expected, received)
    assert "".join(piece.text for piece in pieces if piece.mark != "new") == expected
    assert "".join(piece.text for piece in pieces if piece.mark != "gone") == received
    assert all(one.mark != other.mark for one, other in pairwise(pieces))


def test_one_wrong_character_is_one_piece() -> None:
    assert difference('book {"guests": 4, "at": 7}', 'book {"guests": 44, "at": 7}') == (
        Piece("same", 'book {"guests": 4'),
        Piece("new", "4"),
        Piece("same", ', "at": 7}'),
    )
    assert [piece.mark for piece in difference("Lindenhof", "Lindenhot")] == ["same", "gone", "new"]


def test_salad_is_one_change_and_not_a_mosaic() -> None:
    expected = 'set_climate {"zone": "old verse", "celsius": 19.5}'
    received = 'graph, "the vehicles {combines" of: differ, 7} winner'
    assert [piece.mark for piece in difference(expected, received)] == ["gone", "new"]


def test_equal_and_empty_texts() -> None:
    assert difference("same", "same") == (Piece("same", "same"),)
    assert difference("", "") == ()
    assert difference("gone", "") == (Piece("gone", "gone"),)

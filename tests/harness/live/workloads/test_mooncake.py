"""What a trace's requests send: shared ids are shared bytes, nothing else is, and one call in them is the answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.live.workloads.blocks import block_name, secret_word
from harness.live.workloads.mooncake import BLOCK_TOKENS
from harness.live.workloads.scripted import ScriptedSession
from harness.load.workload.mint import CONSONANTS, SOUNDS
from kernels.engine.recall.conversation import ScanCache
from kernels.engine.tokenizer import Tokenizer
from kernels.engine.tokenizer_chat import ChatTemplate, SegmentCache
from kernels.engine.vocabulary import build_vocabulary
from kernels.errors import ConfigError
from tests.harness.live.workloads.small_files import SEED, count_tokens, lines, rounds, row, text_of

SHARED = [3, 1, 4]


def sessions_of(tmp_path: Path, rows: list[dict[str, Any]], **changes: Any) -> tuple[ScriptedSession, ...]:
    path = lines(tmp_path / "trace.jsonl", rows)
    return rounds(f"mooncake:{path}", changes.pop("sessions", len(rows)), **changes).build(0).sessions


def prompts(sessions: tuple[ScriptedSession, ...]) -> list[str]:
    return [str(session.messages(len(session.turns) - 1)[-1]["content"]) for session in sessions]


def common_prefix(one: str, other: str) -> str:
    at = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))
    return one[:at]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 1 << 70))
def test_names_of_blocks_can_be_read_back(number: int) -> None:
    """So no two numbers have one name, whatever they are."""
    name, read = block_name(number), 0
    for at in range(len(name) - 2, -1, -2):
        read = (
            read * len(CONSONANTS) * len(SOUNDS) + CONSONANTS.index(name[at]) * len(SOUNDS) + SOUNDS.index(name[at + 1])
        )
    assert read == number


def test_same_ids_are_the_same_bytes_and_two_ids_with_one_parent_are_not(tmp_path: Path) -> None:
    rows = [row([*SHARED, 10]), row([*SHARED, 11, 12]), row([*SHARED, 11, 13]), row([7, 1, 4])]
    one, two, three, other = prompts(sessions_of(tmp_path, rows))
    # What two requests share is what they share in the trace, to the word in which the next id's name begins.
    for a, b, ids in ((one, two, 3), (two, three, 4), (one, other, 0)):
        shared = count_tokens(common_prefix(a, b))
        assert ids * BLOCK_TOKENS - 12 * ids <= shared <= ids * BLOCK_TOKENS + 12
    assert two.split()[: BLOCK_TOKENS // 2] == one.split()[: BLOCK_TOKENS // 2]


def test_even_the_shortest_last_block_tells_its_id(tmp_path: Path) -> None:
    rows = [{**row([5, at]), "input_length": BLOCK_TOKENS + 1} for at in range(40)]
    bodies = [text.partition("\n")[0] + text[-400:] for text in prompts(sessions_of(tmp_path, rows))]
    blocks = [re.findall(r"Part (\w+)\.", text)[-1] for text in prompts(sessions_of(tmp_path, rows))]
    assert len(set(blocks)) == len(set(bodies)) == 40


def test_prompts_are_as_long_as_the_trace_says_and_a_little_for_the_question(tmp_path: Path) -> None:
    template = ChatTemplate(Tokenizer(build_vocabulary()), SegmentCache(1 << 26))
    rows = [
        row(list(range(at, at + count)), short=short) for at, count, short in ((0, 1, 300), (50, 9, 1), (90, 30, 77))
    ]
    for session, asked in zip(sessions_of(tmp_path, rows), rows, strict=True):
        read = len(template.render(session.messages(0), session.tools).tokens)
        assert abs(read - session.prompt_tokens(0)) <= 60
        assert asked["input_length"] - 80 <= read - session.opening_tokens <= asked["input_length"] + 120


def test_the_engine_recalls_the_expected_call(tmp_path: Path) -> None:
    """The reference names a fact of the prompt, and its body is the call: the engine's own reading of it."""
    tokenizer = Tokenizer(build_vocabulary())
    template, scans = ChatTemplate(tokenizer, SegmentCache(1 << 26)), ScanCache(1 << 26)
    rows = [row([*SHARED, *range(at, at + 8)], session_id="a" if at < 60 else None) for at in (20, 40, 60, 80)]
    rows.append({**row([99], short=480)})
    far = 0
    for session in sessions_of(tmp_path, rows, sessions=4):
        schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in session.tools}
        for index, turn in enumerate(session.turns):
            scanned = scans.scan_prompt(template.render(session.messages(index), session.tools))
            assert turn.expected is not None
            assert scanned.reference is not None
            facts = [fact for fact in scanned.facts if fact.name == scanned.reference.name]
            bodies = {tuple(scanned.tokens[fact.begin : fact.end].tolist()) for fact in facts}
            assert bodies == {tuple(tokenizer.encode(turn.expected.body + "\n").tolist())}
            assert jsonschema_rs.is_valid(schemas[turn.expected.name], dict(turn.expected.arguments))
            far += len(scanned.tokens) - facts[0].begin > BLOCK_TOKENS
    # Most of them stand where a cache would have them, not beside the question.
    assert far >= 3


def test_secrets_are_in_the_prompts_of_their_owners_only(tmp_path: Path) -> None:
    rows = [row([*SHARED, *range(at, at + 6)]) for at in (20, 40, 60)]
    sessions = sessions_of(tmp_path, rows)
    texts = [text_of(session.messages(0)) for session in sessions]
    for session, text in zip(sessions, texts, strict=True):
        assert all(word in text.lower() for word in session.secrets)
        for other, elsewhere in zip(sessions, texts, strict=True):
            assert all(word not in elsewhere.lower() for word in set(session.secrets) - set(other.secrets))
    shared = set.intersection(*(set(session.secrets) for session in sessions))
    assert all(set(session.secrets) > shared for session in sessions)


def test_a_session_grows_or_holds_its_whole_context(tmp_path: Path) -> None:
    grows = [row([1, 2], session_id="grows"), row([8], session_id="grows")]
    whole = [row([1, 2], session_id="whole"), row([1, 2, 8], session_id="whole")]
    added, restarted = sessions_of(tmp_path, grows + whole, sessions=2)
    first, second = added.messages(0), added.messages(1)
    assert second[: len(first)] == first
    assert [message["role"] for message in second[len(first) :]] == ["assistant", "tool", "user"]
    call = second[len(first)]["tool_calls"][0]["function"]
    assert added.turns[0].expected is not None
    assert (call["name"], call["arguments"]) == (added.turns[0].expected.name, added.turns[0].expected.arguments_text)
    assert added.prompt_tokens(1) > added.prompt_tokens(0) + 300
    assert len(restarted.messages(1)) == len(restarted.messages(0)) == 2
    assert restarted.messages(1)[1]["content"][:2_000] == restarted.messages(0)[1]["content"][:2_000]


def test_output_length_bounds_a_reply_that_has_room_for_its_call(tmp_path: Path) -> None:
    short, long, free = sessions_of(
        tmp_path,
        [{**row([1]), "output_length": 3}, {**row([2]), "output_length": 900}, {**row([3]), "output_length": None}],
    )
    assert (long.turns[0].max_tokens, free.turns[0].max_tokens) == (900, None)
    expected, limit = short.turns[0].expected, short.turns[0].max_tokens
    assert expected is not None
    assert limit is not None
    assert count_tokens(expected.body) < limit < 3 * count_tokens(expected.body) + 40


def test_bailian_has_small_blocks_and_plants_between_them(tmp_path: Path) -> None:
    ids = list(range(500))
    rows = [{"chat_id": 1, "timestamp": 0.5, "input_length": 16 * 500, "output_length": 5, "hash_ids": ids},
            {"chat_id": 2, "parent_chat_id": 1, "timestamp": 2.0, "input_length": 16 * 503, "output_length": 5,
             "hash_ids": [*ids, 501, 502, 503]}]  # fmt: skip
    (session,) = sessions_of(tmp_path, rows, sessions=1)
    assert [turn.think_ns for turn in session.turns] == [1_500_000_000, 0]
    first, second = (session.messages(turn)[1]["content"] for turn in (0, 1))
    assert len(session.messages(1)) == 2
    assert count_tokens(common_prefix(first, second)) > 0.97 * 16 * 500
    assert abs(count_tokens(first) - 16 * 500) < 0.06 * 16 * 500
    assert 3 < first.count("[[") < 20


def test_rows_with_messages_are_sent_as_they_are(tmp_path: Path) -> None:
    history = [{"role": "user", "content": "Hello"}]
    later = [*history, {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "How?"}]
    tool = {"type": "function", "function": {"name": "look"}}
    rows: list[dict[str, Any]] = [
        {"session_id": "s", "messages": history, "tools": [tool], "output_length": 50, "timestamp": 0},
        {"session_id": "s", "messages": later, "output_length": 30, "timestamp": 2000, "extra": {"priority": 9}},
    ]
    (session,) = sessions_of(tmp_path, rows, sessions=1)
    assert [session.messages(turn) for turn in (0, 1)] == [history, later]
    assert (session.tools, session.secrets, session.turns[1].extra) == ((tool,), (), {"priority": 9})
    assert all(turn.expected is None for turn in session.turns)
    for large in ({"extra": {"priority": 2**64}}, {"tools": [{**tool, "n": -(2**64)}]}):
        with pytest.raises(ConfigError, match=r":1: .* cannot be sent as JSON: Integer exceeds 64-bit range"):
            sessions_of(tmp_path, [rows[0] | large], sessions=1)


def test_nothing_is_planted_where_nothing_shall_be(tmp_path: Path) -> None:
    (session,) = sessions_of(tmp_path, [row([1, 2, 3])], plant="none")
    assert (session.tools, session.secrets, session.turns[0].expected) == ((), (), None)
    assert "[[" not in text_of(session.messages(0))
    assert "((" not in text_of(session.messages(0))


def test_the_same_seed_makes_the_same_bytes(tmp_path: Path) -> None:
    rows = [row([*SHARED, at, at + 1]) for at in (20, 40)]
    first, again, other = (prompts(sessions_of(tmp_path, rows, seed=seed)) for seed in (SEED, SEED, SEED + 1))
    assert first == again != other


def test_ids_may_be_text_and_blocks_may_be_missing(tmp_path: Path) -> None:
    rows = [row(["a3f0", "91bc"]), row(["a3f0", "91bd"]), {"timestamp": 0, "input_length": 1_500, "output_length": 1},
            {**row([1]), "input_length": 1_500}]  # fmt: skip
    one, two, bare, short = prompts(sessions_of(tmp_path, rows))
    assert count_tokens(common_prefix(one, two)) > BLOCK_TOKENS - 12
    assert all(1_400 < count_tokens(text) < 1_700 for text in (bare, short))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([row([1, 2]), {"timestamp": 0, "input_length": 600, "hash_ids": [1, 2, 3]}],
         r"trace\.jsonl:2: 3 hash ids for 600 tokens cannot be blocks of 512; give --block-tokens, here at most 299"),
        ([{**row([1]), "hash_ids": [1.5]}], "field 'hash_ids' holds a number"),
        ([{"timestamp": 1}], "field 'input_length' is missing"),
        ([{**row([1]), "output_length": -4}], "field 'output_length' is -4"),
        ([{"messages": [{"role": "robot"}]}], r"messages\[0\]: the role must be one of"),
        ([row([1], session_id="s"), {"messages": [{"role": "user"}], "session_id": "s"}], "with messages and rows"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_sent(tmp_path: Path, rows: list[dict[str, Any]], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        sessions_of(tmp_path, rows)


def test_secret_words_are_hardly_ever_the_same() -> None:
    assert len({secret_word(SEED, at) for at in range(20_000)}) == 20_000

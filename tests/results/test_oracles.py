"""Every oracle has a planted case that it finds and a sound one that it passes. Floor: tests."""

from __future__ import annotations

import pytest

from kernels.errors import ConfigError
from results.findings import CORRUPTION_KINDS, Finding, Kind, Origin, Severity, Verdict
from results.oracles import ORACLES, cross_talk, cut_stream, empty_reply, exact_call, repetition, salad, schema
from results.oracles.contract import Oracle
from results.oracles.exact_call import first_difference
from results.oracles.judge import judge_turn, origin_of
from results.oracles.reply import read_reply
from results.oracles.same_json import is_same_json
from results.records import ExpectedCall, SessionRecord, ToolSchema, TurnRecord
from tests.results.builders import EXPECTED, SESSIONS, TOOLS, call, context, machine, said, stale_machine, turn

TWO_CALLS = (call(), call("cancel_table", "{}"))


def ask(oracle: Oracle, record: TurnRecord, **changes: object) -> Finding | None:
    """The oracle's first answer, None where the question does not apply."""
    judge_with = context(**changes)
    return next(iter(oracle.judge(read_reply(record, judge_with.max_tokens), judge_with)), None)


def verdict(oracle: Oracle, record: TurnRecord, **changes: object) -> Verdict | None:
    answer = ask(oracle, record, **changes)
    return None if answer is None else answer.verdict


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_no_oracle_objects_to_the_planted_call(oracle: Oracle) -> None:
    assert verdict(oracle, turn()) in (Verdict.OK, None)
    assert verdict(oracle, turn(content="I will book that table for you now.")) in (Verdict.OK, None)


@pytest.mark.parametrize(
    ("record", "kind", "reason"),
    [
        (said("I have booked it."), Kind.LOST_CALL, "no call to 'book_table', only text"),
        (turn(tool_calls=(call("cancel_table"),)), Kind.WRONG_CALL, "called 'cancel_table' where 'book_table'"),
        (turn(tool_calls=TWO_CALLS), Kind.WRONG_CALL, "called 'cancel_table' where 'book_table'"),
        (turn(tool_calls=(call(), call())), Kind.WRONG_CALL, "2 calls where one was asked for"),
        (turn(tool_calls=(call(guests=5),)), Kind.DAMAGED_ARGUMENTS, "argument 'guests' is 5 instead of 4"),
        (turn(tool_calls=(call(guests=True),)), Kind.DAMAGED_ARGUMENTS, "argument 'guests' is True instead of 4"),
        (turn(tool_calls=(call(arguments="{}"),)), Kind.DAMAGED_ARGUMENTS, "argument 'restaurant' is missing"),
        (turn(tool_calls=(call(arguments=""),)), Kind.DAMAGED_ARGUMENTS, "argument 'restaurant' is missing"),
        (turn(tool_calls=(call(note="x"),)), Kind.DAMAGED_ARGUMENTS, "argument 'note' was not asked for"),
        (turn(tool_calls=(call(arguments='{"rest'),)), Kind.DAMAGED_ARGUMENTS, "the arguments are not JSON"),
        (turn(tool_calls=(call(arguments="[1]"),)), Kind.DAMAGED_ARGUMENTS, "the arguments are JSON, but no object"),
        (said('bok_table {"guests": 4}'), Kind.WRONG_CALL, "called 'bok_table' where 'book_table'"),
    ],
)
def test_exact_call_names_the_difference(record: TurnRecord, kind: Kind, reason: str) -> None:
    answer = ask(exact_call.ORACLE, record)
    assert answer is not None
    assert (answer.verdict, answer.kind, answer.severity) == (Verdict.VIOLATED, kind, Severity.PROOF)
    assert answer.reason.startswith(reason)
    assert answer.span is not None


def test_exact_call_accepts_any_spelling_of_the_planted_call() -> None:
    shuffled = call(arguments='{"outdoors":true,\n "guests":4.0,"restaurant":"Lindenh\\u006ff"}')
    assert verdict(exact_call.ORACLE, turn(tool_calls=(shuffled,))) is Verdict.OK
    without = ExpectedCall("cancel_table", {})
    assert verdict(exact_call.ORACLE, turn(expected=without, tool_calls=(call("cancel_table", ""),))) is Verdict.OK


def test_exact_call_says_whose_call_a_wrong_one_is() -> None:
    other = ExpectedCall("book_table", {"restaurant": "Krone", "guests": 2})
    wrong = turn(tool_calls=(call(arguments='{"guests": 2, "restaurant": "Krone"}'),))
    own = ask(exact_call.ORACLE, wrong, planted=[(0, 5, other), (1, 3, other)])
    foreign = ask(exact_call.ORACLE, wrong, planted=[(1, 3, other)])
    assert own is not None
    assert foreign is not None
    assert (own.kind, foreign.kind) == (Kind.WRONG_CALL, Kind.WRONG_CALL)
    assert own.reason.endswith("it is the call planted for turn 5 of this session")
    assert foreign.reason.endswith("it is the call planted for turn 3 of session 1")


def test_a_call_left_in_the_content_is_the_parsers_fault() -> None:
    left = said(f" {EXPECTED.name} " + '{"restaurant": "Lindenhof", "guests": 4, "outdoors": true}\n')
    judgement = judge_turn(left, context())
    assert judgement.verdict is Verdict.OK
    assert [finding.kind for finding in judgement.findings] == [Kind.UNPARSED_CALL]


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "reason"),
    [
        ("book_tabel", "{}", Kind.WRONG_CALL, "there is no tool called 'book_tabel'"),
        ("book_table", '{"guests": 4', Kind.DAMAGED_ARGUMENTS, "the arguments of 'book_table' are not JSON"),
        ("book_table", '{"guests": 4}', Kind.DAMAGED_ARGUMENTS, "'book_table': the arguments: \"restaurant\" is a"),
        ("book_table", '{"restaurant": "K", "guests": "4"}', Kind.DAMAGED_ARGUMENTS, "'book_table': guests: "),
        ("book_table", "[" * 5_000, Kind.DAMAGED_ARGUMENTS, "the arguments of 'book_table' are not JSON"),
    ],
)
def test_schema_finds_what_does_not_fit(name: str, arguments: str, kind: Kind, reason: str) -> None:
    answer = ask(schema.ORACLE, turn(tool_calls=(call(name, arguments),)))
    assert answer is not None
    assert (answer.verdict, answer.kind) == (Verdict.VIOLATED, kind)
    assert answer.reason.startswith(reason)


def test_schema_passes_what_fits_and_leaves_the_rest_alone() -> None:
    assert verdict(schema.ORACLE, turn(tool_calls=(call(guests=5),))) is Verdict.OK, "wrong, but valid"
    assert verdict(schema.ORACLE, said("no call")) is None
    cut = turn(tool_calls=(call(arguments='{"rest'),), finish_reason="length")
    assert verdict(schema.ORACLE, cut) is Verdict.UNKNOWN


def test_schema_does_not_blame_the_model_for_a_schema_that_refuses_the_planted_call() -> None:
    strict = ToolSchema("book_table", "", {"type": "object", "properties": {"guests": {"type": "string"}}})
    assert verdict(schema.ORACLE, turn(), tools=[strict]) is Verdict.OK
    assert verdict(schema.ORACLE, turn(tool_calls=(call(guests=5),)), tools=[strict]) is Verdict.UNKNOWN


def test_a_planted_tool_that_the_run_does_not_list_is_the_workloads_fault() -> None:
    damaged = turn(tool_calls=(call(guests=5),))
    assert verdict(schema.ORACLE, damaged, tools=TOOLS[1:]) is Verdict.UNKNOWN
    assert judge_turn(damaged, context(tools=TOOLS[1:])).kind is Kind.DAMAGED_ARGUMENTS


def test_tools_of_one_name_may_differ_between_groups() -> None:
    mine, theirs = (ToolSchema("f", "", {"required": [key]}, groups=(group,)) for group, key in ((0, "a"), (1, "b")))
    called = turn(tool_calls=(call("f", '{"a": 1}'),))
    assert verdict(schema.ORACLE, called, tools=[mine, theirs]) is Verdict.OK
    assert verdict(schema.ORACLE, turn(tool_calls=(call("f", '{"b": 1}'),)), tools=[mine, theirs]) is Verdict.VIOLATED


def test_a_schema_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="tool 'f': its parameters are not valid JSON Schema"):
        context(tools=[ToolSchema("f", "", {"type": "dict"})])


@pytest.mark.parametrize(
    "record",
    [
        said("as noted: velvet-otter"),
        turn(content="plinth-909"),
        turn(tool_calls=(call(restaurant="xxvelvet-otterxx"),)),
        turn(tool_calls=(call("velvet-otter", "{}"),)),
        said("velvet-otter", finish_reason=None),
    ],
)
def test_cross_talk_finds_a_foreign_secret_anywhere(record: TurnRecord) -> None:
    answer = ask(cross_talk.ORACLE, record)
    assert answer is not None
    assert (answer.verdict, answer.kind) == (Verdict.VIOLATED, Kind.CROSS_TALK)
    assert answer.span is not None
    assert answer.span.text in ("velvet-otter", "plinth-909")
    assert "is a secret of session 1, which session 0 never saw" in answer.reason


def test_cross_talk_passes_own_shared_and_planted_words() -> None:
    assert verdict(cross_talk.ORACLE, said("marzipan-71 and quokka-lamp")) is Verdict.OK
    fork = SessionRecord(2, group=0, turn_count=1, secrets=("velvet-otter",), forked_from=1)
    forked = said("velvet-otter", session=2, secrets=("velvet-otter",))
    assert verdict(cross_talk.ORACLE, forked, sessions=[*SESSIONS, fork]) is Verdict.OK
    asked = ExpectedCall("book_table", {"restaurant": "velvet-otter", "guests": 4})
    assert verdict(cross_talk.ORACLE, said("velvet-otter", expected=asked)) is Verdict.OK
    assert verdict(cross_talk.ORACLE, said("velvet-ottle, plinth-90")) is Verdict.OK
    assert verdict(cross_talk.ORACLE, said("velvet-otter"), sessions=SESSIONS[:1]) is None, "nobody else is there"


def test_a_secret_that_proves_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="secret 'otter' is shorter than 6 characters"):
        context(sessions=[SessionRecord(0, group=0, turn_count=1, secrets=("otter",))])


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("The table is booked. " + "the table " * 40, "the table"),
        ("1. [1] 2. [2] " + "".join(f"{n}. [{n}] " for n in range(3, 90)), "0. [0]"),
        ("Sure. " + "!" * 300, "!"),
        ("很好。" + "的" * 200, "的"),
        ("a" * 3_000 + "lantern kept lantern left " * 60, "lantern"),
    ],
)
def test_repetition_finds_a_loop_at_the_limit(text: str, unit: str) -> None:
    answer = ask(repetition.ORACLE, said(text, finish_reason="length"))
    assert answer is not None
    assert (answer.verdict, answer.kind) == (Verdict.VIOLATED, Kind.REPETITION)
    assert unit in answer.reason
    assert answer.span is not None
    assert answer.span.end == len(text)
    assert text[answer.span.begin : answer.span.end].startswith(answer.span.text)
    assert verdict(repetition.ORACLE, said(text)) is None, "a reply that stops by itself is a matter of style"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The harbour lights went out one after another, and the keeper wrote each of them down. " * 1, Verdict.OK),
        ("no no no", Verdict.OK),
        ("| 0 | 0 | 0 " * 40, Verdict.UNKNOWN),
        ("A" * 500, Verdict.UNKNOWN),
        ("<tr>" + "".join(f"<td>{n * n * 7919 % 9973}</td>" for n in range(9)), Verdict.UNKNOWN),
        ("".join(f"<li>{n * n * 7919 % 997} items</li>" for n in range(60)), Verdict.UNKNOWN),
        ("x" * 40 + "".join(chr(97 + n * n % 23) + chr(97 + n % 19) for n in range(300)), Verdict.OK),
    ],
)
def test_repetition_does_not_cry_wolf_at_the_limit(text: str, expected: Verdict) -> None:
    assert verdict(repetition.ORACLE, said(text, finish_reason="length")) is expected


def test_empty_reply_is_a_success_that_says_nothing() -> None:
    answer = ask(empty_reply.ORACLE, said(" \n"))
    assert answer is not None
    assert (answer.verdict, answer.kind) == (Verdict.VIOLATED, Kind.EMPTY_REPLY)
    assert verdict(empty_reply.ORACLE, said("x")) is Verdict.OK
    assert verdict(empty_reply.ORACLE, said("", finish_reason=None)) is Verdict.UNKNOWN


def test_a_cut_stream_is_told_from_an_end() -> None:
    answer = ask(cut_stream.ORACLE, said("I will", finish_reason=None))
    assert answer is not None
    assert (answer.verdict, answer.kind, answer.severity) == (Verdict.VIOLATED, Kind.CUT_STREAM, Severity.NOTE)
    assert verdict(cut_stream.ORACLE, said("I will")) is Verdict.OK


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (said("", finish_reason=None, error="HTTP 503"), Kind.TRANSPORT_ERROR),
        (said("I will", finish_reason="abort"), Kind.TRANSPORT_ERROR),
        (said("I will", finish_reason=None), Kind.CUT_STREAM),
        (said("", finish_reason=None), Kind.CUT_STREAM),
        (turn(tool_calls=(call(arguments='{"restau'),), finish_reason=None), Kind.CUT_STREAM),
        (said("I will", finish_reason="length"), Kind.TRUNCATED),
        (turn(tool_calls=(call(arguments='{"restau'),), finish_reason="length"), Kind.TRUNCATED),
        (said("I cannot help with that.", finish_reason="content_filter"), Kind.REFUSED),
    ],
)
def test_faults_of_the_protocol_are_unknown_and_never_corruption(record: TurnRecord, kind: Kind) -> None:
    judgement = judge_turn(record, context())
    assert (judgement.verdict, judgement.kind, judgement.origin) == (Verdict.UNKNOWN, kind, None)
    assert not kind.is_corruption


def test_the_limit_counts_even_where_the_finish_reason_hides_it() -> None:
    cut = turn(tool_calls=(call(arguments='{"restau'),), completion_tokens=64)
    assert judge_turn(cut, context(max_tokens=64)).kind is Kind.TRUNCATED
    assert judge_turn(cut, context(max_tokens=65)).kind is Kind.DAMAGED_ARGUMENTS
    whole = turn(completion_tokens=64, finish_reason="length")
    assert judge_turn(whole, context(max_tokens=64)).verdict is Verdict.OK


def test_an_exact_models_cut_beginning_is_unknown_and_anything_else_is_corrupt() -> None:
    begun = turn(tool_calls=(call(arguments='{"restaurant":"Lind'),), finish_reason="length")
    assert judge_turn(begun, context(exact_replies=True)).verdict is Verdict.UNKNOWN
    assert judge_turn(said("book_ta", finish_reason="length"), context(exact_replies=True)).verdict is Verdict.UNKNOWN
    derailed = turn(tool_calls=(call(arguments='{"restaurant":"Lund'),), finish_reason="length")
    judgement = judge_turn(derailed, context(exact_replies=True))
    assert (judgement.verdict, judgement.kind) == (Verdict.VIOLATED, Kind.DAMAGED_ARGUMENTS)


def test_corruption_is_found_even_in_a_stream_that_was_cut() -> None:
    record = said("the word is velvet-otter", finish_reason=None)
    assert judge_turn(record, context()).kind is Kind.CROSS_TALK
    assert salad.ORACLE.name in {f.oracle for f in judge_turn(said("a\x00b", finish_reason=None), context()).findings}


def test_the_primary_kind_follows_the_priority() -> None:
    assert judge_turn(said(""), context()).kind is Kind.EMPTY_REPLY, "not merely a lost call"
    assert judge_turn(said("velvet-otter \ufffd gone"), context()).kind is Kind.CROSS_TALK, "not merely salad"
    judgement = judge_turn(said("a \ufffd b"), context())
    assert judgement.kind is Kind.TOKEN_SALAD
    assert judgement.primary is not None
    assert judgement.primary.oracle == salad.NAME
    assert tuple(Kind)[: len(CORRUPTION_KINDS)] == CORRUPTION_KINDS


def test_a_turn_is_not_ok_because_nobody_asked() -> None:
    assert judge_turn(turn(), context(), oracles=()).verdict is Verdict.UNKNOWN
    assert judge_turn(turn(), context()).verdict is Verdict.OK


def test_origin_comes_from_the_machine_alone() -> None:
    assert origin_of(None) is Origin.UNOBSERVED
    assert origin_of(stale_machine(poisoned_reads=3)) is Origin.PRIMARY
    assert origin_of(machine(torn_reads=1)) is Origin.PRIMARY
    assert origin_of(machine(decode_stale_reads=1, poisoned_reads=3)) is Origin.PRIMARY
    assert origin_of(machine(poisoned_reads=3)) is Origin.SECONDARY
    assert origin_of(machine()) is Origin.UNEXPLAINED
    assert judge_turn(said("lost", machine=stale_machine()), context()).origin is Origin.PRIMARY
    assert judge_turn(turn(machine=stale_machine()), context()).origin is None, "stale bytes alone corrupt no text"


def test_json_values_are_equal_as_json() -> None:
    assert is_same_json({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]})
    assert is_same_json(10**30, 10**30)
    assert not is_same_json(1, True)
    assert not is_same_json(0, False)
    assert not is_same_json([1], [1, 1])
    assert not is_same_json({"a": 1}, [1])
    assert not is_same_json("1", 1)


def test_the_first_difference_is_named_by_its_path() -> None:
    assert first_difference({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}) == "'a.b[1]' is 3 instead of 2"
    assert first_difference({"a": [1]}, {"a": [1, 2]}) == "'a' has 2 items instead of 1"
    assert first_difference({"a": "x" * 99}, {"a": None}).startswith("'a' is None instead of 'xxx")
    assert len(TOOLS) == 2

"""Every fault is planted into bytes and comes out as what it is; chance depends on the seed and the request alone.

The judge is the product's; the sound replies are written by hand. Seeds are printed. Floor: tests.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import harness.planting.damage as damage_folder
from harness.planting.dosing import Dosing, doses_of
from harness.planting.faults import FAULTS
from harness.planting.found import compare
from harness.planting.memory import Memory, Passed
from harness.planting.planter import Planter
from harness.planting.reply_shapes import SHAPES, Shape
from harness.planting.truth import Planted, read_truth
from harness.proxy.contract import Ending, Farewell, PassingRequest
from harness.transport.contract import Reply
from kernels.errors import ConfigError
from results.findings import CORRUPTION_KINDS, Finding, Judgement, Kind, Origin, Verdict
from results.records import ExpectedCall
from tests.harness.planting.sound import PIECES, TOOL, request, sound_lane
from tests.harness.transport.streams import read

SEED = 11


def passed(
    planter: Planter, asked: PassingRequest, pieces: tuple[bytes, ...] = PIECES
) -> tuple[bytes, Farewell | None]:
    """All bytes that the client gets, and the farewell; None where nobody watched."""
    watcher = planter.watch(asked)
    if watcher is None:
        return b"".join(pieces), None
    watcher.answered(200, "text/event-stream" if pieces[0].startswith(b"data:") else "application/json")
    out = [piece for data in pieces for piece in watcher.piece(data)]
    last = watcher.ended(None)
    return b"".join([*out, *last.pieces]), last


def planter_of(*doses: str, seed: int = SEED, shape: Shape | None = None) -> tuple[Planter, list[Planted]]:
    planted: list[Planted] = []
    planter = Planter(Dosing(doses_of(doses), seed), shape=shape or "any", on_planted=planted.append)
    return planter, planted


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.kinds])
def test_each_fault_is_found_by_its_name(name: str) -> None:
    planter, planted = planter_of(f"{name}=100%")
    turns, judgements = sound_lane().run(planter)
    found = compare(planted, [(turn.request_id, judged) for turn, judged in zip(turns, judgements, strict=True)])
    row = found.faults[name]
    # In front of the first conversation there is none that could leak.
    assert len(turns) - 4 <= row.planted == len(planted), (SEED, planter.tally)
    assert found.alarms == ()
    # Woven words beside a right call, and a leaked word that is no secret, may pass; docs/planted.md has the shares.
    least = 0.75 if name in ("token_salad", "cross_talk") else 1.0
    assert row.found >= least * row.planted, (SEED, row)
    assert row.right >= 0.7 * row.planted, (SEED, row)


def test_nothing_planted_is_nothing_found() -> None:
    planter, planted = planter_of("all=0%")
    _, judgements = sound_lane().run(planter)
    assert planted == []
    assert {judged.verdict for judged in judgements} == {Verdict.OK}


@pytest.mark.parametrize("name", ["longer", "other_words"])
def test_quiet_faults_change_the_reply_and_no_single_turn_shows_it(name: str) -> None:
    lane = sound_lane()
    planter, planted = planter_of(f"{name}=100%")
    turns, judgements = lane.run(planter)
    assert len(planted) == len(turns)
    assert {judged.verdict for judged in judgements} == {Verdict.OK}
    for one, sound in zip(turns, (sound.turn for sound in lane.sound), strict=True):
        (call,), (sound_call,) = one.tool_calls, sound.tool_calls
        assert json.loads(call.arguments) == json.loads(sound_call.arguments)
        assert (one.content, call.arguments) != (sound.content, sound_call.arguments)
        if name == "longer":
            assert one.completion_tokens is not None
            assert one.completion_tokens >= min(159, 3 * (len(call.arguments) // 4))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_stream_reads_back_as_the_same_reply(shape: Shape) -> None:
    planter, _ = planter_of("other_words=100%", shape=shape)
    raw, _ = passed(planter, request(1))
    assert raw != b"".join(PIECES)
    reply, sound = read(raw), read(b"".join(PIECES))
    assert (reply.error, reply.quirks, reply.finish_reason) == (None, (), "tool_calls")
    assert json.loads(reply.tool_calls[0].arguments) == json.loads(sound.tool_calls[0].arguments)
    assert (reply.tool_calls[0].name, reply.tool_calls[0].id) == (TOOL, sound.tool_calls[0].id)
    assert reply.usage is not None
    assert sound.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.cached_tokens) == (sound.usage.prompt_tokens, 50)
    # The server's own id, model and time are kept.
    assert b'"id":"chatcmpl-7"' in raw.split(b"\n")[0]


def test_answers_that_are_not_streamed_are_damaged_too() -> None:
    function = {"name": TOOL, "arguments": '{"label": "velarimot one"}'}
    call = {"id": "c1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = json.dumps({"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
    planter, planted = planter_of("empty_reply=100%")
    raw, _ = passed(planter, request(1, stream=False), (body.encode(),))
    fields = json.loads(raw)
    assert fields["id"] == "x"
    assert fields["choices"][0]["finish_reason"] == "stop"
    assert not (fields["choices"][0]["message"]["content"] or "").strip()
    assert [one.fault for one in planted] == ["empty_reply"]


@pytest.mark.parametrize(
    "pieces",
    [
        (b'data: {"choices": [{"index": 0, "delta": {"content": "only text"}, "finish_reason": "stop"}]}\n\n',),
        (b'data: {"error": {"message": "out of memory"}}\n\n',),
        PIECES[:2],
        (b"data: <html>\n\n",),
    ],
    ids=["text", "error", "cut", "no JSON"],
)
def test_what_is_no_whole_call_passes_as_it_is(pieces: tuple[bytes, ...]) -> None:
    planter, planted = planter_of("token_salad=100%")
    raw, last = passed(planter, request(1), pieces)
    assert raw == b"".join(pieces)
    assert last is not None
    assert (last.ending, planted, planter.tally.unfit) == (Ending.WHOLE, [], 1)


@pytest.mark.parametrize(("name", "ending"), [("crash", Ending.CUT), ("hang", Ending.SILENT)])
def test_crash_and_hang_come_before_the_call_is_whole(name: str, ending: Ending) -> None:
    lengths = set()
    for number in range(40):
        planter, _ = planter_of(f"{name}=100%", seed=number)
        raw, last = passed(planter, request(number))
        assert last is not None
        assert last.ending is ending
        reply: Reply = read(raw)
        assert reply.finish_reason is None
        assert not reply.tool_calls or reply.tool_calls[0].arguments != read(b"".join(PIECES)).tool_calls[0].arguments
        lengths.add(len(raw))
    assert len(lengths) > 5


def test_fate_depends_on_seed_and_request_alone() -> None:
    bodies = [request(number).body for number in range(400)]

    def fates(seed: int, order: list[bytes]) -> dict[bytes, str | None]:
        dosing = Dosing(doses_of(["token_salad=10%", "hang=5%"]), seed)
        drawn = [(body, dosing.fate(body)) for body in order]
        return {body: None if fate is None else fate.fault.name for body, fate in drawn}

    first = fates(1, bodies)
    assert first == fates(1, bodies[::-1])
    assert first != fates(2, bodies)
    counts = Counter(first.values())
    # 40 and 20 are expected; five standard deviations on either side.
    assert 10 <= counts["token_salad"] <= 70
    assert 1 <= counts["hang"] <= 42
    # The same request sent again is drawn again: else a replayed one would be always or never struck.
    again = Dosing(doses_of(["token_salad=50%"]), 1)
    assert len({again.fate(bodies[0]) is None for _ in range(40)}) == 2


def test_first_requests_are_spared_and_other_paths_are_not_looked_at() -> None:
    planted: list[Planted] = []
    planter = Planter(Dosing(doses_of(["lost_call=100%"]), SEED), spare_first=2, on_planted=planted.append)
    for number in range(4):
        passed(planter, request(number))
    assert [one.request_id for one in planted] == ["s0002-t00", "s0003-t00"]
    assert planter.watch(PassingRequest("GET", "/v1/models", {}, b"")) is None
    assert planter.watch(PassingRequest("POST", "/v1/completions", {}, b"{}")) is None
    assert planter.tally.replies == 4


def test_leak_is_a_word_that_only_the_other_conversation_knows() -> None:
    memory = Memory(lambda passed: ExpectedCall("f", {"x": passed.raw.decode()}))
    rng = np.random.default_rng(SEED)
    assert memory.other("a", b"mine", rng) is None
    memory.keep("b", b"their prompt speaks of velarimot and lanterns", Passed(b"velarimot lanterns", True))
    memory.keep("c", b"a third one, about lanterns", Passed(b"lanterns", True))
    leaks = [memory.other("a", b"mine", rng) for _ in range(20)]
    assert {leak.words for leak in leaks if leak is not None} == {("velarimot",)}
    assert {leak.call.arguments["x"] for leak in leaks if leak is not None} == {"velarimot lanterns"}
    # What this conversation holds itself is no secret from it, and its own words are none either.
    assert memory.other("a", b"mine, and velarimot", rng) is None
    assert memory.other("b", b"mine", rng) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("token_sald=1%", "there is no fault 'token_sald' (did you mean 'token_salad'?); allowed: all, token_salad"),
        ("hang", "--fault 'hang' does not have the form NAME=RATE"),
        ("hang=101%", "--fault 'hang=101%' does not have the form"),
        ("hang=-1", "--fault 'hang=-1' does not have the form"),
        ("hang=nan", "--fault 'hang=nan' does not have the form"),
    ],
)
def test_a_dose_that_means_nothing_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        doses_of([text])
    assert str(caught.value).startswith(sentence)


def test_doses_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ConfigError, match="'hang' is given twice"):
        doses_of(["hang=1%", "hang=2%"])
    with pytest.raises(ConfigError, match="more than 100 %"):
        doses_of(["hang=0.6", "crash=50%"])
    shared = doses_of(["all=10%"])
    # A wrong word is a reply without a call, and only calls are damaged.
    assert {kind for dose in shared for kind in dose.fault.kinds} | {Kind.WRONG_WORD} == set(CORRUPTION_KINDS)
    assert sum(dose.rate for dose in shared) == pytest.approx(0.1)


def judged(kind: Kind | None, *, told: Kind | None = None) -> Judgement:
    findings = () if told is None else (Finding("o", Verdict.VIOLATED, "why", told),)
    if kind is None:
        return Judgement(0, 0, Verdict.OK if told is None else Verdict.UNKNOWN, told, None, findings)
    return Judgement(0, 0, Verdict.VIOLATED, kind, Origin.UNOBSERVED, findings)


def test_what_counts_as_found_right_and_false_alarm() -> None:
    truth = [
        Planted("a", "token_salad", ""), Planted("b", "token_salad", ""), Planted("c", "token_salad", ""),
        Planted("d", "hang", ""), Planted("e", "hang", ""), Planted("gone", "hang", ""),
    ]  # fmt: skip
    turns = [
        ("a", judged(Kind.TOKEN_SALAD)), ("b", judged(Kind.LOST_CALL)), ("c", judged(None)),
        ("d", judged(None, told=Kind.HANG)), ("e", judged(Kind.TOKEN_SALAD)),
        ("sound", judged(None)), ("alarm", judged(Kind.LOST_CALL)),
    ]  # fmt: skip
    found = compare(truth, turns)
    salad, hang = found.faults["token_salad"], found.faults["hang"]
    assert (salad.planted, salad.found, salad.right) == (3, 2, 1)
    assert (hang.planted, hang.found, hang.right) == (2, 1, 1)
    assert (len(found.alarms), found.turns, found.absent, found.missed) == (1, 7, 1, 2)


def test_what_is_planted_when_a_turn_is_asked_again_is_no_turn_of_the_load() -> None:
    planter, planted = planter_of("token_salad=100%")
    for _ in range(3):
        passed(planter, request(1))
    assert [one.nth for one in planted] == [1, 2, 3]
    name = planted[0].request_id
    assert compare(planted[1:], [(name, judged(None))]).missed == 0
    assert compare(planted, [(name, judged(None))]).missed == 1


def test_truth_file_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "truth.jsonl"
    with pytest.raises(ConfigError, match="there is no file"):
        read_truth(path)
    path.write_text('{"request_id": "a", "fault": "hang", "strength": "s"}\n{"request_id": "b", "fa')
    assert read_truth(path) == [Planted("a", "hang", "s")]
    for text in ("hello\n", '{"request_id": "a", "fault": "of ours", "strength": "s"}\n'):
        path.write_text(text)
        with pytest.raises(ConfigError, match="is no file that `plant --truth` wrote"):
            read_truth(path)


def test_the_damages_share_no_code_with_the_oracles() -> None:
    files = [path for folder in damage_folder.__path__ for path in Path(folder).glob("*.py")]
    assert len(files) >= 6
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.startswith("results.oracles")], path

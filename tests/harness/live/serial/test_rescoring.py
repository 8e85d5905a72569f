"""Re-scoring against a model whose every probability is known: both ways find the planted gap, and say where."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from harness.live.limits import TokenBudget
from harness.live.serial.asking import Asker
from harness.live.serial.rescoring import Rescorer
from harness.load.clock import WallClock
from harness.transport.contract import ChatRequest, Reply, ReplyUsage, Stamps
from harness.transport.errors import EngineProtocolError
from results.findings import Verdict
from results.oracles.divergence import Observed
from results.oracles.judge import judge_turn
from results.records import TurnRecord
from results.serial.record import Rescored, SerialTurn
from results.serial.turns import Asked
from tests.harness.small_plans import session_plan
from tests.results.builders import call, context, turn

pytestmark = pytest.mark.asyncio

SURE = ["The", " desk", " is", " open", " until", " nine"]
RIVALS = {3: (" shut", 0.02), 5: (" ten", 4.0)}
"""By place of the sure reply: what else may stand there, and how far behind."""
PROMPT_TOKENS = 7
TAIL = ["<end>", "\n"]


def best_of(place: int) -> list[tuple[str, float]]:
    rival, gap = RIVALS.get(place, ("x", 9.0))
    return [(SURE[place], -0.1), (rival, -0.1 - gap)]


def scored(tokens: Sequence[str]) -> list[tuple[str, float, list[tuple[str, float]]]]:
    """Each token with its log-probability and the best of its place; -20 for one that nobody expects."""
    rows = []
    for place, token in enumerate(tokens):
        best = best_of(place) if place < len(SURE) else [("<end>", -0.1), ("x", -9.0)]
        rows.append((token, dict(best).get(token, -20.0), best))
    return rows


class KnownModel:
    """A transport to a server that scores prompts (`prompt`), goes on with a begun reply (`goes_on`), or neither."""

    def __init__(self, *, scores_prompts: bool = False, goes_on: bool = False, spells: str = "") -> None:
        self.scores_prompts = scores_prompts
        self.goes_on = goes_on
        self.spells = spells
        self.asked: list[dict[str, Any]] = []

    async def close(self) -> None: ...

    async def chat(self, request: ChatRequest) -> Reply:
        fields = request.fields()
        self.asked.append(fields)
        said = request.messages[-1] if request.messages[-1]["role"] == "assistant" else None
        if "prompt_logprobs" in fields:
            return answered(self._prompt(said)) if self.scores_prompts else refused()
        return answered(self._next(said)) if self.goes_on and fields.get("logprobs") else refused()

    def _prompt(self, said: Any) -> dict[str, Any]:
        tokens = split(said["content"] or said["tool_calls"][0]["function"]["arguments"])
        tokens = [self.spells + tokens[0], *tokens[1:]] if self.spells else tokens
        places: list[Any] = [None, *[{"1": {"logprob": -15.0, "decoded_token": "p"}, "2": {"logprob": -0.1,
                             "decoded_token": "q"}}] * (PROMPT_TOKENS - 1)]  # fmt: skip
        for token, logprob, best in scored([*tokens, *TAIL]):
            entries = {"9": {"logprob": logprob, "decoded_token": token}}
            places.append(entries | {str(10 + n): {"logprob": p, "decoded_token": t} for n, (t, p) in enumerate(best)})
        return {"prompt_logprobs": places, "choices": []}

    def _next(self, said: Any) -> dict[str, Any]:
        place = len(split(said["content"])) if said is not None else 0
        best = [{"token": text, "logprob": logprob} for text, logprob in best_of(place)]
        content = [{"token": SURE[place], "logprob": -0.1, "top_logprobs": best}]
        return {"choices": [{"index": 0, "message": {"content": SURE[place]}, "logprobs": {"content": content}}]}


def split(text: str) -> list[str]:
    words = text.split(" ")
    return [words[0], *(f" {word}" for word in words[1:])]


def answered(fields: dict[str, Any]) -> Reply:
    usage = ReplyUsage(PROMPT_TOKENS, 1, 0)
    return Reply(
        200, "x", "", (), "length", usage, None, Stamps(1, 2), Stamps(None, None), None, (), json.dumps(fields)
    )


def refused() -> Reply:
    error = EngineProtocolError("http_status", status=400, detail="no such field")
    return Reply(400, "", "", (), None, None, error, Stamps(None, 1), Stamps(None, None), None, (), None)


def reply(words: Sequence[str], **changes: Any) -> TurnRecord:
    fields = {"content": "".join(words), "completion_tokens": len(words), "prompt_tokens": PROMPT_TOKENS}
    return turn(0, 0, **{**fields, "tool_calls": (), "expected": None, "finish_reason": "stop", **changes})


def said_instead(place: int, word: str) -> list[str]:
    return [*SURE[:place], word, *SURE[place + 1 :]]


async def rescored(
    model: KnownModel, loaded: TurnRecord, alone: TurnRecord, budget: TokenBudget | None = None
) -> tuple[list[Rescored], Rescorer]:
    def observed(record: TurnRecord) -> Observed:
        return Observed(record, judge_turn(record, context()))

    asker = Asker(model, lambda _: session_plan(0), WallClock(), model="m", max_tokens=99, salt="s")
    rescorer = Rescorer(asker, model, budget or TokenBudget(10**6), is_wanted=True)
    asked = Asked(observed(loaded), (observed(alone), observed(alone)), (), is_sampled=True)
    said = SerialTurn(0, 0, True, False, 2, 0, 0, Verdict.UNKNOWN, "it differs")
    await rescorer.all([asked], [said])
    return rescorer.found, rescorer


@pytest.mark.parametrize("way", ["scores_prompts", "goes_on"])
@pytest.mark.parametrize(("place", "word", "gap"), [(3, " shut", 0.02), (5, " ten", 4.0)])
async def test_the_planted_gap_is_found_where_it_is(way: str, place: int, word: str, gap: float) -> None:
    model = KnownModel(scores_prompts=way == "scores_prompts", goes_on=way == "goes_on")
    (found,), rescorer = await rescored(model, reply(said_instead(place, word)), reply(SURE))
    assert found.gap == pytest.approx(gap)
    assert (found.token, found.rival) == (word, SURE[place])
    assert found.control_gap == pytest.approx(0.0)
    assert rescorer.note == ("by prompt_logprobs" if way == "scores_prompts" else "by continue_final_message")
    assert rescorer.requests == len(model.asked)
    if way == "scores_prompts":
        assert found.place == place
        # What a template puts behind a reply was never generated; nobody expects it, and it must not count.
        assert found.tokens == len(SURE)


async def test_a_token_that_is_not_among_the_best_is_at_least_as_far_behind() -> None:
    (found,), _ = await rescored(KnownModel(goes_on=True), reply(said_instead(5, " слово")), reply(SURE))
    assert found.gap == pytest.approx(4.0)
    (exact,), _ = await rescored(KnownModel(scores_prompts=True), reply(said_instead(5, " слово")), reply(SURE))
    assert exact.gap == pytest.approx(19.9)


async def test_a_template_that_spells_replies_otherwise_shows_in_the_control() -> None:
    model = KnownModel(scores_prompts=True, spells="<think></think>")
    (found,), _ = await rescored(model, reply(said_instead(3, " shut")), reply(SURE))
    assert found.control_gap is not None
    assert found.control_gap > 10


async def test_calls_go_with_prompts_only() -> None:
    alone = reply([], content="", tool_calls=(call(arguments="".join(SURE)),), completion_tokens=len(SURE))
    text = "".join(said_instead(5, " ten"))
    loaded = replace(alone, tool_calls=(call(arguments=text),))
    (found,), _ = await rescored(KnownModel(scores_prompts=True), loaded, alone)
    assert found.gap == pytest.approx(4.0)
    none, rescorer = await rescored(KnownModel(goes_on=True), loaded, alone)
    assert none == []
    assert "in no way that is known here" in rescorer.note


async def test_what_it_costs_is_counted() -> None:
    budget = TokenBudget(1_000)
    _, rescorer = await rescored(KnownModel(scores_prompts=True), reply(said_instead(3, " shut")), reply(SURE), budget)
    assert budget.spent == rescorer.requests * PROMPT_TOKENS
    model = KnownModel(scores_prompts=True)
    budget.spent = 1_001
    found, rescorer = await rescored(model, reply(said_instead(3, " shut")), reply(SURE), budget)
    assert (found, model.asked) == ([], [])
    assert "the token budget was spent" in rescorer.note


async def test_a_server_without_either_is_asked_once_for_each() -> None:
    model = KnownModel()
    found, rescorer = await rescored(model, reply(said_instead(3, " shut")), reply(SURE))
    assert (found, rescorer.requests) == ([], 2)
    assert "in no way that is known here" in rescorer.note


@pytest.mark.parametrize("blanks", [" \n", "\n", "   ", "\u2028"])
async def test_a_reply_that_goes_on_with_blanks_alone_is_scored(blanks: str) -> None:
    (found,), _ = await rescored(KnownModel(goes_on=True), reply([*SURE[:5], blanks]), reply(SURE[:5]))
    assert (found.token, found.rival) == (blanks, SURE[5])
    assert found.gap == pytest.approx(4.0)


@pytest.mark.parametrize("entry", [{"logprob": None}, {"logprob": True}, {"logprob": -1e308}, {}, None, 5])
async def test_a_place_whose_own_value_is_none_says_nothing(entry: Any) -> None:
    """What is most probable there is not what the reply said."""

    class Odd(KnownModel):
        def _prompt(self, said: Any) -> dict[str, Any]:
            fields = super()._prompt(said)
            fields["prompt_logprobs"][PROMPT_TOKENS + 5]["9"] = entry
            return fields

    (found,), _ = await rescored(Odd(scores_prompts=True), reply(said_instead(5, " ten")), reply(SURE))
    assert found.gap == pytest.approx(0.0)
    assert found.tokens == len(SURE)

"""The workload as the recall model reads it: lengths, facts, anchors and the last reference, in the engine's tokens.

Owns: that both sides mean the same by the grammar. Does not own: recall itself. Floor: tests.
"""

from __future__ import annotations

import pytest

from harness.config import load_scenario
from harness.load.workload import Workload, build_workload
from kernels.engine.recall.conversation import ScanCache
from kernels.engine.tokenizer import Tokenizer
from kernels.engine.tokenizer_chat import ChatTemplate, SegmentCache
from kernels.engine.vocabulary import build_vocabulary
from tests.harness.workload.counting import facts_in, text_of


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(build_vocabulary())


@pytest.fixture(scope="module")
def workload(tokenizer: Tokenizer) -> Workload:
    spec = load_scenario("hicache_bf16", {"workload.sessions": "10"}).workload
    return build_workload(spec, 11, lambda text: len(tokenizer.encode(text)))


def test_lengths_are_those_of_the_engine(workload: Workload, tokenizer: Tokenizer) -> None:
    template = ChatTemplate(tokenizer, SegmentCache(1 << 26))
    for plan in workload.sessions:
        for turn in range(len(plan.turns)):
            tokens = sum(len(segment.tokens) for segment in template.render(plan.messages(turn), plan.tools).segments)
            # The template adds a few tokens a message, and a first line for the tools.
            messages = len(plan.messages(turn))
            assert 0 <= tokens - plan.prompt_tokens(turn) <= 40 + 4 * messages


def test_last_reference_names_the_fact_of_the_expected_call(workload: Workload, tokenizer: Tokenizer) -> None:
    template, scans = ChatTemplate(tokenizer, SegmentCache(1 << 26)), ScanCache(1 << 26)
    for plan in workload.sessions:
        for index, turn in enumerate(plan.turns):
            messages = plan.messages(index)
            scanned = scans.scan_prompt(template.render(messages, plan.tools))
            assert scanned.reference is not None
            (fact,) = (fact for fact in scanned.facts if fact.name == scanned.reference.name)
            body = scanned.tokens[fact.begin : fact.end].tolist()
            assert body == tokenizer.encode(turn.expected.body + "\n").tolist()
            assert (fact.name.anchor is None) == (turn.anchor is None)
            assert len(body) < load_scenario("hicache_bf16").engine.max_new_tokens
            # One fact more: the engine's own answer to a prompt without a reference.
            assert len(scanned.facts) == len(facts_in(text_of(messages))) + 1


def test_every_anchor_can_be_recalled(workload: Workload, tokenizer: Tokenizer) -> None:
    template, scans = ChatTemplate(tokenizer, SegmentCache(1 << 26)), ScanCache(1 << 26)
    for plan in workload.sessions:
        facts = scans.scan_prompt(template.render(plan.messages(len(plan.turns) - 1), plan.tools)).facts
        anchored = [fact for fact in facts if fact.name.anchor is not None]
        assert len(anchored) > 1
        assert all(fact.recalled is not None for fact in anchored)

"""Prompts with known facts, and readings of them, for the tests of the recall model.

Owns: building cases. Asserts nothing. Floor: tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernels.engine.recall.content import PageBuilder, PageContent, PageRows
from kernels.engine.recall.contexts import Scanner
from kernels.engine.recall.conversation import ScanCache, ScannedPrompt
from kernels.engine.recall.generate import ReplyStart, reply_state, state_context
from kernels.engine.recall.index_page import IndexDtype, IndexPage
from kernels.engine.recall.model import RecallModel, build_model
from kernels.engine.recall.queries import Queries, queries_at
from kernels.engine.recall.reading import IndexedPages, Reading, SummaryPages, fresh_reading, reading_of
from kernels.engine.recall.shape import PAGE_TOKENS, RecallShape
from kernels.engine.recall.token_page import TokenPage
from kernels.engine.tokenizer import Tokenizer
from kernels.engine.tokenizer_chat import ChatTemplate, SegmentCache
from kernels.engine.vocabulary import build_vocabulary
from kernels.engine.vocabulary_words import stems


@dataclass(frozen=True)
class Bench:
    """What all cases need, built once a module."""

    tokenizer: Tokenizer
    chat: ChatTemplate
    scans: ScanCache
    model: RecallModel
    scanner: Scanner

    def prompt(self, text: str, question: str) -> ScannedPrompt:
        return self.scans.scan_prompt(
            self.chat.render([{"role": "user", "content": text}, {"role": "user", "content": question}])
        )


def bench(shape: RecallShape | None = None) -> Bench:
    tokenizer = Tokenizer(build_vocabulary())
    model = build_model(shape or RecallShape())
    return Bench(tokenizer, ChatTemplate(tokenizer, SegmentCache(1 << 26)), ScanCache(1 << 26), model, Scanner())


@dataclass(frozen=True)
class Case:
    """A prompt whose pages are built. facts: key -> body."""

    prompt: ScannedPrompt
    pages: list[PageContent]
    facts: dict[str, str]

    @property
    def position(self) -> int:
        return len(self.prompt.tokens)


def text_with_facts(
    tokenizer: Tokenizer, seed: int, fact_count: int, token_count: int, copies: int = 1
) -> tuple[str, dict[str, str]]:
    """Lines of words with facts spread evenly over the first half; each fact stands there `copies` times."""
    rng = np.random.default_rng(seed)
    words = stems()

    def some(count: int) -> str:
        return " ".join(words[index] for index in rng.integers(0, len(words), count))

    facts = {}
    for _ in range(fact_count):
        key = f"k{rng.integers(0, 1 << 40):x}"
        facts[key] = f'{some(1)}_{some(1)} {{"id": "A-{rng.integers(1000, 9999)}", "note": "{some(8)}"}}'
    definitions = [f"[[{key}]] {body}" for _ in range(copies) for key, body in facts.items()]
    spent = sum(len(tokenizer.encode(line)) + 1 for line in definitions)
    filler: list[str] = []
    while spent < token_count:
        filler.append(some(20))
        spent += len(tokenizer.encode(filler[-1])) + 1
    half = filler[: len(filler) // 2]
    for index, line in enumerate(definitions):
        half.insert((2 * index + 1) * (len(half) + 1) // (2 * len(definitions)), line)
    return "\n".join([*half, *filler[len(filler) // 2 :]]), facts


def case_of(bench: Bench, builder: PageBuilder, text: str, facts: dict[str, str], question: str) -> Case:
    prompt = bench.prompt(text, question)
    return Case(prompt, builder.build(prompt.tokens, prompt.contexts), facts)


def random_case(bench: Bench, dtype: IndexDtype, seed: int, fact_count: int, token_count: int) -> Case:
    text, facts = text_with_facts(bench.tokenizer, seed, fact_count, token_count)
    return case_of(bench, PageBuilder(bench.model, dtype), text, facts, f"please (({next(iter(facts))}))")


def first_query(bench: Bench, case: Case, reading: Reading) -> Queries:
    state = reply_state(bench.model, reading, case.prompt.reference, case.position)
    return queries_at(state_context(state), case.position)


def start_of_reply(bench: Bench, case: Case, reading: Reading) -> ReplyStart:
    state = reply_state(bench.model, reading, case.prompt.reference, case.position)
    return ReplyStart(state, case.position, case.prompt.carry)


def layered_reading(
    bench: Bench,
    rows: Sequence[PageRows],
    index_k: Sequence[Sequence[IndexPage]],
    c4: Sequence[Sequence[TokenPage]] | None = None,
) -> Reading:
    """A reading whose indexed layers read the given pages, one list for each layer; all else is `rows`."""
    tokens = [page.tokens for page in rows]
    begin = max(0, len(rows) - 2)
    window = (tokens[begin:], begin * PAGE_TOKENS)
    latents = c4 if c4 is not None else [tokens] * len(index_k)
    indexed = [IndexedPages(keys, own, *window) for keys, own in zip(index_k, latents, strict=True)]
    summary = SummaryPages([page.summary for page in rows], *window)
    return reading_of(indexed, [summary] * bench.model.shape.summary_layers)


def clean(bench: Bench, case: Case) -> Reading:
    return fresh_reading(bench.model.shape, case.pages)

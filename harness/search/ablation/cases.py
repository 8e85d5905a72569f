"""Questions to ask under a slip: a request that was computed, evicted and is asked again, page by page.

Owns: which requests are asked, which of their pages come back from the host tier, and what the device pages held
before. Does not own: the slip (`slips`, `early`), the evaluation (`outputs`). Floor 5.

Asked again: all whole pages but the last lie in the host tier, as `HiCache.open` takes them, and only the rest of the
prompt is computed anew. The group's system message stays on the device and cannot race, so the *loaded* pages are those
behind it. Asked are only requests whose rest is shorter than the window, so that the window reaches into the last
loaded page; otherwise new tokens fill it and no slip of the window pool can be seen at all.

Previous owner: the other sessions, in an order drawn for each case, with the private pages of each one's longest
prompt end to end in ascending order. The i-th loaded page lands on the i-th of these. That is what the last-in
first-out free list does: a load takes the pages that were evicted last, in one run. A page's previous owner is
therefore the same in every layer and pool, and it is another session's, never an empty page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.config import WorkloadSpec
from harness.load.workload import SessionPlan, build_workload
from kernels.engine.ledger import ContentLedger
from kernels.engine.prompt import Prompt
from kernels.engine.recall.content import PageContent
from kernels.engine.recall.shape import PAGE_TOKENS, WINDOW_TOKENS
from kernels.engine.shared import SharedModel
from kernels.hicache.sizing import IndexFormat


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One question.

    loaded: the pages of the context that come back from the host tier; their versions in the ledger are 1..n, those of
        the previous owners' pages n+1..2n, in the same order.
    contents: of all pages of the prompt. expected: the reply's right first token. call: the reply's right text.
    tool_names: what the request may call.
    answers: for each copy of the fact, the first and the last of its pages, counted from the first loaded page.
    """

    session: int
    turn: int
    prompt: Prompt
    loaded: range
    contents: Sequence[PageContent]
    ledger: ContentLedger
    expected: int
    call: str
    tool_names: frozenset[str]
    answers: tuple[tuple[int, int], ...]

    @property
    def position(self) -> int:
        return len(self.prompt.tokens)

    @property
    def window_reach_tokens(self) -> int:
        """How many of the window's tokens lie in the last loaded page."""
        return WINDOW_TOKENS - (self.position - self.loaded.stop * PAGE_TOKENS)

    def stream(self, seed: int) -> np.random.Generator:
        """Random numbers of this case; the same for every redundancy."""
        return case_stream(seed, self.session, self.turn)


def case_stream(seed: int, session: int, turn: int, purpose: int = 0) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(session, turn, purpose)))


class CaseSource:
    """Makes the cases of one workload."""

    def __init__(
        self, workload: WorkloadSpec, seed: int, shared: SharedModel, index_k: IndexFormat, *, tokens_max: int | None
    ) -> None:
        """Effect: plans the workload. Args: tokens_max: requests of as many tokens or more are not asked."""
        self._seed = seed
        self._reader = shared.reader
        self._shelf = shared.shelf(index_k)
        self._tokens_max = tokens_max
        self._plans = build_workload(workload, seed, shared.reader.count_tokens).sessions
        self._owners = [self._owner(plan) for plan in self._plans]

    def cases(self, session: int, count: int) -> Iterator[Case]:
        """The first `count` requests of a session that can be asked; fewer where it has fewer."""
        plan = self._plans[session]
        found = 0
        for turn in range(len(plan.turns)):
            if found == count:
                return
            prompt = self._reader.read(plan.messages(turn), plan.tools)
            loaded = range(self._owners[session].begin, (len(prompt.tokens) - 1) // PAGE_TOKENS)
            rest = len(prompt.tokens) - loaded.stop * PAGE_TOKENS
            is_short_enough = self._tokens_max is None or len(prompt.tokens) < self._tokens_max
            if rest < WINDOW_TOKENS and is_short_enough and len(loaded) > 0:
                found += 1
                yield self._case(plan, turn, prompt, loaded)

    def _case(self, plan: SessionPlan, turn: int, prompt: Prompt, loaded: range) -> Case:
        session = plan.session
        ledger = ContentLedger(self._shelf)
        ledger.write(prompt, loaded.start * PAGE_TOKENS, loaded.stop * PAGE_TOKENS)
        self._write_previous(ledger, session, turn, len(loaded))
        assert prompt.reference is not None, "a request of the workload asks for something"
        name = prompt.reference.name
        copies = [fact for fact in prompt.facts if fact.name == name]
        assert copies and name.anchor is None, (session, turn, name)
        return Case(
            session=session,
            turn=turn,
            prompt=prompt,
            loaded=loaded,
            contents=self._shelf.contents(prompt, 0, len(prompt.tokens)),
            ledger=ledger,
            expected=int(prompt.tokens[copies[-1].begin]),
            call=plan.turns[turn].expected.body,
            tool_names=frozenset(tool["function"]["name"] for tool in plan.tools),
            answers=tuple(
                (fact.begin // PAGE_TOKENS - loaded.start, (fact.end - 1) // PAGE_TOKENS - loaded.start)
                for fact in copies
            ),
        )

    def _write_previous(self, ledger: ContentLedger, session: int, turn: int, count: int) -> None:
        """Effect: numbers `count` pages of other sessions in the ledger."""
        order = case_stream(self._seed, session, turn, purpose=1).permutation(len(self._owners)).tolist()
        missing = count
        while missing > 0:
            for other in order:
                owner = self._owners[other]
                if other != session and missing > 0:
                    taken = min(missing, owner.end - owner.begin)
                    ledger.write(owner.prompt, owner.begin * PAGE_TOKENS, (owner.begin + taken) * PAGE_TOKENS)
                    missing -= taken

    def _owner(self, plan: SessionPlan) -> _Owner:
        longest = self._reader.read(plan.messages(len(plan.turns) - 1), plan.tools)
        system = self._reader.read(plan.messages(0)[:1], plan.tools)
        begin = _shared_tokens(longest.tokens, system.tokens) // PAGE_TOKENS
        end = len(longest.tokens) // PAGE_TOKENS
        assert begin < end, f"session {plan.session} has no private page"
        return _Owner(longest, begin, end)


@dataclass(frozen=True, slots=True, eq=False)
class _Owner:
    """A session whose private pages, [begin, end) of this prompt, were evicted."""

    prompt: Prompt
    begin: int
    end: int


def _shared_tokens(left: NDArray[np.int32], right: NDArray[np.int32]) -> int:
    """Length of the common prefix."""
    count = min(len(left), len(right))
    differs = np.flatnonzero(left[:count] != right[:count])
    return int(differs[0]) if len(differs) else count

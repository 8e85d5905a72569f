"""What the makers of sessions share: the spec, the line pool, the mint, the groups, and the streams of random numbers.

Owns: set-up in a fixed order, one independent random stream for each purpose. Does not own: any session. Floor 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from harness.config.schema import WorkloadSpec
from harness.load.workload.calls import CallDrawer, ToolSource
from harness.load.workload.catalog import tool_tokens
from harness.load.workload.mint import Mint
from harness.load.workload.plan import Group
from harness.load.workload.prose import CountTokens, Line, LineCounter, LinePool, make_pool
from harness.load.workload.runbook import compose
from harness.load.workload.texts import system_head
from harness.load.workload.words import Vocabulary

SECRETS_PER_SESSION = 3
TOOLS_SHARE = 0.85
"""Part of `system_tokens` that the tools may take; the rest is the desk's procedures."""

NOTHING = Line("", 0)


class Purpose(IntEnum):
    """Names the random streams, so that a change to one use leaves the others as they were."""

    POOL = 0
    MINT = 1
    GROUP = 2
    SESSION = 3


def stream(seed: int, purpose: Purpose, index: int = 0) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, index)))


@dataclass(frozen=True, slots=True)
class Kit:
    spec: WorkloadSpec
    seed: int
    counter: LineCounter
    pool: LinePool
    mint: Mint
    groups: tuple[Group, ...]
    drawers: tuple[CallDrawer, ...]

    def session_stream(self, session: int) -> np.random.Generator:
        return stream(self.seed, Purpose.SESSION, session)


def make_kit(
    spec: WorkloadSpec, seed: int, vocabulary: Vocabulary, source: ToolSource, count_tokens: CountTokens
) -> Kit:
    counter = LineCounter(count_tokens)
    # Long messages need many different lines, short ones should not pay for them: about six uses of each line.
    line_count = min(4000, max(256, spec.first_message_tokens_max // 6))
    pool = make_pool(vocabulary, counter, stream(seed, Purpose.POOL), line_count)
    groups: list[Group] = []
    drawers: list[CallDrawer] = []
    for index in range(spec.groups):
        rng = stream(seed, Purpose.GROUP, index)
        tool_set = source.tool_set(int(spec.system_tokens * TOOLS_SHARE), rng)
        spent = sum(tool_tokens(tool, count_tokens) for tool in tool_set.tools)
        name = f"{_pick(vocabulary.adjectives, rng)} {_pick(vocabulary.nouns, rng)} {index + 1}"
        head = counter.line(system_head(name))
        system = compose(head, (), pool.shuffled(rng), spec.system_tokens - spent)
        groups.append(Group(index, system.text, tool_set.tools, system.tokens + spent))
        drawers.append(CallDrawer(tool_set, count_tokens, spec.call_tokens_max))
    mint = Mint(stream(seed, Purpose.MINT), vocabulary.words)
    return Kit(spec, seed, counter, pool, mint, tuple(groups), tuple(drawers))


def _pick(options: tuple[str, ...], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]

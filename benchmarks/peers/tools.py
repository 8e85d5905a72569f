"""Every tool behind one signature: what it made of one fresh server.

Owns: which calls of a re-implemented peer are one run of it, when its user can know, and whether what it points at is
wrong. Does not own: the algorithms (`certify`, `trace_loop`, `edge_cases`) or the tools that bring a command of their
own (`ours`, `infer_check`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from benchmarks.peers.certify import CELLS, certify
from benchmarks.peers.client import Completion, CountingClient, counting_client
from benchmarks.peers.edge_cases import edge_cases
from benchmarks.peers.found import Found
from benchmarks.peers.infer_check import infer_check
from benchmarks.peers.ours import ours
from benchmarks.peers.questions import Question
from benchmarks.peers.targets import target_named
from benchmarks.peers.trace_loop import REPLAYS, replayed, search

REWRITTEN: Final[Mapping[str, str]] = MappingProxyType({
    "certify": "a certificate after LockStep's algorithm, written anew",
    "trace loop": "GRIEF's described loop, written anew, without its engine signals",
    "edge cases": "vLLM's three equalities, written anew",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asking:
    """One run to be: a fresh server, and the questions of its seed."""

    url: str
    target: str
    seed: int
    questions: tuple[Question, ...]

    @property
    def prompts(self) -> list[tuple[int, ...]]:
        return [question.tokens for question in self.questions]


Tool = Callable[[Asking], Awaitable[Found]]


def tools(infer_check_command: Path | None) -> dict[str, Tool]:
    """By name. Without its command, `infer-check` is left out."""
    found: dict[str, Tool] = {"ours": _ours}
    if infer_check_command is not None:
        command = infer_check_command

        async def peer(asking: Asking) -> Found:
            return await infer_check(command, asking.url, asking.target, asking.seed, asking.questions)

        found["infer-check"] = peer
    return found | {"certify": _certify, "trace loop": _trace_loop, "edge cases": _edge_cases}


async def _ours(asking: Asking) -> Found:
    return await ours(asking.url, asking.target, asking.seed)


async def _certify(asking: Asking) -> Found:
    """Both cells, the cold one first; the first certificate that is refused is the alarm."""
    said = []
    async with counting_client(asking.url) as client:
        for cell in CELLS:
            certificate = await certify(client, asking.prompts, cell, asking.seed)
            said.append(f"{cell} {certificate.verdict}")
            if certificate.verdict == "DIVERGED":
                pairs = certificate.differing
                return _found("certify", asking, client, client.seconds, _wrong(asking, pairs), said)
        return _found("certify", asking, client, None, None, said)


async def _trace_loop(asking: Asking) -> Found:
    async with counting_client(asking.url) as client:
        diverged = await search(client, asking.prompts, asking.seed)
        if diverged is None:
            return _found("trace loop", asking, client, None, None, ["no divergence"])
        seconds, requests = client.seconds, client.requests
        is_true = _wrong(asking, diverged.pairs)
        times = await replayed(client, asking.prompts, diverged)
        said = [f"diverged in {times}/{REPLAYS} replays"]
        return _found("trace loop", asking, client, seconds, is_true, said, requests, (times, REPLAYS))


async def _edge_cases(asking: Asking) -> Found:
    async with counting_client(asking.url) as client:
        unequal = await edge_cases(client, asking.prompts[0])
        if not unequal:
            return _found("edge cases", asking, client, None, None, ["3 of 3 equal"])
        # What the short prompt asks for is cut off, so only the other two have a right answer.
        whole = [(0, one.cold, one.warm) for one in unequal if one.which != "a prompt below a page"]
        said = [f"unequal: {', '.join(one.which for one in unequal)}"]
        return _found("edge cases", asking, client, client.seconds, _wrong(asking, whole), said)


def _wrong(asking: Asking, pairs: Iterable[tuple[int, Completion, Completion]]) -> bool:
    """Whether replies that differ show a fault, and not only another spelling of the same answer.

    One of them is wrong; or the text is the same and log-probabilities moved, where the target's arithmetic is exact.
    """
    is_exact = "engine.numerics" not in target_named(asking.target).overrides
    return any(
        not asking.questions[index].is_right(one.text) or (is_exact and both[0].text == both[1].text)
        for index, *both in pairs
        for one in both
    )


def _found(
    tool: str,
    asking: Asking,
    client: CountingClient,
    alarm_s: float | None,
    is_true: bool | None,
    said: Sequence[str],
    alarm_requests: int | None = None,
    replays: tuple[int, int] | None = None,
) -> Found:
    is_alarm = alarm_s is not None
    return Found(
        tool=tool,
        target=asking.target,
        seed=asking.seed,
        is_alarm=is_alarm,
        is_true=is_true,
        alarm_s=alarm_s,
        alarm_requests=(alarm_requests or client.requests) if is_alarm else None,
        total_s=client.seconds,
        total_requests=client.requests,
        exit_code=None,
        said=", ".join(said),
        replays=replays,
    )

"""One triage: the base, each toggle by itself, and where none cures alone, the fewest that do together.

Owns: which arm is run when, and that what was done is kept. Does not own: servers (`server.py`), one block
(`harness/live/run`), what the arms come to (`conclusion.py`). Floor 5. Source: ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from harness.live.arms_record import ArmBlock
from harness.live.outcome import LiveResult
from harness.live.request import LiveRequest
from harness.live.run import LiveRun, run_live
from harness.live.target import Target
from harness.simulation import provenance
from harness.simulation.run import RunProgress
from harness.triage.command import ServerCommand, changes_nothing, command_of
from harness.triage.conclusion import are_judged
from harness.triage.fewest import fewest
from harness.triage.plan import AGAIN, ALL, BASE, TriagePlan
from harness.triage.server import Server, free_port
from kernels.errors import KVRaceError
from results.layout import new_run_folder
from results.matrix.folder import RUNS

Strategy = Literal["each", "bisect"]
LOGS = "server-logs"
_NAME_CHARACTERS = 80


class MakeRequest(Protocol):
    """From a server that answers, and words of `run.py stress`, to a request for it. Raises: KVRaceError."""

    def __call__(self, words: Sequence[str], base_url: str) -> LiveRequest: ...


@dataclass(frozen=True, slots=True)
class Watcher:
    """on_arm: told of each arm's name and what it changes, before its server starts. on_progress: of a block."""

    on_arm: Callable[[str, ServerCommand], None]
    on_progress: Callable[[RunProgress], None]
    on_loop: Callable[[asyncio.AbstractEventLoop], None]


class TriageRun:
    """`stop` may be called from a signal handler: what runs ends early, its server is ended, no further arm begins.

    arms: name -> toggles, of every arm that was begun. failures: name -> why it could not be run.
    fewest: the toggles left over when no further one could be left out; () where nobody looked for them.
    """

    def __init__(self, plan: TriagePlan, make: MakeRequest, *, strategy: Strategy, out: Path) -> None:
        self.plan = plan
        self.began = provenance.utc_now()
        self.folder = new_run_folder(out, f"{self.began.strftime('%Y%m%dT%H%M%SZ')}-triage")
        self.arms: dict[str, tuple[str, ...]] = {}
        self.commands: dict[str, ServerCommand] = {}
        self.requests: dict[str, LiveRequest] = {}
        self.failures: dict[str, str] = {}
        self.done: list[ArmBlock] = []
        self.fewest: tuple[str, ...] = ()
        self.is_interrupted = False
        self._strategy = strategy
        self._make = make
        self._run: LiveRun | None = None

    def __repr__(self) -> str:
        return f"TriageRun({self.folder}, {len(self.arms)} arms, {len(self.done)} blocks)"

    def stop(self) -> None:
        self.is_interrupted = True
        if self._run is not None:
            self._run.stop()

    def run(self, watcher: Watcher) -> None:
        """Until there is an answer, or `stop`. Raises: KVRaceError where not even the base can be run."""
        (self.folder / LOGS).mkdir()
        try:
            self._all_arms(watcher)
        except KeyboardInterrupt:
            # Between two event loops, where no handler listens.
            self.stop()

    def corrupted(self, arm: str) -> int:
        return sum(one.result.summary.sessions_corrupted for one in self.done if one.arm == arm)

    def _all_arms(self, watcher: Watcher) -> None:
        self._arm(BASE, (), watcher)
        if not self.corrupted(BASE):
            return
        idle = [toggle.name for toggle in self.plan.toggles if changes_nothing(self.plan, toggle)]
        self.arms |= dict.fromkeys(idle, ())
        self.failures |= dict.fromkeys(idle, "changes nothing: it only drops what the base has not")
        names = tuple(toggle.name for toggle in self.plan.toggles if toggle.name not in idle)
        is_cured = False
        if self._strategy == "each":
            is_cured = sum(self._is_clean(name, (name,), watcher) for name in names) > 0
        if not is_cured and len(names) > 1 and self._is_clean(ALL, names, watcher):
            self.fewest = fewest(names, lambda part: self._is_clean(self._name_of(part), part, watcher))
            is_cured = True
        if is_cured:
            # A server that has changed by itself would make every toggle look like a cure.
            self._arm(AGAIN, (), watcher)

    def _name_of(self, part: tuple[str, ...]) -> str:
        """One toggle's own name, or what a file can be called."""
        joined = "+".join(part)
        return joined if len(joined) <= _NAME_CHARACTERS else f"{len(part)}-toggles-{len(self.arms)}"

    def _is_clean(self, name: str, toggles: tuple[str, ...], watcher: Watcher) -> bool:
        """Whether an arm was run as planned and could be judged, and no session of it was corrupted."""
        if name not in self.arms:
            self._arm(name, toggles, watcher)
        blocks = [one.result.summary for one in self.done if one.arm == name]
        is_judged = are_judged(sum(one.sessions_judged for one in blocks), sum(one.sessions for one in blocks))
        return len(blocks) == self.plan.stress.blocks and is_judged and not self.corrupted(name)

    def _arm(self, name: str, toggles: tuple[str, ...], watcher: Watcher) -> None:
        if self.is_interrupted:
            return
        self.arms[name] = toggles
        command = command_of(self.plan, [self.plan.toggle(one) for one in toggles], str(free_port()))
        self.commands[name] = command
        watcher.on_arm(name, command)
        server = Server(
            command, log=self.folder / LOGS / f"{name}.log", ready_s=self.plan.server.ready_s,
            stop_s=self.plan.server.stop_s, should_stop=lambda: self.is_interrupted, on_loop=watcher.on_loop,
        )  # fmt: skip
        try:
            with server:
                if not self.is_interrupted:
                    self._blocks(name, command, watcher)
        except KVRaceError as problem:
            # Whatever is wrong with one toggle, what the arms before it have shown is kept.
            if name == BASE:
                raise
            self.failures[name] = str(problem)

    def _blocks(self, name: str, command: ServerCommand, watcher: Watcher) -> None:
        asked = self._make(command.stress, command.base_url)
        request = replace(
            asked,
            target=Target(name, command.base_url),
            store=self.folder / RUNS,
            on_progress=watcher.on_progress,
            # As between arms: whether a server is well after each of many blocks is not the question here.
            beside=replace(asked.beside, recovers_after_cuts_only=True),
        )
        self.requests[name] = request
        for block in range(-self.plan.stress.warm_blocks, self.plan.stress.blocks):
            if self.is_interrupted or self._has_answered(name):
                return
            # The same number in every arm: the same sessions. Those of warm-ups come behind all others.
            number = block % (self.plan.stress.blocks + self.plan.stress.warm_blocks)
            own = replace(request.in_block(number), store=request.store if block >= 0 else None)
            result = self._block(own, watcher)
            if block >= 0:
                self.done.append(ArmBlock(name, block, result))
            if result.summary.partial and not self.is_interrupted:
                self.failures[name] = f"block {block}: {result.stopped_by}"
                return

    def _has_answered(self, name: str) -> bool:
        """Seen again often enough to be no cure. The base is never cut short: everything is compared with it."""
        seen = sum(one.result.summary.sessions_corrupted > 0 for one in self.done if one.arm == name)
        return name != BASE and seen >= self.plan.stress.enough

    def _block(self, request: LiveRequest, watcher: Watcher) -> LiveResult:
        self._run = LiveRun(request)
        return run_live(self._run, on_loop=watcher.on_loop)

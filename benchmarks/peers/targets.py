"""What the tools are aimed at: three sound pairs, and nine with one defect each.

Owns: the list. Each planted one is the sound pair of `pair.toml` with one switch turned or one piece of code changed in
memory, and nothing else. Does not own: serving them (`serve`), what a tool makes of them. Source: classes of the public
bugs in docs/zoo.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.races.mutants.patching import changed

SCENARIO: Final = Path(__file__).with_name("pair.toml")


@dataclass(frozen=True, slots=True)
class Change:
    """place: `package.module:Class.function`. pairs: text of it, and what stands there instead."""

    place: str
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Target:
    """One server. overrides: of the scenario. code: what is changed in memory.

    cause: pattern that a report must match to have named what is wrong; empty where none can.
    """

    name: str
    what: str
    is_sound: bool = False
    overrides: Mapping[str, str] = field(default_factory=dict)
    code: tuple[Change, ...] = ()
    cause: str = ""

    @contextmanager
    def planted(self) -> Iterator[list[bool]]:
        """Run the body with the code changed. Yields: one flag for each changed text, true once it has run; they are
        whole when the body has ended."""
        ran: list[bool] = []
        with ExitStack() as stack:
            flags = [stack.enter_context(changed(change.place, change.pairs)) for change in self.code]
            yield ran
            ran += [flag for each in flags for flag in each]


_LAYERS = "    for layer in range(geometry.layer_count):\n"
_LAYER_RECORD = "tier.load.record(rank.ring.layer_event(slot, layer))"
_ARRIVED = """        meeting.arrived = self._machine.event(f"handoff[{meeting.room}].arrived")
        lead.record(meeting.arrived)
"""
_ROW = """        row = self._rows.at_source(meeting.row)
        written = Write(row, np.array([row_version], dtype=np.int64))
        lead.launch("metadata row", duration_ns=1_000, point="compute.layer", writes=(written,))
        lead.copy(row, self._rows.at_target(meeting.row), point=HANDOFF_POINT, label="handoff metadata row")
"""
_LOOKED_UP = "job.prompt.page_keys[:usable]"
_INSERTED = "job.prompt.page_keys[:whole_pages]"
_LEAD = "        lead = self._streams[0]\n"
_REPLY = "        reply = self._readout.reply(job.prompt, begun, seen[1].tail[0])\n"

TARGETS: Final = (
    Target("sound", "as it stands", is_sound=True),
    Target("bf16", "near ties that the batch decides", is_sound=True, overrides={"engine.numerics": "bf16"}),
    Target(
        "slow",
        "a third of the speed, loads held up by 5 ms",
        is_sound=True,
        overrides={"engine.decode_step_ms": "24", "cost.bandwidth_scale": "0.1", "delays.h2d.index_k": "constant:5ms"},
    ),
    Target(
        "gate_missing",
        "the index-K read does not wait for its load",
        overrides={"cache.gate_index_k": "false"},
        cause=r"index_k.* indexer\[.*not after .*load index_k",
    ),
    Target(
        "early_completion",
        "a layer says that it is loaded before its copies are",
        code=(
            Change(
                "kernels.hicache.transfers:issue_load",
                ((_LAYER_RECORD, "pass"), (_LAYERS, f"{_LAYERS}        {_LAYER_RECORD}\n")),
            ),
        ),
        cause=r"EARLY_RECORD",
    ),
    Target(
        "stale_slot",
        "a forward asks the events of an earlier load",
        code=(Change("kernels.hicache.gate:LayerGate.set_consumer", (
            ("self.consumer = index", "self.consumer = index if self.consumer == NO_CONSUMER else self.consumer"),
        )),),
        cause=r"WRONG_EVENT|MISSING_WAIT",
    ),
    Target(
        "free_in_flight",
        "pages are given away while they are being backed up",
        code=(Change("kernels.hicache.backups:BackupQueue.poll", (
            ("is_done = yield from all_done(self._in_flight[0].finish)", "is_done = True\n            yield from ()"),
        )),),
        cause=r"backup\[\d+\]",
    ),
    Target(
        "unpinned_before_sent",
        "a prompt's pages are let go when its hand-off begins, not when it ends",
        code=(
            Change(
                "kernels.engine.prefill:PrefillEngine._acknowledge",
                (("if (yield Query(sending.arrived)):", "if (yield Query(sending.arrived)) or True:"),),
            ),
        ),
        cause=r"handoff",
    ),
    Target(
        "publish_early",
        "the decode side is told before the pages have arrived",
        code=(
            Change(
                "kernels.engine.handoff:Handoff.send",
                ((_ARRIVED, ""), (_ROW, ""), (_LEAD, _LEAD + _ROW + _ARRIVED)),
            ),
        ),
        cause=r"handoff",
    ),
    Target(
        "missing_pool",
        "index-K is not backed up with the rest",
        code=(Change("kernels.hicache.transfers:issue_backup", (
            (
                "    for kind in geometry.pool_kinds:",
                "    for kind in geometry.pool_kinds:\n        if kind == 'index_k':\n            continue",
            ),
        )),),
        cause=r"index_k",
    ),
    Target(
        "wrong_key",
        "the cache compares one bit of a page's key",
        code=(
            Change("kernels.engine.batching:Batcher._admit", ((_LOOKED_UP, f"[key & 1 for key in {_LOOKED_UP}]"),)),
            Change("kernels.engine.prefill:PrefillEngine._settle", ((_INSERTED, f"[key & 1 for key in {_INSERTED}]"),)),
        ),
    ),
    Target(
        "repeatable",
        "in a batch, every fourth prompt is read from its last page only",
        code=(Change("kernels.engine.decode:DecodeEngine._first_read", (
            (
                _REPLY,
                "        table = seen[1].tail[0]\n"
                "        if len(self._running) > 1 and len(job.prompt.tokens) % 4 == 0:\n"
                "            table = np.repeat(table[-1:], len(table))\n"
                "        reply = self._readout.reply(job.prompt, begun, table)\n",
            ),
        )),),
    ),
)  # fmt: skip


def target_named(name: str) -> Target:
    return next(target for target in TARGETS if target.name == name)

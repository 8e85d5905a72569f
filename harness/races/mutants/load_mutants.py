"""Mutants of loads: start event, copies and records inside a layer, merged producers, locks, polls. Floor 5."""

from __future__ import annotations

from harness.races.mutants.code_mutant import CodeMutant

_LOCKED = r"unlocked more often than locked|lock_ref of .* but it has"
_PIN = r"unpinned more often than pinned|host_ref of .* but it has"
_RECORD = "tier.load.record(rank.ring.layer_event(slot, layer))"
_LAYERS = "for layer in range(geometry.layer_count):"
_KINDS = "for kind in _load_order(geometry.pools_of(layer), rank.ring.remedy):"
_IN_KINDS = f"{_KINDS}\n            "
_START, _WAIT = "rank.schedule.record(start)", "tier.load.wait(start)"


def _recorded_before(pool: str) -> tuple[tuple[str, str], ...]:
    """The layer's event is recorded in front of this pool's copy; of layers without the pool, where it always is."""
    return (
        (_RECORD, f"{_RECORD} if '{pool}' not in geometry.pools_of(layer) else None"),
        (_IN_KINDS, f"{_IN_KINDS}{_RECORD} if kind == '{pool}' else None\n            "),
    )


LOAD_MUTANTS: tuple[CodeMutant, ...] = (
    CodeMutant("start is not recorded", "transfers:issue_load", ((_START, "pass"),), ("8",)),
    CodeMutant("load does not wait for start", "transfers:issue_load", ((_WAIT, "pass"),), ("8",)),
    CodeMutant(
        "start is recorded on the load stream", "transfers:issue_load", ((_START, "tier.load.record(start)"),), ("8",)
    ),
    CodeMutant(
        "load waits for another slot's start",
        "transfers:issue_load",
        ((_WAIT, "tier.load.wait(rank.ring.start_event(slot - 1))"),),
        ("8",),
    ),
    CodeMutant("layer is not recorded", "transfers:issue_load", ((_RECORD, "pass"),), ("10",)),
    CodeMutant(
        "layer records the event of the layer before",
        "transfers:issue_load",
        ((_RECORD, "tier.load.record(rank.ring.layer_event(slot, max(layer - 1, 0)))"),),
        ("10",),
    ),
    CodeMutant(
        "layer records the event of the next ring slot",
        "transfers:issue_load",
        ((_RECORD, "tier.load.record(rank.ring.layer_event((slot + 1) % rank.ring.depth, layer))"),),
        ("10",),
    ),
    CodeMutant(
        "layer is recorded before its copies",
        "transfers:issue_load",
        ((_RECORD, "pass"), (_KINDS, f"{_RECORD}\n        {_KINDS}")),
        ("10",),
    ),
    CodeMutant(
        "layer is recorded behind main KV, before index-K",
        "transfers:issue_load",
        _recorded_before("index_k"),
        ("10",),
    ),
    CodeMutant(
        "layer is recorded before its states",
        "transfers:issue_load",
        _recorded_before("c4_state"),
        ("6",),
    ),
    CodeMutant(
        "all layers are recorded at the end",
        "transfers:issue_load",
        (
            (_RECORD, "pass"),
            ("    return size_bytes", f"    {_LAYERS}\n        {_RECORD}\n    return size_bytes"),
        ),
        reason="readers then wait for the whole load: later, never earlier",
    ),
    CodeMutant(
        "layers are loaded last one first",
        "transfers:issue_load",
        ((_LAYERS, "for layer in reversed(range(geometry.layer_count)):"),),
        ("6", "7"),
    ),
    CodeMutant(
        "index-K is not loaded",
        "transfers:issue_load",
        (("if len(host_pages) > 0:", "if len(host_pages) > 0 and kind != 'index_k':"),),
        assertion=r"wrong content: index_k\[layer \d\]",
    ),
    CodeMutant(
        "last layer is not loaded",
        "transfers:issue_load",
        ((_LAYERS, "for layer in range(geometry.layer_count - 1):"),),
        assertion=r"wrong content: \w+\[layer [1-9]\]",
    ),
    CodeMutant(
        "host and device pages are paired wrongly",
        "transfers:issue_load",
        (("tier.pools[kind].region(layer, host_pages)", "tier.pools[kind].region(layer, host_pages[::-1])"),),
        assertion="wrong content: (kv|c4|c128|index_k)",
    ),
    CodeMutant(
        "merged producer forgets the last request",
        "transfers:merged",
        (("    return PageMoves(", "    moves = moves[:1]\n    return PageMoves("),),
        assertion="wrong content: .* key 2 is",
    ),
    CodeMutant(
        "queued load is not locked", "loads:LoadQueue.add", (("self._tree.lock(request.node)", "pass"),), ("6",)
    ),
    CodeMutant(
        "queued load is not pinned",
        "loads:LoadQueue.add",
        (("self._tree.pin(request.node)", "pass"),),
        assertion=_PIN,
    ),
    CodeMutant(
        "queue is not emptied by a merge",
        "loads:LoadQueue.merge",
        (("requests, self._queued = self._queued, []", "requests = list(self._queued)"),),
        assertion=_LOCKED,
    ),
    CodeMutant(
        "merged load is not watched",
        "loads:LoadQueue.merge",
        (("self._in_flight.append(operation)", "pass"),),
        assertion="lock_ref of .* but it has",
    ),
    CodeMutant(
        "load is not issued",
        "loads:LoadQueue.start",
        (("self.issue(operation, rank)", "pass"),),
        assertion="wrong content: .* key 1 is",
    ),
    CodeMutant(
        "load gives no consumer", "loads:LoadQueue.start", (("return operation.slot", "return NO_CONSUMER"),), ("10",)
    ),
    CodeMutant(
        "load gives the consumer before",
        "loads:LoadQueue.start",
        (("return operation.slot", "return (operation.slot - 1) % self._ranks[0].ring.depth"),),
        ("10",),
    ),
    CodeMutant(
        "load is acknowledged whatever the answer",
        "loads:LoadQueue.poll",
        (("if not is_done:", "if False:"),),
        ("6", "7"),
    ),
    CodeMutant(
        "load is acknowledged when it has started",
        "loads:LoadQueue.poll",
        (("rank.ring.finish_event(operation.slot)", "rank.ring.start_event(operation.slot)"),),
        ("6", "7"),
    ),
    CodeMutant(
        "load is acknowledged by another slot's end",
        "loads:LoadQueue.poll",
        (("finish_event(operation.slot)", "finish_event(operation.slot - 1)"),),
        ("6", "7"),
    ),
    CodeMutant(
        "loads are acknowledged last one first",
        "loads:LoadQueue.poll",
        (("operation = self._in_flight[0]", "operation = self._in_flight[-1]"),),
        reason="a load ends after those before it, so the oldest is over when the newest is",
    ),
    CodeMutant(
        "acknowledged load stays locked",
        "loads:LoadQueue._acknowledge",
        (("self._tree.unlock(node)", "pass"),),
        assertion="lock_ref of .* but it has",
    ),
    CodeMutant(
        "acknowledged load stays pinned",
        "loads:LoadQueue._acknowledge",
        (("self._tree.unpin(node)", "pass"),),
        assertion="host_ref of .* but it has",
    ),
    CodeMutant(
        "question ends with yes",
        "pieces:all_done",
        (("answer = yield Query(event)", "answer = True or (yield Query(event))"),),
        ("2", "6"),
    ),
    CodeMutant("answer does not count", "pieces:all_done", (("if not answer:", "if False:"),), ("2", "6")),
)

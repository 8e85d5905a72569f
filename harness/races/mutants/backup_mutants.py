"""Mutants of backups: start and finish event, lock, poll, the host's waits, write-back, chunks. Floor 5."""

from __future__ import annotations

from harness.races.mutants.code_mutant import CodeMutant

_START, _WAIT, _FINISH = "rank.schedule.record(start)", "tier.backup.wait(start)", "tier.backup.record(finish)"
_POOLS = "for kind in geometry.pool_kinds:"
_ALLOC = "return self.device.alloc(count)"
_DRAIN = "yield from self.backups.drain()"


BACKUP_MUTANTS: tuple[CodeMutant, ...] = (
    CodeMutant("start is not recorded", "transfers:issue_backup", ((_START, "pass"),), ("1",)),
    CodeMutant("backup does not wait for start", "transfers:issue_backup", ((_WAIT, "pass"),), ("1",)),
    CodeMutant(
        "start is recorded on the backup stream",
        "transfers:issue_backup",
        ((_START, "tier.backup.record(start)"),),
        ("1",),
    ),
    CodeMutant(
        "start is recorded after the wait",
        "transfers:issue_backup",
        ((_START, "pass"), (_WAIT, f"{_WAIT}\n    {_START}")),
        ("1",),
    ),
    CodeMutant("finish is not recorded", "transfers:issue_backup", ((_FINISH, "pass"),), ("2", "4")),
    CodeMutant(
        "finish is recorded before the copies",
        "transfers:issue_backup",
        ((_FINISH, "pass"), (_POOLS, f"{_FINISH}\n    {_POOLS}")),
        ("2", "4"),
    ),
    CodeMutant(
        "finish is recorded on the schedule stream",
        "transfers:issue_backup",
        ((_FINISH, "rank.schedule.record(finish)"),),
        ("2", "4"),
    ),
    CodeMutant(
        "index-K is not backed up",
        "transfers:issue_backup",
        ((_POOLS, f"{_POOLS}\n        if kind == 'index_k':\n            continue"),),
        assertion=r"wrong content: index_k\[layer \d\]",
    ),
    CodeMutant(
        "backup hands out its start event",
        "backups:BackupQueue._issue",
        (("return finish", "return start"),),
        ("2", "4"),
    ),
    CodeMutant("backup is not locked", "backups:BackupQueue.start", (("self._tree.lock(node)", "pass"),), ("2", "4")),
    CodeMutant(
        "backed-up node does not know its host pages",
        "backups:BackupQueue.start",
        (("self._tree.set_host(node, run)", "pass"),),
        assertion="host: .* free .* pages",
    ),
    CodeMutant(
        "backup is acknowledged whatever the answer",
        "backups:BackupQueue.poll",
        (("if not is_done:", "if False:"),),
        ("2", "4"),
    ),
    CodeMutant(
        "backup is acknowledged without asking",
        "backups:BackupQueue.poll",
        (("is_done = yield from all_done(self._in_flight[0].finish)", "is_done = True\n            yield from ()"),),
        ("2", "4"),
    ),
    CodeMutant(
        "host does not wait for a backup",
        "backups:BackupQueue.drain",
        (("yield from wait_all(self._in_flight[0].finish)", "yield from ()"),),
        ("3", "4"),
    ),
    CodeMutant("host's wait is left out", "pieces:wait_all", (("yield Until(event)", "yield from ()"),), ("3", "4")),
    CodeMutant(
        "drained backup stays locked",
        "backups:BackupQueue.drain",
        (("self._tree.unlock(self._in_flight.popleft().node)", "self._in_flight.popleft()"),),
        assertion="lock_ref of .* but it has",
    ),
    CodeMutant(
        "write-back does not wait before it frees",
        "controller:HiCache._room",
        ((_DRAIN, "yield from ()"),),
        assertion="lock_ref 1",
    ),
    CodeMutant(
        "write-back waits after it frees",
        "controller:HiCache._room",
        (
            (_DRAIN, "pass"),
            ("        return self.device.alloc(count)", f"        {_DRAIN}\n        return self.device.alloc(count)"),
        ),
        assertion="lock_ref 1",
    ),
    CodeMutant(
        "write-back does not back up",
        "controller:HiCache._room",
        (("self.backups.start(victim)", "pass"),),
        reason="nothing is kept then, and everything is computed again",
    ),
    CodeMutant("chunk counts as a use", "controller:HiCache.insert", (("if not is_chunk:", "if True:"),), ("16",)),
    CodeMutant(
        "node is backed up twice",
        "controller:HiCache._count_use",
        ((" and not node.is_backed_up", ""),),
        assertion="Node",
    ),
)

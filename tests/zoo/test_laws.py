"""The laws, each on a program that breaks it and on the twin that does not.

Owns: `kernels/races/laws`. Floor: tests. Source: ours; the specimens break them too, these are the smallest that do.
"""

from __future__ import annotations

import pytest

from kernels.races.laws.marks import Marker
from kernels.races.laws.rows import canaries, expects_canaries, row_pages
from kernels.races.search.explore import explore
from kernels.substrate.contract import HostProgram, Machine, Until
from scenarios.zoo.parts import Pool, copy, kernel
from tests.zoo.lawful import Program, broken, laws_of


def moving(*moved: str, reads: str = "index", source: int = 0) -> Program:
    """KV and index are companions on both tiers; some of them are loaded, and one of them is read."""

    def program(machine: Machine) -> None:
        pools = {
            name: (Pool(machine, f"d.{name}"), Pool(machine, f"h.{name}", 2, space="host")) for name in ("kv", "index")
        }
        stream, mark = machine.stream("s", device=0), Marker(machine)
        for tier in (0, 1):
            mark.together(*(pair[tier].buffer for pair in pools.values()))
        kernel(stream, "before", writes=[(device.at(0), 1) for device, _ in pools.values()])
        for name in moved:
            device, host = pools[name]
            copy(stream, host.at(source if name == "index" else 0), device.at(0), f"load {name}")
        kernel(stream, "use", reads=[pools[reads][0].at(0)])

    return program


@pytest.mark.parametrize(
    ("program", "laws"),
    [
        (moving("kv"), ["companions"]),
        (moving("kv", "index"), []),
        (moving("index"), []),
        (moving("index", reads="kv"), ["companions"]),
        (moving("kv", reads="kv"), []),
        (moving("index", "kv", source=1), ["companions"]),
        (moving("kv", "index", source=1), []),
        (moving(), []),
    ],
)
def test_companions(program: Program, laws: list[str]) -> None:
    """Read of what stayed behind, or came from elsewhere and earlier, is a breach; a later fill is another matter."""
    assert laws_of(program) == laws


def rowing(parts: tuple[str, ...], into: tuple[str, ...], pages: list[int], targets: list[int]) -> Program:
    def program(machine: Machine) -> None:
        source, target = Pool(machine, "a", 16), Pool(machine, "b", 16)
        stream, mark = machine.stream("s", device=0), Marker(machine)
        mark.rows(source.buffer, *parts)
        mark.rows(target.buffer, *into)
        copy(stream, source.at(*pages), target.at(*targets), "move")

    return program


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (rowing(("k", "v"), ("k", "v"), [2, 3], [4, 5]), ""),
        (rowing(("k", "v"), ("v", "k"), [2, 3], [5, 4]), ""),
        (rowing(("k", "v"), ("k", "v"), [2, 3], [5, 4]), "puts part k of a row 1 where b has v"),
        (rowing(("k", "v"), ("k", "v"), [2], [4]), "leaves out v of a row 1"),
        (rowing(("k", "v"), ("k", "v"), [2, 3], [4, 7]), "scatters a row 1 over several rows of b"),
        (rowing(("k", "v", "s"), ("k", "v"), [0, 1], [0, 1]), "s has no place"),
    ],
)
def test_rows(program: Program, says: str) -> None:
    found = broken(program)
    assert len(found) == bool(says)
    assert all(says in breach.what for breach in found)


@pytest.mark.parametrize(("row", "is_right"), [(3, True), (2, False)])
def test_canaries_name_the_row_that_is_there(row: int, is_right: bool) -> None:
    def program(machine: Machine) -> None:
        pool, stream = Pool(machine, "pool", 8), machine.stream("s", device=0)
        kernel(stream, "fill", writes=[(pool.at(*range(8)), canaries(range(4), 2))])
        at = pool.at(*row_pages((row,), 2).tolist())
        kernel(stream, "read", reads=[at], body=expects_canaries((3,), 2))

    result = explore(program, budget=5, mend_schedules=0)
    errors = [failure.outcome.error for failure in result.failures]
    said = "ordered, yet stale: pool page 4 should hold row 3 part 0, and holds row 2 part 0"
    assert errors == ([] if is_right else [said])


def owning(*steps: tuple[str, str, int]) -> Program:
    """(what, owner, page): claim, share, free, read, write. Page 2 is page 0 of `other`, which lies where `pool` has
    page 1."""

    def program(machine: Machine) -> None:
        pool, other = Pool(machine, "pool", 2), Pool(machine, "other")
        stream, mark = machine.stream("s", device=0), Marker(machine)
        mark.placed(pool.buffer, 0x1000)
        mark.placed(other.buffer, 0x2000)
        for what, owner, page in steps:
            region = pool.at(page) if page < 2 else other.at(0)
            if what in ("claim", "share"):
                mark.claim(owner, region, shared=what == "share")
            elif what == "free":
                mark.free(owner, region)
            else:
                mark.acts(owner)
                is_read = what == "read"
                kernel(stream, what, reads=[region] * is_read, writes=[(region, 1)] * (not is_read))

    return program


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([("claim", "A", 0), ("claim", "B", 1), ("write", "A", 0), ("read", "B", 1)], ""),
        ([("claim", "A", 0), ("free", "A", 0), ("claim", "B", 0)], ""),
        ([("claim", "A", 0), ("claim", "B", 0)], "B is given pool[layer 0] page 0, which A has since"),
        ([("claim", "A", 1), ("claim", "B", 2)], "B is given other[layer 0] page 0, which A has since"),
        ([("claim", "A", 0), ("claim", "B", 2)], ""),
        ([("claim", "A", 0), ("free", "B", 0)], "B frees pool[layer 0] page 0, which is A's"),
        ([("claim", "A", 0), ("free", "A", 0), ("free", "A", 0)], "A frees pool[layer 0] page 0, which is nobody's"),
        ([("claim", "A", 0), ("read", "B", 0)], "read, for B, reads pool[layer 0] page 0, which is A's"),
        ([("claim", "A", 1), ("write", "B", 2)], "write, for B, writes pool[layer 0] page 1, which is A's"),
        ([("share", "A", 0), ("read", "B", 0)], ""),
        ([("share", "A", 0), ("write", "B", 0)], "write, for B, writes"),
        ([("claim", "A", 0), ("read", "", 0)], ""),
    ],
)
def test_owners(steps: list[tuple[str, str, int]], says: str) -> None:
    found = broken(owning(*steps))
    assert len(found) == bool(says), found
    assert all(says in breach.what for breach in found)


@pytest.mark.parametrize(
    ("waits", "claims_late", "laws"), [(True, False, []), (False, False, ["drain"]), (False, True, [])]
)
def test_drain(waits: bool, claims_late: bool, laws: list[str]) -> None:
    """A transfer that began before the claim is its last owner's business."""

    def program(machine: Machine) -> None:
        device, host = Pool(machine, "d"), Pool(machine, "h", space="host")
        stream, saved = machine.stream("s", device=0), machine.event("saved")

        def main() -> HostProgram:
            mark = Marker(machine)
            if not claims_late:
                mark.claim("A", device.at(0))
            copy(stream, device.at(0), host.at(0), "save")
            stream.record(saved)
            if claims_late:
                mark.claim("A", device.at(0))
            if waits:
                yield Until(saved)
            mark.free("A", device.at(0))
            yield Until(saved)

        machine.spawn("main", main())

    assert laws_of(program) == laws


@pytest.mark.parametrize(
    ("stored", "asked", "laws"),
    [
        (("k", {"dtype": "fp8"}), ("k", {"dtype": "fp8"}), []),
        (("k", {"dtype": "fp8"}), ("k", {"dtype": "bf16"}), ["keys"]),
        (("k", {"dtype": "fp8"}), ("other", {"dtype": "fp8"}), ["keys"]),
        (("k", {"dtype": "fp8"}), ("other", {"dtype": "bf16"}), []),
        (("k", {"dtype": "fp8"}), ("k", {"dtype": "fp8", "rank": 1}), ["keys"]),
    ],
)
def test_keys(stored: tuple[str, dict[str, str]], asked: tuple[str, dict[str, str]], laws: list[str]) -> None:
    def program(machine: Machine) -> None:
        mark = Marker(machine)
        mark.put(stored[0], None, **stored[1])
        mark.got(asked[0], **asked[1])

    assert laws_of(program) == laws


@pytest.mark.parametrize(
    ("written", "laws"), [("before", []), ("behind", ["published"]), ("by the last", ["published"])]
)
def test_published(written: str, laws: list[str]) -> None:
    def program(machine: Machine) -> None:
        pool, stream, mark = Pool(machine, "pool"), machine.stream("s", device=0), Marker(machine)
        if written == "by the last":
            kernel(stream, "last owner", writes=[(pool.at(0), 1)])
        mark.claim("A", pool.at(0))
        if written == "before":
            kernel(stream, "fill", writes=[(pool.at(0), 2)])
        mark.put("k", pool.at(0), tokens="t")
        mark.got("k", tokens="t")
        if written == "behind":
            kernel(stream, "fill", writes=[(pool.at(0), 2)])

    assert laws_of(program) == laws


@pytest.mark.parametrize(
    ("decisions", "says"),
    [
        ([(0, 1, "evict a"), (1, 1, "evict a"), (0, 2, "load b"), (1, 2, "load b")], ""),
        ([(1, 1, "x"), (1, 2, "y"), (0, 1, "x"), (0, 2, "y")], ""),
        ([(0, 1, "evict a"), (1, 1, "evict b")], "rank 0 at step 1: evict a; rank 1 at step 1: evict b"),
        ([(0, 1, "x"), (0, 2, "y"), (1, 2, "y"), (1, 1, "x")], "rank 0 at step 1: x; rank 1 at step 2: y"),
        ([(0, 1, "x"), (1, 1, "x"), (0, 2, "y")], "rank 0 at step 2: y; rank 1 decides no more"),
    ],
)
def test_ranks(decisions: list[tuple[int, int, str]], says: str) -> None:
    def program(machine: Machine) -> None:
        mark = Marker(machine)
        for rank, step, what in decisions:
            mark.decided(rank, step, what)

    assert [breach.what for breach in broken(program)] == ([says] if says else [])


@pytest.mark.parametrize(("said", "laws"), [("other", []), ("ticket", ["failures"]), ("before", [])])
def test_failures(said: str, laws: list[str]) -> None:
    def program(machine: Machine) -> None:
        mark = Marker(machine)
        if said == "before":
            mark.loaded("ticket")
        mark.failed("ticket")
        mark.loaded("other" if said != "ticket" else said)

    assert laws_of(program) == laws


@pytest.mark.parametrize("ends", [True, False])
def test_endings(ends: bool) -> None:
    def program(machine: Machine) -> None:
        mark = Marker(machine)
        for name in ("A", "B"):
            mark.opened(name)
        for name in ("A", "B") if ends else ("B",):
            mark.closed(name)

    assert [breach.what for breach in broken(program)] == ([] if ends else ["request A begins and never ends"])

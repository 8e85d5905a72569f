"""Landings: writes on their way into a buffer, page by page, and what a reader sees meanwhile.

Owns: when each page of a write lands, and the content of pages, torn ones too, at any moment since the oldest open
access began. Does not own: bandwidth (`link.py`), or judging a read (`reading.py`). Floor 1.

Model. A copy's pages land one after another in walking order; inside a page bytes land from its start, evenly. What a
copy moves is what the source page held when the page's first byte moved; a source page that was itself half landed
counts as its old version. A kernel's writes land all at once when it ends. A page is read in one instant. Where more
than two writes meet inside one page, the youngest is seen in front of the tear, and the last complete one behind it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kernels.substrate.contract import Region, Versions
from kernels.substrate.paged import gather, scatter
from kernels.substrate.virtual.link import Transfer
from kernels.substrate.virtual.memory import VirtualBuffer, still_visible

Times = NDArray[np.int64]
Indices = NDArray[np.intp]

_NEVER_NS = np.int64(1 << 62)


class Landing(Protocol):
    """One write under way or settled. Arrays are flat over [layer, page] in walking order.

    before: what the pages held when it settled, kept where somebody may still look back.
    beaten_ns: from when on each page shows another landing, whose last byte came later although it settled earlier;
        None where no page was beaten.
    """

    ordinal: int
    buffer: VirtualBuffer
    region: Region
    begin_ns: int
    settled_ns: int | None
    versions: Versions
    before: Versions | None
    beaten_ns: Times | None

    def page_times(self) -> tuple[Times, Times]:
        """When each page's first byte moved, and its last."""

    def catch_up(self, until_ns: int) -> None:
        """Make `versions` right for every page whose first byte moved before this moment."""


class KernelLanding:
    """What one kernel writes to one region, all at the instant of its end."""

    def __init__(self, ordinal: int, buffer: VirtualBuffer, region: Region, versions: Versions, end_ns: int) -> None:
        self.ordinal = ordinal
        self.buffer = buffer
        self.region = region
        self.begin_ns = end_ns
        self.settled_ns: int | None = None
        self.versions = versions
        self.before: Versions | None = None
        self.beaten_ns: Times | None = None

    def page_times(self) -> tuple[Times, Times]:
        instant = np.full(self.versions.shape, self.begin_ns, dtype=np.int64)
        return instant, instant

    def catch_up(self, until_ns: int) -> None:
        """A kernel's versions are named when it is issued."""


class CopyLanding:
    """The pages of one copy, on their way from `source` to `region`."""

    def __init__(
        self, ordinal: int, source: VirtualBuffer, source_region: Region, target: VirtualBuffer, region: Region
    ) -> None:
        self.ordinal = ordinal
        self.source = source
        self.source_region = source_region
        self.buffer = target
        self.region = region
        self.begin_ns = -1
        self.settled_ns: int | None = None
        self.versions: Versions = np.zeros(len(region.layers) * len(region.pages), dtype=np.int64)
        self.before: Versions | None = None
        self.beaten_ns: Times | None = None
        self._transfer: Transfer | None = None
        self._resolved = 0

    def begin(self, transfer: Transfer) -> None:
        """The first byte moves. Effect: opens an access on both buffers."""
        self._transfer = transfer
        self.begin_ns = transfer.since_ns
        self.source.open_ns.append(self.begin_ns)
        self.buffer.open_ns.append(self.begin_ns)
        # Landings under way stand before the settled ones.
        self.buffer.landings.insert(0, self)

    def end(self, now_ns: int) -> None:
        """The last byte has moved. Effect: settles, and closes both accesses."""
        buffer, source = self.buffer, self.source
        if self._resolved or meets(source, self.source_region):
            self.catch_up(now_ns + 1)
        else:
            self.versions = gather(source.landed, self.source_region)
            self._resolved = len(self.versions)
        source.close(self.begin_ns)
        buffer.landings.remove(self)
        buffer.open_ns.remove(self.begin_ns)
        settle(self, now_ns)
        if buffer.landings:
            buffer.forget()

    def page_times(self) -> tuple[Times, Times]:
        assert self._transfer is not None, "a copy that has not begun has no page times"
        times = self._transfer.page_times(len(self.versions))
        return times[:-1], times[1:]

    def catch_up(self, until_ns: int) -> None:
        begins, _ = self.page_times()
        begun = int(np.searchsorted(begins, until_ns, side="left"))
        if begun <= self._resolved:
            return
        # What the source held at a page's first byte may in turn come from landings on the source, and so on; each
        # step asks about an earlier moment, so this ends also where two copies move the same pages both ways.
        held = contents(self.source, self.source_region, np.minimum(begins, begins[begun - 1])).tail
        self.versions[self._resolved : begun] = held[self._resolved : begun]
        self._resolved = max(self._resolved, begun)


class Contents:
    """What the pages of a region hold at given moments; flat over [layer, page] in walking order."""

    __slots__ = ("head", "landings", "tail", "tear")

    def __init__(
        self, head: Versions, tail: Versions, tear: NDArray[np.float32] | None, landings: list[Landing]
    ) -> None:
        self.head = head
        self.tail = tail
        self.tear = tear
        self.landings = landings


def touches(landing: Landing, region: Region) -> bool:
    """True where the two share a layer."""
    ours, theirs = landing.region.layers, region.layers
    return ours == theirs if len(ours) == len(theirs) == 1 else not set(ours).isdisjoint(theirs)


def meets(buffer: VirtualBuffer, region: Region) -> bool:
    """True where some landing, under way or remembered, shares a layer with the region."""
    return bool(buffer.landings) and any(touches(landing, region) for landing in buffer.landings)


def contents(buffer: VirtualBuffer, region: Region, times: Times) -> Contents:
    """What each page held at `times` (flat, rising, none ahead of now).

    Landings that settled after the first of these moments are taken back, and then applied page by page.
    """
    landed = gather(buffer.landed, region)
    if not buffer.landings or not len(times):
        return Contents(landed, landed, None, [])
    near = [landing for landing in buffer.landings if touches(landing, region)]
    # What settled since a landing under way began decides, where both wrote a page, who was last.
    since_ns = min([int(times[0]), *(landing.begin_ns for landing in near if landing.settled_ns is None)])
    seen = still_visible(near, since_ns)
    placed = [(landing, *overlap(landing, region)) for landing in seen]
    placed = [(landing, here, there) for landing, here, there in placed if len(here)]
    if not placed:
        return Contents(landed, landed, None, [])
    for landing, here, there in reversed(placed):
        if landing.settled_ns is not None:
            assert landing.before is not None, "a remembered landing has forgotten what it wrote over"
            landed[here] = landing.before[there]
    tail, head = landed, landed.copy()
    tear = np.ones(len(landed), dtype=np.float32)
    last_end = np.full(len(landed), -1, dtype=np.int64)
    front_begin = np.full(len(landed), -1, dtype=np.int64)
    for landing, here, there in placed:
        when = times[here]
        landing.catch_up(int(when.max()))
        begins, ends = (each[there] for each in landing.page_times())
        versions = landing.versions[there]
        # A page that moves in less than a nanosecond has not moved yet at the instant at which it begins.
        has_moved = (ends <= when) & ((begins < when) | (landing.settled_ns is not None))
        whole = has_moved & (ends >= last_end[here])
        if landing.beaten_ns is not None:
            whole &= when < landing.beaten_ns[there]
        tail[here[whole]] = versions[whole]
        last_end[here[whole]] = ends[whole]
        torn = (begins < when) & (when < ends) & (begins >= front_begin[here])
        at = here[torn]
        front_begin[at] = begins[torn]
        head[at] = versions[torn]
        tear[at] = (when[torn] - begins[torn]) / (ends[torn] - begins[torn])
    head = np.where(front_begin < 0, tail, head)
    # One version on both sides of the tear is a whole page.
    tear[head == tail] = 1.0
    return Contents(head, tail, tear, [landing for landing, _, _ in placed])


def overlap(landing: Landing, region: Region) -> tuple[Indices, Indices]:
    """Pages that both walk: their flat places in the region, and in the landing."""
    here: list[NDArray[np.int64]] = []
    there: list[NDArray[np.int64]] = []
    walked = landing.region
    for row, layer in enumerate(region.layers):
        if layer in walked.layers:
            ours, theirs = landing.buffer.places(walked.pages, region.pages)
            here.append(ours + row * len(region.pages))
            there.append(theirs + walked.layers.index(layer) * len(walked.pages))
    return np.concatenate(here), np.concatenate(there)


def settle(landing: Landing, now_ns: int) -> None:
    """Put a landing's versions into the buffer, and remember it while an older access is open.

    A page on which another landing's last byte came later than ours keeps what that one wrote.
    """
    buffer, region, new = landing.buffer, landing.region, landing.versions
    landing.settled_ns = now_ns
    if buffer.landings or buffer.open_ns:
        rivals = [
            rival
            for rival in buffer.landings
            if rival.settled_ns is not None and rival.settled_ns > landing.begin_ns and touches(rival, region)
        ]
        if rivals or (buffer.open_ns and min(buffer.open_ns) < now_ns):
            landing.before = gather(buffer.landed, region)
            buffer.landings.append(landing)
            new = _beat(landing, rivals, landing.before)
    scatter(buffer.landed, region, new)
    if buffer.late_watches:
        buffer.late_watches = [watch for watch in buffer.late_watches if not watch.hear(landing)]


def _beat(landing: Landing, rivals: list[Landing], before: Versions) -> Versions:
    """What is left of a landing's versions when pages that rivals took later keep what they hold."""
    new = landing.versions
    for rival in rivals:
        here, there = overlap(rival, landing.region)
        taken_ns = rival.page_times()[1][there]
        is_beaten = taken_ns > landing.page_times()[1][here]
        if is_beaten.any():
            here, taken_ns = here[is_beaten], taken_ns[is_beaten]
            if landing.beaten_ns is None:
                new = landing.versions.copy()
                landing.beaten_ns = np.full(len(new), _NEVER_NS, dtype=np.int64)
            new[here] = before[here]
            landing.beaten_ns[here] = np.minimum(landing.beaten_ns[here], taken_ns)
    return new

"""Results that need not be computed twice.

Owns: a bounded cache that its user passes in. Floor 2c.

Only results of readings whose bytes were all verified to be the wanted ones are remembered, under the identity of those
bytes: the same bytes give the same result, so a remembered one is not a guess. Different arms of one comparison that
read the same content share them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Memo(Generic[Value]):
    """Values by key, least recently used out first; never more than `entry_count_max`."""

    def __init__(self, entry_count_max: int) -> None:
        self.entry_count_max = entry_count_max
        self.hits = 0
        self.misses = 0
        self._entries: OrderedDict[Hashable, Value] = OrderedDict()

    def get(self, key: Hashable) -> Value | None:
        value = self._entries.get(key)
        if value is None:
            self.misses += 1
            return None
        self.hits += 1
        self._entries.move_to_end(key)
        return value

    def put(self, key: Hashable, value: Value) -> None:
        self._entries[key] = value
        if len(self._entries) > self.entry_count_max:
            self._entries.popitem(last=False)

    def __repr__(self) -> str:
        return f"Memo({len(self._entries)} of {self.entry_count_max} entries, {self.hits} hits, {self.misses} misses)"

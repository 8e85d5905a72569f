"""The contexts of a whole prompt, scanned message by message and remembered.

Owns: the cache of scans. Does not own: scanning (`contexts.py`), tokenising (`tokenizer_chat.py`). Floor 2c.

A message's hashes depend on what came before it (its position, the anchors, the four tokens in front), so scans are
remembered under the chain of digests of all segments up to and including it. A conversation that grows by one
message scans one message.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from kernels.engine.recall.contexts import Scan, Scanner
from kernels.engine.recall.grammar import Carry, Fact, Reference
from kernels.engine.recall.hashing import Words
from kernels.engine.tokenizer import TokenIds
from kernels.engine.tokenizer_chat import RenderedChat


@dataclass(frozen=True, slots=True, eq=False)
class ScannedPrompt:
    """A prompt's tokens and what they mean. tokens: [n] int32. contexts: [n] uint64. Both are this prompt's own copies.

    facts: in order of their ends. reference: the last one, None where there is none. carry: for the reply's tokens.
    """

    tokens: TokenIds
    contexts: Words
    facts: tuple[Fact, ...]
    reference: Reference | None
    carry: Carry


class ScanCache:
    """Scans by chain digest, least recently used out first; their arrays never exceed `byte_count_max`."""

    def __init__(self, byte_count_max: int) -> None:
        self.byte_count_max = byte_count_max
        self.byte_count = 0
        self.hits = 0
        self.misses = 0
        self._scanner = Scanner()
        self._scans: OrderedDict[bytes, Scan] = OrderedDict()

    def scan_prompt(self, chat: RenderedChat) -> ScannedPrompt:
        """Scan a prompt. Effect: fills the cache."""
        carry = Carry()
        chain = b""
        scans: list[Scan] = []
        for segment in chat.segments:
            chain = blake2b(chain + segment.digest, digest_size=16).digest()
            scan = self._get(chain)
            if scan is None:
                scan = self._scanner.scan(segment.tokens, carry)
                self._put(chain, scan)
            scans.append(scan)
            carry = scan.carry
        return ScannedPrompt(
            tokens=chat.tokens,
            contexts=np.concatenate([scan.contexts for scan in scans]),
            facts=tuple(fact for scan in scans for fact in scan.facts),
            reference=carry.reference,
            carry=carry,
        )

    def _get(self, chain: bytes) -> Scan | None:
        scan = self._scans.get(chain)
        if scan is None:
            self.misses += 1
            return None
        self.hits += 1
        self._scans.move_to_end(chain)
        return scan

    def _put(self, chain: bytes, scan: Scan) -> None:
        self._scans[chain] = scan
        self.byte_count += _cost_bytes(scan)
        while self.byte_count > self.byte_count_max:
            self.byte_count -= _cost_bytes(self._scans.popitem(last=False)[1])

    def __repr__(self) -> str:
        return f"ScanCache({len(self._scans)} scans, {self.byte_count} of {self.byte_count_max} bytes)"


def _cost_bytes(scan: Scan) -> int:
    """The arrays, and about what the objects around them take."""
    return scan.contexts.nbytes + 200 * len(scan.facts) + 1024

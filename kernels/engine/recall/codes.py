"""Codes of a context hash: what index-K and the latents hold of it.

Owns: hash to bits, bits to signs. Floor 2c. Source: ours (random codes).

The code (32 bits, for selection) and the signature (64 bits, for attention) are independent functions of the hash. So
an entry that is selected by a chance match of its code is no likelier than any other to win the attention, and a
chance match of a whole signature does not happen: 2^-64 for each of some 2,000 selected tokens.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.engine.recall.hashing import Words, mix

Codes = NDArray[np.uint32]
Signatures = NDArray[np.uint64]

_CODE_SALT = 0xA0761D6478BD642F
_SIGNATURE_SALT = 0xE7037ED1A0B428DB
_EMBEDDING_SALT = 0x8EBC6AF09C88C6E3


def codes_of(contexts: Words) -> Codes:
    """Same shape, 32 bits each."""
    return (mix(contexts ^ np.uint64(_CODE_SALT)) >> np.uint64(32)).astype(np.uint32)


def signatures_of(contexts: Words) -> Signatures:
    """Same shape, 64 bits each."""
    return mix(contexts ^ np.uint64(_SIGNATURE_SALT))


def embedding_words(count: int) -> Words:
    """The 64-bit embedding code of each of the first `count` token ids."""
    return mix(np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_EMBEDDING_SALT))


def bits_of(words: NDArray[np.unsignedinteger]) -> NDArray[np.uint8]:
    """[...] words of b bits -> [..., b] zeros and ones, lowest bit first."""
    flat = np.ascontiguousarray(words)
    as_bytes = flat.view(np.uint8).reshape(*flat.shape, flat.itemsize)
    return np.unpackbits(as_bytes, axis=-1, bitorder="little")


def signs_of(words: NDArray[np.unsignedinteger]) -> NDArray[np.float32]:
    """[...] words of b bits -> [..., b] float32: +1 for a one, -1 for a zero."""
    return bits_of(words).astype(np.float32) * np.float32(2) - np.float32(1)

"""Prompts as the engines see them: tokens, what they mean, and one key for each whole page.

Owns: reading a request's messages, and remembering prompts that were read before (both halves of a request read the
same one, and the next turn's begins with it). Does not own: tokenising and scanning (their modules), page contents
(ledger). Floor 2c.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from kernels.engine.recall.conversation import ScanCache, ScannedPrompt
from kernels.engine.recall.grammar import Carry, Fact, Reference
from kernels.engine.recall.hashing import Words
from kernels.engine.recall.shape import PAGE_TOKENS
from kernels.engine.tokenizer import TokenIds, Tokenizer
from kernels.engine.tokenizer_chat import ChatTemplate, RenderedChat, SegmentCache
from kernels.engine.vocabulary import build_vocabulary

_KEY_BYTES = 8


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """One request's prompt.

    tokens: [n] int32. contexts: [n] uint64, as a clean model would have them.
    reference: what the reply recalls, if anything. carry: for the reply's tokens.
    page_keys: [n // 256], each names its page and everything before it.
    """

    tokens: TokenIds
    contexts: Words
    facts: tuple[Fact, ...]
    reference: Reference | None
    carry: Carry
    page_keys: tuple[int, ...]


class PromptReader:
    """Reads messages into prompts. Holds only what depends on nothing but the text, so runs may share it."""

    def __init__(self, *, cache_bytes_max: int = 256 << 20, prompt_count_max: int = 256) -> None:
        self._tokenizer = Tokenizer(build_vocabulary())
        self._template = ChatTemplate(self._tokenizer, SegmentCache(cache_bytes_max))
        self._scans = ScanCache(cache_bytes_max)
        self._prompts: OrderedDict[bytes, Prompt] = OrderedDict()
        self._prompt_count_max = prompt_count_max

    def read(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Prompt:
        """The prompt of a request. Raises: MessageError for messages that cannot be rendered."""
        return self._prompt(self._template.render(messages, tools))

    def _prompt(self, chat: RenderedChat) -> Prompt:
        digest = b"".join(segment.digest for segment in chat.segments)
        prompt = self._prompts.get(digest)
        if prompt is None:
            prompt = _prompt_of(self._scans.scan_prompt(chat))
            self._prompts[digest] = prompt
            if len(self._prompts) > self._prompt_count_max:
                self._prompts.popitem(last=False)
        return prompt

    def continued(self, raw: str | Sequence[int]) -> Prompt:
        """The prompt that is this text, or these tokens, and nothing around it: no roles, no tools."""
        return self._prompt(self._template.raw(raw))

    def count_tokens(self, text: str) -> int:
        """Length of a text in the model's tokens."""
        return len(self._tokenizer.encode(text))

    def text_of(self, token: int) -> bytes:
        """The bytes of one token; a character may be cut at either end."""
        return self._tokenizer.decode_bytes([token])

    def __repr__(self) -> str:
        return f"PromptReader({len(self._prompts)} prompts, {self._scans})"


def _prompt_of(scanned: ScannedPrompt) -> Prompt:
    return Prompt(
        tokens=scanned.tokens,
        contexts=scanned.contexts,
        facts=scanned.facts,
        reference=scanned.reference,
        carry=scanned.carry,
        page_keys=_page_keys(scanned.tokens),
    )


def _page_keys(tokens: TokenIds) -> tuple[int, ...]:
    """Chained hashes of the whole pages."""
    keys: list[int] = []
    chain = b""
    for begin in range(0, len(tokens) // PAGE_TOKENS * PAGE_TOKENS, PAGE_TOKENS):
        chain = blake2b(chain + tokens[begin : begin + PAGE_TOKENS].tobytes(), digest_size=16).digest()
        keys.append(int.from_bytes(chain[:_KEY_BYTES], "little"))
    return tuple(keys)

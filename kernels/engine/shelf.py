"""Page contents by what they are made of: the same tokens and hashes are built once.

Owns: a bounded cache of clean contents in one number format. Does not own: building (recall.content), which page holds
what (ledger). Floor 2c. Runs and arms may share a shelf: contents are immutable, and named by their bytes.
"""

from __future__ import annotations

from collections import OrderedDict

from kernels.engine.prompt import Prompt
from kernels.engine.recall.content import PageBuilder, PageContent
from kernels.engine.recall.shape import PAGE_TOKENS


class PageShelf:
    """Whole pages by page key, least recently used out first; never more than `page_count_max`."""

    def __init__(self, builder: PageBuilder, *, page_count_max: int = 24_000) -> None:
        self.builder = builder
        self._page_count_max = page_count_max
        self._pages: OrderedDict[int, PageContent] = OrderedDict()

    def contents(self, prompt: Prompt, begin: int, end: int) -> list[PageContent]:
        """Clean contents of the pages of tokens [begin, end); `begin` at a page border, the last page maybe partial."""
        assert begin % PAGE_TOKENS == 0, begin
        pages: list[PageContent] = []
        first, whole_end = begin // PAGE_TOKENS, end // PAGE_TOKENS
        keys = prompt.page_keys[first:whole_end]
        known = 0
        while known < len(keys) and keys[known] in self._pages:
            self._pages.move_to_end(keys[known])
            pages.append(self._pages[keys[known]])
            known += 1
        at = begin + known * PAGE_TOKENS
        if at < end:
            built = self.builder.build(prompt.tokens[at:end], prompt.contexts[at:end])
            for key, content in zip(keys[known:], built, strict=False):
                self._pages[key] = content
            pages += built
        while len(self._pages) > self._page_count_max:
            self._pages.popitem(last=False)
        return pages

    def __repr__(self) -> str:
        return f"PageShelf({self.builder.index_format.dtype}, {len(self._pages)} pages)"

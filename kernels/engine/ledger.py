"""What a version number stands for: the content of a page, or of a metadata row.

Owns: version numbers, and the map from version to content. Does not own: where a version is (substrate), how content
is built (shelf). Floor 2c.

Every write of a page gets a number of its own, also where equal content was written before: that a read saw *this*
write is a fact about order, and what it means is a fact about bytes.
"""

from __future__ import annotations

import numpy as np

from kernels.engine.prompt import Prompt
from kernels.engine.recall.content import PageContent
from kernels.engine.shelf import PageShelf
from kernels.substrate.contract import UNWRITTEN, Versions


class ContentLedger:
    """Contents by version, for the life of one machine."""

    def __init__(self, shelf: PageShelf) -> None:
        self.builder = shelf.builder
        self._shelf = shelf
        self._contents: dict[int, PageContent] = {UNWRITTEN: shelf.builder.unwritten}
        self._rows: dict[int, tuple[int, int]] = {}
        self._next = UNWRITTEN + 1

    def write(self, prompt: Prompt, begin: int, end: int) -> Versions:
        """Number the pages of tokens [begin, end), which a forward is about to write.

        Until `replace` says otherwise a version stands for what a clean model writes.
        Returns: [n] int64, one a page.
        """
        contents = self._shelf.contents(prompt, begin, end)
        versions = np.arange(self._next, self._next + len(contents), dtype=np.int64)
        self._contents.update(zip(versions.tolist(), contents, strict=True))
        self._next += len(contents)
        return versions

    def replace(self, version: int, content: PageContent) -> None:
        """The forward that wrote `version` turned out to have written something else. Call it before anybody reads."""
        self._contents[version] = content

    def content(self, version: int) -> PageContent:
        return self._contents[version]

    def contents(self, versions: Versions) -> list[PageContent]:
        """Args: versions: [n] int64."""
        return [self._contents[version] for version in versions.tolist()]

    def write_row(self, room: int, first_token: int) -> int:
        """Number a metadata row's content."""
        version, self._next = self._next, self._next + 1
        self._rows[version] = (room, first_token)
        return version

    def row(self, version: int) -> tuple[int, int]:
        """Room and first token of a metadata row. Raises: KeyError where the version is not a row's."""
        return self._rows[version]

    def __repr__(self) -> str:
        return f"ContentLedger({len(self._contents)} page versions, {len(self._rows)} rows)"

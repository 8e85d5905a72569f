"""What one forward computes: the jobs in it, and which pages each of them reads and writes.

Owns: the records of a prefill job and of a batch. Does not own: how a batch is chosen (batching), issued (forward) or
judged (readout). Floor 2c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.engine.bootstrap import Rendezvous
from kernels.engine.evidence import RequestEvidence
from kernels.engine.prompt import Prompt
from kernels.engine.recall.scores import TokenScores
from kernels.engine.request import GenerateRequest, TokenSink
from kernels.hicache.lease import Lease
from kernels.substrate.contract import PageIds, Versions


@dataclass(slots=True, eq=False)
class PrefillJob:
    """One request on its way through the prefill engine.

    computed_tokens: tokens whose pages are cached or computed; the next chunk begins there.
    versions: [n] of the pages that this request has computed so far, in token order, from `first_own_page` on.
    first_scores: of the reply's first token, once it is known and where it was asked for.
    """

    request: GenerateRequest
    sink: TokenSink
    prompt: Prompt
    meeting: Rendezvous
    evidence: RequestEvidence
    lease: Lease | None = None
    computed_tokens: int = 0
    cached_tokens: int = 0
    first_scores: TokenScores | None = None
    is_aborted: bool = False

    @property
    def remaining_tokens(self) -> int:
        return len(self.prompt.tokens) - self.computed_tokens

    def __repr__(self) -> str:
        return f"PrefillJob({self.request.request_id}, {self.computed_tokens} of {len(self.prompt.tokens)} tokens)"


@dataclass(frozen=True, slots=True, eq=False)
class Extend:
    """One job's part in a batch: tokens [begin, end) are computed, `begin` at a page border.

    context_pages: [begin / page] int64, what its attention reads, without its own new pages.
    new_pages: [m] int64, what it writes; versions: [m] int64, the content it writes there.
    """

    job: PrefillJob
    begin: int
    end: int
    context_pages: PageIds
    new_pages: PageIds
    versions: Versions

    @property
    def is_last(self) -> bool:
        return self.end == len(self.job.prompt.tokens)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The extends of one forward, and their pages laid end to end.

    read_pages: all context pages, then all new pages: what index-K and latents are read from.
    window_pages: the page in front of each extend's new tokens, then all new pages: what the window is read from.
    context_spans, window_spans: each extend's context in the columns of `read_pages` and `window_pages`.
    """

    extends: tuple[Extend, ...]
    read_pages: PageIds
    context_spans: tuple[slice, ...]
    window_pages: PageIds
    window_spans: tuple[slice, ...]
    new_pages: PageIds
    versions: Versions

    @property
    def context_page_count(self) -> int:
        return int(self.context_spans[-1].stop)

    @property
    def new_tokens(self) -> int:
        return sum(extend.end - extend.begin for extend in self.extends)

    @property
    def cached_tokens(self) -> int:
        return sum(extend.begin for extend in self.extends)


def batch_of(extends: list[Extend]) -> Batch:
    """Lay the pages of these extends end to end."""
    trailing = [extend.context_pages[-1:] for extend in extends]
    contexts = [extend.context_pages for extend in extends]
    new_pages = np.concatenate([extend.new_pages for extend in extends])
    return Batch(
        extends=tuple(extends),
        read_pages=np.concatenate((*contexts, new_pages)),
        context_spans=_spans(contexts),
        window_pages=np.concatenate((*trailing, new_pages)),
        window_spans=_spans(trailing),
        new_pages=new_pages,
        versions=np.concatenate([extend.versions for extend in extends]),
    )


def _spans(parts: list[PageIds]) -> tuple[slice, ...]:
    ends = np.cumsum([len(part) for part in parts]).tolist()
    return tuple(slice(end - len(part), end) for part, end in zip(parts, ends, strict=True))

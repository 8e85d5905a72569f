"""What was observed: one row for each case and slip, and one for each reply that was written out.

Owns: the records. Does not own: their making (`measure`), counting them (`counts`). Floor 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.search.ablation.slips import Variant
from kernels.hicache.geometry import PoolKind

Length = Literal["long", "short"]
"""short: a context below the reach of the top-k, where every entry is selected."""

Outcome = Literal["right", "another call", "no call"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a workload was built with."""

    length: Length
    redundancy: int


@dataclass(frozen=True, slots=True)
class Slip:
    """One slip of one pool. page_share: None where the delay decides; delay_us: None where the share decides.

    Shares of layers are of the pool's own. variant: None where the delay decides.
    """

    pool: PoolKind
    layer_share: float
    variant: Variant | None = None
    page_share: float | None = None
    delay_us: float | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """One case under one slip.

    stale_share: of the pool's loaded pages, those that were not what the read was promised; torn_pages of them were
        partly right. answer_stale: every copy of the answer begins on such a page.
    flipped: the first token changed. margin: logit of the right token minus the best other one's.
    layer_lost: a stale layer that selects would by itself no longer say the right token; false where none is stale.
    selection_change: share of that layer's selected entries that a clean layer does not select.
    """

    setting: Setting
    slip: Slip
    session: int
    turn: int
    stale_share: float
    torn_pages: int
    answer_stale: bool
    flipped: bool
    margin: float
    layer_lost: bool
    selection_change: float


@dataclass(frozen=True, slots=True)
class CleanCase:
    """One case without a slip. window_reach_tokens: how far the window reaches into the last loaded page."""

    setting: Setting
    session: int
    turn: int
    prompt_tokens: int
    loaded_pages: int
    window_reach_tokens: int
    is_right: bool
    margin: float


@dataclass(frozen=True, slots=True)
class ReplySeen:
    """A whole reply, written by decode from right pages, behind the first token that prefill recalled under a slip."""

    setting: Setting
    pool: PoolKind
    session: int
    turn: int
    first_token_flipped: bool
    outcome: Outcome
    tokens: int
    text: str

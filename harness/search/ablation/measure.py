"""The experiment: every case under every slip, one observation each.

Owns: the order of work, and what is evaluated once for many slips. Does not own: cases, slips, evaluation or counting,
each in its file. Floor 5. Everything follows from spec and scenario: the same two give the same observations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.config import Scenario
from harness.search.ablation.cases import Case, CaseSource
from harness.search.ablation.early import EarlyReads, LoadPlan, early_reads
from harness.search.ablation.looks import Look, look
from harness.search.ablation.observations import CleanCase, Observation, ReplySeen, Setting, Slip
from harness.search.ablation.outputs import CaseReader, Values
from harness.search.ablation.replies import ReplyWriter, outcome_of
from harness.search.ablation.slips import (
    VARIANTS,
    Variant,
    count_layers,
    seen_by,
    stale_layers,
    stale_pages,
    view_of_pages,
)
from harness.search.ablation.spec import POOLS, AblationSpec, check_spec
from harness.search.ablation.workloads import workload_of
from harness.simulation.assembly import cost_model
from kernels.engine.shared import SharedModel
from kernels.hicache.geometry import preset
from kernels.hicache.paths import transfer_path
from kernels.hicache.sizing import PoolFormats

SHORT_REDUNDANCY = 1


@dataclass(slots=True, eq=False)
class Measured:
    """All that was observed so far."""

    observations: list[Observation] = field(default_factory=list)
    clean: list[CleanCase] = field(default_factory=list)
    replies: list[ReplySeen] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Progress:
    """Sessions that are done, over all settings, and the one that the last of them belonged to."""

    setting: Setting
    sessions_done: int
    sessions_total: int


Evaluated = tuple[Slip, Look, Values]
"""A slip, the read that it comes from, and the sum over all layers, [64]."""


class Ablation:
    """One ablation. `measured` grows while `run` works, so that an interrupted one keeps what was done."""

    def __init__(self, spec: AblationSpec, scenario: Scenario, shared: SharedModel) -> None:
        """Args: scenario: geometry, workload, transfers and costs come from it. Raises: ConfigError."""
        check_spec(spec)
        self.spec = spec
        self.scenario = scenario
        self.geometry = preset(scenario.cache.preset)
        self.measured = Measured()
        self._shared = shared
        self._model = shared.model(self.geometry)
        self._cost = cost_model(scenario)
        self._early: dict[int, EarlyReads] = {}

    def run(self, on_progress: Callable[[Progress], None] = lambda _: None) -> Measured:
        """Effect: fills `measured`."""
        settings = [Setting("long", redundancy) for redundancy in self.spec.redundancies]
        settings.append(Setting("short", SHORT_REDUNDANCY))
        total = len(settings) * self.spec.sessions
        for index, setting in enumerate(settings):
            source = self._source(setting)
            for session in range(self.spec.sessions):
                for number, case in enumerate(source.cases(session, self.spec.questions)):
                    self._measure(setting, case, is_first=number == 0)
                on_progress(Progress(setting, index * self.spec.sessions + session + 1, total))
        return self.measured

    def _source(self, setting: Setting) -> CaseSource:
        workload = workload_of(self.scenario.workload, self.spec, setting)
        tokens_max = self.geometry.reach_tokens if setting.length == "short" else None
        return CaseSource(workload, self.spec.seed, self._shared, self.spec.index_k, tokens_max=tokens_max)

    def _measure(self, setting: Setting, case: Case, *, is_first: bool) -> None:
        """Effect: one observation for each slip of this case; a session's first case also gets its replies written."""
        reader = CaseReader(self._model, self.geometry, case)
        if setting.length == "short":
            evaluated = list(self._by_pages(case, reader, ("answer",), (1.0,), (1.0,)))
        else:
            shares = (self.spec.page_shares, self.spec.layer_shares)
            evaluated = [*self._by_pages(case, reader, VARIANTS, *shares), *self._by_delay(case, reader)]
        verdicts = reader.verdicts(np.stack([reader.total([]), *(total for _, _, total in evaluated)]))
        tokens, margins = verdicts.tokens.tolist(), verdicts.margins.tolist()
        self.measured.clean.append(
            CleanCase(
                setting=setting,
                session=case.session,
                turn=case.turn,
                prompt_tokens=case.position,
                loaded_pages=len(case.loaded),
                window_reach_tokens=case.window_reach_tokens,
                is_right=tokens[0] == case.expected,
                margin=margins[0],
            )
        )
        lost = reader.loses(np.stack([read.outputs.indexed for _, read, _ in evaluated])).tolist()
        for (slip, read, _), token, margin, is_lost in zip(evaluated, tokens[1:], margins[1:], lost, strict=True):
            self.measured.observations.append(
                Observation(
                    setting=setting,
                    slip=slip,
                    session=case.session,
                    turn=case.turn,
                    stale_share=read.stale_share,
                    torn_pages=read.torn_pages,
                    answer_stale=read.answer_stale,
                    flipped=token != case.expected,
                    margin=margin,
                    layer_lost=is_lost,
                    selection_change=read.selection_change,
                )
            )
        if is_first and setting.length == "long":
            self._write_replies(setting, case, [slip for slip, _, _ in evaluated], tokens[1:])

    def _by_pages(
        self,
        case: Case,
        reader: CaseReader,
        variants: Sequence[Variant],
        page_shares: Sequence[float],
        layer_shares: Sequence[float],
    ) -> Iterator[Evaluated]:
        for variant in variants:
            for page_share in page_shares:
                pages = stale_pages(case, variant, page_share, self.spec.seed)
                for pool in POOLS:
                    read = look(case, reader, pool, view_of_pages(case, pool, pages))
                    for layer_share in layer_shares:
                        layers = stale_layers(self.geometry, pool, layer_share)
                        slip = Slip(pool, layer_share, variant, page_share)
                        yield slip, read, reader.total([(read.outputs, layers)])

    def _by_delay(self, case: Case, reader: CaseReader) -> Iterator[Evaluated]:
        """Every layer of the pool is read as early as the others."""
        early = self._early_reads(len(case.loaded))
        for delay_us, delay_ns in zip(self.spec.delays_us, self.spec.delays_ns, strict=True):
            for pool in POOLS:
                groups = early[pool, delay_ns]
                reads = [look(case, reader, pool, seen_by(case, pool, group.view)) for group in groups]
                layers = [count_layers(self.geometry, group.layers) for group in groups]
                parts = [(read.outputs, count) for read, count in zip(reads, layers, strict=True)]
                yield Slip(pool, 1.0, delay_us=delay_us), reads[0], reader.total(parts)

    def _early_reads(self, page_count: int) -> EarlyReads:
        if page_count not in self._early:
            cache = self.scenario.cache
            plan = LoadPlan(
                geometry=self.geometry,
                formats=PoolFormats(index_k=self.spec.index_k),
                path=transfer_path(cache.layout, cache.io),
                cost=self._cost,
                page_count=page_count,
            )
            self._early[page_count] = early_reads(plan, POOLS, self.spec.delays_ns)
        return self._early[page_count]

    def _write_replies(self, setting: Setting, case: Case, slips: Sequence[Slip], tokens: Sequence[int]) -> None:
        """Effect: a whole reply for each pool, under the strongest random slip."""
        strongest = (max(self.spec.page_shares), max(self.spec.layer_shares))
        writer = ReplyWriter(self._model, self.geometry, self._shared.reader, case)
        for slip, token in zip(slips, tokens, strict=True):
            if slip.variant == "random" and (slip.page_share, slip.layer_share) == strongest:
                text, length = writer.write(token)
                flipped = token != case.expected
                outcome = outcome_of(case, text)
                seen = ReplySeen(setting, slip.pool, case.session, case.turn, flipped, outcome, length, text)
                self.measured.replies.append(seen)

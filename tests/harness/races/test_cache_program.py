"""Small programs of scenarios: they load, they show what the served run shows, and their clean twins are exhausted.

Owns: `cache_program`, `shrinking`, `served`, `price`. Floor: tests. Source: DESIGN.md sections 1 and 6.
"""

from __future__ import annotations

import pytest

from harness.cli.options import DEFAULT_SEED
from harness.config import Scenario, load_scenario
from harness.races import served as serving
from harness.races.cache_program import CacheProgram, Shape, small_layers
from harness.races.price import wait_price_ns
from harness.races.served import small_scenario
from harness.races.shrinking import shrink, standard_shape
from harness.simulation.assembly import cost_model
from kernels.hicache.geometry import preset
from kernels.races import Code, Exploration, explore
from kernels.races.naming.naming import kind_of
from kernels.races.scheduler.program import program_hash, program_name


def explored(scenario: Scenario, shape: Shape | None = None) -> Exploration:
    program = CacheProgram(scenario, shape if shape is not None else standard_shape(scenario))
    return explore(program, budget=300, mend_schedules=50)


def has_loaded(result: Exploration) -> bool:
    return any(row.kind == "copy" and row.stream == "prefill.r0.load" for row in result.trace.operations)


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("deepseek-v4-flash", ("swa", "c4", "c128", "c4")),
        ("dsa", ("dsa", "dsa")),
        ("tiny", ("swa", "c4", "c128", "c4")),
    ],
)
def test_every_kind_of_layer_is_kept(name: str, layers: tuple[str, ...]) -> None:
    assert small_layers(preset(name)) == layers


@pytest.mark.parametrize("name", ["hicache_bf16_gated", "hicache_bf16_fused"])
@pytest.mark.parametrize("policy", ["write_through", "write_back"])
@pytest.mark.parametrize(("layout", "io"), [("layer_first", "kernel"), ("page_first", "kernel")])
def test_clean_twins_load_and_are_exhausted(name: str, policy: str, layout: str, io: str) -> None:
    changes = {"cache.write_policy": policy, "cache.layout": layout, "cache.io": io}
    result = explored(load_scenario(name, changes))
    assert has_loaded(result)
    result.assert_clean()


def test_without_a_host_tier_nothing_is_loaded_and_all_is_exhausted() -> None:
    result = explored(load_scenario("off_bf16"))
    assert not has_loaded(result)
    result.assert_clean()


@pytest.mark.parametrize(("sessions", "pages"), [(2, 1), (3, 2)])
@pytest.mark.parametrize("preset_name", ["deepseek-v4-flash", "dsa"])
def test_incident_is_named_in_every_shape(sessions: int, pages: int, preset_name: str) -> None:
    scenario = load_scenario("hicache_bf16", {"cache.preset": preset_name})
    result = explored(scenario, Shape(sessions, small_layers(preset(preset_name)), pages))
    (report,) = result.races
    assert report.group.shown.race.buffer == "prefill.r0.device.index_k"
    assert report.group.layers == (0, 1)
    assert report.is_confirmed
    assert report.mend is not None
    assert report.mend.is_closed


@pytest.mark.parametrize(("turns", "loads"), [(1, 0), (2, 1), (3, 2)])
def test_each_turn_but_the_first_loads_back(turns: int, loads: int) -> None:
    """Counted in starts: a load records its start once, and nothing else does."""
    result = explored(load_scenario("hicache_bf16_gated"), Shape(2, ("c4",), 1, turns))
    records = [row.event for row in result.trace.operations if row.kind == "record"]
    starts = [event for event in records if event.startswith("prefill.r0.ring.start[")]
    assert len(starts) == loads
    result.assert_clean()


def test_shrinking_keeps_the_missing_edge() -> None:
    """The same two accesses with another edge missing are another race, however small the shape that shows them."""
    scenario = load_scenario("hicache_bf16", {"cache.remedy": "record_before_the_copy"})
    kinds = {kind_of(report.group.shown) for report in explored(scenario).races}
    assert [kind.code for kind in kinds] == [Code.EARLY_RECORD]
    shrunk = shrink(scenario, kinds)
    assert shrunk is not None
    assert (shrunk.shape.sessions, shrunk.shape.turns) == (2, 2)
    assert shrink(load_scenario("hicache_bf16"), kinds) is None


def test_one_session_cannot_lose_the_race_with_itself() -> None:
    scenario = load_scenario("hicache_bf16")
    assert not has_loaded(explored(scenario, Shape(1, standard_shape(scenario).layers)))


def test_served_run_and_small_program_have_one_signature() -> None:
    scenario = small_scenario("short_context", {})
    served = serving.serve_and_watch(scenario, DEFAULT_SEED)
    assert served.is_exercised
    assert [group.shown.code for group in served.groups] == [Code.LATE_WAIT]
    assert served.groups[0].layers == tuple(range(21))
    signatures = {group.shown.race.signature for group in served.groups}
    shrunk = shrink(scenario, {kind_of(group.shown) for group in served.groups})
    assert shrunk is not None
    assert shrunk.shape == Shape(2, ("c4",), 1)
    result = explored(scenario, shrunk.shape)
    assert {report.group.shown.race.signature for report in result.races} == signatures


def test_races_of_the_gated_twin_are_not_shrunk_to() -> None:
    kinds = {kind_of(report.group.shown) for report in explored(load_scenario("hicache_bf16")).races}
    assert shrink(load_scenario("hicache_bf16_gated"), kinds) is None


def test_small_scenario_keeps_what_the_user_says() -> None:
    few = small_scenario("hicache_bf16", {})
    assert (few.workload.sessions, few.workload.turns_max, few.cache.device_tokens) == (4, 2, 60_000)
    asked = small_scenario("hicache_bf16", {"workload.sessions": "30", "cache.device_tokens": "70000"})
    assert (asked.workload.sessions, asked.cache.device_tokens) == (30, 70_000)
    assert small_scenario("hicache_bf16", {"workload.sessions": "60"}).cache.device_tokens == 900_000


def test_hash_follows_switches_and_shape_but_not_times() -> None:
    def hashed(sessions: int = 2, **changes: object) -> str:
        overrides = {key.replace("__", "."): value for key, value in changes.items()}
        return program_hash(CacheProgram(load_scenario("hicache_bf16", overrides), Shape(sessions, ("c4",))))

    assert hashed() == hashed(cost__jitter=0.5, workload__sessions=7)
    assert len({hashed(), hashed(cache__index_k="fp8"), hashed(cache__gate_index_k=True), hashed(3)}) == 4


def test_name_says_scenario_and_shape() -> None:
    program = CacheProgram(load_scenario("hicache_fp8"), Shape(2, ("c4",), 3))
    assert program_name(program) == "hicache_fp8 (2 sessions x 1 layer x 3 pages)"


def test_wait_for_a_long_load_has_a_price_and_no_wait_has_none() -> None:
    scenario = load_scenario("hicache_bf16")
    program = CacheProgram(scenario, standard_shape(scenario))
    (report,) = explored(scenario).races
    assert report.mend is not None
    assert wait_price_ns(program, report.mend.edges, cost_model(scenario), seed=1) >= 0
    assert wait_price_ns(program, (), cost_model(scenario), seed=1) == 0

"""The cost model: the shipped file against the facts it quotes, curves, overrides, refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.errors import ConfigError
from kernels.substrate.cost import Curve, Quantity
from kernels.substrate.cost_file import DEFAULT_COST_FILE, load_cost_model, with_override

KIB, MIB = 1024, 1024**2


def test_the_shipped_numbers_are_the_measured_ones() -> None:
    cost = load_cost_model()
    assert cost.name == "h200_pcie5"
    assert (cost.enqueue_ns, cost.launch_ns) == (3_500, 5_000)
    gather = {2: 10.8, 4: 19.3, 8: 32.7, 16: 47.0, 132: 47.0}
    assert {blocks: pytest.approx(cost.copy.gather.at(blocks)) for blocks in gather} == gather
    run = {64 * KIB: 4.0, MIB: 35.0, 256 * MIB: 54.6, 1024 * MIB: 54.6}
    assert {size: pytest.approx(cost.copy.run.at(size)) for size in run} == run
    assert (cost.link.h2d.value, cost.link.d2h.value, cost.link.local.value) == (54.6, 55.2, 2080.0)
    assert cost.gather_bandwidth == pytest.approx(10.8)


def test_every_number_says_where_it_comes_from() -> None:
    leaves = dict(load_cost_model().leaves())
    assert len(leaves) == 18
    for key, leaf in leaves.items():
        assert leaf.source, key
        assert leaf.status in ("measured", "fitted", "assumed"), key
        if leaf.status == "fitted":
            assert isinstance(leaf, Quantity), key
            assert leaf.high is not None, key
            assert leaf.low is not None, key
            assert leaf.is_in_range, key


def test_compute_per_layer_is_a_line_in_new_and_cached_tokens() -> None:
    cost = load_cost_model()
    for key, value in {"compute.fixed": 100.0, "compute.new_token": 0.5, "compute.cached_token": 0.001}.items():
        cost = with_override(cost, key, value)
    assert cost.layer_ns(0, 0) == 100_000
    assert cost.layer_ns(1_000, 0) == 600_000
    assert cost.layer_ns(1_000, 20_000) == 620_000


def test_small_runs_cost_the_time_of_the_smallest_one_measured() -> None:
    cost = load_cost_model()
    smallest_ns = 64 * KIB / 4.0
    assert cost.runs_ns(np.array([64.0 * KIB])) == pytest.approx(smallest_ns)
    assert cost.runs_ns(np.array([8_448.0] * 10)) == pytest.approx(10 * smallest_ns)
    assert cost.runs_ns(np.array([256.0 * MIB])) == pytest.approx(256 * MIB / 54.6)


def test_the_bandwidth_scale_moves_both_paths() -> None:
    cost = load_cost_model()
    slower = with_override(cost, "copy.bandwidth_scale", 0.5)
    assert slower.gather_bandwidth == pytest.approx(cost.gather_bandwidth / 2)
    assert slower.runs_ns(np.array([1e6])) == pytest.approx(2 * cost.runs_ns(np.array([1e6])))


@settings(deadline=None, derandomize=True)
@given(st.floats(1.0, 1e12))
def test_a_curve_stays_between_its_neighbours(x: float) -> None:
    curve = Curve(((65536.0, 4.0), (1048576.0, 35.0), (268435456.0, 54.6)), "", "measured", "facts")
    below = max((y for at, y in curve.points if at <= x), default=4.0)
    above = min((y for at, y in curve.points if at >= x), default=54.6)
    assert below * (1 - 1e-12) <= curve.at(x) <= above * (1 + 1e-12)


def test_a_curve_is_a_power_law_between_two_points() -> None:
    curve = Curve(((1.0, 1.0), (100.0, 10.0)), "", "measured", "facts")
    assert curve.at(25.0) == pytest.approx(5.0)


def test_an_override_changes_one_number_and_says_so() -> None:
    cost = load_cost_model()
    changed = with_override(cost, "host.enqueue", "7.25")
    assert changed.enqueue_ns == 7_250
    assert changed.host.enqueue.status == "override"
    assert cost.enqueue_ns == 3_500
    assert {key for key, leaf in changed.leaves() if leaf.status == "override"} == {"host.enqueue"}
    flat = with_override(cost, "copy.run", 2.0)
    assert (flat.copy.run.at(1.0), flat.copy.run.at(1e9)) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("key", "value", "parts"),
    [
        ("host.enqueu", 1.0, ["unknown cost key 'host.enqueu'", "did you mean 'host.enqueue'", "jitter.copy"]),
        ("host.enqueue", "soon", ["host.enqueue", "0 or a positive number", "'soon'"]),
        ("host.enqueue", -1.0, ["host.enqueue", "-1.0"]),
        ("link.h2d", 0.0, ["link.h2d", "a positive number"]),
        ("link.h2d", "inf", ["link.h2d", "a positive number"]),
        ("copy.gather", None, ["copy.gather", "None"]),
    ],
)
def test_a_wrong_override_is_named_with_its_place(key: str, value: object, parts: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        with_override(load_cost_model(), key, value, file=Path("scenario.toml"), line=12)
    assert str(caught.value).startswith("scenario.toml:12: ")
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ('name = "h200_pcie5"', "name = 5", "'name' must be a string"),
        ("[host.enqueue]", "[host.enque]", "unknown key 'host.enque'"),
        ("[host.event]\nvalue = 1.0", "[host.event]\nvalue = -1.0", "[host.event] needs numbers of 0 or more"),
        ("[host.event]\nvalue = 1.0", "[host.event]\nvalue = true", "[host.event] needs numbers of 0 or more"),
        ("[host.event]\nvalue = 1.0", "[host.event]\nvalu = 1.0", "unknown key 'host.event.valu'"),
        ('unit = "us"\nstatus = "measured"', 'unit = "ms"\nstatus = "measured"', "[host.enqueue] is in 'ms'"),
        ('status = "measured"', 'status = "guessed"', "[host.enqueue] has no valid status; allowed: measured"),
        ("low = 87.0", "low = 149.0", "[compute.fixed] value 147 is outside its own range"),
        ("points = [[2, 10.8], [4, 19.3]", "points = [[4, 10.8], [2, 19.3]", "[copy.gather] needs positive points"),
        ("points = [[2, 10.8]", "points = [[2]", "[copy.gather] has a point that is not [x, y]"),
        ("[jitter.copy]", "[[jitter.copy]]", "[jitter.copy] is missing or is no table"),
        ('name = "h200_pcie5"', "name =", "not valid TOML"),
    ],
)
def test_a_broken_cost_file_is_refused_with_its_name(tmp_path: Path, old: str, new: str, part: str) -> None:
    text = DEFAULT_COST_FILE.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "broken.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_cost_model(path)
    assert part in str(caught.value)
    assert "broken.toml" in str(caught.value)


def test_a_cost_file_without_a_source_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bare.toml"
    lines = DEFAULT_COST_FILE.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(line for line in lines if not line.startswith('source = "DESIGN')), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"\[host.enqueue\] does not say where it comes from"):
        load_cost_model(path)


def test_a_missing_cost_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere.toml: no such cost file"):
        load_cost_model(tmp_path / "nowhere.toml")

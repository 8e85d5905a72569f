"""Loading: overrides, a user's own files, and every mistake with its name, place and what is allowed.

Owns: `load_scenario` and the views. Files are written to a temporary folder; the base is the shipped one.
Floor: tests.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.config import diff, flat_view, list_scenarios, load_scenario, scenario_delays, to_dict
from harness.config.fields import known_types
from harness.config.toml_source import key_lines, read_toml
from kernels.errors import ConfigError
from kernels.substrate.contract import Delay

MINE = 'extends = "base"\nsummary = "Mine."\nexpect = "clean"\n'


def scenario_at(folder: Path, text: str, name: str = "mine") -> str:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_overrides_are_read_by_the_type_of_their_field() -> None:
    scenario = load_scenario(
        "hicache_bf16",
        {
            "cache.device_tokens": "1000000",
            "cache.hicache": "false",
            "cache.ungated": "c4, swa",
            "cache.index_k": "fp8",
            "cost.jitter": "0",
            "cost.h2d_gbps": "10.8",
            "workload.sessions": 10,
            "delays.h2d.index_k": "lognormal:200us,0.5",
            "expect": "clean",
        },
    )
    assert scenario.cache.device_tokens == 1_000_000
    assert scenario.cache.hicache is False
    assert scenario.cache.ungated == ("c4", "swa")
    assert scenario.cost.jitter == 0.0
    assert scenario.cost.h2d_gbps == 10.8
    assert scenario.workload.sessions == 10
    assert scenario_delays(scenario) == (Delay("h2d.index_k", "lognormal", (200_000.0, 0.5)),)
    assert scenario.expect == "clean"
    assert load_scenario("hicache_bf16", {"cache.ungated": ""}).cache.ungated == ()
    assert load_scenario("hicache_bf16", {"cost.h2d_gbps": "null"}).cost.h2d_gbps is None


def test_every_option_can_be_overridden_with_its_own_text() -> None:
    scenario = load_scenario("hicache_bf16_fused", {"delays.handoff": "constant:1ms", "cost.d2h_gbps": "20"})
    texts = {}
    for key, value in flat_view(scenario).items():
        is_list = isinstance(value, list | tuple)
        texts[key] = ",".join(value) if is_list else json.dumps(value).strip('"')
    assert set(known_types()) <= set(texts)
    del texts["name"], texts["summary"]
    again = load_scenario("hicache_fp8", texts)
    assert diff(scenario, again) == {}
    assert again.expect == scenario.expect


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("cache.index_k", "bf17", "cache.index_k = 'bf17': is not one of the allowed values (did you mean 'bf16'?)"),
        ("cache.hicache", "maybe", "allowed: true, false"),
        ("cache.ungated", "c4,c5", "cache.ungated = 'c5': is not one of the allowed values"),
        ("cache.device_token", "1", "unknown key 'cache.device_token' (did you mean 'cache.device_tokens'?); allowed:"),
        ("cach.index_k", "bf16", "unknown section 'cach' (did you mean 'cache'?); allowed: cache, engine"),
        ("sessions", "3", "unknown key 'sessions'; allowed: extends, summary, expect, [cache]"),
        ("cache", "3", "unknown key 'cache' (did you mean '[cache]'?)"),
        ("delays", "3", "unknown key 'delays'"),
        ("workload.sessions", "0", "workload.sessions = '0': expected integer >= 1"),
        ("workload.sessions", -5, "workload.sessions = -5: expected integer >= 1"),
        ("workload.sessions", "many", "workload.sessions = 'many': expected int, got str"),
        ("workload.sessions", "1e400", "workload.sessions = '1e400'"),
        ("workload.think_s", "inf", "workload.think_s = 'inf': expected number <= 1000000000000.0"),
        ("workload.think_s", "nan", "workload.think_s = 'nan': expected number"),
        ("workload.source", "tau", "workload.source = 'tau': expected 'builtin' or 'bfcl:DIR'"),
        ("cost.jitter", "1", "cost.jitter = '1': expected number < 1.0"),
        ("cost.h2d_gbps", "0", "cost.h2d_gbps = '0': expected number > 0.0"),
        ("cost.file", "h100", "no cost file 'h100'; allowed: h200_pcie5"),
        ("engine.max_new_tokens", "50", "engine.max_new_tokens = 50 cannot hold a call of up to"),
        ("workload.turns_min", "9", "workload.turns_min = 9 is more than workload.turns_max = 8"),
        ("workload.first_message_tokens_max", "9", "first_message_tokens_min = 16000 is more than"),
        ("workload.redundancy", "20", "8 facts written 20 time(s) at up to 72 tokens need 11520 tokens"),
        ("workload.decoys", "400", "8 facts and 400 decoys at up to 72 tokens need 29376 tokens"),
        ("cache.device_tokens", "20000", "does not fit into cache.device_tokens = 20000"),
        ("cache.decode_tokens", "20000", "does not fit into cache.decode_tokens = 20000"),
        ("cache.host_tokens", "20000", "does not fit into cache.host_tokens = 20000"),
        ("cache.ungated", "c4,index-k", "cache.ungated = 'index-k': is not one of the allowed values (did you mean"),
        ("delays.h2d.indexk", "constant:1us", "'h2d.indexk' is not a delay point (did you mean 'h2d.index_k'?)"),
        ("delays.h2d.c4", "normal:1us", "'normal' is not a delay distribution"),
        ("delays.h2d.c4", "constant:3", "'3' has no known time unit"),
        ("delays.h2d.c4", "constant:1us@43", "deepseek-v4-flash has no layer 43, only 0 to 42"),
        ("delays.h2d.c4", 3, "delays.h2d.c4 = 3: expected str, got int"),
    ],
)
def test_mistake_on_the_command_line(key: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_scenario("hicache_bf16", {key: value})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_prompt_and_pools_are_compared_with_the_numbers() -> None:
    overrides = {
        "workload.first_message_tokens_max": "2000000",
        "workload.fork_share": "0",
        "workload.tool_result_log_mean": "7.0",
    }
    with pytest.raises(ConfigError) as caught:
        load_scenario("hicache_bf16", overrides)
    # 3,500 system + 2,000,000 first message + 8 turns of 1,312 (lognormal mean) + 72 (call) + 48 (question) tokens.
    assert "about 2014956 tokens (system 3500, first message up to 2000000, 8 turns" in str(caught.value)
    off = load_scenario("off_bf16", {"cache.host_tokens": "1"})
    assert off.cache.host_tokens == 1


def test_forks_need_a_second_turn() -> None:
    short = {"workload.turns_min": "1", "workload.turns_max": "1"}
    with pytest.raises(ConfigError, match="fork_share needs sessions of two turns or more"):
        load_scenario("hicache_bf16", short)
    assert load_scenario("hicache_bf16", {**short, "workload.fork_share": "0"}).workload.turns_max == 1


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (MINE + "\n[cache]\nindex_k = 3\n", 6, "cache.index_k = 3: is not one of the allowed values"),
        (MINE + "[cache]\nhicache = 'true'\n", 5, "cache.hicache = 'true': is not one of"),
        (MINE + "[cache]\n  oops = 1  # here\n", 5, "unknown key 'cache.oops'"),
        (MINE + "[zoo]\nlion = 1\n", 5, "unknown section 'zoo'"),
        (MINE + "[zoo]\n", 4, "unknown key 'zoo'"),
        (MINE + "loud = true\n", 4, "unknown key 'loud'"),
        (MINE + "cache = 5\n", 4, "unknown key 'cache'"),
        (MINE + "[workload]\nsessions = 1.5\n", 5, "workload.sessions = 1.5: expected int, got number"),
        (MINE + "[delays]\nh2d.zoo = 'constant:1us'\n", 5, "'h2d.zoo' is not a delay point"),
        (MINE + "[delays]\n\"h2d.c4\" = 'constant:x'\n", 5, "'x' is not a time"),
        (MINE + "[cache]\ndevice_tokens = 5\n", 5, "does not fit into cache.device_tokens = 5"),
        (MINE + "[cost]\nfile = 'mine.toml'\n", 5, "no cost file 'mine.toml'"),
        (MINE + "[cache\n", 4, "not valid TOML"),
        ("summary = 'a", 1, "not valid TOML"),
        ("extends = 'bass'\n", 1, "extends an unknown scenario 'bass' (did you mean 'base'?)"),
        ("\nextends = 7\n", 2, "extends takes the name of a scenario file"),
        ("extends = 'mine'\n", 1, "extends 'mine', which leads back to this file"),
        (MINE.replace("clean", "fine"), 3, "expect = 'fine': is not one of the allowed values"),
    ],
)
def test_mistake_in_a_file(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = scenario_at(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_scenario(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


def test_mistake_in_an_extended_file_is_shown_there(tmp_path: Path) -> None:
    parent = scenario_at(tmp_path, MINE + "[cache]\nindex_k = 'fp9'\n", "parent")
    child = scenario_at(tmp_path, "extends = 'parent'\nsummary = 'C.'\nexpect = 'clean'\n", "child")
    with pytest.raises(ConfigError) as caught:
        load_scenario(child)
    assert str(caught.value).startswith(f"{parent}:5: ")


def test_users_own_scenario(tmp_path: Path) -> None:
    scenario_at(tmp_path, MINE + "[workload]\nsessions = 5\nthink_s = 2\n", "parent")
    child = scenario_at(
        tmp_path, "extends = 'parent'\nsummary = 'C.'\nexpect = 'corruption'\n[workload]\nsessions = 7\n", "child"
    )
    scenario = load_scenario(child, {"workload.sessions": "9"})
    assert (scenario.name, scenario.summary, scenario.expect) == ("child", "C.", "corruption")
    assert scenario.workload.think_s == 2.0
    changed = diff(load_scenario("hicache_bf16"), scenario)
    assert changed == {"workload.sessions": (60, 9), "workload.think_s": (1.5, 2.0)}
    # What a scenario is for is not handed down: a child without a summary has none.
    orphan = scenario_at(tmp_path, "extends = 'parent'\n", "orphan")
    with pytest.raises(ConfigError, match="missing key 'summary' and 1 more"):
        load_scenario(orphan)
    assert [line.name for line in list_scenarios(tmp_path)] == ["child", "parent"]


def test_cycle_of_two_files(tmp_path: Path) -> None:
    scenario_at(tmp_path, "extends = 'b'\n", "a")
    with pytest.raises(ConfigError, match="leads back to this file"):
        load_scenario(scenario_at(tmp_path, "extends = 'a'\n", "b"))


def test_scenario_without_a_base_needs_every_key(tmp_path: Path) -> None:
    path = scenario_at(tmp_path, "summary = 'Alone.'\nexpect = 'clean'\n")
    with pytest.raises(ConfigError, match=r"missing key 'cache.preset' and \d+ more; a scenario starts with extends"):
        load_scenario(path)


def test_unknown_scenario(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"unknown scenario 'hicache_bf61' \(did you mean 'hicache_bf16'\?\); allowed:"
    ):
        load_scenario("hicache_bf61")
    with pytest.raises(ConfigError, match=r"unknown scenario '\.\./scenarios/off_fp8'"):
        load_scenario("../scenarios/off_fp8")
    with pytest.raises(ConfigError, match="no such scenario file"):
        load_scenario(str(tmp_path / "absent.toml"))


def test_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"summary = '\xff'\n")
    with pytest.raises(ConfigError, match="cannot read this file: it is not UTF-8 text"):
        load_scenario(str(path))
    folder = tmp_path / "folder.toml"
    folder.mkdir()
    with pytest.raises(ConfigError, match="cannot read this file: Is a directory"):
        read_toml(folder)


def test_lines_of_keys() -> None:
    text = '# top\na = 1\n\n[s]  # section\nb = 2\n"h2d.x" = 3\n  c = 4\n[ t.u ]\nd = 5\n'
    assert key_lines(text) == {"a": 2, "s": 4, "s.b": 5, "s.h2d.x": 6, "s.c": 7, "t.u": 8, "t.u.d": 9}


def test_views_are_plain_and_complete() -> None:
    scenario = load_scenario("hicache_fp8", {"delays.handoff": "constant:1ms"})
    nested, flat = to_dict(scenario), flat_view(scenario)
    assert json.loads(json.dumps(nested))["workload"] == nested["workload"]
    assert nested["cache"]["index_k"] == flat["cache.index_k"] == "fp8"
    assert flat["delays.handoff"] == "constant:1ms"
    assert diff(scenario, load_scenario("hicache_fp8")) == {"delays.handoff": ("constant:1ms", None)}


def test_chunk_under_a_page_is_refused_where_it_was_written() -> None:
    with pytest.raises(ConfigError, match=r"engine.chunk_tokens = 255 is less than one page of 256 tokens"):
        load_scenario("hicache_bf16", {"engine.chunk_tokens": "255"})
    assert load_scenario("hicache_bf16", {"engine.chunk_tokens": "256"}).engine.chunk_tokens == 256


@pytest.mark.parametrize("point", ["d2h.backup", "handoff", "decode.step", "host.schedule"])
def test_layers_at_a_point_without_layers_are_refused(point: str) -> None:
    with pytest.raises(ConfigError, match="an operation there serves all layers, so it takes no layers"):
        load_scenario("hicache_bf16", {f"delays.{point}": "constant:1us@3"})
    assert load_scenario("hicache_bf16", {f"delays.{point}": "constant:1us"}).delays

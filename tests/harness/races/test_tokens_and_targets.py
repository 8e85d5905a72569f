"""What tokens say about where they come from, and tokens that are too long for a chat.

Owns: `workload`, `token_files`, `revision`. Floor: tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.config import load_scenario
from harness.races.cache_program import CacheProgram, Shape
from harness.races.revision import machine_revision
from harness.races.token_files import read_token, write_long_tokens
from harness.races.workload import file_target, scenario_target, target_of
from kernels.errors import EnvironmentProblem
from kernels.races.scheduler.program import program_hash
from kernels.races.search.tokens import TOKEN_CHARACTERS_MAX, Token, TokenRefused
from tests.harness.races.program_files import LOAD_AND_READ, written

OVERRIDES: list[dict[str, object]] = [
    {},
    {"cache.index_k": "fp8", "cache.gate_index_k": "true"},
    {"cache.ungated": "c4,c128", "workload.sessions": 5, "cost.jitter": 0.2},
    {"cache.hicache": "false", "cache.layout": "page_first", "cache.write_policy": "write_back"},
]


@pytest.mark.parametrize("overrides", OVERRIDES)
def test_token_finds_its_scenario_with_what_was_overridden(overrides: dict[str, object]) -> None:
    shape = Shape(3, ("c4", "c128"), 2)
    target = scenario_target(load_scenario("hicache_bf16", overrides), "hicache_bf16", shape)
    token = Token.parse(str(Token(program_hash(target.program), target.workload)))
    again = target_of(token, scenario=None, file=None)
    assert isinstance(again.program, CacheProgram)
    assert again.program.shape == shape
    assert program_hash(again.program) == token.program_hash
    assert again.workload == target.workload
    assert len(str(token)) < TOKEN_CHARACTERS_MAX


def test_users_own_scenario_is_given_again_and_its_overrides_are_kept(tmp_path: Path) -> None:
    text = 'extends = "hicache_bf16"\nsummary = "Mine."\nexpect = "corruption"\n'
    path = str(written(tmp_path, "my-own.toml", text))
    target = scenario_target(load_scenario(path, {"cache.index_k": "fp8"}), path, Shape(2, ("c4",)))
    token = Token(program_hash(target.program), target.workload)
    assert not target.is_named
    with pytest.raises(TokenRefused, match="give --scenario"):
        target_of(token, scenario=None, file=None)
    assert program_hash(target_of(token, scenario=path, file=None).program) == token.program_hash


@pytest.mark.parametrize("fields", ["s=2", "s=2,l=c4", "s=0,l=c4,p=1", "s=2,l=c128,p=1", "s=x,l=c4,p=1", "s,l,p"])
def test_workload_that_makes_no_sense_is_refused(fields: str) -> None:
    with pytest.raises(TokenRefused, match="cannot be read"):
        target_of(Token("01234567", f"hicache_bf16,{fields}"), scenario=None, file=None)


def test_path_that_a_token_cannot_hold_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "with-dash"
    folder.mkdir()
    target = file_target(f"{written(folder, 'transfer.py', LOAD_AND_READ)}:fenced")
    assert not target.is_named
    assert Token.parse(str(Token("01234567", target.workload))).workload == ""


def test_only_long_tokens_are_written_and_read_back(tmp_path: Path) -> None:
    short, long = Token("01234567", choices=(1,)), Token("89abcdef", choices=tuple(range(2, 99)))
    files = write_long_tokens([None, short, long, long], tmp_path / "new")
    assert list(files) == [str(long)]
    assert read_token(str(files[str(long)])) == long
    assert read_token(str(short)) == short
    with pytest.raises(EnvironmentProblem, match="give --out another folder"):
        write_long_tokens([long], written(tmp_path, "file", "") / "below")


def test_revision_is_of_the_sources_alone() -> None:
    assert machine_revision() == machine_revision()
    assert len(machine_revision()) == 8

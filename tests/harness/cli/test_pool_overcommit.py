"""A dead engine on the command line: one sentence, exit code 1, and nothing but JSON where JSON was asked for.

Owns: what `run.py --scenario pool_overcommit` prints. Does not own: the run (tests/harness/simulation). Floor: tests.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.cli.child import TEST_S, run_child
from tests.harness.tiny import tiny_words

pytestmark = pytest.mark.timeout(TEST_S)


def words(name: str, folder: Path) -> list[str]:
    return ["--scenario", name, *tiny_words(), "--quiet", "--out", str(folder)]


def test_the_failure_is_said_and_found(tmp_path: Path) -> None:
    ended = run_child(*words("pool_overcommit", tmp_path))
    assert (ended.code, ended.err) == (1, "")
    last = ended.out.splitlines()[-1]
    assert last.startswith("FAILED: the prefill engine died, out of device memory: a forward of ")


def test_as_json_it_is_a_field(tmp_path: Path) -> None:
    failed = run_child(*words("pool_overcommit", tmp_path), "--json")
    found = json.loads(failed.out)
    assert (failed.code, found["verdict"], found["counters"]["out_of_memory"]) == (1, "unknown", 1)
    assert found["failure"].startswith("out of device memory")

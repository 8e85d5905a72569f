"""Each tidy rule against planted snippets: it finds the bad one, at its line, and leaves the good one alone.

Owns: the proof that a rule can fail. Does not look at the project. Floor: tests. Source: ours.
"""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from tests.tidy import floors, rules, words
from tests.tidy.source import Rule, Source

# rule, path, text, lines of the expected findings
BAD: list[tuple[Rule, str, str, list[int]]] = [
    (rules.file_is_short, "harness/a.py", "x = 1\n" * 301, [301]),
    (rules.file_is_short, "tests/test_a.py", "x = 1\n" * 401, [401]),
    (rules.functions_are_short, "results/a.py", "def f():\n" + "    x = 1\n" * 70, [1]),
    (rules.functions_are_short, "results/a.py", "class A:\n    async def f():\n" + "        x = 1\n" * 70, [2]),
    (rules.module_has_docstring, "harness/__init__.py", "", [1]),
    (rules.module_has_docstring, "kernels/a.py", "x = 'not a docstring'\n", [1]),
    (rules.module_name_says_something, "harness/utils/a.py", "", [1]),
    (rules.module_name_says_something, "kernels/hicache/manager.py", "", [1]),
    (rules.time_comes_from_clock, "harness/a.py", "import time\n\nnow = time.time()\n", [3]),
    (rules.time_comes_from_clock, "harness/a.py", "import time as t\nwait = t.monotonic\n", [2]),
    (rules.time_comes_from_clock, "harness/a.py", "from time import sleep\nsleep(1)\n", [1]),
    (rules.time_comes_from_clock, "harness/a.py", "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n", [3]),
    (rules.time_comes_from_clock, "results/a.py", "import time\ntime.perf_counter()\n", [2]),
    (rules.time_comes_from_clock, "benchmarks/a.py", "import time\ntime.sleep(1)\n", [2]),
    (rules.randomness_is_seeded, "kernels/a.py", "import random\nrandom.shuffle([1])\n", [2]),
    (rules.randomness_is_seeded, "kernels/a.py", "from random import choice\nchoice([1])\n", [1]),
    (rules.randomness_is_seeded, "tests/a.py", "import numpy as np\nnp.random.seed(1)\n", [2]),
    (rules.randomness_is_seeded, "tests/a.py", "from numpy import random\nrandom.rand(1)\n", [2]),
    (rules.randomness_is_seeded, "kernels/a.py", "import numpy as np\nnp.random.default_rng()\n", [2]),
    (rules.output_goes_through_command_line, "harness/load/a.py", "print('a')\n", [1]),
    (rules.errors_are_caught_by_name, "harness/a.py", "try:\n    f()\nexcept Exception:\n    g()\n", [3]),
    (rules.errors_are_caught_by_name, "harness/a.py", "try:\n    f()\nexcept:\n    g()\n", [3]),
    (rules.errors_are_caught_by_name, "tests/a.py", "try:\n    f()\nexcept (OSError, BaseException):\n    g()\n", [3]),
    (rules.errors_are_caught_by_name, "tests/a.py", "with contextlib.suppress(Exception):\n    f()\n", [1]),
    (rules.errors_are_caught_by_name, "harness/a.py", "try:\n    f()\nexcept BaseException:\n    g()\n", [3]),
    (rules.errors_are_caught_by_name, "harness/a.py", "try:\n    f()\nexcept Exception:\n    g()\n    raise\n", [3]),
    (
        rules.errors_are_caught_by_name,
        "harness/cli/main.py",
        "try:\n    f()\nexcept Exception:\n    g()\ntry:\n    f()\nexcept Exception:\n    g()\n",
        [7],
    ),
    (floors.imports_stay_below, "kernels/arrays/a.py", "import kernels.substrate.contract\n", [1]),
    (floors.imports_stay_below, "kernels/arrays/a.py", "from ..engine import tokenizer\n", [1]),
    (floors.imports_stay_below, "kernels/hicache/__init__.py", "from ..races import order\n", [1]),
    (floors.imports_stay_below, "kernels/races/a.py", "from kernels import hicache\n", [1]),
    (floors.imports_stay_below, "kernels/engine/a.py", "def f():\n    from results import store\n", [2]),
    (floors.imports_stay_below, "kernels/engine/a.py", "if TYPE_CHECKING:\n    import harness.load\n", [2]),
    (floors.imports_stay_below, "kernels/engine/a.py", "m = importlib.import_module('harness.load')\n", [1]),
    (floors.imports_stay_below, "results/a.py", "from kernels.arrays import topk\n", [1]),
    (floors.imports_stay_below, "results/a.py", "import kernels\n", [1]),
    (floors.imports_stay_below, "harness/a.py", "from tests.tidy import rules\n", [1]),
    (floors.imports_stay_below, "run.py", "from results import store\n", [1]),
    (floors.imports_stay_below, "kernels/novelty/a.py", "", [1]),
    (floors.heavy_libraries_load_late, "harness/a.py", "import torch.nn\n", [1]),
    (
        floors.heavy_libraries_load_late,
        "kernels/cuda.py",
        "try:\n    from transformers import AutoModel\nfinally:\n    pass\n",
        [2],
    ),
    (floors.heavy_libraries_load_late, "kernels/arrays/a.py", "import cupy as cp\n", [1]),
]

GOOD: list[tuple[Rule, str, str]] = [
    (rules.file_is_short, "harness/a.py", "x = 1\n" * 300),
    (rules.functions_are_short, "results/a.py", "def f():\n" + "    x = 1\n" * 69),
    (rules.module_has_docstring, "kernels/a.py", '"""Owns a."""\n'),
    (rules.module_name_says_something, "harness/load/commonality.py", ""),
    (rules.time_comes_from_clock, "harness/load/clock.py", "import time\ntime.sleep(1)\n"),
    (rules.time_comes_from_clock, "harness/cli/main.py", "import time\ntime.perf_counter()\n"),
    (rules.time_comes_from_clock, "harness/a.py", "def f(time):\n    return time.time()\n"),
    (
        rules.randomness_is_seeded,
        "kernels/a.py",
        "import numpy as np\nnp.random.default_rng(1)\nx: np.random.Generator\n",
    ),
    (rules.randomness_is_seeded, "kernels/a.py", "def f(random):\n    return random.rand()\n"),
    (rules.output_goes_through_command_line, "harness/cli/screen.py", "print('a')\n"),
    (rules.output_goes_through_command_line, "run.py", "print('a')\n"),
    (rules.errors_are_caught_by_name, "harness/cli/main.py", "try:\n    f()\nexcept Exception:\n    g()\n"),
    (rules.errors_are_caught_by_name, "harness/a.py", "try:\n    f()\nexcept (OSError, ValueError):\n    g()\n"),
    (rules.errors_are_caught_by_name, "harness/a.py", "try:\n    f()\nexcept BaseException:\n    g()\n    raise\n"),
    (floors.imports_stay_below, "kernels/engine/a.py", "from kernels.hicache import pools\nimport numpy\n"),
    (floors.imports_stay_below, "results/a.py", "from kernels.errors import ConfigError\nfrom . import records\n"),
    (floors.imports_stay_below, "results/a.py", "from kernels import errors\n"),
    (floors.imports_stay_below, "harness/a.py", "import kernels\nfrom scenarios import zoo\n"),
    (floors.imports_stay_below, "tests/a.py", "import harness\n"),
    (floors.heavy_libraries_load_late, "harness/a.py", "def f():\n    import torch\n"),
    (floors.heavy_libraries_load_late, "kernels/substrate/cuda_streams.py", "import cupy\n"),
]


def _rule_name(value: object) -> str | None:
    return getattr(value, "__name__", None) if callable(value) else ""


@pytest.mark.parametrize(("rule", "path", "text", "lines"), BAD, ids=_rule_name)
def test_rule_finds_planted_fault(rule: Rule, path: str, text: str, lines: list[int]) -> None:
    findings = list(rule(Source(PurePosixPath(path), text)))
    assert [finding.line for finding in findings] == lines
    assert all(str(finding.path) == path and finding.what for finding in findings)


@pytest.mark.parametrize(("rule", "path", "text"), GOOD, ids=_rule_name)
def test_rule_accepts_allowed_twin(rule: Rule, path: str, text: str) -> None:
    assert [str(finding) for finding in rule(Source(PurePosixPath(path), text))] == []


def test_unused_module_is_found_though_a_test_imports_it() -> None:
    sources = [
        Source(PurePosixPath("kernels/arrays/__init__.py"), ""),
        Source(PurePosixPath("kernels/arrays/used.py"), ""),
        Source(PurePosixPath("kernels/arrays/dead.py"), "from kernels.arrays import dead\n"),
        Source(PurePosixPath("tests/arrays/test_dead.py"), "import kernels.arrays.dead\n"),
        Source(PurePosixPath("kernels/engine/__main__.py"), "def f():\n    from kernels.arrays.used import g\n"),
    ]
    assert [str(finding.path) for finding in floors.unused_modules(sources)] == ["kernels/arrays/dead.py"]


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (words.no_leftovers, "a.py", "# TO" + "DO later\n"),
        (words.no_leftovers, "a.md", "FIX" + "ME\n"),
        (words.glossary_words, "a.py", "is_back" + "uped = True\n"),
        (words.glossary_words, "a.py", "# one kv " + "block\n"),
        (words.no_machine_addresses, "Makefile", "cd /wo" + "rk/main\n"),
        (words.no_machine_addresses, "a.md", "see /ro" + "ot/.cache\n"),
        (words.no_machine_addresses, "requirements.lock", "--index-url https://py" + "pi.org/simple\n"),
        (words.no_machine_addresses, "requirements.lock", "https://files.python" + "hosted.org/packages\n"),
        (words.no_template_text, "CHANGELOG.md", "- Your change" + " here\n"),
        (words.changelog_has_unreleased, "CHANGELOG.md", "# Changelog\n"),
    ],
    ids=_rule_name,
)
def test_text_rule_finds_planted_fault(rule: words.TextRule, path: str, text: str) -> None:
    assert [finding.line for finding in rule(PurePosixPath(path), text)] == [1]


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (words.no_leftovers, "a.py", "METHODOLOGY, todos\n"),
        (words.glossary_words, "docs/a.md", "SGLang spells it back" + "uped\n"),
        (words.no_machine_addresses, "a.md", "./wo" + "rk/main and net" + "wo" + "rk/route\n"),
        (words.changelog_has_unreleased, "CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n"),
    ],
    ids=_rule_name,
)
def test_text_rule_accepts_allowed_twin(rule: words.TextRule, path: str, text: str) -> None:
    assert [str(finding) for finding in rule(PurePosixPath(path), text)] == []

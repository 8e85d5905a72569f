"""The built-in tools and the calls that are drawn from their schemas.

Owns: the catalog's shape, validity of every drawn call, the draw's limits. Floor: tests.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import jsonschema_rs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.load.workload.calls import Call, CallDrawer, Tool, make_call
from harness.load.workload.catalog import BuiltinSource, BuiltinTools, load_tools, within_budget
from harness.load.workload.grammar import has_marks
from harness.load.workload.words import load_vocabulary
from kernels.errors import ConfigError
from tests.harness.workload.counting import count_tokens

VOCABULARY = load_vocabulary()
TOOLS = load_tools()


def test_forty_tools_in_six_domains() -> None:
    names = [tool["function"]["name"] for tool in TOOLS]
    domains = Counter(name.split("_")[0] for name in names)
    assert len(names) == len(set(names)) >= 40
    assert len(domains) == 6
    for tool in TOOLS:
        jsonschema_rs.meta.validate(tool["function"]["parameters"])
        assert not has_marks(json.dumps(tool))
        assert set(tool["function"]["parameters"]["required"]) <= set(tool["function"]["parameters"]["properties"])


def test_schemas_use_all_that_a_real_agent_meets() -> None:
    text = json.dumps([tool["function"]["parameters"]["properties"] for tool in TOOLS])
    for wanted in ('"enum"', '"type": "integer"', '"type": "number"', '"type": "boolean"', '"type": "array"'):
        assert text.count(wanted) >= 4
    assert text.count('"type": "object"') >= 4


@given(seed=st.integers(0, 2**32), tool=st.sampled_from(TOOLS))
def test_every_drawn_call_is_valid_and_carries_a_secret(seed: int, tool: Tool) -> None:
    secrets = ("velarimot", "subidokan")
    call = BuiltinTools((tool,), VOCABULARY).draw(np.random.default_rng(seed), secrets)
    assert call.name == tool["function"]["name"]
    jsonschema_rs.validate(tool["function"]["parameters"], json.loads(call.arguments_text))
    assert any(secret in call.arguments_text for secret in secrets)
    assert not has_marks(call.body)
    assert "\n" not in call.body


def test_optional_arguments_come_and_go() -> None:
    (tool,) = (tool for tool in TOOLS if tool["function"]["name"] == "calendar_create_event")
    rng = np.random.default_rng(3)
    seen = Counter(
        "visibility" in BuiltinTools((tool,), VOCABULARY).draw(rng, ("velarimot",)).arguments for _ in range(100)
    )
    assert 30 < seen[True] < 70


def test_budget_holds_and_keeps_one_tool() -> None:
    chosen = within_budget(TOOLS, count_tokens, 1000)
    assert 1 < len(chosen) < len(TOOLS)
    assert sum(count_tokens(json.dumps(tool)) for tool in chosen) <= 1000
    assert within_budget(TOOLS, count_tokens, 1) == TOOLS[:1]


def test_few_groups_together_offer_every_tool() -> None:
    source = BuiltinSource(VOCABULARY, count_tokens)
    half = sum(count_tokens(json.dumps(tool)) for tool in TOOLS) // 2
    rng = np.random.default_rng(0)
    offered = [source.tool_set(half, rng).tools for _ in range(3)]
    assert {tool["function"]["name"] for tools in offered for tool in tools} == {
        tool["function"]["name"] for tool in TOOLS
    }


@dataclass(slots=True)
class Listed:
    """A tool set whose calls are given, in turn."""

    calls: list[Call]
    tools: tuple[Tool, ...] = ()
    next_call: int = 0

    def draw(self, rng: np.random.Generator, secrets: Sequence[str]) -> Call:
        self.next_call += 1
        return self.calls[(self.next_call - 1) % len(self.calls)]


def test_drawer_skips_marks_long_calls_and_repetitions() -> None:
    marked, long = make_call("f", {"a": [[1]]}), make_call("f", {"a": "word " * 50})
    fine, other = make_call("f", {"a": 1}), make_call("f", {"a": 2})
    taken: set[str] = set()
    drawer = CallDrawer(Listed([marked, long, fine, fine, other]), count_tokens, 20)
    assert drawer.draw(np.random.default_rng(0), (), 2, taken) == [fine, other]
    assert taken == {fine.body, other.body}
    # There is no third one, so a call is used again.
    assert drawer.draw(np.random.default_rng(0), (), 1, taken)[0] in (fine, other)


def test_drawer_says_when_nothing_fits() -> None:
    drawer = CallDrawer(Listed([make_call("f", {"a": "word " * 50})]), count_tokens, 20)
    with pytest.raises(ConfigError, match=r"workload\.call_tokens_max = 20"):
        drawer.draw(np.random.default_rng(0), (), 1, set())

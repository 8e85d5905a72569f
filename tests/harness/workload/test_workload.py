"""The plan as a whole: what it promises about keys, calls, forks, secrets and lengths, on the default scenario.

Owns: properties of `build_workload`. Facts and references are found by an independent reader. Floor: tests.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import jsonschema_rs
import msgspec
import pytest

from harness.config import CacheConfig, WorkloadSpec, load_scenario
from harness.load.workload import SessionPlan, Workload, build_workload, longest_prompt, refuse_oversized
from kernels.errors import ConfigError
from tests.harness.workload.counting import (
    count_tokens,
    facts_in,
    has_stray_marks,
    references_in,
    text_of,
)

SEED = 7


@pytest.fixture(scope="module")
def spec() -> WorkloadSpec:
    return load_scenario("hicache_bf16").workload


@pytest.fixture(scope="module")
def workload(spec: WorkloadSpec) -> Workload:
    return build_workload(spec, SEED, count_tokens)


def small_spec(spec: WorkloadSpec, **changes: object) -> WorkloadSpec:
    small: dict[str, object] = {
        "sessions": 10,
        "first_message_tokens_min": 2000,
        "first_message_tokens_max": 2400,
        "system_tokens": 800,
        "tool_result_log_mean": 5.0,
        "fork_note_tokens": 500,
    }
    return msgspec.structs.replace(spec, **(small | changes))


def roots(workload: Workload) -> list[SessionPlan]:
    return [plan for plan in workload.sessions if plan.fork is None]


def forks(workload: Workload) -> list[SessionPlan]:
    return [plan for plan in workload.sessions if plan.fork is not None]


def own_texts(plan: SessionPlan) -> str:
    return "\n".join(text for turn in plan.turns for text in (turn.user, turn.tool_result))


def test_seed_decides_everything(spec: WorkloadSpec) -> None:
    small = small_spec(spec)
    first, again = build_workload(small, 3, count_tokens), build_workload(small, 3, count_tokens)
    other = build_workload(small, 4, count_tokens)
    assert first == again
    assert first.digest() == again.digest() != other.digest()
    assert not {turn.key for plan in first.sessions for turn in plan.turns} & {
        turn.key for plan in other.sessions for turn in plan.turns
    }


def test_more_sessions_leave_the_first_ones_as_they_were(spec: WorkloadSpec) -> None:
    few = build_workload(small_spec(spec, sessions=4, fork_share=0.0), SEED, count_tokens)
    many = build_workload(small_spec(spec, sessions=9, fork_share=0.0), SEED, count_tokens)
    assert many.sessions[:4] == few.sessions


def test_every_request_can_be_answered_from_its_own_text(workload: Workload) -> None:
    for plan in workload.sessions:
        for index, turn in enumerate(plan.turns):
            text = text_of(plan.messages(index))
            bodies = {(fact.key, fact.anchor): fact.body for fact in facts_in(text)}
            # The last reference is what the reply recalls, and the question holds the only new one.
            assert bodies[references_in(text)[-1]] == turn.expected.body
            assert references_in(turn.user) == [(turn.key, turn.anchor)]
            assert msgspec.json.decode(turn.expected.arguments_text) == turn.expected.arguments


def test_every_call_fits_the_schema_of_a_tool_that_is_offered(workload: Workload) -> None:
    for plan in workload.sessions:
        schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in plan.tools}
        for turn in plan.turns:
            assert jsonschema_rs.is_valid(schemas[turn.expected.name], turn.expected.arguments)


def test_keys_are_unique_over_the_run(workload: Workload) -> None:
    written = [fact.key for plan in workload.sessions for fact in facts_in(own_texts(plan))]
    assert len(written) > 1000
    assert len(set(written)) == len(written)


@pytest.mark.parametrize("redundancy", [1, 2, 4])
def test_what_is_asked_stands_as_often_as_the_redundancy_says(spec: WorkloadSpec, redundancy: int) -> None:
    small = small_spec(spec, redundancy=redundancy, first_message_tokens_min=8000, first_message_tokens_max=9000)
    for plan in build_workload(small, SEED, count_tokens).sessions:
        conversation = text_of(plan.messages(len(plan.turns) - 1))
        for turn in plan.turns:
            name = turn.key if turn.anchor is None else f"{turn.key}|{turn.anchor}"
            assert conversation.count(f"[[{name}]] {turn.expected.body}\n") == redundancy
            # Apart from its facts a call stands in the history only where an earlier turn has made it.
            made = sum(past.expected.body == turn.expected.body for past in (*plan.inherited, *plan.turns[:-1]))
            assert conversation.count(turn.expected.body + "\n") == redundancy + made


def test_redundant_copies_are_spread(spec: WorkloadSpec) -> None:
    small = small_spec(spec, redundancy=4, first_message_tokens_min=9000, first_message_tokens_max=9000)
    for plan in roots(build_workload(small, SEED, count_tokens)):
        keys = [fact.key for fact in facts_in(plan.turns[0].user)]
        asked = [key for key, copies in Counter(keys).items() if copies == 4]
        rounds = [keys[at : at + len(asked)] for at in range(0, 4 * len(asked), len(asked))]
        # All facts stand once before any stands a second time, and so on.
        assert all(sorted(part) == sorted(asked) for part in rounds)


def test_asked_facts_stand_in_the_first_half_and_decoys_behind(workload: Workload, spec: WorkloadSpec) -> None:
    for plan in roots(workload):
        message = plan.turns[0].user
        half = count_tokens(message) * spec.fact_span
        asked = {turn.key for turn in plan.turns if turn.kind == "own"}
        ends = {
            fact.key: count_tokens(message[: message.index(fact.body) + len(fact.body)]) for fact in facts_in(message)
        }
        assert all(ends[key] <= half for key in asked)
        assert sum(end > half for end in ends.values()) == spec.decoys
        # Spread, not bunched: no stretch of the half without facts is as long as half of it.
        places = sorted(end for end in ends.values() if end <= half)
        assert max(b - a for a, b in zip([0.0, *places], [*places, half], strict=True)) < half / 2


def test_filler_holds_no_grammar(workload: Workload) -> None:
    assert not any(has_stray_marks(own_texts(plan)) for plan in workload.sessions)
    for group in workload.groups:
        assert not facts_in(group.system)
        assert not has_stray_marks(group.system + msgspec.json.encode(group.tools).decode())


def test_lengths_are_inside_their_bounds(workload: Workload, spec: WorkloadSpec) -> None:
    question = 40
    for plan in workload.sessions:
        first = count_tokens(plan.turns[0].user)
        if plan.fork is None:
            assert spec.first_message_tokens_min <= first <= spec.first_message_tokens_max + question
        else:
            assert first <= spec.fork_note_tokens + question
        assert spec.turns_min <= len(plan.turns) <= spec.turns_max
        assert all(turn.call_tokens <= spec.call_tokens_max for turn in plan.turns)
        assert all(0 < turn.result_tokens <= spec.tool_result_tokens_max for turn in plan.turns[:-1])
        assert plan.turns[-1].tool_result == ""
    for group in workload.groups:
        assert spec.system_tokens - 100 <= group.tokens <= spec.system_tokens
    spans = [count_tokens(plan.turns[0].user) for plan in roots(workload)]
    assert min(spans) < 18_000 < 22_000 < max(spans)


def test_counted_lengths_are_the_lengths(workload: Workload) -> None:
    for plan in workload.sessions[::7]:
        for turn in plan.turns:
            assert turn.user_tokens == count_tokens(turn.user)
            assert turn.call_tokens == count_tokens(turn.expected.body)
            assert turn.result_tokens == count_tokens(turn.tool_result)


def test_tool_results_have_the_median_of_their_distribution(workload: Workload) -> None:
    sizes = sorted(turn.result_tokens for plan in workload.sessions for turn in plan.turns[:-1])
    assert 430 < sizes[len(sizes) // 2] < 560  # exp(6.2) = 493


def test_sixty_sessions_overflow_the_device_pool_and_fit_on_the_host(workload: Workload) -> None:
    cache = load_scenario("hicache_bf16").cache
    assert cache.device_tokens < workload.distinct_tokens < cache.host_tokens
    finals = [plan.prompt_tokens(len(plan.turns) - 1) for plan in roots(workload)]
    assert 25_000 < sum(finals) / len(finals) < 32_000


def test_forks_begin_with_exactly_what_the_parent_sent(workload: Workload, spec: WorkloadSpec) -> None:
    assert len(forks(workload)) == round(spec.sessions * spec.fork_share)
    for plan in forks(workload):
        assert plan.fork is not None
        parent = workload.sessions[plan.fork.parent]
        sent = parent.messages(plan.fork.turn)[:-1]
        assert len(sent) > 1
        mine = plan.messages(0)
        assert mine[: len(sent)] == sent
        assert mine[len(sent)]["role"] == "user"
        assert (plan.group, plan.tools, plan.system) == (parent.group, parent.tools, parent.system)
        assert plan.start_ns > parent.start_ns + plan.fork.turn * parent.turns[0].think_ns


def test_anchored_facts_stand_in_earlier_results_and_lean_on_the_first_message(workload: Workload) -> None:
    asked = Counter[tuple[str, str]]()
    for plan in workload.sessions:
        first = (*plan.inherited, *plan.turns)[0]
        runbook = {fact.key for fact in facts_in(first.user)}
        for index, turn in enumerate(plan.turns):
            asked["fork" if plan.fork else "root", turn.kind] += 1
            if turn.kind != "anchored":
                assert turn.anchor is None
                continue
            assert turn.anchor in runbook
            results = [past.tool_result for past in (*plan.inherited, *plan.turns[:index])]
            places = [at for at, text in enumerate(results) if f"[[{turn.key}|{turn.anchor}]]" in text]
            assert len(places) == 1
            assert plan.fork is None or places[0] < plan.fork.turn
    assert asked["fork", "anchored"] > 0.3 * sum(asked["fork", kind] for kind in ("own", "anchored", "inherited"))
    assert 0.03 < asked["root", "anchored"] / (asked["root", "anchored"] + asked["root", "own"]) < 0.2
    assert asked["fork", "inherited"] > 0


def test_secrets_are_unique_and_known_only_to_their_session(workload: Workload) -> None:
    texts = {plan.session: text_of(plan.messages(len(plan.turns) - 1)) for plan in workload.sessions}
    for plan in roots(workload):
        assert len(plan.secrets) == 3
        heirs = {other.session for other in forks(workload) if other.fork and other.fork.parent == plan.session}
        for secret in plan.secrets:
            holders = {session for session, text in texts.items() if secret in text}
            assert holders == {plan.session} | heirs
    for plan in forks(workload):
        assert plan.fork is not None
        assert set(workload.sessions[plan.fork.parent].secrets) < set(plan.secrets)
    words = {secret for plan in workload.sessions for secret in plan.secrets}
    assert len(words) == 3 * len(workload.sessions)
    assert not any(a in b or b in a for a, b in combinations(sorted(words), 2))


def test_calls_carry_a_secret_of_their_session(workload: Workload) -> None:
    for plan in workload.sessions:
        for turn in plan.turns:
            assert any(secret in turn.expected.arguments_text for secret in plan.secrets)


def test_groups_share_a_system_message_and_offer_all_tools(workload: Workload, spec: WorkloadSpec) -> None:
    assert len({group.system for group in workload.groups}) == spec.groups
    for plan in workload.sessions:
        group = workload.groups[plan.group]
        assert (plan.system, plan.tools) == (group.system, group.tools)
    assert len(workload.tools) >= 40
    assert {plan.group for plan in roots(workload)} == set(range(spec.groups))


def test_records_for_the_results(workload: Workload) -> None:
    fork = forks(workload)[0]
    record = fork.record()
    assert fork.fork is not None
    assert (record.forked_from, record.secrets, record.scripts) == (fork.fork.parent, fork.secrets, ("LATIN",))
    for schema in workload.tool_schemas():
        named = [group.group for group in workload.groups for tool in group.tools if _is(tool, schema.name)]
        assert list(schema.groups) == ([] if len(named) == len(workload.groups) else named)


def _is(tool: object, name: str) -> bool:
    assert isinstance(tool, dict)
    return bool(tool["function"]["name"] == name)


def test_think_times(spec: WorkloadSpec) -> None:
    steady = build_workload(small_spec(spec), SEED, count_tokens)
    assert {turn.think_ns for plan in steady.sessions for turn in plan.turns} == {1_500_000_000}
    varied = build_workload(small_spec(spec, think_sigma=0.5, sessions=30), SEED, count_tokens)
    pauses = sorted(turn.think_ns for plan in varied.sessions for turn in plan.turns)
    assert len(set(pauses)) > 100
    assert 1.2e9 < pauses[len(pauses) // 2] < 1.9e9


def test_one_session_is_a_workload(spec: WorkloadSpec) -> None:
    alone = build_workload(small_spec(spec, sessions=1, fork_share=0.9), SEED, count_tokens)
    assert [plan.fork for plan in alone.sessions] == [None]


def test_short_context_for_the_reach_of_the_selection(spec: WorkloadSpec) -> None:
    tiny = small_spec(
        spec,
        turns_min=2,
        turns_max=3,
        system_tokens=200,
        first_message_tokens_min=700,
        first_message_tokens_max=800,
        tool_result_log_mean=4.0,
        fork_share=0.0,
        decoys=2,
        anchored_per_result=1,
    )
    workload = build_workload(tiny, SEED, count_tokens)
    assert longest_prompt(workload)[1] < 2048
    assert all(len(plan.tools) >= 1 for plan in workload.sessions)


def test_call_limit_that_no_call_meets_is_refused(spec: WorkloadSpec) -> None:
    with pytest.raises(ConfigError, match=r"call_tokens_max = 5; the shortest of \d+ has \d+"):
        build_workload(small_spec(spec, call_tokens_max=5), SEED, count_tokens)


@pytest.mark.parametrize("pool", ["device_tokens", "host_tokens", "decode_tokens"])
def test_plan_that_does_not_fit_is_refused_with_the_numbers(workload: Workload, pool: str) -> None:
    cache = load_scenario("hicache_bf16").cache
    refuse_oversized(workload, cache, max_new_tokens=96)
    longest, tokens = longest_prompt(workload)
    small: CacheConfig = msgspec.structs.replace(cache, **{pool: tokens - 1})
    with pytest.raises(ConfigError, match=f"session {longest.session} has about {tokens} .* cache.{pool}"):
        refuse_oversized(workload, small, max_new_tokens=96)
    if pool == "host_tokens":
        refuse_oversized(workload, msgspec.structs.replace(small, hicache=False), max_new_tokens=96)

"""Session plans of a few lines each, for tests that need sessions and not a workload.

Owns: sizes and texts. Does not own: the real planner (`harness/load/workload`). Floor: tests. Source: ours.
"""

from __future__ import annotations

from typing import Any

from harness.load.workload.calls import make_call
from harness.load.workload.plan import ForkPoint, SessionPlan, TurnPlan

TOOLS: tuple[dict[str, Any], ...] = tuple(
    {"type": "function", "function": {"name": name, "description": name, "parameters": {"type": "object"}}}
    for name in ("order_find", "order_find_all", "mail_send", "größe_messen")
)


def turn_plan(session: int, turn: int, *, think_ns: int, padding: str = "", result: str = "") -> TurnPlan:
    key = f"k-{session}-{turn}"
    call = make_call(TOOLS[(session + turn) % 4]["function"]["name"], {"id": session * 100 + turn, "note": "naïve 語"})
    return TurnPlan(
        call_id=f"call_{session}_{turn}",
        user=f"{padding}[[{key}]] {call.body}\nPlease do (({key}))",
        kind="own",
        key=key,
        anchor=None,
        reference=f"(({key}))",
        expected=call,
        tool_result=result or f"done {turn}",
        think_ns=think_ns,
        user_tokens=10,
        call_tokens=10,
        result_tokens=2,
    )


def session_plan(
    session: int, *, turns: int = 3, start_ns: int = 0, think_ns: int = 5_000_000, fork: ForkPoint | None = None
) -> SessionPlan:
    return SessionPlan(
        session=session,
        group=session % 2,
        start_ns=start_ns,
        system="You are terse.",
        tools=TOOLS,
        inherited=(),
        turns=tuple(turn_plan(session, turn, think_ns=think_ns) for turn in range(turns)),
        secrets=(f"word{session}",),
        fork=fork,
        system_tokens=4,
    )

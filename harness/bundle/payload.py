"""What the script carries: each message once, and each turn as a list of them; packed until it fits.

Owns: the payload's shape, its packing, and how many sessions there is room for. Does not own: the script around it
(`script.py`). Pure. Floor 5. Source: ours.

A history repeats with every turn and a prefix with every session, so a table of messages is far smaller than requests;
words of prose pack to an eighth (LZMA).
"""

from __future__ import annotations

import base64
import json
import lzma
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from harness.bundle.leaving import Leave
from harness.bundle.neighbours import SessionPart
from harness.load.workload.planned import PlannedSession

_LINE_CHARACTERS: Final = 116
_ROOM_SHARE: Final = 0.95


Clean = Callable[[Any], Any]
"""Takes secrets out of JSON; leaves a workload of our own as it is."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A session as it was planned, and the part of it that is needed. leaves: by turn, where it was hung up upon."""

    plan: PlannedSession
    part: SessionPart
    leaves: Mapping[int, Leave] = field(default_factory=dict)

    @property
    def hung_up(self) -> int:
        """Of the part's turns, so many."""
        return sum(turn < self.part.turn_count for turn in self.leaves)


@dataclass(frozen=True, slots=True)
class Packed:
    """text: lines of base 85. sessions, turns: how many are in it, and hung_up of these are left in the middle.
    left_out: sessions that there was no room for."""

    text: str
    sessions: int
    turns: int
    left_out: int
    prompt_tokens: int
    hung_up: int


@dataclass(slots=True)
class _Table:
    """Values by what they say, in the order in which they came."""

    clean: Clean
    places: dict[str, int] = field(default_factory=dict)

    def place(self, value: Any) -> int:
        text = json.dumps(self.clean(value), ensure_ascii=False, separators=(",", ":"))
        return self.places.setdefault(text, len(self.places))

    def text(self) -> str:
        return f"[{','.join(self.places)}]"


def pack(planned: Sequence[Planned], settings: Mapping[str, Any], *, clean: Clean, room_bytes: int) -> Packed:
    """As many sessions as fit, from the first on; the first always. settings: further fields of the payload."""
    count = len(planned)
    while True:
        raw = _payload(planned[:count], settings, clean)
        text = base64.b85encode(lzma.compress(raw, preset=6)).decode()
        if len(text) <= room_bytes or count == 1:
            break
        count = max(1, min(count - 1, int(count * room_bytes / len(text) * _ROOM_SHARE)))
    kept = planned[:count]
    return Packed(
        text="\n".join(text[at : at + _LINE_CHARACTERS] for at in range(0, len(text), _LINE_CHARACTERS)),
        sessions=count,
        turns=sum(one.part.turn_count for one in kept),
        left_out=len(planned) - count,
        prompt_tokens=sum(one.plan.prompt_tokens(turn) for one in kept for turn in range(one.part.turn_count)),
        hung_up=sum(one.hung_up for one in kept),
    )


def _payload(planned: Sequence[Planned], settings: Mapping[str, Any], clean: Clean) -> bytes:
    messages, tools = _Table(clean), _Table(clean)
    begin_ns = min(one.part.start_ns for one in planned)
    sessions = [_session(one, begin_ns, messages, tools, clean) for one in planned]
    rest = json.dumps({**settings, "sessions": sessions}, ensure_ascii=False, separators=(",", ":"))
    text = f'{{"messages":{messages.text()},"tools":{tools.text()},{rest[1:]}'
    # Half a surrogate pair may stand in a foreign text; JSON's own escape brings it through.
    return text.encode("utf-8", "backslashreplace")


def _session(one: Planned, begin_ns: int, messages: _Table, tools: _Table, clean: Clean) -> dict[str, Any]:
    plan = one.plan
    turns = []
    for number, turn in enumerate(plan.turns[: one.part.turn_count]):
        fields: dict[str, Any] = {
            "messages": [messages.place(message) for message in plan.messages(number)],
            "think_s": round(turn.think_ns / 1e9, 3),
        }
        if turn.expected is not None:
            expected = turn.expected.record()
            fields["expected"] = {"name": expected.name, "arguments": expected.arguments}
        if turn.expected_word is not None:
            fields["word"] = turn.expected_word
        if turn.max_tokens is not None:
            fields["max_tokens"] = turn.max_tokens
        if turn.extra:
            fields["extra"] = clean(dict(turn.extra))
        if number in one.leaves:
            fields["leave"] = one.leaves[number].fields()
        turns.append(fields)
    start_s = round((one.part.start_ns - begin_ns) / 1e9, 3)
    return {
        "session": plan.session, "start_s": start_s, "tools": tools.place(list(plan.tools)), "turns": turns,
    }  # fmt: skip

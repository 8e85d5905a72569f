"""The faults that can be planted: one for each class of symptom that operators report, and controls that are none.

Owns: their names, which damage each is, and what a judge must call it. Does not own: the damages (`damage/`), chance
(`dosing.py`). Floor 5. Source: facts/bugs.md section 4 (S1 to S15). S10, a collapse of speculative acceptance, is not
here: the text stays right, and only a counter of the server shows it. S14 is what the controls are for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from harness.planting.damage import calls, ends, quiet, text
from harness.planting.damage.scene import Damage
from harness.proxy.contract import Ending
from results.findings import Kind


@dataclass(frozen=True, slots=True)
class Fault:
    """kinds: what a judge may rightly call such a turn, the best name first; empty where no single turn can show it.

    damage: None where the reply itself stays as it is and only its end is missing. ending: how the answer ends; where
    it does not come to its end, it stops somewhere in its middle.
    """

    name: str
    symptom: str
    what: str
    kinds: tuple[Kind, ...]
    damage: Damage | None = None
    ending: Ending = Ending.WHOLE

    @property
    def is_corruption(self) -> bool:
        return any(kind.is_corruption for kind in self.kinds)


_ALL: Final = (
    Fault("token_salad", "S1", "scripts woven together, broken characters", (Kind.TOKEN_SALAD,), text.salad),
    Fault("repetition", "S2", "a loop that ends at the limit on tokens", (Kind.REPETITION,), ends.repetition),
    Fault("control_tokens", "S3", "special tokens in the text", (Kind.CONTROL_TOKENS,), text.control_token),
    Fault("lost_call", "S4", "prose instead of the call, and a normal stop", (Kind.LOST_CALL,), calls.lost_call),
    Fault("misplaced_markup", "S5", "tags in the wrong channel", (Kind.MISPLACED_MARKUP,), text.markup),
    Fault("damaged_arguments", "S6", "point damage in the arguments", (Kind.DAMAGED_ARGUMENTS,), calls.arguments),
    Fault("cross_talk", "S7", "private words of another conversation", (Kind.CROSS_TALK,), text.cross_talk),
    Fault("wrong_call", "S7", "another call than the one asked for", (Kind.WRONG_CALL, Kind.CROSS_TALK),
          calls.wrong_call),
    Fault("wrong_first_token", "S8", "one odd token in front", (Kind.WRONG_FIRST_TOKEN,), calls.first_token),
    Fault("longer", "S9", "three times as long, and the call is right", (), quiet.longer),
    Fault("empty_reply", "S11", "status 200, a finish reason, and nothing else", (Kind.EMPTY_REPLY,), ends.empty),
    Fault("crash", "S12", "the connection is reset in mid-reply", (Kind.CUT_STREAM, Kind.TRANSPORT_ERROR), None,
          Ending.CUT),
    Fault("hang", "S13", "nothing more comes, and the connection stays", (Kind.HANG,), None, Ending.SILENT),
    Fault("truncated", "S14", "control: the limit cuts the reply", (Kind.TRUNCATED,), ends.truncated),
    Fault("refused", "S14", "control: a content filter ends the reply", (Kind.REFUSED,), ends.refused),
    Fault("other_words", "S15", "the same call, spelled otherwise", (), quiet.other_words),
)  # fmt: skip

FAULTS: Final[Mapping[str, Fault]] = MappingProxyType({fault.name: fault for fault in _ALL})

"""What one run of the comparison measured, as it is stored.

Owns: the file. Does not own: what is made of it (`page`).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.peers.found import Found
from benchmarks.peers.naming import Named
from benchmarks.peers.targets import TARGETS
from harness.simulation import provenance

FILE: Final = Path(__file__).resolve().parents[1] / "results" / "peers.json"

Stored = dict[str, Any]


@dataclass(slots=True)
class Record:
    """runs: every tool against every target. replays: (target, how often our command found it again, of how many).

    load_average: of the machine after each seed: times hang on it, counts do not. note: what was measured otherwise.
    """

    command: str
    runs: list[Found] = field(default_factory=list)
    names: list[Named] = field(default_factory=list)
    replays: list[tuple[str, int, int]] = field(default_factory=list)
    load_average: list[float] = field(default_factory=list)
    note: str = ""

    def take_over(self, other: Stored, *, without: Collection[str]) -> None:
        """Effect: holds what an earlier record has of other tools than these."""
        self.runs = [Found(**one) for one in other["runs"] if one["tool"] not in without]
        self.replays = [tuple(one) for one in other["replays"]]
        self.load_average = other["load_average"]

    def keep(self, file: Path = FILE) -> None:
        targets = [{"name": one.name, "what": one.what, "is_sound": one.is_sound} for one in TARGETS]
        fields = {
            "command": self.command,
            "host": provenance.host_facts(),
            "versions": provenance.versions(),
            "targets": targets,
            "named": [asdict(one) for one in self.names],
            "replays": self.replays,
            "load_average": self.load_average,
            "note": self.note,
        }
        # One run a line, so that a file of hundreds of them can be read and compared.
        lines = ",\n  ".join(json.dumps(one.as_json()) for one in self.runs)
        whole = json.dumps(fields, indent=1).removesuffix("\n}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'{whole},\n "runs": [\n  {lines}\n ]\n}}\n', encoding="utf-8")


def stored(file: Path = FILE) -> Stored:
    found: Stored = json.loads(file.read_text(encoding="utf-8"))
    return found

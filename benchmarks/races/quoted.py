"""The detector's speed, quoted on the page of the race measurements from where it was measured.

Owns: the quotation. Does not own: the measuring (`benchmarks.detector_speed`). After a new measurement:

    python -m benchmarks.races.quoted
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.detector_speed import OUT
from benchmarks.page import Figures
from benchmarks.races.stored import table


def main() -> int:
    table({"detector-speed": quotation(OUT)})
    return 0


def quotation(path: Path) -> Figures:
    """Raises: FileNotFoundError where nothing was measured."""
    stored: dict[str, Any] = json.loads(path.read_text())
    trace, along = stored["trace"], stored["reading_along"]
    rows = [
        ("events of the trace", f"{trace['events']:,}"),
        ("accesses", f"{trace['accesses']:,}"),
        ("events a second, from columns", f"{stored['columns']['events_per_s']:,}"),
        ("target", f"{stored['target_events_per_s']:,}"),
        ("events a second, from JSON Lines", f"{stored['lines']['events_per_s']:,}"),
    ]
    if along is not None:
        rows.append(("CPU time of the run with the detector reading along, to the run alone", f"{along['ratio']}"))
    rows.append(("load average before", f"{stored['load_before']:.1f} on {stored['host']['cores']} cores"))
    return Figures(("detector", "figure"), tuple(rows), f"`{stored['command']}`")


if __name__ == "__main__":
    sys.exit(main())

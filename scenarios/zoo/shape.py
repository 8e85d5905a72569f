"""The shape of a specimen: whether its record is complete, and its program small.

Owns: what is missing, in words. Does not own: whether what it says is true (`harness.zoo` judges that). Floor 4.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from scenarios.zoo.left_out import ROWS
from scenarios.zoo.specimen import DEFECT, SYMPTOMS, Specimen

PROGRAM_LINES_MAX = 60
LINE_MAX = 140

_SOURCE = re.compile(r"[A-Za-z].*\d")


def faults_of(specimen: Specimen, path: Path) -> list[str]:
    """Everything that is missing or does not fit, each with the specimen's name; empty where all is there."""
    return [f"{specimen.name}: {what}" for what in (*_record(specimen), *_file(specimen, path))]


def _record(specimen: Specimen) -> Iterator[str]:
    if not _SOURCE.search(specimen.source):
        yield "source must name a project and a number, as in 'SGLang PR 22811'"
    for row in specimen.rows:
        if row not in ROWS:
            yield f"there is no row '{row}'; rows are {ROWS[0]} to {ROWS[-1]}, and () for a bug outside the table"
    if specimen.symptom not in SYMPTOMS:
        yield f"symptom must be one of {', '.join(SYMPTOMS)}, not '{specimen.symptom}'"
    for name in ("missing", "trigger"):
        text = str(getattr(specimen, name))
        if not text or "\n" in text or len(text) > LINE_MAX:
            yield f"{name} must be one line of at most {LINE_MAX} characters"
    if specimen.expected.is_clean:
        yield "expected must say what the defect shows: a code of the detector, a law, stale bytes, another reply"
    names = [fix.name for fix in specimen.wrong_fixes]
    for fix in specimen.wrong_fixes:
        if not fix.name.isidentifier() or fix.name in (DEFECT, "fixed") or names.count(fix.name) > 1:
            yield f"wrong fix '{fix.name}': its name must be an identifier of its own"
        if not fix.why:
            yield f"wrong fix '{fix.name}': why says what it misses"
        if fix.expected.is_clean:
            yield f"wrong fix '{fix.name}': what is clean is a fix"


def _file(specimen: Specimen, path: Path) -> Iterator[str]:
    if specimen.name != path.stem:
        yield f"its file must be called {specimen.name}.py, not {path.name}"
    if specimen.race_class.folder != path.parent.name:
        kind = specimen.race_class
        yield f"its class is {kind}, so it belongs into {kind.folder}, not {path.parent.name}"
    lines = program_lines(path.read_text(encoding="utf-8"))
    if lines > PROGRAM_LINES_MAX:
        yield f"its program has {lines} lines; at most {PROGRAM_LINES_MAX}"


def program_lines(text: str) -> int:
    """The lines of a file's functions."""
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in functions)

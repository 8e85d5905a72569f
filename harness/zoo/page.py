"""The generated part of docs/zoo.md: found by its marks, and replaced.

Owns: the marks. Does not own: the table (`table.py`). Floor 5.
"""

from __future__ import annotations

from pathlib import Path

from kernels.errors import ConfigError

BEGIN, END = "<!-- made by: python run.py zoo --page docs/zoo.md -->", "<!-- made until here -->"


def generated_part(path: Path) -> str:
    """What stands between the marks. Raises: ConfigError where it has none, or cannot be read."""
    _, part, _ = _parts(path)
    return part


def put(path: Path, table: str) -> None:
    """Replace what stands between the marks. Raises: ConfigError."""
    before, _, behind = _parts(path)
    path.write_text(f"{before}{BEGIN}\n{table.strip()}\n{END}{behind}", encoding="utf-8")


def _parts(path: Path) -> tuple[str, str, str]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise ConfigError(f"the page {path} cannot be read: {problem.strerror}", key="--page", value=path) from problem
    before, begin, rest = text.partition(BEGIN)
    part, end, behind = rest.partition(END)
    if not begin or not end:
        raise ConfigError(f"the page has no lines '{BEGIN}' and '{END}'", key="--page", value=path, file=path)
    return before, part.strip(), behind

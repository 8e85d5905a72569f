"""The example of docs/races.md runs as it stands there, and the marker fails where an order is wrong.

Owns: the page's example, `kernels.races.pytest_plugin`. Floor: tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

RACY = """
@pytest.mark.every_order(budget=100)
def test_racy(machine: Machine) -> None:
    transfer(machine, waits=False)
"""


def example() -> str:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "races.md").read_text(encoding="utf-8"), re.DOTALL)
    return str(block)


def test_example_passes_and_a_racy_twin_fails_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "test_transfer.py").write_text(example() + "\n" + RACY, encoding="utf-8")
    words = ["-m", "pytest", "-q", "-p", "kernels.races.pytest_plugin", "-p", "no:cacheprovider", "--strict-markers"]
    done = subprocess.run(
        [sys.executable, *words, "test_transfer.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert re.search(r"RacesFound: test_racy: 1 unordered.*\n.*MISSING_WAIT device.kv: load records", done.stdout)


def test_example_is_short_enough_to_be_copied() -> None:
    assert len(example().splitlines()) <= 36

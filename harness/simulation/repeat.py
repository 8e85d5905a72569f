"""The command that repeats one run exactly.

Owns: its words. Does not own: running. Floor 5.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping


def repeat_command(scenario: str, seed: int, overrides: Mapping[str, str]) -> str:
    """The command line of one run. scenario: the name, or the path of a TOML file, as it was given."""
    words = ["python", "run.py", "--scenario", scenario, "--seed", str(seed)]
    for key, value in overrides.items():
        if key.startswith("delays."):
            words += ["--delay", f"{key.removeprefix('delays.')}={value}"]
        elif key == "workload.sessions":
            words += ["--sessions", value]
        else:
            words += ["--set", f"{key}={value}"]
    return shlex.join(words)

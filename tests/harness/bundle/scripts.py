"""Making a script and running it as a stranger would: another interpreter, no packages, no environment.

Owns: the running, and a reader of what a script carries. Does not own: any expectation. Floor: tests. Source: ours.
"""

from __future__ import annotations

import ast
import base64
import json
import lzma
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cli.main import main
from tests.harness.cli.child import PATIENCE_S


@dataclass(frozen=True, slots=True)
class ScriptRun:
    code: int
    out: str
    err: str


def run_script(script: Path, *words: str, environment: dict[str, str] | None = None) -> ScriptRun:
    """Isolated: neither our packages nor our path, and no environment but what is given."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", str(script), *words],
        capture_output=True, text=True, timeout=PATIENCE_S, cwd=script.parent, env=environment or {},
    )  # fmt: skip
    return ScriptRun(done.returncode, done.stdout, done.stderr)


def bundled(run_dir: Path, *words: str) -> Path:
    """The script of a run, beside the run folder."""
    script = run_dir.parent / "bundle" / "repro.py"
    assert main(["bundle", str(run_dir), "--out", str(script), *words]) == 0
    return script


def constants(script: Path) -> dict[str, Any]:
    """The plain values on top of a script, read without running it."""
    tree = ast.parse(script.read_text(encoding="utf-8"), feature_version=(3, 9))
    found: dict[str, Any] = {"DOC": ast.get_docstring(tree)}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.Tuple):
            target = node.targets[0]
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            value = ast.literal_eval(node.value)
            values = value if isinstance(target, ast.Tuple) else [value]
            found |= {ast.unparse(name): one for name, one in zip(names, values, strict=True)}
    return found


def carried(script: Path) -> dict[str, Any]:
    """The payload, unpacked by our own hands."""
    text = constants(script)["PAYLOAD"]
    fields: dict[str, Any] = json.loads(lzma.decompress(base64.b85decode(text.replace("\n", ""))))
    return fields


def everything(script: Path) -> str:
    """All that leaves with a script: its text, what it carries, and the evidence."""
    evidence = script.with_name(f"{script.stem}_evidence.json").read_text(encoding="utf-8")
    return "\n".join((script.read_text(encoding="utf-8"), json.dumps(carried(script), ensure_ascii=False), evidence))

"""The evidence file beside a script: what was run, on what, and what came of it, for a machine to read.

Owns: the record and its writing. Does not own: where the facts come from (the run folder). Floor 5. Source: ours.
What is not known is null, never a guess.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from harness.bundle.choosing import ChosenTurn
from harness.bundle.payload import Clean
from results import layout
from results.reader import Run
from results.report.witness import expected_text, received_text

SCHEMA: Final = "kvrace-evidence/1"
_OF_THE_RUN: Final = ("verdict", "verdict_reason", "sessions", "sessions_judged", "sessions_corrupted", "turns",
                      "turns_judged", "turns_corrupted", "turns_unknown", "kinds")  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScriptEvidence:
    """The script: how it is run, and what of the run's load is in it. checked: how its messages were verified."""

    file: str
    sha256: str
    size_bytes: int
    command: str
    rounds: int
    sessions: int
    turns: int
    sessions_left_out: int
    checked: str
    scrubbed: dict[str, int]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One bundle. commands: how to repeat the run and how to run the script."""

    made: str
    harness: dict[str, Any]
    server: dict[str, Any]
    run: dict[str, Any]
    turn: dict[str, Any]
    script: ScriptEvidence
    schema: str = field(default=SCHEMA)


def evidence_of(chosen: ChosenTurn, script: ScriptEvidence, *, clean: Clean, made: str) -> Evidence:
    run, manifest = chosen.run, chosen.run.manifest
    summary = _summary(run)
    return Evidence(
        made=made,
        harness={"versions": manifest.versions, "git_revision": manifest.git_revision, "host": manifest.host},
        server=_server(run, summary),
        run={
            "folder": run.path.name,
            "scenario": manifest.scenario,
            "backend": manifest.backend,
            "seed": manifest.seed,
            "started": manifest.started,
            "finished": manifest.finished,
            "partial": run.is_partial,
            "command": manifest.repeat,
            "configuration": manifest.configuration,
            "workload_digest": manifest.workload_digest,
            "counters": {} if manifest.measured is None else manifest.measured.counters,
            **{name: summary.get(name) for name in _OF_THE_RUN},
        },
        turn=clean(_turn(chosen)),
        script=script,
    )


def write_evidence(evidence: Evidence, path: Path) -> None:
    """Raises: StorageProblem."""
    text = msgspec.json.format(msgspec.json.encode(evidence), indent=2) + b"\n"

    def write(beside: Path) -> None:
        beside.write_bytes(text)

    layout.replace_file(path, write)


def _server(run: Run, summary: dict[str, Any]) -> dict[str, Any]:
    configured = run.manifest.configuration.get("server")
    known = dict(configured) if isinstance(configured, dict) else {}
    return known | {"evidence": summary.get("evidence")}


def _summary(run: Run) -> dict[str, Any]:
    """What the run said of itself when it ended; nothing where it was cut off."""
    try:
        fields = json.loads((run.path / layout.SUMMARY).read_bytes())
    except (OSError, ValueError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _turn(chosen: ChosenTurn) -> dict[str, Any]:
    turn, judgement = chosen.turn, chosen.judgement
    return {
        "session": turn.session,
        "turn": turn.turn,
        "request_id": turn.request_id,
        "sent_s": turn.sent_ns / 1e9,
        "expected": None if turn.expected is None else msgspec.to_builtins(turn.expected),
        "expected_text": expected_text(turn) or None,
        "received_text": received_text(turn),
        "finish_reason": turn.finish_reason,
        "error": turn.error,
        "prompt_tokens": turn.prompt_tokens,
        "cached_tokens": turn.cached_tokens,
        "machine": None if turn.machine is None else msgspec.to_builtins(turn.machine),
        "kind": None if judgement is None or judgement.kind is None else str(judgement.kind),
        "said_alone": chosen.said_alone,
        "findings": [] if judgement is None else [msgspec.to_builtins(finding) for finding in judgement.findings],
    }

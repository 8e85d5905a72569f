"""The ready files of the nightly job: each is valid, and calls a command that there is. Floor: tests."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from harness.cli.nightly import nightly_command
from harness.nightly.budget import parse_budget
from harness.nightly.config import DEFAULT_CONFIG
from harness.nightly.reports import NAMES
from tests.docs.nightly_schemas import CLAIM, CRON_JOB, WORKFLOW

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "docs" / "nightly"
_UNITS = ("kvrace-nightly.service", "kvrace-nightly.timer")


def _workflow() -> dict[str, Any]:
    loaded = yaml.safe_load((FILES / "github-actions.yml").read_text(encoding="utf-8"))
    # YAML 1.1 reads the bare word `on` as true; GitHub does not.
    return {"on" if key is True else key: value for key, value in loaded.items()}


def _manifests() -> tuple[dict[str, Any], dict[str, Any]]:
    claim, job = yaml.safe_load_all((FILES / "cronjob.yaml").read_text(encoding="utf-8"))
    return claim, job


def _faults(schema: dict[str, Any], found: object) -> list[str]:
    return [error.message for error in jsonschema_rs.validator_for(schema).iter_errors(found)]


def _refuse_unknown_options(words: list[str]) -> None:
    """The words after `run.py nightly`, as click would read them."""
    known = {option for parameter in nightly_command.params for option in parameter.opts}
    for word in words:
        assert not word.startswith("--") or word in known, word


def test_workflow() -> None:
    workflow = _workflow()
    assert _faults(WORKFLOW, workflow) == []
    steps = workflow["jobs"]["nightly"]["steps"]
    (command,) = (step["run"] for step in steps if step.get("name") == "Nightly")
    _refuse_unknown_options(command.split("nightly")[1].split())
    budget_s = parse_budget(workflow["on"]["workflow_dispatch"]["inputs"]["budget"]["default"])
    assert 60 * workflow["jobs"]["nightly"]["timeout-minutes"] > budget_s
    # Where the history is kept is where the command writes it.
    home = "results/runs/nightly"
    assert all(home in step["with"]["path"] for step in steps if "cache" in step.get("uses", ""))
    assert next(parameter.default for parameter in nightly_command.params if parameter.name == "out") == home
    shown = next(step["run"] for step in steps if step.get("name") == "Show the verdict")
    assert f"{home}/{NAMES['md']}" in shown


@pytest.mark.parametrize(
    ("at", "value", "fault"),
    [
        (("jobs", "nightly", "steps", 0, "use"), "actions/checkout@v4", "'use' was unexpected"),
        (("jobs", "nightly", "steps", 0, "uses"), "actions/checkout", "does not match"),
        (("on", "schedule", 0, "cron"), "17 2 * *", "does not match"),
        (("jobs", "nightly", "timeout-minutes"), "150", "is not of type"),
        (("concurrency",), {"cancel-in-progress": True}, '\'group"? is a required|"group" is a required'),
    ],
)
def test_workflow_schema_finds_planted_faults(at: tuple[Any, ...], value: object, fault: str) -> None:
    broken = _planted(_workflow(), at, value)
    assert any(re.search(fault, message) for message in _faults(WORKFLOW, broken)), _faults(WORKFLOW, broken)


def test_cron_job() -> None:
    claim, job = _manifests()
    assert _faults(CLAIM, claim) == []
    assert _faults(CRON_JOB, job) == []
    spec = job["spec"]["jobTemplate"]["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"][0] == "nightly"
    _refuse_unknown_options(container["args"][1:])
    budget_s = parse_budget(container["args"][container["args"].index("--budget") + 1])
    assert spec["activeDeadlineSeconds"] > budget_s
    names = {volume["name"]: volume for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == set(names)
    assert names["nights"]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    home = container["args"][container["args"].index("--out") + 1]
    assert home in {mount["mountPath"] for mount in container["volumeMounts"]}
    assert (spec["backoffLimit"], pod["restartPolicy"]) == (0, "Never"), "a regression is not run again"


_SPEC = ("spec", "jobTemplate", "spec")


@pytest.mark.parametrize(
    ("at", "value", "fault"),
    [
        (("spec", "concurencyPolicy"), "Forbid", "'concurencyPolicy' was unexpected"),
        (("spec", "concurrencyPolicy"), "Never", "is not one of"),
        ((*_SPEC, "template", "spec", "restartPolicy"), "Always", "is not one of"),
        ((*_SPEC, "template", "spec", "containers"), [], "has less than 1 item|less than 1"),
        (("apiVersion",), "batch/v1beta1", "was expected"),
    ],
)
def test_cron_job_schema_finds_planted_faults(at: tuple[Any, ...], value: object, fault: str) -> None:
    broken = _planted(_manifests()[1], at, value)
    assert any(re.search(fault, message) for message in _faults(CRON_JOB, broken)), _faults(CRON_JOB, broken)


def test_units_call_the_job_and_belong_together() -> None:
    service, timer = (_unit(FILES / name) for name in _UNITS)
    assert service.sections() == ["Unit", "Service"]
    assert timer.sections() == ["Unit", "Timer", "Install"]
    assert timer["Timer"]["Unit"] == _UNITS[0]
    words = service["Service"]["ExecStart"].split()
    assert words[1].endswith("/run.py")
    assert words[2] == "nightly"
    _refuse_unknown_options(words[3:])
    assert parse_budget(service["Service"]["TimeoutStartSec"]) > parse_budget(words[words.index("--budget") + 1])
    assert service["Service"]["KillSignal"] == "SIGTERM"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_units_by_systemd(tmp_path: Path) -> None:
    """systemd says what it does not understand, and ends 0 all the same: its silence is what counts."""
    assert _verified(tmp_path / "sound", {}) == ""
    broken = {"Type=oneshot": "Type=onshot", "OnCalendar=*-*-* 02:17:00": "OnCalendar=nightly at two"}
    complaints = _verified(tmp_path / "broken", broken)
    assert "Failed to parse service type" in complaints
    assert "Failed to parse calendar specification" in complaints


def _verified(folder: Path, changes: dict[str, str]) -> str:
    folder.mkdir()
    for name in _UNITS:
        text = (FILES / name).read_text(encoding="utf-8")
        for old, new in changes.items():
            text = text.replace(old, new)
        # The paths are the user's; what is checked here must exist here.
        text = text.replace("/opt/kvrace/.venv/bin/python", sys.executable).replace("/opt/kvrace", str(ROOT))
        (folder / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(folder / name) for name in _UNITS)],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    return done.stderr


def _unit(path: Path) -> ConfigParser:
    parser = ConfigParser(interpolation=None, strict=True, default_section="")
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(path.read_text(encoding="utf-8"))
    return parser


def _planted(sound: dict[str, Any], at: tuple[Any, ...], value: object) -> dict[str, Any]:
    broken = deepcopy(sound)
    *path, last = at
    place: Any = broken
    for key in path:
        place = place[key]
    place[last] = value
    return broken


def test_documentation_names_every_key_and_file() -> None:
    text = (ROOT / "docs" / "nightly.md").read_text(encoding="utf-8")
    for key in re.findall(r"^(\w+) = ", DEFAULT_CONFIG.read_text(encoding="utf-8"), re.MULTILINE):
        assert f".{key}`" in text, key
    for file in FILES.iterdir():
        assert f"(nightly/{file.name})" in text, file.name
    assert all(name in text for name in NAMES.values())

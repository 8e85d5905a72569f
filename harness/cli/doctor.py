"""`run.py doctor`: what this machine has, and what is missing.

Owns: what it prints. Does not own: the checks (`harness.bench.doctor`). Floor 6.
"""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from harness.bench.doctor import examine

_MARKS = {True: "yes", False: "no", None: ""}


@click.command("doctor", help="Say what this machine has for each backend, and how to get what is missing.")
@click.option("--json", "is_json", is_flag=True, help="One JSON array on standard output.")
def doctor_command(is_json: bool) -> int:
    findings = list(examine())
    if is_json:
        click.echo(json.dumps([asdict(finding) for finding in findings]))
        return 0
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        click.echo(f"{_MARKS[finding.is_there]:<4}{finding.what:<{width}}  {finding.value}")
        if finding.remedy:
            click.echo(f"{'':<4}{'':<{width}}  -> {finding.remedy}")
    return 0

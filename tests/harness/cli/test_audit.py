"""`run.py audit` as it is typed: exit codes, first lines, JSON, wrong input.

Owns: the command line. Does not own: figures (tests/hicache/audit). Floor: tests.
"""

from __future__ import annotations

import http.server
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness.cli.main import main
from tests.harness.audit.package import write_package
from tests.harness.audit.test_server_info import info


def audit(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["audit", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code, out, err = audit(capsys, *words, "--json")
    assert err == ""
    return code, json.loads(out)


def test_the_incident_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--preset", "deepseek-v4-flash", "--index-k", "bf16", "--memory", "80GB", "--formula", "fp8")
    code, found = as_json(capsys, *words)
    assert (code, found["verdict"]) == (1, "over_committed")
    assert found["under_count_bytes_per_token"] == 651.0
    assert found["tokens_granted"] == int(80e9 / 7_705.45) // 256 * 256
    assert found["over_commit_bytes"] == pytest.approx(651 * found["tokens_granted"], rel=0.002)
    assert found["not_counted"]["page_padding_bytes_per_token"] == pytest.approx(53.3)
    assert sum(pool["allocated_bytes"] for pool in found["pools"]) == found["allocated_bytes"]
    assert {pool["pool"] for pool in found["pools"] if pool["under_count_bytes_per_token"]} == {"index_k"}
    assert found["first_failure"]["pool"] == "c4_state"
    assert found["command"] == " ".join(["python run.py audit", *words])


def test_the_right_term_fits(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = as_json(capsys, "--preset", "deepseek-v4-flash", "--index-k", "bf16", "--memory", "80GB")
    assert (code, found["verdict"]) == (0, "fits")
    assert (found["under_count_bytes_per_token"], found["over_commit_bytes"]) == (0.0, 0)
    code, found = as_json(capsys, "--memory", "80GB", "--formula", "allocated")
    assert (code, found["beyond_memory_bytes"], found["first_failure"]) == (0, 0, None)


@pytest.mark.parametrize(
    ("words", "code", "first", "further"),
    [
        (
            ["--memory", "80GB", "--formula", "fp8"],
            1,
            "OVER-COMMITTED by 6.75 GB (8.4 % of 80.00 GB)",
            "padding   53.3 B",
        ),
        (["--memory", "80GB"], 0, "FITS 80.00 GB by the formula's terms; page padding", "index_k          21"),
        (["--memory", "80GB", "--formula", "allocated"], 0, "FITS 80.00 GB: every byte", "page 0"),
        (["--memory", "80GB", "--index-k", "fp4", "--formula", "fp8"], 0, "FITS 80.00 GB, with room to spare", "336"),
        (["--memory", "40GB", "--preset", "dsa", "--formula", "fp8"], 1, "OVER-COMMITTED by 6.29 GB", "7,564.00"),
    ],
)
def test_the_first_line_says_it(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, first: str, further: str
) -> None:
    ended, out, err = audit(capsys, *words)
    assert (ended, err) == (code, "")
    assert out.splitlines()[0].startswith(first)
    assert further in out
    assert out.splitlines()[-1].startswith("repeat    python run.py audit --")
    assert max(map(len, out.splitlines())) <= 130


def test_the_document_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[3] / "docs" / "sizing.md").read_text(encoding="utf-8")
    block = r"<!-- output: python run\.py audit (?P<words>[^\n]+) -->\n```\n(?P<output>.*?)```"
    shown = re.search(block, text, re.DOTALL)
    assert shown is not None
    assert audit(capsys, *shown["words"].split())[1] == shown["output"]


def test_sglangs_own_formula(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(write_package(tmp_path))
    code, out, _ = audit(capsys, "--sglang", path)
    assert (code, out.splitlines()[0]) == (
        1, "UNDER-COUNTS by 651.00 B per full token (index_k): SGLang 9.8.7 counts 7,033.45"
    )  # fmt: skip
    assert "DSV4PoolConfigurator._get_bytes_per_full_token" in out
    code, found = as_json(capsys, "--sglang", path, "--index-k", "fp8")
    assert (code, found["verdict"], found["under_count_bytes_per_token"]) == (0, "agrees", 0)
    assert {pool["file"] for pool in found["pools"]} == {"srt/model_executor/pool_configurator.py"}


class _Server(http.server.BaseHTTPRequestHandler):
    """Answers one route with V4-Flash's figures, as an older SGLang does."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = json.dumps(info()).encode()
        self.send_response(200 if self.path == "/get_server_info" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        del format, arguments


@contextmanager
def server() -> Iterator[str]:
    _Server.asked.clear()
    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}"
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def test_a_running_server_is_asked_by_both_names(capsys: pytest.CaptureFixture[str]) -> None:
    with server() as url:
        code, out, err = audit(capsys, "--server-info", url, "--memory", "13.02GB", "--index-k", "bf16")
    assert (code, err, _Server.asked) == (1, "", ["/server_info", "/get_server_info"])
    assert out.splitlines()[0] == "OVER-COMMITTED by 1.10 GB (8.4 %): 1,689,600 tokens do not fit 13.02 GB"
    with server() as url:
        code, _, err = audit(capsys, "--server-info", f"{url}/metrics")
    assert (code, _Server.asked) == (3, ["/metrics"])
    assert "answers 404 to /metrics; is it an SGLang server?" in err


def test_a_stored_answer_serves_as_well(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "info.json"
    file.write_text(json.dumps(info()), encoding="utf-8")
    code, found = as_json(capsys, "--server-info", str(file), "--memory", "13.02GB")
    assert (code, found["verdict"], found["version"]) == (0, "fits", "0.5.16")
    assert found["implied_bytes_per_token"] == pytest.approx(7_705.97, abs=0.01)
    assert audit(capsys, "--server-info", str(file), "--memory", "13.02GB")[1].startswith("FITS 13.02 GB: 1,689,600")
    code, out, err = audit(capsys, "--server-info", str(file))
    assert (code, out) == (4, "")
    assert "memory_usage.kvcache is missing or 0: give --memory" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "give one of --memory 80GB, --server-info URL|FILE and --sglang PATH"),
        (["--memory", "80GB", "--preset", "flash"], "unknown geometry 'flash'; allowed: deepseek-v4-flash, "),
        (["--memory", "80GB", "--index-k", "int4"], "unknown --index-k 'int4'; allowed: bf16, fp8, fp4"),
        (["--memory", "80GB", "--formula", "int8"], "allowed: fp8, fp4, bf16, allocated"),
        (["--memory", "80GB", "--rules", "1.0"], "allowed: 0.5.16, 0.5.23"),
        (["--memory", "80 apples"], "--memory '80 apples' is no amount of memory: a number and one of B, KB, MB, GB"),
        (["--memory", "0GB"], "--memory '0GB' is not between 1 byte and 1 EB"),
        (["--memory", "-3GB"], "is no amount of memory"),
        (["--memory", "1MB"], "less than one page of each pool"),
        (["--memory", "80GB", "--page-tokens", "100"], "needs a multiple of 128"),
        (["--memory", "80GB", "--swa-ratio", "nan"], "is not above 0 and at most 1"),
        (["--server-info", "a", "--sglang", "b"], "give one of --server-info and --sglang"),
        (["--server-info", "a", "--page-tokens", "256"], "--page-tokens says nothing to --server-info"),
        (["--sglang", "a", "--memory", "1GB"], "--memory says nothing to --sglang"),
    ],
)
def test_wrong_input_is_one_sentence(capsys: pytest.CaptureFixture[str], words: list[str], sentence: str) -> None:
    code, out, err = audit(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sentence in err


def test_amounts_are_read_as_they_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    for text, size in (
        ("80GB", 80 * 10**9),
        ("74.5GiB", round(74.5 * 2**30)),
        ("80000000000", 80 * 10**9),
        ("8e10", 8 * 10**10),
    ):
        assert as_json(capsys, "--memory", text)[1]["memory_bytes"] == size

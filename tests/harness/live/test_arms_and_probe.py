"""Two servers in alternating blocks, and the probe of one, in processes of their own where a loop must be free."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import main
from harness.live.arms import ArmsRun, run_arms
from harness.live.arrivals import load_shape
from harness.live.outcome import LiveResult
from harness.live.preflight import TOOL
from harness.live.target import Target
from harness.live.workload import live_workload
from harness.live.workloads.formats import FileWorkload
from kernels.errors import ConfigError
from results.matrix.folder import open_matrix
from results.reader import open_run
from results.report.model import build_report
from results.verdict import RunVerdict
from tests.harness.live.fault_server import MODEL, FaultServer, answers_of, serving
from tests.harness.live.live_requests import SEED, SMALL, request, workload_of

WORKLOAD = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
# One request a turn: what is asked besides has tests of its own.
SIZES = [
    "--task",
    "call",
    "--serial-check",
    "0",
    "--sessions",
    "6",
    "--prompt-tokens",
    "1800",
    "--max-tokens",
    "64",
    "--seed",
    str(SEED),
    *WORKLOAD,
]


@contextmanager
def in_a_thread(server: FaultServer) -> Iterator[FaultServer]:
    """The server on a loop of its own, so that a command can have the main thread."""
    loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def live() -> None:
        async with serving(server):
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(live()))
    thread.start()
    assert ready.wait(20)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        loop.close()


class Knowing(dict[str, tuple[str, str]]):
    """Knows the answers of whichever seed is being asked: blocks have seeds of their own."""

    def __init__(self, seeds: Sequence[int], wrong: int) -> None:
        load = load_shape("closed", 6, None, None)
        spec = live_workload(load, source="builtin", prompt_tokens=1_800, overrides=SMALL)
        self.by_seed = {
            seed: answers_of(workload_of(request("http://127.0.0.1:1/v1", workload=spec, seed=seed))) for seed in seeds
        }
        self.asked = -1
        self.wrong = wrong

    def get(self, key: str, default: object = None) -> tuple[str, str]:
        if not key.startswith("s"):
            return "open_door", json.dumps({"door": "north-4", "wide": True})
        self.asked += 1
        answers = self.by_seed[list(self.by_seed)[self.asked // 18]]
        if self.wrong and self.asked % self.wrong == 0:
            return answers[key][0], '{"never": "planted"}'
        return answers[key]


def test_arms_alternate_and_the_bad_one_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seeds = range(SEED, SEED + 2)
    with in_a_thread(FaultServer(Knowing(seeds, wrong=3))) as bad, in_a_thread(FaultServer(Knowing(seeds, 0))) as good:
        code = main(["stress", "--arm", f"on={bad.url}", "--arm", f"off={good.url}", "--model", MODEL, "--blocks", "2",
                     *SIZES, "--quiet", "--json", "--out", str(tmp_path)])  # fmt: skip
    shown = json.loads(capsys.readouterr().out)
    assert code == 1, shown["verdict_reason"]
    (folder,) = tmp_path.iterdir()
    matrix = open_matrix(folder)
    assert (matrix.faults, matrix.record.partial, matrix.record.verdict) == ((), False, RunVerdict.CORRUPT)
    on, off = matrix.record.arms
    assert (on.scenario, on.turns_corrupted, off.turns_corrupted) == ("on", 12, 0)
    assert matrix.record.comparisons[0].difference is not None
    assert matrix.record.comparisons[0].difference > 0
    order = sorted(folder.joinpath("runs").iterdir(), key=lambda path: open_run(path).manifest.started)
    assert len(order) == 4
    for seed in seeds:
        runs = [open_run(path) for path in order if open_run(path).manifest.seed == seed]
        assert runs[0].sessions == runs[1].sessions
    assert {path.name for path in folder.iterdir()} >= {"matrix.json", "report.html"}


def test_order_of_the_blocks_alternates() -> None:
    requests = [request("http://127.0.0.1:1/v1", target=Target(name, "u")) for name in ("on", "off")]
    arms = ArmsRun.__new__(ArmsRun)
    arms.requests, arms.blocks = tuple(requests), 3
    assert [(block, asked.target.name) for block, asked in arms.cells()] == [
        (0, "on"), (0, "off"), (1, "off"), (1, "on"), (2, "on"), (2, "off"),
    ]  # fmt: skip


def test_arms_that_were_stopped_at_once_leave_a_record(tmp_path: Path) -> None:
    requests = [request("http://127.0.0.1:1/v1", target=Target(name, "u")) for name in ("on", "off")]
    arms = ArmsRun(requests, blocks=6, out=tmp_path, on_progress=lambda _: None)
    arms.stop()
    record = run_arms(arms, on_loop=lambda _: None)
    assert (record.partial, record.verdict, arms.exit_code(record)) == (True, RunVerdict.UNKNOWN, 130)
    assert build_report(arms.folder).verdict is RunVerdict.UNKNOWN


@pytest.mark.parametrize(
    ("problem", "code"), [(ConfigError("block too large", key="k"), None), (KeyboardInterrupt(), 130)]
)
def test_what_was_done_before_a_block_that_cannot_be_run_is_recorded(
    problem: BaseException, code: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_a_thread(FaultServer(answers_of(workload_of(request(""))))) as server:
        requests = [request(server.url, target=Target(name, server.url)) for name in ("on", "off")]
        arms = ArmsRun(requests, blocks=6, out=tmp_path, on_progress=lambda _: None)
        run_cell = arms.run_cell

        def failing(*words: Any) -> LiveResult:
            # As where a later block's sessions are too many, or Ctrl-C comes while they are made.
            if arms.done:
                raise problem
            return run_cell(*words)

        monkeypatch.setattr(arms, "run_cell", failing)
        if code is None:
            with pytest.raises(ConfigError, match="block too large"):
                run_arms(arms, on_loop=lambda _: None)
        else:
            assert arms.exit_code(run_arms(arms, on_loop=lambda _: None)) == code
    record = open_matrix(arms.folder).record
    assert (record.partial, len(record.runs), record.runs[0].scenario) == (True, 1, "on")
    assert code is not None or any("block too large" in note for note in record.notes)


def test_a_block_of_a_file_has_the_files_next_sessions() -> None:
    asked = request("", files=FileWorkload("sharegpt", Path("s.json"), "none"))
    later = asked.in_block(3)
    assert later.files is not None
    assert (later.seed, later.files.first) == (SEED + 3, 3)
    assert request("").in_block(2).files is None


def test_probe_says_what_there_is_and_what_a_run_can_prove(capsys: pytest.CaptureFixture[str]) -> None:
    with in_a_thread(FaultServer({})) as server:
        assert main(["probe", "--base-url", server.url, "--concurrency", "3", "--quiet", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    answers = {one["question"]: one["answer"] for one in shown["answers"]}
    assert answers == {
        "models": "yes", "context limit": "unknown", "streaming": "yes", "not streamed": "yes", "tools": "yes",
        "tool_choice": "yes", "usage": "no", "logprobs": "no", "parser quirks": "no", "same reply again, alone": "yes",
        "same reply, 3 at once": "yes", "metrics": "no", "clock skew": "unknown", "cache flush": "no",
        "host tier used": "unknown",
        # It answers every question with one call, which is right for the small one only.
        "task: call, 16,000 tokens": "no", "task: call, 1,800 tokens": "no", "task: named-call, 1,800 tokens": "no",
        "task: word, 1,800 tokens": "no", "task: repeat, 1,800 tokens": "no",
    }  # fmt: skip
    assert shown["can_prove"] is True
    assert any("masters no task" in line for line in shown["proves"])
    assert any("does not clear the host tier" in line for line in shown["proves"])
    assert TOOL["function"]["name"] == "open_door"


def test_probe_sends_its_key_to_no_other_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-" + "very-secret-0123456789"
    monkeypatch.setenv("A_KEY", key)
    with in_a_thread(FaultServer({})) as server, in_a_thread(FaultServer({})) as other:
        metrics = f"{other.url.removesuffix('/v1')}/metrics"
        words = ["--api-key-env", "A_KEY", "--metrics-url", metrics, "--concurrency", "2", "--quiet", "--json"]
        assert main(["probe", "--base-url", server.url, *words]) == 0
    assert all(key.encode() in top for top in server.heads)
    assert other.heads
    assert not any(key.encode() in top for top in other.heads)


def test_probe_of_a_server_without_tools(capsys: pytest.CaptureFixture[str]) -> None:
    with in_a_thread(FaultServer({}, takes_tools=False)) as server:
        assert main(["probe", "--base-url", server.url, "--concurrency", "2", "--quiet"]) == 4
    out = capsys.readouterr().out
    assert out.startswith(f"PROBED  {MODEL} at ")
    assert "tools are not enabled" in out
    assert "A run can prove nothing" in out

"""Whole live runs with what goes on beside them: hangs, logs, neighbours, recovery; and the words of the commands."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.cli.main import main
from harness.live.arrivals import load_shape
from harness.live.beside import BesidePlan, ToxicPlan
from harness.live.beside_request import beside_plan, beside_words
from harness.live.credentials import Credentials
from harness.live.liveness.recovery import RecoverySettings
from harness.live.outcome import LiveResult, live_json
from harness.live.request import LiveRequest, Patience
from harness.live.run import LiveRun
from harness.transport.contract import ChatRequest, Reply, Transport, TransportOptions
from harness.transport.raw import RawTransport
from harness.transport.reply import ReplyBuilder
from kernels.errors import ConfigError
from results.findings import Kind
from results.reader import open_run
from results.report.markdown import render_markdown
from results.report.model import build_report
from results.server_log import Weight, read_server_log
from results.verdict import RunVerdict
from tests.harness.live.fault_server import FaultServer, answers_of, serving
from tests.harness.live.live_requests import request, workload_of

SERVER = "http://127.0.0.1:1/v1"


async def run_against(server: FaultServer, asked: LiveRequest) -> LiveResult:
    async with serving(server):
        target = dataclasses.replace(asked.target, base_url=server.url)
        return await LiveRun(dataclasses.replace(asked, target=target)).run()


@pytest.mark.asyncio
async def test_server_that_hangs_is_named_and_what_was_done_is_kept(tmp_path: Path) -> None:
    plan = BesidePlan(hang_timeout_s=0.4, recovery=RecoverySettings(0.05, 0.3))
    asked = request(SERVER, store=tmp_path, patience=Patience(5.0, 0.8), beside=plan)
    names = list(answers_of(workload_of(asked)))
    faults = {name: "mute" for name in names if not name.endswith("t00")} | {"preflight": "mute"}
    result = await run_against(FaultServer(answers_of(workload_of(asked)), faults), asked)
    liveness = result.beside.liveness
    assert liveness.verdict == "hang"
    assert result.stopped_by is not None
    assert result.stopped_by.startswith("HANG: no byte on any stream for")
    (silence,) = liveness.silences
    assert silence.found_after_s >= 0.4
    assert set(silence.open_requests) <= set(faults)
    assert liveness.recovery is not None
    assert not liveness.recovery.is_healthy
    assert result.exit_code() == RunVerdict.UNKNOWN.exit_code
    # Every turn that ended has one record; those that hung are told for what they are.
    run = open_run(Path(result.summary.run_dir))
    assert len({turn.request_id for turn in run.turns}) == len(run.turns) >= 8
    kinds = {judged.kind for turn, judged in zip(run.turns, run.judgements, strict=True) if turn.error}
    assert kinds <= {Kind.HANG}
    shown = render_markdown(build_report(run.path))
    assert "HANG: no byte came on any stream" in shown
    assert "did NOT answer a small request" in shown
    stored = json.loads((run.path / "summary.json").read_text())
    assert stored["liveness"]["verdict"] == "hang"
    assert stored["turns_count_from_epoch_s"] is not None


@pytest.mark.asyncio
@pytest.mark.timeout(60)
async def test_ctrl_c_does_not_wait_for_a_server_that_does_not_recover(tmp_path: Path) -> None:
    asked = request(SERVER, store=tmp_path, patience=Patience(5.0, 300.0),
                    beside=BesidePlan(recovery=RecoverySettings(300.0, 300.0)))  # fmt: skip
    server = FaultServer(answers_of(workload_of(asked)), {"preflight": "mute"})
    async with serving(server):
        run = LiveRun(dataclasses.replace(asked, target=dataclasses.replace(asked.target, base_url=server.url)))
        running = asyncio.ensure_future(run.run())
        while not server.asked["preflight"]:
            await asyncio.sleep(0.01)
        run.stop()
        result = await running
    assert (result.exit_code(), result.summary.turns, result.beside.liveness.recovery) == (130, 24, None)
    assert len(open_run(Path(result.summary.run_dir)).turns) == 24


@pytest.mark.asyncio
async def test_slow_drip_is_sound() -> None:
    plan = BesidePlan(hang_timeout_s=5.0, recovery=RecoverySettings(0.01, 5.0))
    asked = request(SERVER, beside=plan)
    answers = answers_of(workload_of(asked))
    result = await run_against(FaultServer(answers, dict.fromkeys(answers, "drip")), asked)
    assert result.beside.liveness.verdict == "ok"
    assert result.beside.liveness.silences == ()
    assert (result.stopped_by, result.summary.turns_unknown, result.summary.turns_corrupted) == (None, 0, 0)
    assert result.summary.counters["recovered"] == 1


class Logging(dict[str, tuple[str, str]]):
    """Writes a line into the server's log when a certain request is answered."""

    def __init__(self, answers: dict[str, tuple[str, str]], log: Path, lines: dict[str, str]) -> None:
        super().__init__(answers)
        self.log = log
        self.lines = lines

    def get(self, key: str, default: object = None) -> tuple[str, str]:
        if key in self.lines:
            stamp = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
            with self.log.open("a") as log:
                log.write(f"[{stamp} TP0] {self.lines[key]}\n")
        return super().get(key, ("open_door", '{"door": "north-4", "wide": true}'))


@pytest.mark.asyncio
async def test_the_servers_own_word_decides_without_a_wrong_reply(tmp_path: Path) -> None:
    key = "sk-" + "very-secret-0123456789"
    log = tmp_path / "server.log"
    log.write_text("[2020-01-01 00:00:00 TP0] KV checksum mismatch req=old expected=0x1 got=0x2\n")
    asked = request(SERVER, store=tmp_path, beside=BesidePlan(server_logs=(log,)), credentials=Credentials(api_key=key))
    answers = answers_of(workload_of(asked))
    names = list(answers)
    lines = {
        names[3]: f"KV checksum mismatch req={names[3]} expected=0x1 got=0x2 key={key}",
        names[5]: "KV cache pool is full. Retract requests. #retracted_reqs: 2",
    }
    result = await run_against(FaultServer(Logging(answers, log, lines)), asked)
    assert result.summary.turns_corrupted == 0
    assert (result.summary.verdict, result.exit_code()) == (RunVerdict.CORRUPT, 1)
    assert result.summary.verdict_reason.startswith(
        "the server itself reported corruption: KV checksum mismatch (1 time)"
    )
    found = {one.name: one for one in result.beside.log}
    checksum = found["KV checksum mismatch"]
    asked_for = {f"s{session:04d}-t{turn:02d}" for session, turn in checksum.turns}
    assert (asked_for, checksum.how, checksum.weight) == ({names[3]}, "request", Weight.CORRUPT)
    assert key not in checksum.text
    pressure = found["retraction: the KV pool is full"]
    assert pressure.weight is Weight.NOTHING
    assert pressure.turns
    (note,) = result.beside.log_notes
    assert "2 lines came, 2 of them matter; times without a zone are in UTC+00:00, as their arrival shows" in note
    run_dir = Path(result.summary.run_dir)
    assert read_server_log(run_dir)[0] == list(result.beside.log)
    assert build_report(run_dir).exit_code == 1
    assert len(json.loads(json.dumps(live_json(result)))["server_log"]["findings"]) == 2
    assert not [path for path in run_dir.iterdir() if key.encode() in path.read_bytes()]


@pytest.mark.asyncio
async def test_a_neighbour_comes_and_goes_in_blocks() -> None:
    plan = BesidePlan(toxic=ToxicPlan("burst", block_s=0.5))
    asked = request(SERVER, load=load_shape("closed", 4, None, 2.2), beside=plan)
    result = await run_against(FaultServer(answers_of(workload_of(asked))), asked)
    neighbour = result.beside.liveness.neighbour
    assert neighbour is not None
    assert neighbour.requests > 32
    assert neighbour.victims_on
    assert neighbour.victims_off
    assert not any(turn.request_id.startswith("toxic") for turn in result.turns)
    assert result.tokens_spent > 32 * 150


@pytest.mark.asyncio
async def test_a_neighbour_that_cannot_be_started_does_not_cost_the_run(tmp_path: Path) -> None:
    plan = BesidePlan(toxic=ToxicPlan(None, f"true {'x' * 2_000_000} --api-key K1", block_s=0.2))
    asked = request(SERVER, load=load_shape("closed", 4, None, 0.6), beside=plan, store=tmp_path)
    result = await run_against(FaultServer(answers_of(workload_of(asked))), asked)
    neighbour = result.beside.liveness.neighbour
    assert neighbour is not None
    assert neighbour.requests >= 1
    assert "the toxic command cannot be started: " in neighbour.note
    assert neighbour.toxic.endswith(" --api-key ...'")
    stored = json.loads((Path(result.summary.run_dir) / "summary.json").read_text())
    assert stored["liveness"]["neighbour"]["note"] == neighbour.note


class Leaking:
    """A client whose server repeats the key to every toxic request, where a short error would be cut."""

    def __init__(self, inner: Transport, key: str) -> None:
        self.inner = inner
        self.key = key

    async def close(self) -> None:
        await self.inner.close()

    async def chat(self, request: ChatRequest) -> Reply:
        if not request.request_id.startswith("toxic"):
            return await self.inner.chat(request)
        builder = ReplyBuilder(status=401)
        builder.refused(f"{'x' * 480} {self.key}".encode())
        return builder.reply(end_ns=1)


@pytest.mark.asyncio
async def test_a_key_that_a_neighbour_is_told_is_not_stored(tmp_path: Path) -> None:
    key = "sk-" + "very-secret-0123456789-0123456789-0123456789"

    def leaking(options: TransportOptions, *, now_ns: Callable[[], int]) -> Transport:
        return Leaking(RawTransport(options, now_ns=now_ns), key)

    asked = request(
        SERVER, load=load_shape("closed", 4, None, 0.8), beside=BesidePlan(toxic=ToxicPlan("burst", block_s=0.2)),
        store=tmp_path, credentials=Credentials(api_key=key),
    )  # fmt: skip
    asked = dataclasses.replace(asked, transport=leaking)
    result = await run_against(FaultServer(answers_of(workload_of(asked))), asked)
    neighbour = result.beside.liveness.neighbour
    assert neighbour is not None
    assert neighbour.requests
    assert "xxx" in neighbour.note
    stored = (Path(result.summary.run_dir) / "summary.json").read_text()
    assert "xxx" in stored
    assert key[:8] not in stored


def test_run_that_is_only_made_holds_no_log(tmp_path: Path) -> None:
    """As the ladder makes one, to see whether the run could be run at all."""
    log = tmp_path / "server.log"
    log.write_text("")
    asked = request(SERVER, beside=BesidePlan(server_logs=(log,)))
    # Kept: a file that the collector closes would be no better.
    kept = LiveRun(asked)
    assert not any(log.samefile(f"/dev/fd/{number}") for number in os.listdir("/dev/fd") if _is_open(number)), kept
    log.unlink()
    with pytest.raises(ConfigError, match="does not exist"):
        LiveRun(asked)


def _is_open(number: str) -> bool:
    return Path(f"/dev/fd/{number}").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--server-log", "/nowhere/at/all.log"], "the log '/nowhere/at/all.log' does not exist"),
        (["--server-log", "."], "the log '.' is a folder"),
        (["--log-zone", "utc"], "--log-zone belongs to --server-log"),
        (["--server-log", "run.py", "--log-zone", "Berlin"], "write utc, local or an offset such as +02:00"),
        (["--toxic-block", "2"], "--toxic-block belongs to"),
        (["--toxic-tokens", "16000"], "it belongs to --toxic long-prompt or abort"),
        (["--toxic", "burst", "--toxic-tokens", "200"], "it belongs to --toxic long-prompt or abort"),
        (["--toxic-command", "true", "--toxic-tokens", "200"], "it belongs to --toxic long-prompt or abort"),
        (["--no-recovery", "--recovery-wait", "2"], "--recovery-wait has nothing to wait for with --no-recovery"),
        (["--plant", "call"], "--plant belongs to a workload from a file"),
        (["--block-tokens", "16"], "--block-tokens belongs to a workload from a file"),
        (["--toxic", "burst", "--toxic-command", "true"], "leave one of them out"),
        (["--toxic", "nonsense"], "long-prompt"),
        (["--hang-timeout", "-1"], "--hang-timeout"),
    ],
)
def test_wrong_words(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stress", "--base-url", SERVER, *words]) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert shown.out == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--server-log", "run.py"], "with --arm write ARM=FILE; allowed: a, b"),
        (["--server-log", "c=run.py"], "with --arm write ARM=FILE"),
        (["--toxic", "burst"], "measure one server at a time"),
    ],
)
def test_wrong_words_with_arms(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stress", "--arm", f"a={SERVER}", "--arm", f"b={SERVER}", *words]) == 2
    assert sentence in capsys.readouterr().err


WORDS = {
    "server_logs": (), "log_zone": None, "hang_timeout": None, "read_timeout": 40.0, "recovery": None,
    "recovery_wait": None, "toxic": None, "toxic_command": None, "toxic_block": None, "toxic_tokens": None,
    "requires_host_tier": False,
}  # fmt: skip


def test_defaults_hang_on_the_other_options(tmp_path: Path) -> None:
    plan = beside_plan(WORDS, None, [])
    assert (plan.hang_timeout_s, plan.recovery) == (20.0, RecoverySettings(2.0, 30.0))
    assert not plan.recovers_after_cuts_only
    assert beside_words(WORDS) == []
    for hang_timeout_s, patience_s in ((1.0, 5.0), (8.0, 16.0), (0.0, 30.0)):
        recovery = beside_plan({**WORDS, "hang_timeout": hang_timeout_s}, None, []).recovery
        assert recovery == RecoverySettings(2.0, patience_s)
    # Six blocks of two servers should not be asked twelve times whether they are well.
    assert beside_plan(WORDS, "on", ["on", "off"]).recovers_after_cuts_only
    assert not beside_plan({**WORDS, "recovery": True}, "on", ["on", "off"]).recovers_after_cuts_only
    assert beside_plan({**WORDS, "recovery": False, "hang_timeout": 0.0}, None, []) == BesidePlan()
    logs = [tmp_path / name for name in ("a", "b")]
    for log in logs:
        log.write_text("")
    texts = (f"on={logs[0]}", f"off={logs[1]}")
    assert beside_plan({**WORDS, "server_logs": texts}, "off", ["on", "off"]).server_logs == (logs[1],)


def test_command_that_repeats_a_run_says_what_went_on_beside_it() -> None:
    asked = {
        "server_logs": ("x.log",), "log_zone": "+02:00", "hang_timeout": 7.0, "recovery": True, "recovery_wait": 3.0,
        "toxic": "abort", "toxic_block": 4.0, "toxic_tokens": 900, "requires_host_tier": True,
    }  # fmt: skip
    assert beside_words({**WORDS, **asked}) == [
        "--server-log", "x.log", "--log-zone", "+02:00", "--hang-timeout", "7.0", "--toxic", "abort", "--toxic-block",
        "4.0", "--toxic-tokens", "900", "--recovery-wait", "3.0", "--recovery", "--require-host-tier",
    ]  # fmt: skip
    command = {**WORDS, "toxic_command": "while true; do x --api-key K1; done"}
    assert beside_words(command) == ["--toxic-command", "while true; do x --api-key ... done"]

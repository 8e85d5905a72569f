"""`run.py capture`: stand in front of a server, pass everything on, and keep what was asked and answered.

Owns: its options, what it prints, Ctrl-C. Does not own: the recording (`harness.capture`). Floor 5.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from harness.cli.live_options import duration_s
from harness.cli.simulate import RUNS_FOLDER
from results.report.words import plural

if TYPE_CHECKING:
    # Loading these costs more than a refused command should; the command loads them when it runs.
    from harness.capture.run import CaptureRequest, CaptureResult, CaptureRun
    from harness.capture.scrubbing.scrubber import Mode

NOTHING_RECORDED = 4
_SIZE = re.compile(r"(\d{1,9})([KMGT]?)B?", re.IGNORECASE)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_TOLD = (1, 2, 5)
_SESSIONS_MAX = 512
"""So many `stress` takes."""

_HELP = """Record real traffic: a proxy in front of an OpenAI-compatible or Anthropic-compatible server, to which agents
are pointed. Every path is passed on, replies piece by piece as they come. Chat completions, completions and messages
are recorded, and can be sent again by `run.py stress --workload recorded:DIR`.

Headers are never stored. Keys, tokens, passwords and private keys are taken out of what is stored before it touches the
disk, each for a stand-in of its own, so that equal texts stay equal. What an application may know beside that (names,
addresses, prose) stays, unless --scrub-pattern or --scrub-file names it: look at a capture before you pass it on.

The proxy sends nothing of its own and adds no key, so the upstream may be anywhere. It listens on this machine only,
unless --host says otherwise. Ctrl-C is how it is meant to end. Exit codes: 0 something was recorded, 4 nothing was,
2 your mistake, 3 the port or the disk cannot be had."""


@click.command("capture", help=_HELP)
@click.option("--listen", "port", default=0, type=click.IntRange(0, 65_535), metavar="PORT",
              help="Port to listen on.  [default: a free one]")  # fmt: skip
@click.option("--upstream", required=True, metavar="URL", help="The server, with or without /v1 at its end.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--out", default=str(RUNS_FOLDER), show_default=True, metavar="DIR", help="Parent of the capture's folder."
)
@click.option("--max-exchanges", default=None, type=click.IntRange(min=1), metavar="N", help="End after so many.")
@click.option("--max-bytes", default="2G", show_default=True, metavar="SIZE", help="End when so much is stored.")
@click.option("--duration", default=None, metavar="TIME", help="End after this time: 10m, 90s.")
@click.option("--scrub", "mode", default="secrets", show_default=True, type=click.Choice(("secrets", "strict")),
              help="strict: also mail and IP addresses, and every long word that looks random.")  # fmt: skip
@click.option("--keep-text", is_flag=True, help="Store bodies as they are (headers never are, nor what they hold).")
@click.option("--scrub-pattern", "patterns", multiple=True, metavar="REGEX",
              help="Take this out too: the group (?P<secret>...), or the whole match (repeatable).")  # fmt: skip
@click.option("--scrub-file", default=None, type=click.Path(path_type=Path), metavar="FILE",
              help="Words to take out, one a line.")  # fmt: skip
@click.option("--proxies-from-environment", is_flag=True, help="Obey HTTP_PROXY and the like towards the upstream.")
@click.option(
    "--json", "is_json", is_flag=True, help="One JSON object on standard output at the end, nothing else there."
)
@click.option("--quiet", is_flag=True, help="No progress.")
def capture_command(**arguments: Any) -> int:
    from harness.capture.run import CaptureRun
    from harness.transport.fast_loop import fast_loop

    request = _request(arguments)
    run = CaptureRun(request)
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        result = runner.run(_captured(run, request, is_json=bool(arguments["is_json"])))
    _show(result, is_json=bool(arguments["is_json"]))
    return 0 if result.header.exchanges else NOTHING_RECORDED


def _request(arguments: dict[str, Any]) -> CaptureRequest:
    from harness.capture.recorder import CaptureLimits
    from harness.capture.run import CaptureRequest
    from harness.capture.scrubbing.rules import scrub_rules
    from harness.capture.upstream import upstream_of

    if arguments["keep_text"] and arguments["mode"] != "secrets":
        raise click.UsageError("--keep-text and --scrub strict say the opposite; leave one of them out")
    upstream, port = upstream_of(arguments["upstream"]), int(arguments["port"])
    parts = urlsplit(upstream)
    if port and parts.port == port and parts.hostname in ("localhost", arguments["host"]):
        raise click.UsageError(f"--listen {port} is the upstream itself; choose another port")
    mode: Mode = "keep-text" if arguments["keep_text"] else arguments["mode"]
    return CaptureRequest(
        upstream=upstream,
        out=Path(arguments["out"]),
        rules=scrub_rules(mode, arguments["patterns"], arguments["scrub_file"]),
        limits=CaptureLimits(arguments["max_exchanges"], _size_bytes(arguments["max_bytes"])),
        host=arguments["host"],
        port=port,
        duration_s=duration_s(arguments["duration"]),
        use_environment_proxies=bool(arguments["proxies_from_environment"]),
        on_stored=_ignore if arguments["quiet"] else _tell,
    )


async def _captured(run: CaptureRun, request: CaptureRequest, *, is_json: bool) -> CaptureResult:
    from harness.capture.upstream import is_answering

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, run.stop)
    if not request.use_environment_proxies and not await is_answering(request.upstream):
        print(f"note: nobody answers at {request.upstream} yet; until then clients get status 502", file=sys.stderr)
    stream = sys.stderr if is_json else sys.stdout

    def announce(base_url: str) -> None:
        print(f"recording {base_url} -> {request.upstream}/v1, Ctrl-C ends it", file=stream, flush=True)

    return await run.run(announce)


def _ignore(_: int) -> None:
    """Nobody wants to hear it."""


def _tell(stored: int) -> None:
    """At 1, 2, 5, 10, 20, 50, 100 and so on."""
    digits = str(stored)
    if int(digits[0]) in _TOLD and not digits[1:].strip("0"):
        print(f"{plural(stored, 'exchange')} recorded", file=sys.stderr, flush=True)


def _size_bytes(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        raise click.UsageError(f"--max-bytes '{text}' is no size; write 500M or 2G")
    return int(match[1]) * _UNITS[match[2].upper()]


def _show(result: CaptureResult, *, is_json: bool) -> None:
    header = result.header
    replay = f"python run.py stress --base-url {header.upstream}/v1 --workload recorded:{result.path}"
    # As many as there are: with more, the same ones would be sent over and over.
    replay += f" --sessions {min(result.sessions, _SESSIONS_MAX)}" if result.sessions else ""
    if is_json:
        fields = {
            "capture_dir": str(result.path), "upstream": header.upstream, "exchanges": header.exchanges,
            "sessions": result.sessions, "stored_bytes": result.stored_bytes, "passed": dict(header.passed),
            "scrubbed": dict(header.scrubbed), "ended_by": header.ended_by, "replay": replay,
        }  # fmt: skip
        print(json.dumps(fields))
        return
    scrubbed = ", ".join(f"{count:,} {kind}" for kind, count in header.scrubbed.items())
    passed = ", ".join(f"{path} {count:,}" for path, count in header.passed.items())
    print(f"RECORDED  {plural(header.exchanges, 'exchange')}, which seem to be {plural(result.sessions, 'session')}")
    rows = [
        ("ended", f"{header.ended_by}; {result.stored_bytes / 1e6:.1f} MB stored"),
        ("scrubbed", f"{scrubbed or 'nothing was found'} ({header.scrubbing})"),
        ("passed on", f"{passed}, not recorded" if passed else "nothing else"),
        ("folder", str(result.path)),
        ("replay", replay if header.exchanges else "there is nothing to send again"),
    ]
    print("\n".join(f"{label:<10}{text}" for label, text in rows))

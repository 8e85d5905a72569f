"""Our commands against servers that nobody here wrote: `make live`, `live-vllm`, `live-dynamo`, `live-routers`.

Owns: which servers there are, the scratch folder, the words on the screen, the JSON under benchmarks/results and the
tables of docs/live-servers.md. Does not own: any server (benchmarks/live). Source: ours.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.live.commands import CommandFailed  # noqa: E402
from benchmarks.live.dynamo import Dynamo  # noqa: E402
from benchmarks.live.launching import ServerProblem  # noqa: E402
from benchmarks.live.llamacpp import LlamaCpp  # noqa: E402
from benchmarks.live.real_server import RealServer  # noqa: E402
from benchmarks.live.record import versions_of, write  # noqa: E402
from benchmarks.live.routers import Routers  # noqa: E402
from benchmarks.live.tables import refill_page  # noqa: E402
from benchmarks.live.vllm import Vllm  # noqa: E402

SERVERS: tuple[RealServer, ...] = (Routers(), LlamaCpp(), Vllm(), Dynamo())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("server", choices=[server.name for server in SERVERS])
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep logs and run folders there")
    given = parser.parse_args()
    server = next(one for one in SERVERS if one.name == given.server)
    if not server.python.exists():
        where = server.python.relative_to(ROOT)
        print(f"{server.name} is not installed: {where} is missing, which its make target makes", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep.resolve() if given.keep else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            parts = server.measure(folder)
        except (ServerProblem, CommandFailed) as problem:
            print(problem, file=sys.stderr)
            return 3
    path = write(server.name, versions_of(server.python, server.packages), parts)
    refill_page()
    print(f"kept in {path.relative_to(ROOT)}, shown in docs/live-servers.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())

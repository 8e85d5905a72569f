"""The process: runs the command line, turns errors into one sentence, and results into exit codes.

Owns: exit codes and the last line of defence. Does not own: commands. Floor 5.
Exit codes: 0 clean, 1 corruption or race found, 2 user's mistake, 3 environment, 4 could not judge, 130 interrupted;
70 is a bug of ours. Without it a crash would end with Python's 1, and look like a finding.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import click

from harness.cli.app import app
from kernels.errors import KVRaceError

USER_MISTAKE = 2
INTERRUPTED = 130
OUR_BUG = 70


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code. A traceback here is a bug of ours, never a user's mistake."""
    if not __debug__:
        print("error: python -O removes the assertions that this tool relies on; run it without -O", file=sys.stderr)
        return USER_MISTAKE
    try:
        outcome = app.main(args=None if arguments is None else list(arguments), standalone_mode=False)
        # Here, not when the interpreter ends: by then nobody can say what a closed pipe means.
        sys.stdout.flush()
    except click.UsageError as error:
        return _fail(_one_line(error), USER_MISTAKE)
    except KVRaceError as error:
        return _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", INTERRUPTED)
    except (BrokenPipeError, SystemExit):
        # The reader of our output went away (`| head`): nothing is wrong, and nobody listens. Click has its own way of
        # ending then, with exit code 1, which is ours for corruption found.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except Exception:
        traceback.print_exc()
        return _fail("this is a bug of kvrace, not yours; please report it with the lines above", OUR_BUG)
    return outcome if isinstance(outcome, int) else 0


def _fail(sentence: str, code: int) -> int:
    print(f"error: {sentence}", file=sys.stderr)
    return code


def _one_line(error: click.UsageError) -> str:
    return " ".join(error.format_message().split())

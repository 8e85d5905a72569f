"""The command line's entry point: `python run.py --scenario hicache_bf16 --sessions 60`."""

import os
import sys

# Before NumPy is loaded: the products here are small, and a second BLAS thread on a busy machine costs 40 times
# what it saves. Children inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

try:
    from harness.cli.main import main
except ModuleNotFoundError as missing:
    # The requirements, and not a module of ours.
    if (missing.name or "").partition(".")[0] in ("harness", "kernels", "results", "scenarios"):
        raise
    print(
        f"error: this Python ({sys.executable}) has no '{missing.name}'; `make setup` installs all requirements into"
        " .venv, then: .venv/bin/python run.py",
        file=sys.stderr,
    )
    sys.exit(3)

if __name__ == "__main__":
    sys.exit(main())

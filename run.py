"""The command line's entry point: `python run.py --scenario hicache_bf16 --sessions 60`."""

import os
import sys

# Before NumPy is loaded: the products here are small, and a second BLAS thread on a busy machine costs 40 times
# what it saves. Children inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from harness.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

"""The command line's entry point: `python run.py --scenario hicache_bf16 --sessions 60`."""

import sys

from harness.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

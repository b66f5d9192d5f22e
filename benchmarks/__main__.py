"""``python -m benchmarks``: all of them."""

import sys

from benchmarks.suite.command import main

if __name__ == "__main__":
    sys.exit(main())

"""``python -m tools.release``."""

import sys

from tools.release.check import main

if __name__ == "__main__":
    sys.exit(main())

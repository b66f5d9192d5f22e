"""``python -m masthead._demo``: the same as ``masthead demo``, without the extra ``cli``."""

from __future__ import annotations

import sys

from masthead._demo.show import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``python -m masthead``: the ``masthead`` command, also where it is not on the path."""

from __future__ import annotations

import sys

from masthead._cli.main import main

if __name__ == "__main__":
    sys.exit(main())

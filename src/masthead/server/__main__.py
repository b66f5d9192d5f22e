"""``python -m masthead.server``: a server from the command line."""

from __future__ import annotations

import sys

from masthead_server.command import main

if __name__ == "__main__":
    sys.exit(main())

"""``python -m masthead.codegen``: generate types from OpenAPI, a live server or CRD manifests."""

from __future__ import annotations

import sys

from masthead._codegen.command import main

if __name__ == "__main__":
    sys.exit(main())

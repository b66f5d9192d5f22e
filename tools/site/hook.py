"""A hook of MkDocs: assembles the pages before each build, so that ``make docs-serve`` shows changes."""

from __future__ import annotations

import sys
from pathlib import Path


def on_pre_build(config: object) -> None:
    """Assemble the pages again; unchanged files are not touched."""
    del config
    sys.path.insert(0, str(Path(__file__).parents[2]))  # MkDocs runs hooks without the folder they are in
    from tools.site.pages import assemble

    assemble()

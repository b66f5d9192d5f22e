"""A hook of MkDocs: assembles the pages before each build, so that ``make docs-serve`` shows changes.

Every page names the version of the package in its footer.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Protocol


class SiteConfig(Protocol):
    """The part of MkDocs' configuration that is set here."""

    copyright: str | None


def on_config(config: SiteConfig) -> None:
    """Name the version that the site describes."""
    from masthead import __version__

    config.copyright = f"Masthead {__version__}"


def on_pre_build(config: object) -> None:
    """Assemble the pages again; unchanged files are not touched."""
    del config
    sys.path.insert(0, str(Path(__file__).parents[2]))  # MkDocs runs hooks without the folder they are in
    from tools.site.pages import assemble

    assemble()

"""``python -m tools.api``: the typed objects of `masthead.api`, from Kubernetes' documents and our descriptions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from masthead._codegen import generate, render, types
from masthead.errors import MastheadError
from tools import descriptions, files, releases
from tools.headers import COMMAND

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FOLDERS", "PACKAGE", "from_folders", "main"]

PACKAGE: Final = "masthead.api"
FOLDERS: Final = ("",)
"""All of the package is written here."""
_INDEX: Final = PurePosixPath("index.py")
_REMOVED: Final = PurePosixPath("removed.py")


def from_folders(openapi: Path, legacy: Path | None = None) -> dict[PurePosixPath, str]:
    """Write every file of the package.

    API versions that the release no longer serves have an index of their own, for lookups that name the version.

    Args:
        openapi: The documents of the release.
        legacy: The documents of the API versions that it no longer serves; None to read them back from their classes.

    Raises:
        GenerateError: If documents are missing or malformed, or a class has no description.
    """
    modules = types.modules_of(releases.read(openapi, legacy), PACKAGE)
    descriptions.add_to(modules)
    removed = [module for module in modules if module.removed]
    return {
        **generate.module_files(modules, COMMAND),
        _INDEX: render.render_index([module for module in modules if not module.removed], COMMAND),
        _REMOVED: render.render_index(removed, COMMAND, title="The module of each kind that is no longer served"),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.api", description=__doc__)
    releases.add_options(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the package's folder")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if something would change")
    options = parser.parse_args(arguments)
    try:
        made = from_folders(options.openapi, options.legacy)
        changed = files.changes(made, options.out, FOLDERS)
        if not options.check:
            files.write(made, options.out, FOLDERS)
    except (MastheadError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.writelines(f"{path}\n" for path in changed)
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())

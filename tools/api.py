"""``python -m tools.api``: the typed objects of `masthead.api`, from the documents of a Kubernetes release."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._codegen import generate, sources
from masthead.errors import MastheadError
from tools.headers import COMMAND

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import PurePosixPath

__all__ = ["PACKAGE", "from_folder", "main"]

PACKAGE: Final = "masthead.api"


def from_folder(folder: Path) -> dict[PurePosixPath, str]:
    """Write every file of the package.

    Args:
        folder: The OpenAPI v3 and discovery documents of the release.

    Raises:
        GenerateError: If documents are missing or malformed.
    """
    return generate.files_for(sources.from_folder(folder), PACKAGE, command=COMMAND)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.api", description=__doc__)
    parser.add_argument(
        "--openapi",
        type=Path,
        required=True,
        metavar="DIR",
        help="a folder of OpenAPI v3 and discovery documents",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the package's folder")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if something would change")
    options = parser.parse_args(arguments)
    try:
        files = from_folder(options.openapi)
        changed = generate.changes(files, options.out)
        if not options.check:
            generate.write(files, options.out)
    except (MastheadError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.writelines(f"{path}\n" for path in changed)
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())

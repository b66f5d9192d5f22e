"""Write the oldest supported dependencies as a constraints file: ``python -m tools.constraints [--write]``.

Each dependency of the package and of its extras for users is constrained to its lower bound in ``pyproject.toml``. Without
``--write``, the command fails if the file is out of date.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).parents[1]
OLDEST: Final = ROOT / "constraints" / "oldest.txt"
_NOT_FOR_USERS: Final = frozenset({"dev", "docs", "peers"})
_HEADER: Final = (
    "# The oldest supported dependencies: the lower bounds of pyproject.toml. Written by `make constraints`.\n"
)


def oldest() -> str:
    """Return the content of the constraints file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    needed = [
        *project["dependencies"],
        *(need for name, needs in extras.items() if name not in _NOT_FOR_USERS for need in needs),
    ]
    return _HEADER + "".join(sorted(map(_lower_bound, needed), key=str.lower))


def _lower_bound(text: str) -> str:
    need = Requirement(text)
    (bound,) = (each.version for each in need.specifier if each.operator == ">=")
    marker = f"; {need.marker}" if need.marker else ""
    return f"{need.name}=={bound}{marker}\n"


def main(arguments: list[str]) -> int:
    """Write the file, or check that it is up to date; return the exit code."""
    if "--write" in arguments:
        OLDEST.parent.mkdir(exist_ok=True)
        OLDEST.write_text(oldest(), "utf-8")
        return 0
    return int(OLDEST.read_text("utf-8") != oldest())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

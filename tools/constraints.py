"""Write the oldest supported dependencies as a constraints file: ``python -m tools.constraints [--write]``.

Each dependency of library and server, and of their extras for users, is constrained to its lower bound in
``pyproject.toml``. Without
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
_PROJECTS: Final = (ROOT / "pyproject.toml", ROOT / "server" / "pyproject.toml")
_NOT_FOR_USERS: Final = frozenset({"dev", "docs", "peers"})
_HEADER: Final = (
    "# The oldest supported dependencies: the lower bounds of pyproject.toml. Written by `make constraints`.\n"
)


def oldest() -> str:
    """Return the content of the constraints file."""
    needs = [need for path in _PROJECTS for need in _needs(path) if not need.name.startswith("masthead-k8s")]
    return _HEADER + "".join(sorted({_lower_bound(need) for need in needs}, key=str.lower))


def _needs(path: Path) -> list[Requirement]:
    project = tomllib.loads(path.read_text("utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    for_users = [need for name, needs in extras.items() if name not in _NOT_FOR_USERS for need in needs]
    return [Requirement(need) for need in (*project["dependencies"], *for_users)]


def _lower_bound(need: Requirement) -> str:
    (bound,) = (bound.version for bound in need.specifier if bound.operator == ">=")
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

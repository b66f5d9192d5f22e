"""Each HTTP library stays in its room: llhttp with the transport, aiohttp with the embedded server."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "masthead"
MAY = {"_transport": {"httptools"}, "_server": {"aiohttp", "yarl", "multidict"}}
LIBRARIES = {"requests", "httpx", "urllib3"}.union(*MAY.values())
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] != "api")


def imported(path: Path) -> set[str]:
    """The packages that a module names in an import, wherever it stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_there_is_something_to_look_at() -> None:
    assert len(MODULES) > 100
    assert "aiohttp" in imported(SOURCE / "_server" / "http.py")
    assert "httptools" in imported(SOURCE / "_transport" / "parser.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_other_room_imports_an_http_library(path: Path) -> None:
    own = MAY.get(path.relative_to(SOURCE).parts[0], set())
    assert imported(path) & (LIBRARIES - own) == set()

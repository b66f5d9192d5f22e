"""HTTP libraries are imported by the transport and by the embedded server only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "src" / "masthead"
LIBRARIES = {"httptools", "requests", "httpx", "urllib3", "aiohttp", "yarl", "multidict"}
MODULES = sorted(
    path for path in LIBRARY.rglob("*.py") if path.relative_to(LIBRARY).parts[0] not in {"api", "_transport"}
)


def imported(path: Path) -> set[str]:
    """Return the packages that a module imports, at any level."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_there_are_modules_to_check() -> None:
    assert len(MODULES) > 100
    assert "httptools" in imported(LIBRARY / "_transport" / "parser.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(LIBRARY)))
def test_only_the_transport_imports_an_http_library(path: Path) -> None:
    assert imported(path) & LIBRARIES == set()


def test_the_transport_imports_httptools_alone() -> None:
    used = set[str]().union(*(imported(path) for path in (LIBRARY / "_transport").rglob("*.py")))

    assert used & LIBRARIES == {"httptools"}

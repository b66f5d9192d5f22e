"""HTTP libraries are imported by one package of each distribution: the client's transport, and the server's web
package."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    ROOT / "src" / "masthead": ("_transport", {"httptools", "websockets"}),
    ROOT / "server" / "src" / "masthead_server": ("web", {"httptools", "websockets"}),
}
"""The packages that may import HTTP libraries, and which ones."""
LIBRARIES = {"aiohttp", "httptools", "httpx", "multidict", "requests", "urllib3", "websockets", "yarl"}
MODULES = sorted(
    (source, path)
    for source in PACKAGES
    for path in source.rglob("*.py")
    if path.relative_to(source).parts[0] not in {"api", "demo"}
)


def imported(path: Path) -> set[str]:
    """The packages that a module names in an import, wherever it stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_both_packages_parse_http() -> None:
    assert len(MODULES) > 100
    for source, (package, _) in PACKAGES.items():
        assert any("httptools" in imported(path) for path in (source / package).rglob("*.py"))


@pytest.mark.parametrize(("source", "path"), MODULES, ids=lambda path: path.name)
def test_no_other_package_imports_an_http_library(source: Path, path: Path) -> None:
    package, allowed = PACKAGES[source]
    may_import = allowed if path.relative_to(source).parts[0] == package else set()
    assert imported(path) & (LIBRARIES - may_import) == set()

"""The embedded server shares nothing with clients, or one bug would hide on both sides."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "masthead"
MAY_IMPORT = (
    "masthead.api",
    "masthead._errors",
    "masthead.errors",
    "masthead._lazy",
    "masthead._meta",
    "masthead._server",
)


def imported_by(module: Path) -> set[str]:
    """The names of the modules that a module imports, wherever in it that is."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "masthead":
            found |= {f"masthead.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize(
    "module", sorted((ROOT / "_server").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_a_module_of_the_server_imports_meta_and_api_only(module: Path) -> None:
    ours = {name for name in imported_by(module) if name.partition(".")[0] == "masthead"}

    assert not {name for name in ours if not name.startswith(MAY_IMPORT)}

"""The embedded server shares nothing with clients, or one bug would hide on both sides."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2] / "server" / "src" / "masthead_server"
# The demo runs clients against the server.
MODULES = sorted(path for path in ROOT.rglob("*.py") if "demo" not in path.relative_to(ROOT).parts[:1])
MAY_IMPORT = (
    "masthead.api",
    "masthead._arguments",
    "masthead._errors",
    "masthead.errors",
    "masthead._lazy",
    "masthead._cel",
    "masthead._meta",
    "masthead._module",
    "masthead._version",
    "masthead._printers",
    "masthead._recording",
    "masthead._regexp",
    "masthead._schema",
    "masthead_server",
    "masthead._spdy",
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


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_of_the_server_imports_meta_and_api_only(module: Path) -> None:
    ours = {name for name in imported_by(module) if name.partition(".")[0] == "masthead"}

    assert not {name for name in ours if not name.startswith(MAY_IMPORT)}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_of_the_server_uses_the_registry_of_the_clients(module: Path) -> None:
    assert not {name for name in imported_by(module) if name.startswith("masthead.") and "registry" in name.split(".")}


NAMES_OF_KINDS = {"api_version", "group", "gvk", "gvr", "kind", "resource", "served", "version"}


def cached_functions(module: Path) -> Iterator[ast.FunctionDef]:
    """The functions of a module whose results are kept for the life of the process."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            decorators = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
            names = {ast.unparse(decorator).rpartition(".")[2] for decorator in decorators}
            if names & {"cache", "lru_cache"}:
                yield node


def test_the_server_keeps_nothing_by_kind_for_the_whole_process() -> None:
    """Servers in one process may serve different resources, so what is known of one belongs to a catalog."""
    found: set[str] = set()
    for module in MODULES:
        for function in cached_functions(module):
            arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            is_by_kind = NAMES_OF_KINDS & {argument.arg for argument in arguments}
            # What is kept without an argument, next to the resources, is a catalog of its own.
            if is_by_kind or (not arguments and "resources" in module.relative_to(ROOT).parts):
                found.add(f"{module.relative_to(ROOT)}:{function.name}")

    assert found == set()

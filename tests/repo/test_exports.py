"""The public modules export the listed names, and import a name when it is first used."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tools import exports
from tools.exports import names_of
from tools.public_names import NAMES, TWINS

import masthead
import masthead.aio

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

ROOT = Path(__file__).parents[2]
MAX_ROOT_NAMES = 45


def names_for_type_checkers(module: str) -> dict[str, str]:
    """The names that a module imports for type checkers only, and where from."""
    tree = ast.parse(exports.path_of(module).read_text(encoding="utf-8"))
    guarded = next(
        node
        for node in tree.body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    )
    return {
        alias.name: statement.module
        for statement in guarded.body
        if isinstance(statement, ast.ImportFrom) and statement.module
        for alias in statement.names
    }


def test_public_modules_are_generated_from_the_list() -> None:
    outdated = [path for path, text in exports.files().items() if path.read_text("utf-8") != text]

    assert outdated == [], "run make codegen"


def test_a_module_without_the_mark_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "masthead").mkdir()
    (tmp_path / "masthead" / "__init__.py").write_text('"""A module."""\n', encoding="utf-8")

    with pytest.raises(ValueError, match="lacks this line"):
        exports.files(tmp_path)


def test_the_root_has_few_names() -> None:
    assert len(vars(masthead)["__all__"]) <= MAX_ROOT_NAMES


@pytest.mark.parametrize("module", NAMES)
def test_type_checkers_and_python_see_the_same_names(module: str) -> None:
    assert names_for_type_checkers(module) == names_of(module)


@pytest.mark.parametrize("module", NAMES)
def test_every_listed_name_can_be_imported(module: str) -> None:
    namespace = importlib.import_module(module)

    for name, home in names_of(module).items():
        assert getattr(namespace, name) is getattr(importlib.import_module(home), name)


@pytest.mark.parametrize("module", NAMES)
def test_dir_shows_exactly_the_listed_names(module: str) -> None:
    shown = {name for name in dir(importlib.import_module(module)) if not name.startswith("__")}

    assert shown == {*names_of(module)}


@pytest.mark.parametrize("module", NAMES)
def test_a_star_import_leaves_submodules_out(module: str) -> None:
    names = names_of(module)

    assert {*importlib.import_module(module).__all__} == {name for name, home in names.items() if home != module}


@pytest.mark.parametrize("module", NAMES)
def test_an_unknown_name_is_an_attribute_error(module: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'nonsense'"):
        _ = importlib.import_module(module).nonsense


def test_submodules_are_attributes_after_importing_the_root() -> None:
    modules = NAMES["masthead"]["masthead"]
    program = f"import masthead\nfor name in {modules!r}: assert getattr(masthead, name).__name__ == 'masthead.' + name"

    subprocess.run([sys.executable, "-c", program], check=True)


def test_importing_the_root_imports_no_implementation() -> None:
    program = "import sys, masthead; print(*sorted(name for name in sys.modules if name.startswith('masthead.')))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert done.stdout.split() == ["masthead._lazy", "masthead._version"]


def test_a_module_with_classes_of_the_blocking_facade_has_an_async_twin() -> None:
    blocking = {module for module in NAMES for home in names_of(module).values() if home.startswith("masthead._sync.")}

    assert {module for module in blocking if not module.startswith("masthead.aio")} <= {*TWINS.values()}


@pytest.mark.parametrize("module", TWINS)
def test_an_async_module_has_the_names_of_its_blocking_twin(module: str) -> None:
    blocking = {name for name, home in names_of(TWINS[module]).items() if home != TWINS[module]}

    assert blocking <= {*names_of(module)}


@pytest.mark.parametrize("module", TWINS)
def test_no_class_of_the_blocking_facade_is_in_an_async_module(module: str) -> None:
    # A manager runs reconciles of both kinds: it belongs to both façades.
    blocking = {name for name, home in names_of(module).items() if home.startswith("masthead._sync.")}

    assert blocking <= {"Manager"}


def meanings(modules: Iterable[str]) -> dict[str, set[object]]:
    """The classes and type aliases of modules, by name: functions such as ``parse`` are read with their module."""
    found: dict[str, set[object]] = {}
    for module in modules:
        for name, home in names_of(module).items():
            if name[0].isupper():
                found.setdefault(name, set()).add(getattr(importlib.import_module(home), name))
    return found


@pytest.mark.parametrize("other", [TWINS.keys(), {*TWINS.values()}], ids=["blocking", "async"])
def test_a_type_name_has_one_meaning_within_a_facade(other: Collection[str]) -> None:
    found = meanings(module for module in NAMES if module not in other)

    assert {name: classes for name, classes in found.items() if len(classes) > 1} == {}


def test_the_version_is_the_one_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert project["project"]["version"] == masthead.__version__

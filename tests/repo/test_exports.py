"""What packages offer is what they say, and comes when it is asked for."""

from __future__ import annotations

import ast
import importlib
import tomllib
from pathlib import Path

import pytest

import masthead
import masthead.cache

ROOT = Path(__file__).parents[2]
PACKAGES = [
    "masthead",
    "masthead.aio",
    "masthead.auth",
    "masthead.cache",
    "masthead.conditions",
    "masthead.config",
    "masthead.discovery",
    "masthead.meta",
    "masthead.rest",
    "masthead.meta.fields",
    "masthead.meta.labels",
    "masthead.meta.registry",
    "masthead.meta.v1",
    "masthead.workqueue",
]


def names_for_type_checkers(package: str) -> dict[str, str]:
    """The names that a package imports for type checkers only, and where from."""
    source = importlib.import_module(package).__file__
    assert source is not None
    tree = ast.parse(Path(source).read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.name: statement.module
        for statement in guarded.body
        if isinstance(statement, ast.ImportFrom) and statement.module
        for alias in statement.names
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_and_python_see_the_same_names(package: str) -> None:
    module = importlib.import_module(package)

    assert vars(module)["_HOMES"] == names_for_type_checkers(package)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_offered_name_is_there(package: str) -> None:
    module = importlib.import_module(package)

    for name, home in names_for_type_checkers(package).items():
        assert getattr(module, name) is getattr(importlib.import_module(home), name)
        assert name in dir(module)


@pytest.mark.parametrize("package", PACKAGES)
def test_dir_shows_what_is_offered_and_nothing_else(package: str) -> None:
    module = importlib.import_module(package)
    shown = {name for name in dir(module) if not name.startswith("__")}

    assert shown == {*names_for_type_checkers(package)}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_is_not_offered_is_an_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nonsense'"):
        _ = importlib.import_module(package).nonsense


@pytest.mark.parametrize("package", ["masthead", "masthead.aio"])
def test_what_users_of_informers_need_is_at_the_top(package: str) -> None:
    needed = {"Backoff", "DeltaFIFO", "InformerStateError", "SnapshotError", "compose", "keep_fields"}

    assert needed <= {*dir(importlib.import_module(package))}


def test_those_who_pump_find_changes_beside_controllers() -> None:
    assert {"Bookmark", "Change", "Delta", "DeltaType", "ReplacedAll", "SyncAll"} <= {*dir(masthead.cache)}


def test_the_version_is_said_once_and_the_same_in_both_places() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert project["project"]["version"] == masthead.__version__

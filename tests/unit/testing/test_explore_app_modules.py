"""Managers of modules, made anew for each replica of an exploration."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

import masthead
from masthead.errors import ArgumentError
from masthead.testing._explore.app_modules import as_factory

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import masthead
from masthead.api.core.v1 import Secret

app = masthead.Manager("secrets")
seen = []

@app.controller(Secret)
async def reconcile(ctx, secret):
    seen.append(secret)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "explored_operator.py").write_text(PROGRAM, "utf-8")
    (tmp_path / "broken_operator.py").write_text("import nothing_like_this", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "explored_operator", raising=False)
    return "explored_operator"


def test_each_replica_gets_fresh_globals(module: str) -> None:
    make = as_factory(f"{module}:app")
    first, second = make(), make()
    assert first is not second
    assert first.controllers[0] is not second.controllers[0]
    assert sys.modules[module].app not in (first, second)


def test_the_default_name_is_app(module: str) -> None:
    assert as_factory(module)().name == "secrets"


def test_a_factory_is_used_as_it_is() -> None:
    assert as_factory(masthead.Manager) is masthead.Manager


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("explored_operator:main", "explored_operator has no manager called 'main'"),
        ("no_such_module:app", "there is no module 'no_such_module'"),
        (":app", "there is no module ''"),
        (masthead.Manager("web"), "pass a function that makes the manager"),
        (3, "3 is not a function that makes a manager"),
    ],
    ids=["no manager", "no module", "no name", "a manager", "a number"],
)
@pytest.mark.usefixtures("module")
def test_what_is_not_explored_gets_advice(source: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        as_factory(source)


@pytest.mark.usefixtures("module")
def test_an_error_of_the_module_itself_passes() -> None:
    with pytest.raises(ModuleNotFoundError, match="nothing_like_this"):
        as_factory("broken_operator:app")

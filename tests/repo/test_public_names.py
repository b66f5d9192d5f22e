"""Public names say where they are public, have docs, and survive pickling and the resolution of their annotations."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pickle
import pydoc
import subprocess
import sys
import typing
from collections import defaultdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tools.exports import names_of
from tools.public_api import public_modules
from tools.public_names import TWINS

import masthead
import masthead.aio
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parents[2] / "src" / "masthead"
MODULES = [
    public_module for public_module in public_modules("masthead") if not public_module.startswith("masthead.api")
]
# Made elsewhere: an alias of a type, or a function of msgspec.
FOREIGN = {"JSON", "field"}


def exported() -> dict[str, Any]:
    """Every public class and function, by the name that users import first."""
    found: dict[int, tuple[str, Any]] = {}
    for module in MODULES:
        namespace = importlib.import_module(module)
        for name in getattr(namespace, "__all__", dir(namespace)):
            value = getattr(namespace, name)
            if name.startswith("_") or name in FOREIGN or not (isinstance(value, type) or inspect.isfunction(value)):
                continue
            found.setdefault(id(value), (f"{module}.{name}", value))
    return dict(found.values())


EXPORTED = exported()
CLASSES = {name: value for name, value in EXPORTED.items() if isinstance(value, type)}


@pytest.mark.parametrize("name", EXPORTED)
def test_its_module_is_one_that_exports_it(name: str) -> None:
    thing = EXPORTED[name]

    assert "._" not in thing.__module__
    assert getattr(importlib.import_module(thing.__module__), thing.__qualname__) is thing


@pytest.mark.parametrize("name", CLASSES)
def test_a_public_class_is_pickled_by_its_public_name(name: str) -> None:
    cls = CLASSES[name]
    text = pickle.dumps(cls)

    assert pickle.loads(text) is cls
    assert b"._" not in text


def test_errors_are_pickled() -> None:
    error = masthead.NotFoundError("gone", verb="get", resource="pods", name="web")

    assert repr(pickle.loads(pickle.dumps(error))) == repr(error)


def test_values_are_pickled_by_public_names() -> None:
    given = [
        masthead.GroupVersionKind("apps", "v1", "Deployment"),
        masthead.Quantity("500m"),
        masthead.Patch.merge({"spec": None}),
    ]
    for each in given:
        text = pickle.dumps(each)
        assert b"masthead._" not in text
        assert repr(pickle.loads(text)) == repr(each)


@pytest.mark.parametrize("name", MODULES)
def test_help_shows_every_public_module(name: str) -> None:
    assert pydoc.render_doc(importlib.import_module(name))


@pytest.mark.parametrize("name", CLASSES)
def test_help_shows_every_public_class(name: str) -> None:
    assert pydoc.render_doc(CLASSES[name])


def test_annotations_of_errors_are_resolved() -> None:
    assert "reason_name" in typing.get_type_hints(masthead.StatusError)


def values() -> Iterator[str]:
    """The classes whose annotations are read by others: structs and dataclasses."""
    for name, cls in CLASSES.items():
        if issubclass(cls, msgspec.Struct) or dataclasses.is_dataclass(cls):
            yield name


@pytest.mark.parametrize("name", [*values()])
def test_annotations_are_looked_up_where_they_were_written(name: str) -> None:
    cls = CLASSES[name]
    missing: set[str] = set()
    try:
        typing.get_type_hints(cls)
    except NameError as error:
        missing.add(str(error.name))
    homes = {each for each in cls.__mro__ if "__annotations__" in vars(each)}
    known = {name for home in homes for name in vars(sys.modules[_defined_in(home)])}

    assert not missing & known  # what is imported for type checkers only was never found


def _defined_in(cls: type) -> str:
    for given in vars(cls)["__annotations__"].values():
        if isinstance(given, typing.ForwardRef) and given.__forward_module__:
            return str(given.__forward_module__)
    return cls.__module__


def test_structs_are_decoded_by_msgspec_alone() -> None:
    # In a process of its own: what was decoded before is remembered.
    program = """
import msgspec, masthead
from masthead import meta
for cls, text in (
    (meta.ObjectMeta, b'{"name": "web"}'),
    (meta.Condition, b'{"type": "Ready", "status": "True"}'),
    (masthead.GroupVersionKind, b'{"group": "apps", "version": "v1", "kind": "Deployment"}'),
):
    assert type(msgspec.json.decode(text, type=cls)) is not dict, cls
class Mine(msgspec.Struct):
    meta: masthead.meta.ObjectMeta
assert msgspec.json.decode(b'{"meta": {"name": "web"}}', type=Mine).meta.name == "web"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_help_reads_as_users_write() -> None:
    shown = pydoc.plain(pydoc.render_doc(masthead.Client)).splitlines()

    assert shown[0] == "Python Library Documentation: class Client in module masthead"
    assert "A client of one cluster" in "".join(shown)


def test_help_of_the_package_has_every_class() -> None:
    shown = pydoc.plain(pydoc.render_doc(masthead))

    for name, value in CLASSES.items():
        if value.__module__ == "masthead":
            assert f"class {name.rpartition('.')[2]}(" in shown


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that its own package defines."""
    for base in cls.__mro__:
        if base.__module__.split(".")[0] != "masthead":
            continue
        for name, value in vars(base).items():
            function = value.fget if isinstance(value, property) else value
            function = value.func if isinstance(value, cached_property) else function
            function = getattr(function, "__func__", function)
            if not name.startswith("_") and inspect.isfunction(function):
                yield f"{base.__name__}.{name}", function


@pytest.mark.parametrize("name", EXPORTED)
def test_every_public_name_has_docs(name: str) -> None:
    thing = EXPORTED[name]

    assert inspect.getdoc(thing)
    if isinstance(thing, type):
        assert [each for each, member in members(thing) if not inspect.getdoc(member)] == []


def test_every_public_module_has_docs() -> None:
    assert [module for module in MODULES if not importlib.import_module(module).__doc__] == []


def test_a_mark_keeps_what_it_marks() -> None:
    @set_module("masthead")
    class Marked:
        """Marked."""

        size: ExampleType

    @set_module("masthead")
    def marked() -> None: ...

    assert (Marked.__module__, marked.__module__) == ("masthead", "masthead")
    assert Marked.__qualname__.endswith("Marked")


class ExampleType:
    """Only named."""


def _is_in_both_facades(name: str) -> bool:
    return any(name in names_of(module) and name in names_of(twin) for module, twin in TWINS.items())


def test_no_class_name_is_in_two_packages() -> None:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        package, text = path.parent.relative_to(SOURCE), path.read_text("utf-8")
        # The blocking façade has the names of the async one: `from masthead import X` or `from masthead.aio import X`.
        # The types of the API and the classes of its groups have the names that Kubernetes gives them.
        is_blocking = package.parts[:1] == ("_sync",)
        if package.parts[:1] == ("api",) or "generated by" in text.partition("\n")[0]:
            continue
        names = [each.name for each in ast.parse(text).body if isinstance(each, ast.ClassDef)]
        for name in names:
            if not name.startswith("_") and not (is_blocking and _is_in_both_facades(name)):
                found[name].add(str(package))

    assert {name: sorted(where) for name, where in found.items() if len(where) > 1} == {}

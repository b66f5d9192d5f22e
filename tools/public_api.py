"""``python -m tools.public_api``: the public API as text, to be compared with the committed text.

::

    make lint ── --check ──> docs/api.txt is equal, or the command prints the difference and fails
    make api  ── --write ──> docs/api.txt

It lists every public name with its signature, and every public member of a class. A change of the public API thus
always shows up in a diff. The generated types of ``masthead.api`` and the groups of the clientset and of informer
factories have a line per module.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import functools
import importlib
import inspect
import pkgutil
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Final, ForwardRef, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["describe", "is_group", "listed_modules", "main", "public_modules", "signature"]

FILE: Final = Path(__file__).parents[1] / "docs" / "api.txt"
_HEAD: Final = (
    "The public API, written by `make api`. `make lint` compares it with the code.\n"
    "A line that changes or goes is a change for users: say so in CHANGELOG.md.\n"
)
# Part of every class, or of what its decorators make of it.
_PLUMBING: Final = frozenset(
    [
        "__init__",
        "__repr__",
        "__str__",
        "__eq__",
        "__hash__",
        "__post_init__",
        "__init_subclass__",
        "__class_getitem__",
        "__setattr__",
        "__delattr__",
        "__getstate__",
        "__setstate__",
        "__reduce__",
        "__subclasshook__",
        "__replace__",
        "__copy__",
        "__deepcopy__",
        "__new__",
        "__del__",
        "__dir__",
        "__getattr__",
        "__ne__",
    ]
)


_NOT_LISTED: Final = frozenset({"masthead.__main__", "masthead.testing.asyncio_plugin", "masthead.testing.plugin"})
"""Modules that are run or loaded by others, and not imported."""


def listed_modules() -> list[str]:
    """Return the public modules in the order of the list; the async façade repeats names of others and comes last."""
    modules = [module for module in public_modules("masthead") if module not in _NOT_LISTED]
    return sorted(modules, key=lambda module: module.startswith("masthead.aio"))


def public_modules(package: str) -> Iterator[str]:
    """The public modules of a package, itself first: those with no component that begins with an underscore."""
    yield package
    path = getattr(importlib.import_module(package), "__path__", None)
    for module in sorted(pkgutil.iter_modules(path), key=lambda found: found.name) if path else ():
        if not module.name.startswith("_"):
            yield from public_modules(f"{package}.{module.name}")


def is_group(module: str) -> bool:
    """Whether a module has the generated classes of one group and version, such as ``masthead.clientset.core_v1``."""
    package, _, name = module.rpartition(".")
    return package.removeprefix("masthead.").removeprefix("aio.") in {"clientset", "informers"} and "_v" in name


def describe(modules: Sequence[str]) -> Iterator[str]:
    """Describe the exports of modules, line by line; a repeated object is only named."""
    homes: dict[int, str] = {}
    for module in modules:
        yield ""
        yield module
        exported = {name: _load_export(module, name) for name in sorted(_names(module))}
        for name, value in exported.items():
            if isinstance(value, types.ModuleType):
                continue
            known = homes.setdefault(id(value), f"{module}.{name}")
            if known != f"{module}.{name}" and type(value) not in {str, int, tuple, frozenset}:
                yield f"    {name} = {known}"
            else:
                yield from (f"    {line}" for line in _describe(name, value))


def _names(module: str) -> Sequence[str]:
    found = importlib.import_module(module)
    return [name for name in getattr(found, "__all__", dir(found)) if not name.startswith("_")]


def _load_export(module: str, name: str) -> object:
    return cast("object", getattr(importlib.import_module(module), name))


def _describe(name: str, value: object) -> Iterator[str]:
    if isinstance(value, type):
        yield from _class(name, value)
    elif inspect.isroutine(value):
        yield _function(name, value)
    else:
        yield f"{name}: {_kind(value)}"


def _kind(value: object) -> str:
    kind = type(value)
    if kind in {str, int, tuple}:
        return f"{kind.__name__} = {value!r}"
    return repr(value) if kind.__module__ in {"typing", "types"} else kind.__name__


def _class(name: str, cls: type) -> Iterator[str]:
    public = [base for base in cls.__mro__[1:] if not _is_private(base)]
    bases = [base.__name__ for base in public if not any(base in other.__mro__[1:] for other in public)]
    yield f"class {name}({', '.join(bases)})" if bases else f"class {name}"
    yield from _constructor(cls)
    inherited = {name for base in public for name in dir(base)}
    members: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base is cls or (base not in public and base is not object):
            members |= dict(_members(base))
    own = {*vars(cls), *_fields(cls)}
    for member in sorted(members):
        if member in own or member not in inherited:
            yield f"    {members[member]}"


def _is_private(cls: type) -> bool:
    """Whether a class is neither built in nor exported."""
    return cls.__name__ in {"object", "Generic", "Protocol"} or (
        cls.__module__.startswith("masthead.") and "._" in cls.__module__
    )


def _constructor(cls: type) -> Iterator[str]:
    """How a class is made, where users make it: its constructor has a docstring, or is a dataclass's."""
    made = next((vars(base)["__init__"] for base in cls.__mro__ if "__init__" in vars(base)), None)
    if inspect.isfunction(made) and (made.__doc__ or dataclasses.is_dataclass(cls)):
        yield f"    def __init__{signature(made, is_method=True)}"


def _fields(cls: type) -> Mapping[str, object]:
    """The annotations of a class, as they were written."""
    declared = vars(cls).get("declared")
    return {**vars(cls).get("__annotations__", {}), **(declared if isinstance(declared, dict) else {})}


def _members(cls: type) -> Iterator[tuple[str, str]]:
    for name, annotation in _fields(cls).items():
        if not name.startswith("_"):
            yield name, f"{name}: {_annotation(annotation)}"
    for name, value in vars(cls).items():
        if name.startswith("__") and (name in _PLUMBING or not inspect.isfunction(value)):
            continue
        if name.startswith("_") and not name.startswith("__"):
            continue
        if isinstance(value, property | functools.cached_property):
            getter = value.fget if isinstance(value, property) else value.func
            yield name, f"property {name}{_returns(inspect.signature(cast('types.FunctionType', getter)))}"
        elif (kind := type(cast("object", value)).__name__) in {"classmethod", "staticmethod"}:
            yield name, f"{kind} {_function(name, inspect.unwrap(value), is_method=kind == 'classmethod')}"
        elif inspect.isfunction(value):
            yield name, _function(name, value, is_method=True)


def _function(name: str, function: object, *, is_method: bool = False) -> str:
    kind = "async def" if inspect.iscoroutinefunction(function) else "def"
    return f"{kind} {name}{signature(function, is_method=is_method)}"


def signature(function: object, *, is_method: bool = False) -> str:
    """The parameters and the result of a function or class; without the first parameter, if it is a method."""
    try:
        found = inspect.signature(cast("types.FunctionType", function))
    except (TypeError, ValueError):
        return "(...)"
    return f"({_parameters(list(found.parameters.values())[is_method:])}){_returns(found)}"


def _returns(found: inspect.Signature) -> str:
    return "" if found.return_annotation is found.empty else f" -> {_annotation(found.return_annotation)}"


def _parameters(parameters: Sequence[inspect.Parameter]) -> str:
    text: list[str] = []
    kinds = [parameter.kind for parameter in parameters]
    for index, item in enumerate(parameters):
        before = kinds[:index]
        if item.kind is item.KEYWORD_ONLY and not {item.KEYWORD_ONLY, item.VAR_POSITIONAL} & {*before}:
            text.append("*")
        star = "*" if item.kind is item.VAR_POSITIONAL else "**" if item.kind is item.VAR_KEYWORD else ""
        default = "" if item.default is item.empty else f" = {_default(item.default)}"
        text.append(f"{star}{item.name}: {_annotation(item.annotation)}{default}")
        if item.kind is item.POSITIONAL_ONLY and item.POSITIONAL_ONLY not in kinds[index + 1 :]:
            text.append("/")
    return ", ".join(text)


def _default(value: object) -> str:
    if isinstance(value, type) or inspect.isroutine(value):
        return "..." if value.__name__ == "<lambda>" else value.__name__
    text = repr(value)
    return "..." if text.startswith("<") or "\n" in text else text


def _annotation(annotation: object) -> str:
    if isinstance(annotation, ForwardRef):
        return annotation.__forward_arg__
    if isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        return annotation.__name__
    return annotation if isinstance(annotation, str) else repr(annotation)


def _iter_generated(modules: Sequence[str]) -> Iterator[str]:
    """The modules of generated types, a line each: how many there are, and the kinds among them."""
    yield ""
    yield "masthead.api"
    for module in modules:
        found = importlib.import_module(module)
        classes = [var for var in vars(found).values() if isinstance(var, type) and var.__module__ == module]
        kinds = sorted(definition.__name__ for definition in classes if getattr(definition, "RESOURCE", None))
        if classes:
            yield f"    {module}: {len(classes)} classes; kinds {', '.join(kinds) or 'none'}"


def _groups(modules: Sequence[str]) -> Iterator[str]:
    """The modules of groups, a line each with their classes."""
    yield ""
    yield "The groups of clients and of informer factories"
    for module in modules:
        yield f"    {module}: {', '.join(_names(module))}"


def current() -> str:
    """The current public API."""
    modules = listed_modules()
    api = [module for module in modules if module.startswith("masthead.api")]
    groups = [module for module in modules if is_group(module)]
    lines = [
        *describe([module for module in modules if module not in {*api, *groups}]),
        *_groups(groups),
        *_iter_generated(api),
    ]
    return "\n".join([_HEAD, *lines]).strip() + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.public_api", description="The public API as text.")
    parser.add_argument("--write", action="store_true", help="write it, and do not compare")
    found = current()
    if parser.parse_args(arguments).write:
        FILE.write_text(found, encoding="utf-8", newline="\n")
        return 0
    committed = FILE.read_text("utf-8") if FILE.exists() else ""
    difference = difflib.unified_diff(
        committed.splitlines(), found.splitlines(), "docs/api.txt", "the code", lineterm="", n=1
    )
    if text := "\n".join(difference):
        sys.stderr.write(f"{text}\nThe public API has changed. If that is intended, run `make api` and commit it.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

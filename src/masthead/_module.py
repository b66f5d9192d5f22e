"""The public module that a class or function belongs to, whichever private one defines it."""

from __future__ import annotations

import functools
import sys
import typing
from typing import TypeVar

if typing.TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["scoped", "set_module"]

Thing = TypeVar("Thing")


def set_module(name: str) -> Callable[[Thing], Thing]:
    """Say where a class or function is exported: ``@set_module("masthead")``, above all other decorators.

    Help texts, reprs, tracebacks and pickles then name the public module, and stay as they are when the definition
    moves to another file.
    """

    def mark(thing: Thing) -> Thing:
        if isinstance(thing, type):
            _keep_scope(thing)
        thing.__module__ = name
        return thing

    return mark


def _keep_scope(cls: type) -> None:
    """Have the annotations of a class still looked up in the module that wrote them."""
    annotations: dict[str, object] | None = vars(cls).get("__annotations__")
    if annotations:
        for name, given in annotations.items():
            annotations[name] = scoped(given, cls.__module__)


def scoped(annotation: object, module: str) -> object:
    """An annotation that is looked up in the module that wrote it, wherever its class is exported."""
    # A public module exports its own classes: theirs are looked up in the right place as they are, and are many.
    is_private = "._" in module
    return _reference(annotation, module) if is_private and isinstance(annotation, str) else annotation


@functools.cache  # few are written only once, and each has to be compiled
def _reference(text: str, module: str) -> typing.ForwardRef:
    reference = typing.ForwardRef(text, module=module, is_class=True)
    if sys.version_info >= (3, 14):
        # There, a reference forgets its module where its evaluator brings globals, as msgspec does.
        reference.__extra_names__ = _ModuleNames(module)
    return reference


class _ModuleNames:
    """The names of a module when they are looked up, as far as `typing.ForwardRef` needs a mapping."""

    __slots__ = ("_module",)

    def __init__(self, module: str) -> None:
        self._module = module

    def keys(self) -> Iterable[str]:
        """The names."""
        return vars(sys.modules[self._module]).keys()

    def __getitem__(self, name: str) -> object:
        return vars(sys.modules[self._module])[name]

    def items(self) -> Iterable[tuple[str, object]]:
        """Nothing: the hash of a reference is made of these, and not every value of a module has one."""
        return ()

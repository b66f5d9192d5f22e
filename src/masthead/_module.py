"""Mark classes and functions with the public module that exports them."""

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
    """Set the public module of a class or function: ``@set_module("masthead")``, above all other decorators.

    Help texts, reprs, tracebacks and pickles then name the public module, and do not change when the definition moves
    to another file.
    """

    def mark(thing: Thing) -> Thing:
        if isinstance(thing, type):
            _keep_scope(thing)
        thing.__module__ = name
        return thing

    return mark


def _keep_scope(cls: type) -> None:
    """Resolve the annotations of a class in the defining module, although its ``__module__`` changes."""
    annotations: dict[str, object] | None = vars(cls).get("__annotations__")
    if annotations:
        for name, annotation in annotations.items():
            annotations[name] = scoped(annotation, cls.__module__)


def scoped(annotation: object, module: str) -> object:
    """Bind an annotation to the module that wrote it, wherever its class is exported."""
    # Classes of public modules, such as the thousands of masthead.api, already resolve in the right place.
    is_private = "._" in module
    return _reference(annotation, module) if is_private and isinstance(annotation, str) else annotation


@functools.cache  # most annotations occur many times, and each has to be compiled
def _reference(text: str, module: str) -> typing.ForwardRef:
    reference = typing.ForwardRef(text, module=module, is_class=True)
    if sys.version_info >= (3, 14):
        # Since 3.14, a reference ignores its module if the evaluator passes globals, as msgspec does.
        reference.__extra_names__ = _ModuleNames(module)
    return reference


class _ModuleNames:
    """The current names of a module, as the mapping that `typing.ForwardRef` needs."""

    __slots__ = ("_module",)

    def __init__(self, module: str) -> None:
        self._module = module

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return vars(sys.modules[self._module]).keys()

    def __getitem__(self, name: str) -> object:
        return vars(sys.modules[self._module])[name]

    def items(self) -> Iterable[tuple[str, object]]:
        """Return nothing: a reference hashes these items, and not every value of a module has a hash."""
        return ()

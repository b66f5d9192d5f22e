"""The annotations of a class body, evaluated where the class is defined.

With ``from __future__ import annotations`` they are text. What the text refers to may be local to a function, or to the
class body itself, where nobody could look it up later.
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["evaluate"]


def evaluate(annotations: dict[str, Any], namespace: Mapping[str, object]) -> None:
    """Replace text by what it means where the class is being defined; what is defined further down stays text.

    Args:
        annotations: The annotations of a class body; changed in place.
        namespace: The class body.
    """
    module = str(namespace.get("__module__", ""))
    # Our own modules say with `scoped` where a text is to be looked up, and never define types in functions.
    if module.startswith("masthead.") or not any(isinstance(each, str) for each in annotations.values()):
        return
    scope = _scope(module, namespace)
    for name, annotation in annotations.items():
        if isinstance(annotation, str):
            annotations[name] = _evaluated(annotation, scope)


def _evaluated(text: str, scope: dict[str, Any]) -> object:
    holder = types.SimpleNamespace(__annotations__={"it": text})
    try:
        return typing.get_type_hints(holder, globalns=scope, include_extras=True)["it"]
    except (NameError, SyntaxError, TypeError, AttributeError):
        return text  # whoever needs the type says what is wrong with it


def _scope(module: str, namespace: Mapping[str, object]) -> dict[str, Any]:
    """The names that the class body sees: of its module, of the functions around it, and the classes in it."""
    loaded = sys.modules.get(module)
    scope = dict(vars(loaded)) if loaded is not None else {}
    frame = inspect.currentframe()
    own: list[dict[str, Any]] = []
    while frame is not None:
        if frame.f_globals.get("__name__") == module:
            own.append(frame.f_locals)
        frame = frame.f_back
    for names in reversed(own):
        scope.update(names)
    scope.update({name: each for name, each in namespace.items() if isinstance(each, type)})
    return scope

"""The annotations of a class body: their evaluation where the class is defined, and the types that they decode as.

With ``from __future__ import annotations`` they are text. The names in the text may be local to a function or to the
class body, where they cannot be looked up later.
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, cast, get_args, get_origin

from msgspec import UnsetType

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["UNIONS", "evaluate", "wire_type"]

UNIONS: Final = (Union, types.UnionType)
"""The origins of ``Union[a, b]`` and of ``a | b``."""
_LITERAL: Final = type(cast("object", Literal[""]))


def wire_type(annotation: object) -> object:
    """Return the type that a field decodes as: a Literal of strings or of integers is a plain string or integer.

    The values of an enumeration are for type checkers and schemas. A newer server may send a value that is not among
    them, and it must survive a round trip.
    """
    # This runs for every field of every class that is imported: most annotations have no Literal and end here.
    if not _has_literal(annotation):
        return annotation
    origin, arguments = get_origin(annotation), get_args(annotation)
    if UnsetType in arguments:
        # Only this package writes UNSET into an annotation, for the exact apiVersion and kind of a class.
        return annotation
    if origin is Literal:
        kinds: set[type] = {type(value) for value in arguments}
        return kinds.pop() if kinds in ({str}, {int}) else annotation
    if origin is Annotated:
        return Annotated[(wire_type(arguments[0]), *arguments[1:])]
    wider = tuple(map(wire_type, arguments))
    return Union[wider] if origin in UNIONS else cast("Any", origin)[wider]


def _has_literal(annotation: object) -> bool:
    if type(annotation) is _LITERAL:
        return True
    # Classes have no arguments; `get_args` would take much longer to say so.
    return any(map(_has_literal, getattr(annotation, "__args__", ())))


def evaluate(annotations: dict[str, Any], namespace: Mapping[str, object]) -> None:
    """Evaluate text in the scope of the class definition. A reference to a later definition stays text.

    Args:
        annotations: The annotations of a class body; changed in place.
        namespace: The class body.
    """
    module = str(namespace.get("__module__", ""))
    # Our own modules say with `scoped` where a text is to be looked up, and never define types in functions.
    if module.startswith("masthead.") or not any(isinstance(inner, str) for inner in annotations.values()):
        return
    scope = _scope(module, namespace)
    for name, annotation in annotations.items():
        if isinstance(annotation, str):
            annotations[name] = _evaluate_text(annotation, scope)


def _evaluate_text(text: str, scope: dict[str, Any]) -> object:
    holder = types.SimpleNamespace(__annotations__={"it": text})
    try:
        return typing.get_type_hints(holder, globalns=scope, include_extras=True)["it"]
    except (NameError, SyntaxError, TypeError, AttributeError):
        return text  # the first use of the type reports the error


def _scope(module: str, namespace: Mapping[str, object]) -> dict[str, Any]:
    """Return the names that the class body sees: of its module, of enclosing functions, and of nested classes."""
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
    scope.update({name: inner for name, inner in namespace.items() if isinstance(inner, type)})
    return scope

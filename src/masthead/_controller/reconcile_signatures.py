"""Checks the annotated arguments of a reconciler: the context first, then the object.

Annotations are hints: only contradictions are an error. Text, as `from __future__ import annotations`
makes of them, is not evaluated, because names that are imported for type checkers only would fail.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, Union, cast, get_args, get_origin

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.object import Object
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["check_arguments"]

_Meaning: TypeAlias = Literal["context", "object", ""]
_CONTEXT: Final = "ReconcileContext"
_NAME: Final = re.compile(r"[\w.]+")


def check_arguments(
    title: str,
    function: Callable[..., object],
    parameters: Sequence[inspect.Parameter],
    kind: object,
    *,
    is_async: bool,
) -> None:
    """Check the arguments of a reconciler.

    Args:
        title: Its name.
        function: The function.
        parameters: Its required parameters, one or two, without `self`.
        kind: The reconciled kind; anything but a class for an unknown one.
        is_async: Whether it is a coroutine function.

    Raises:
        ArgumentError: If the first is annotated as the object, or the second as the context; or if the context is that
            of the other façade, or the object of another kind.
    """
    meanings = [_meaning_of(parameter.annotation, function, kind) for parameter in parameters]
    if meanings[0] != "object" and meanings[1:] != ["context"]:
        _check_classes(title, function, parameters, kind, is_async=is_async)
        return
    if len(parameters) == 1:
        problem = "takes the object alone, and is called with the context"
    elif meanings == ["object", "context"]:
        problem = "takes the object first and then the context, and is called the other way round"
    elif meanings[0] == "object":
        problem = "takes an object as its first argument, and is called with the context"
    else:
        problem = "takes the context as its second argument, and is called with the object"
    name = kind.__name__ if isinstance(kind, type) else "Unstructured"
    start, module = ("async def", "masthead.aio") if is_async else ("def", "masthead")
    raise ArgumentError(
        f"{title}({', '.join(map(str, parameters))}) {problem}; write it as `{start} "
        f"{getattr(function, '__name__', 'reconcile')}(ctx: {module}.ReconcileContext[{name}], obj: {name} | None)`",
        value=function,
    )


def _check_classes(
    title: str,
    function: Callable[..., object],
    parameters: Sequence[inspect.Parameter],
    kind: object,
    *,
    is_async: bool,
) -> None:
    context, *objects = (_class_of(parameter.annotation, function) for parameter in parameters)
    right, what = ("masthead.aio", "a coroutine function") if is_async else ("masthead", "a plain function")
    if context is not None and context.__name__ == _CONTEXT and context.__module__ != right:
        raise ArgumentError(
            f"{title} is {what}, and is called with a {right}.{_CONTEXT}, not with a {context.__module__}.{_CONTEXT}",
            value=function,
        )
    wanted = _gvk_of(kind)
    for found in objects:
        if found is not None and wanted is not None and _gvk_of(found) not in {None, wanted}:
            raise ArgumentError(
                f"{title} takes a {found.__name__}, and is called with objects of {wanted}", value=function
            )


def _gvk_of(kind: object) -> GroupVersionKind | None:
    """The kind of a class of objects; None for those of any kind, and for everything else."""
    gvk = getattr(kind, "GVK", None)
    return gvk if isinstance(gvk, GroupVersionKind) and gvk.kind else None


def _class_of(annotation: object, function: Callable[..., object]) -> type | None:
    """The class that an annotation names, apart from None; None if that is not known without evaluating it."""
    if isinstance(annotation, str):
        alternatives = [text.strip() for text in _without_quotes(annotation).split("|")]
        # Of several classes, any may be meant.
        names = [match[0] for text in alternatives if text != "None" and (match := _NAME.match(text))]
        return _class_of(_look_up(names[0], function), function) if len(names) == 1 else None
    origin = get_origin(annotation)
    if origin is Union or type(annotation).__name__ == "UnionType":
        classes = [_class_of(item, function) for item in get_args(annotation) if item is not type(None)]
        return classes[0] if len(classes) == 1 else None
    found = annotation if origin is None else origin
    return found if isinstance(found, type) else None


def _meaning_of(annotation: object, function: Callable[..., object], kind: object) -> _Meaning:
    if isinstance(annotation, str):
        return _meaning_of_text(annotation, function, kind)
    origin = get_origin(annotation)
    # X | None is the annotation of an object that may have been deleted.
    if origin is Union or type(annotation).__name__ == "UnionType":
        meanings: set[_Meaning] = {
            _meaning_of(item, function, kind) for item in get_args(annotation) if item is not type(None)
        }
        return next(iter(meanings)) if len(meanings) == 1 else ""
    found = annotation if origin is None else origin
    if not isinstance(found, type):
        return ""
    # By name, because both façades have such a class, and neither is imported here.
    if any(base.__name__ == _CONTEXT for base in found.__mro__):
        return "context"
    return "object" if issubclass(found, Object) else ""


def _meaning_of_text(text: str, function: Callable[..., object], kind: object) -> _Meaning:
    match = _NAME.match(_without_quotes(text))
    if match is None:
        return ""
    path = match[0].split(".")
    if path[-1] == _CONTEXT:
        return "context"
    if isinstance(kind, type) and path[-1] == kind.__name__:
        return "object"
    found = _look_up(match[0], function)
    return "" if found is None else _meaning_of(found, function, kind)


def _without_quotes(text: str) -> str:
    return text.strip("'\" ").removeprefix("typing.").removeprefix("Optional[")


def _look_up(path: str, function: Callable[..., object]) -> object:
    """What a dotted name means in the module of a function, without evaluating anything; None if it is not known."""
    first, *rest = path.split(".")
    found: Any = cast("dict[str, Any]", getattr(inspect.unwrap(function), "__globals__", {})).get(first)
    for name in rest:
        found = getattr(found, name, None)
    return None if isinstance(found, str) else found

"""Type checking: whether a value has the types that its schema declares, as far as merging depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._schema.go_format import go_literal, go_type, go_value
from masthead._schema.path_elements import field_element, path_text
from masthead._schema.structured_merge.items import UnidentifiedItemError, item_element
from masthead._schema.structured_merge.types import ListType, MapType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._schema.schema import Json
    from masthead._schema.structured_merge.types import MergeType, Scalar

__all__ = ["errors_text", "type_errors"]

_Error: TypeAlias = tuple[str, str]
"""A path, and the problem of the value there."""
_OF_STRINGS: Final = frozenset({"string", "untyped"})
"""The types of scalars that a string has."""


def type_errors(value: Json, of: MergeType, *, allow_duplicates: bool = False) -> list[str]:
    """Return the type errors of a value, in kube-apiserver's words: ``.spec.replicas: expected …``.

    Args:
        value: The value, plain JSON.
        of: Its type.
        allow_duplicates: Whether sets and lists with keys may have duplicate items.
    """
    return [f"{path}: {problem}" if path else problem for path, problem in _errors(value, of, allow_duplicates)]


def errors_text(errors: list[str]) -> str:
    """Join errors as kube-apiserver does."""
    return errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors])


def _errors(value: Json, of: MergeType, allow_duplicates: bool) -> list[_Error]:
    """The errors of a value, with paths that begin below it."""
    if value is None:
        return []
    form = of.form(value)
    if isinstance(form, MapType):
        if value.__class__ is dict:
            return _errors_of_map(value, form, allow_duplicates)
        return [("", f"expected map, got {_format_go_value(value)}")]
    if isinstance(form, ListType):
        if value.__class__ is list:
            return _errors_of_list(value, form, allow_duplicates)
        return [("", f"expected list, got {_format_go_value(value)}")]
    if of.scalar is None or (check := _SCALARS[of.scalar])[0](value):
        return []
    return [("", check[1](value))]


def _errors_of_map(value: dict[str, Json], of: MapType, allow_duplicates: bool) -> list[_Error]:
    found: list[_Error] = []
    for name, inner in value.items():
        type_ = of.type_of(name)
        if type_ is None:
            return [*found, (path_text((field_element(name),)), "field not declared in schema")]
        # A shortcut for strings, which are most values.
        if inner.__class__ is str and type_.scalar in _OF_STRINGS:
            continue
        if errors := _errors(inner, type_, allow_duplicates):
            found += _below(field_element(name), errors)
    return found


def _errors_of_list(value: list[Json], of: ListType, allow_duplicates: bool) -> list[_Error]:
    found: list[_Error] = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        element = f"i:{index}"
        if not of.is_atomic:
            try:
                element = item_element(item, of)
            except UnidentifiedItemError as error:
                # kube-apiserver stops here: without an element, the item has no path.
                return [*found, ("", f"element {index}: {error}")]
            if element in seen and not allow_duplicates:
                found.append(("", f"duplicate entries for key {path_text((element,))}"))
            seen.add(element)
        if errors := _errors(item, of.items, allow_duplicates):
            found += _below(element, errors)
    return found


def _below(element: str, errors: list[_Error]) -> list[_Error]:
    """The errors below an element, with paths that begin with it."""
    prefix = path_text((element,))
    return [(f"{prefix}{path}", problem) for path, problem in errors]


def _format_go_value(value: Json) -> str:
    """Format a value as Go prints its wrapper."""
    return f"&{{{go_value(value)}}}"


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_string(value: Json) -> bool:
    return isinstance(value, str)


def _is_bool(value: Json) -> bool:
    return isinstance(value, bool)


def _is_scalar(value: Json) -> bool:
    return isinstance(value, str | int | float)


def _no_string(value: Json) -> str:
    return f"expected string, got &value.valueUnstructured{{Value:{go_literal(value)}}}"


_SCALARS: Final[Mapping[Scalar, tuple[Callable[[Json], bool], Callable[[Json], str]]]] = {
    "numeric": (_is_number, lambda value: f"expected numeric (int or float), got {go_type(value)}"),
    "string": (_is_string, _no_string),
    "boolean": (_is_bool, lambda value: f"expected boolean, got {_format_go_value(value)}"),
    "untyped": (_is_scalar, lambda value: f"expected any scalar, got {_format_go_value(value)}"),
}
"""By the type of a scalar: a predicate for valid values, and the problem of invalid ones."""

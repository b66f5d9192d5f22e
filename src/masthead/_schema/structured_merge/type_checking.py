"""Type checking: whether a value has the types that its schema declares, as far as merging depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead._schema.go_format import go_type, go_value
from masthead._schema.path_elements import field_element, path_text
from masthead._schema.structured_merge.items import UnidentifiedItemError, item_element
from masthead._schema.structured_merge.types import ListType, MapType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._schema.schema import Json
    from masthead._schema.structured_merge.types import MergeType, Scalar

__all__ = ["errors_text", "type_errors"]


def type_errors(value: Json, of: MergeType, *, allow_duplicates: bool = False) -> list[str]:
    """Return what is wrong with the types of a value, in kube-apiserver's words: ``.spec.replicas: expected …``.

    Args:
        value: The value, plain JSON.
        of: Its type.
        allow_duplicates: Whether items of sets and lists with keys may stand there twice.
    """
    found: list[str] = []
    _check(value, of, "", found, allow_duplicates=allow_duplicates)
    return found


def errors_text(errors: list[str]) -> str:
    """Join errors as kube-apiserver does."""
    return errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors])


def _check(value: Json, of: MergeType, path: str, found: list[str], *, allow_duplicates: bool) -> None:
    form = of.form(value)
    if value is None:
        return
    if isinstance(form, MapType):
        if value.__class__ is dict:
            _check_map(value, form, path, found, allow_duplicates=allow_duplicates)
        else:
            found.append(_error(path, f"expected map, got {_shown(value)}"))
    elif isinstance(form, ListType):
        if value.__class__ is list:
            _check_list(value, form, path, found, allow_duplicates=allow_duplicates)
        else:
            found.append(_error(path, f"expected list, got {_shown(value)}"))
    elif of.scalar is not None:
        fits, expected = _SCALARS[of.scalar]
        if not fits(value):
            found.append(_error(path, expected(value)))


def _check_map(value: Json, of: MapType, path: str, found: list[str], *, allow_duplicates: bool) -> None:
    for name, each in value.items():
        below = f"{path}{path_text((field_element(name),))}"
        type_ = of.type_of(name)
        if type_ is None:
            found.append(_error(below, "field not declared in schema"))
            return
        _check(each, type_, below, found, allow_duplicates=allow_duplicates)


def _check_list(value: Json, of: ListType, path: str, found: list[str], *, allow_duplicates: bool) -> None:
    seen: set[str] = set()
    for index, item in enumerate(value):
        if of.is_atomic:
            element = f"i:{index}"
        else:
            try:
                element = item_element(item, of)
            except UnidentifiedItemError as error:
                # Without an element, nothing in the rest of the list could be named.
                found.append(_error(path, f"element {index}: {error}"))
                return
            if element in seen and not allow_duplicates:
                found.append(_error(path, f"duplicate entries for key {path_text((element,))}"))
            seen.add(element)
        if of.items is not None:
            _check(item, of.items, f"{path}{path_text((element,))}", found, allow_duplicates=allow_duplicates)


def _error(path: str, problem: str) -> str:
    return f"{path}: {problem}" if path else problem


def _shown(value: Json) -> str:
    """A value as Go prints the one that it wraps."""
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
    literal = quoted(value) if isinstance(value, str) else go_value(value)
    return f"expected string, got &value.valueUnstructured{{Value:{literal}}}"


_SCALARS: Final[Mapping[Scalar, tuple[Callable[[Json], bool], Callable[[Json], str]]]] = {
    "numeric": (_is_number, lambda value: f"expected numeric (int or float), got {go_type(value)}"),
    "string": (_is_string, _no_string),
    "boolean": (_is_bool, lambda value: f"expected boolean, got {_shown(value)}"),
    "untyped": (_is_scalar, lambda value: f"expected any scalar, got {_shown(value)}"),
}
"""By the type of a scalar: whether a value fits, and what is wrong with one that does not."""

"""Checks of the arguments of a server's controls, with the allowed values in the messages.

Tests call the controls. A wrong value has to fail there: in a stored object, it would break a controller or a client.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias, cast, get_args

from masthead._meta.object import Object
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from types import UnionType

__all__ = [
    "check_choice",
    "check_exit_code",
    "check_flag",
    "check_number",
    "check_object",
    "check_port",
    "check_seconds",
    "check_text",
    "check_texts",
    "check_type",
    "check_whole_number",
    "nearest_hint",
]

Kind: TypeAlias = "type | UnionType"
_MAX_EXIT_CODE: Final = 255
_MAX_PORT: Final = 65535


def check_type(name: str, value: object, kind: Kind, expected: str) -> None:
    """Check the type of an argument.

    Raises:
        TypeError: If the value has another type.
    """
    kinds: tuple[object, ...] = get_args(kind) or (kind,)
    # To Python, True is a number.
    if not isinstance(value, kind) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError(f"{name} must be {expected}, not {value!r}")


def check_text(name: str, value: object, *, may_be_empty: bool = True) -> None:
    """Check a text.

    Raises:
        TypeError: If the value has another type.
        ArgumentError: If it is empty, and must not be.
    """
    check_type(name, value, str, "text")
    if not may_be_empty and not cast("str", value).strip():
        raise ArgumentError(f"{name} is empty", value=value)


def check_texts(name: str, values: object) -> None:
    """Check a collection of texts; a text alone is none.

    Raises:
        TypeError: If the value has another type.
    """
    is_collection = isinstance(values, Collection) and not isinstance(values, str | bytes | Mapping)
    if not is_collection or not all(isinstance(value, str) for value in cast("Iterable[object]", values)):
        raise TypeError(f"{name} must be a list of texts, not {values!r}")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Check that a value is one of several texts.

    Raises:
        ArgumentError: If it is not.
    """
    allowed = tuple(choices)
    if value not in allowed:
        raise ArgumentError(f"{name} must be one of {', '.join(allowed)}, not {value!r}", value=value)


def check_flag(name: str, value: object) -> None:
    """Check a bool.

    Raises:
        TypeError: If the value has another type.
    """
    check_type(name, value, bool, "True or False")


def check_whole_number(name: str, value: object, *, minimum: int, maximum: int | None = None) -> None:
    """Check a whole number and its range.

    Raises:
        TypeError: If the value has another type.
        ArgumentError: If it is out of range.
    """
    check_type(name, value, int, "a whole number")
    number = cast("int", value)
    if number < minimum or (maximum is not None and number > maximum):
        allowed = f"at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise ArgumentError(f"{name} must be a whole number, {allowed}, not {value}", value=value)


def check_number(name: str, value: object) -> None:
    """Check a number, whole or not.

    Raises:
        TypeError: If the value has another type.
        ArgumentError: If it is NaN.
    """
    check_type(name, value, int | float, "a number")
    if math.isnan(cast("float", value)):
        raise ArgumentError(f"{name} must be a number, not {value}", value=value)


def check_seconds(name: str, value: object) -> None:
    """Check a time in seconds, 0 or more.

    Raises:
        TypeError: If the value has another type.
        ArgumentError: If it is negative or NaN.
    """
    check_number(name, value)
    if cast("float", value) < 0:
        raise ArgumentError(f"{name} is a time in seconds, 0 or more, not {value}", value=value)


def check_exit_code(name: str, value: object) -> None:
    """Check the exit code of a process.

    Raises:
        TypeError: If the value has another type.
        ArgumentError: If no process can end with it.
    """
    check_whole_number(name, value, minimum=0, maximum=_MAX_EXIT_CODE)


def check_port(value: object) -> None:
    """Check the number of a port.

    Raises:
        TypeError: If the value has another type.
        ArgumentError: If there is no such port.
    """
    check_type("a port", value, int, f"a whole number from 1 to {_MAX_PORT}")
    if not 1 <= cast("int", value) <= _MAX_PORT:
        raise ArgumentError(f"a port is a number from 1 to {_MAX_PORT}, not {value}", value=value)


def nearest_hint(name: str, known: Collection[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known one; empty if none is near."""
    lowered = {each.lower(): each for each in sorted(known)}
    near = difflib.get_close_matches(name.lower(), lowered, n=1)
    return f"; the nearest is {lowered[near[0]]!r}" if near else ""


def check_object(name: str, value: object, expected: str) -> None:
    """Check an object of the API.

    Raises:
        TypeError: If the value has another type.
    """
    check_type(name, value, Object, expected)

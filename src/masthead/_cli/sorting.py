"""The order of ``--sort-by``: by a value of each object, whatever its type. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.templates import JsonPathError, parse_path_argument
from masthead._meta.quantity import Quantity
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["sort_key", "sorted_by"]

T = TypeVar("T")

_DIGITS: Final = re.compile(r"(\d+)")


def sorted_by(path: str, things: Iterable[T], data_of: Callable[[T], object]) -> list[T]:
    """Sort by the value at a path; things without one come first.

    Args:
        path: The path, as JSONPath.
        things: The things to sort.
        data_of: Returns the plain data of one.

    Raises:
        CommandError: If the path is invalid.
    """
    try:
        parsed = parse_path_argument(path)
        return sorted(things, key=lambda thing: sort_key(next(iter(parsed.find(data_of(thing))), None)))
    except JsonPathError as error:
        raise CommandError(f"--sort-by: {error}", code=ExitCode.USAGE) from None


def sort_key(value: object) -> tuple[int, object]:
    """A key that orders values of any types: nothing, booleans, numbers and quantities, text with numbers in it."""
    if value is None:
        return 0, 0
    if isinstance(value, bool):
        return 1, value
    text = str(value)
    try:
        return 2, Quantity(text)
    except ArgumentError:
        # web-2 comes before web-10.
        return 3, [(int(part), "") if part.isdigit() else (0, part) for part in _DIGITS.split(text)]

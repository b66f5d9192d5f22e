"""Checks of the functions that callers pass in."""

from __future__ import annotations

import inspect

from masthead.errors import ArgumentError

__all__ = ["check_plain", "is_coroutine_function"]


def check_plain(what: str, function: object) -> None:
    """Refuse objects that cannot be called, and coroutine functions where nothing is awaited.

    Raises:
        ArgumentError: If it is neither a plain function nor a callable object.
    """
    if not callable(function):
        raise ArgumentError(f"{what} must be a function, and is of type {type(function).__name__}", value=function)
    if is_coroutine_function(function):
        raise ArgumentError(f"{what} must be a plain function: nothing awaits it", value=function)


def is_coroutine_function(function: object) -> bool:
    """Whether the result of a call must be awaited."""
    # An object with an async __call__ is no coroutine function itself.
    call = getattr(function, "__call__", None)  # noqa: B004 - its type is of interest
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)

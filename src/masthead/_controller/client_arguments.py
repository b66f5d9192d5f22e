"""Checks and arguments of user functions that take the client or nothing: sources and timers."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from masthead._controller.declarations import positional_count
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._client.client import Client

__all__ = ["check_client_argument", "client_arguments", "function_name"]


def check_client_argument(role: str, function: Callable[..., object]) -> None:
    """Check that a function can be called with the client, or without arguments.

    Raises:
        ArgumentError: If it requires more.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions written in C have none
        return
    try:
        signature.bind(*range(min(1, positional_count(function))))
    except TypeError as error:
        raise ArgumentError(
            f"the {role} {function_name(function)} cannot be called as {role}() or {role}(client): {error}",
            value=function,
        ) from None


def client_arguments(function: Callable[..., object], client: Client) -> tuple[Client, ...]:
    """Return the arguments for a function that takes the client or nothing."""
    return (client,) if positional_count(function) else ()


def function_name(function: object) -> str:
    """Return the name of a function for messages."""
    return str(getattr(function, "__qualname__", None) or repr(function))

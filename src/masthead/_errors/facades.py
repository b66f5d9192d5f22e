"""Clear errors for ``with`` where ``async with`` is meant, and the other way round.

Python's own error names neither the cause, which is the other façade, nor the remedy. Type checkers must not see these
methods: for them, such a statement is an error anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["AsyncOnly", "BlockingOnly"]


class AsyncOnly:
    """The base of a class of `masthead.aio` that is a context manager."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __enter__(self) -> None:
            """Raise an error.

            Raises:
                TypeError: Always.
            """
            name = type(self).__name__
            raise TypeError(f"this {name} is of masthead.aio: write `async with`; that of masthead blocks")

        def __exit__(self, *exc: object) -> None:
            """Never called; ``with`` asks for it before it calls `__enter__`."""


class BlockingOnly:
    """The base of a class of `masthead` whose namesake in `masthead.aio` is an async context manager."""

    __slots__ = ()

    if not TYPE_CHECKING:

        async def __aenter__(self) -> None:
            """Raise an error.

            Raises:
                TypeError: Always.
            """
            raise TypeError(f"this {type(self).__name__} blocks: write `with`, or use that of masthead.aio")

        async def __aexit__(self, *exc: object) -> None:
            """Never called; ``async with`` asks for it before it calls `__aenter__`."""

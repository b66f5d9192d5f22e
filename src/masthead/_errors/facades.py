"""Clear errors for ``with`` where ``async with`` is meant, and the other way round.

Python's own error names neither the cause, which is the other façade, nor the remedy. Classes assign it below ``if not
TYPE_CHECKING``, because for type checkers such a statement is an error anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ASYNC_ONLY", "BLOCKING_ONLY"]


class _WrongFacade:
    """A special method that raises an error.

    Args:
        advice: The rest of the message, behind the name of the class.
    """

    def __init__(self, advice: str) -> None:
        self._advice = advice

    # A descriptor, because `with` looks the method up on the class, and the message names it.
    def __get__(self, instance: object, owner: type) -> Callable[..., None]:
        def refuse(*_: object) -> None:
            raise TypeError(f"this {owner.__name__} {self._advice}")

        return refuse


ASYNC_ONLY: Final = _WrongFacade("is of masthead.aio: write `async with`; that of masthead blocks")
"""``__enter__`` and ``__exit__`` of a class of `masthead.aio`."""
BLOCKING_ONLY: Final = _WrongFacade("blocks: write `with`, or use that of masthead.aio")
"""``__aenter__`` and ``__aexit__`` of a class whose namesake in `masthead.aio` is an async context manager."""

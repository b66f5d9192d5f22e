"""Validation of large objects in a thread: see `masthead_server.resources.deferred_work`.

Patterns and rules may cost so much that they take a second. Small objects cannot make them cost that much, and are
nearly all that there is.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, cast

from masthead_server.resources.deferred_work import WorkNeeded

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from masthead._schema.errors import FieldError
    from masthead_server.resources.deferred_work import WorkResults

__all__ = ["ValidationNeeded", "is_large"]

_MANY_ITEMS: Final = 50
_MUCH_TEXT: Final = 10_000


class ValidationNeeded(WorkNeeded):
    """An object has to be validated in a thread first.

    Args:
        key: Identifies the object.
        evaluate: Returns the errors; any thread may call it.
    """

    def __init__(self, key: Hashable, evaluate: Callable[[], list[FieldError]]) -> None:
        super().__init__("an object is to be validated")
        self._key = key
        self._evaluate = evaluate

    async def perform(self, results: WorkResults) -> None:
        """Validate the object."""
        results.set(self._key, await asyncio.to_thread(self._evaluate))


def is_large(value: object) -> bool:
    """Tell whether an object has a list or map of many items anywhere, or much text in all."""
    waiting, text = [value], 0
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            text += len(each)
            if text > _MUCH_TEXT:
                return True
        elif isinstance(each, dict | list):
            inner = cast("list[object]", list(each.values()) if isinstance(each, dict) else each)
            if len(inner) > _MANY_ITEMS:
                return True
            waiting += inner
    return False

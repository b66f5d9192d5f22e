"""Rules of large objects, which a thread evaluates: see `masthead._server.resources.custom.deferred_work`.

Rules may cost so much that they take a second. Small objects cannot make them cost that much, and are nearly all that
there is.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, cast

from masthead._server.resources.custom.deferred_work import WorkNeeded

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from masthead._schema.errors import FieldError
    from masthead._server.resources.custom.deferred_work import WorkResults

__all__ = ["EvaluationNeeded", "is_large"]

_MANY_ITEMS: Final = 50
_LONG_TEXT: Final = 10_000


class EvaluationNeeded(WorkNeeded):
    """The rules of an object have to be evaluated in a thread first.

    Args:
        key: Identifies the evaluation.
        evaluate: Returns the errors; any thread may call it.
    """

    def __init__(self, key: Hashable, evaluate: Callable[[], list[FieldError]]) -> None:
        super().__init__("rules are to be evaluated")
        self._key = key
        self._evaluate = evaluate

    async def perform(self, results: WorkResults) -> None:
        """Evaluate the rules."""
        results.set(self._key, await asyncio.to_thread(self._evaluate))


def is_large(value: object) -> bool:
    """Tell whether an object has a list or map of many items, or a long text, anywhere."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            if len(each) > _LONG_TEXT:
                return True
        elif isinstance(each, dict | list):
            inner = cast("list[object]", list(each.values()) if isinstance(each, dict) else each)
            if len(inner) > _MANY_ITEMS:
                return True
            waiting += inner
    return False

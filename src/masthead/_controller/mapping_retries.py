"""Mappers that have raised are called again: later, and for all that they have missed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from masthead._controller.user_errors import RepeatedFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._controller.event_source import EnqueueHandler
    from masthead._meta.object import Object

__all__ = ["MappingRetries"]

_FIRST_RETRY: Final = 1.0
_LONGEST_RETRY: Final = 300.0
"""Seconds until a mapper that has raised is called again."""
_STATES: Final = 100
"""How many former states of an object are kept."""


class Retrier(Protocol):
    """Is called when a mapping has failed."""

    def __call__(self, source: EnqueueHandler, key: str, delay: float, error: Exception) -> None:
        """A mapper has raised for an object, and is called again after a delay."""
        ...


@dataclass(slots=True)
class _FailedMapping:
    """A mapper that has raised for an object.

    Attributes:
        source: Whose mapper.
        states: What the object was before its changes: whoever it led to must hear of them.
        failure: Its failures so far.
        timer: When it is called again.
    """

    source: EnqueueHandler
    states: list[Object] = field(default_factory=list["Object"])
    failure: RepeatedFailure = RepeatedFailure()  # noqa: RUF009 - immutable
    timer: asyncio.TimerHandle | None = None


class MappingRetries:
    """Remembers failed mappings, one for each object and source.

    Args:
        current: Returns an object as the cache has it; None if it is gone.
        on_failure: Is called when a mapper has raised.
    """

    def __init__(self, current: Callable[[EnqueueHandler, str], Object | None], on_failure: Retrier) -> None:
        self._current = current
        self._on_failure = on_failure
        self._failed: dict[tuple[int, str], _FailedMapping] = {}

    def add(self, source: EnqueueHandler, key: str, old: Object | None, error: Exception) -> None:
        """Call a mapper again later that has raised.

        Args:
            source: Whose mapper.
            key: The object.
            old: What the object was before the change; None if it was added.
            error: What was raised.
        """
        failed = self._failed.setdefault((id(source), key), _FailedMapping(source))
        if old is not None:
            failed.states.append(old)
            del failed.states[:-_STATES]
        # One is on its way, and will map this change as well.
        if failed.timer is None:
            self._schedule(failed, key, error)

    def is_due(self, by: float) -> bool:
        """Whether a mapper is called again by a time of the loop's clock."""
        return any(each.timer is not None and each.timer.when() <= by for each in self._failed.values())

    def failing(self) -> dict[str, RepeatedFailure]:
        """Return the mappers that are to be retried, with the object of each, and their failures."""
        return {
            f"mapper of {failed.source.resource.group_resource} {key}": failed.failure
            for (_, key), failed in self._failed.items()
        }

    def clear(self) -> None:
        """Call no mapper again."""
        for each in self._failed.values():
            if each.timer is not None:
                each.timer.cancel()
        self._failed.clear()

    def _schedule(self, failed: _FailedMapping, key: str, error: Exception) -> None:
        delay = min(_LONGEST_RETRY, _FIRST_RETRY * 2**failed.failure.times)
        failed.failure = failed.failure.followed_by(error)
        self._on_failure(failed.source, key, delay, error)
        failed.timer = asyncio.get_running_loop().call_later(delay, self._retry, key, failed)

    def _retry(self, key: str, failed: _FailedMapping) -> None:
        failed.timer = None
        found = self._current(failed.source, key)
        objects = failed.states if found is None else [*failed.states, found]
        try:
            failed.source.observe_again(key, objects)
        except Exception as error:  # noqa: BLE001 - a mapper is the user's
            self._schedule(failed, key, error)
            return
        self._failed.pop((id(failed.source), key), None)

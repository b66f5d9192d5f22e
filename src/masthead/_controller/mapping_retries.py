"""Retries of mappers that raised, for all states of an object that they missed."""

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
_MAX_RETRY: Final = 300.0
"""Maximum delay of a retry in seconds."""
_MAX_STATES: Final = 100
"""Number of old states per object."""


class Retrier(Protocol):
    """Called after an error of a mapper."""

    def __call__(self, source: EnqueueHandler, key: str, delay: float, error: Exception) -> None:
        """Handle the error of a mapper, which is retried after a delay."""
        ...


@dataclass(slots=True)
class _FailedMapping:
    """A mapper that raised for an object.

    Attributes:
        source: The handler with the mapper.
        states: Old states of the object, whose requests must be enqueued as well.
        failure: Its failures.
        timer: The timer of the next retry.
    """

    source: EnqueueHandler
    states: list[Object] = field(default_factory=list["Object"])
    failure: RepeatedFailure = RepeatedFailure()  # noqa: RUF009 - immutable
    timer: asyncio.TimerHandle | None = None


class MappingRetries:
    """Retries failed mappings, per object and handler.

    Args:
        current: Returns the cached object; None if it was deleted.
        on_failure: Called after every error of a mapper.
    """

    def __init__(self, current: Callable[[EnqueueHandler, str], Object | None], on_failure: Retrier) -> None:
        self._current = current
        self._on_failure = on_failure
        self._failed: dict[tuple[int, str], _FailedMapping] = {}

    def add(self, source: EnqueueHandler, key: str, old: Object | None, error: Exception) -> None:
        """Retry a mapper that raised.

        Args:
            source: The handler with the mapper.
            key: The key of the object.
            old: The object before the change; None if it was added.
            error: The error.
        """
        failed = self._failed.setdefault((id(source), key), _FailedMapping(source))
        if old is not None:
            failed.states.append(old)
            del failed.states[:-_MAX_STATES]
        # A retry that is scheduled already maps this change as well.
        if failed.timer is None:
            self._schedule(failed, key, error)

    def is_due(self, by: float) -> bool:
        """Whether a retry is due by a time of the loop's clock."""
        return any(failed.timer is not None and failed.timer.when() <= by for failed in self._failed.values())

    def failing(self) -> dict[str, RepeatedFailure]:
        """Return the failures of mappers that are to be retried, by mapper and object."""
        return {
            f"mapper of {failed.source.resource.group_resource} {key}": failed.failure
            for (_, key), failed in self._failed.items()
        }

    def clear(self) -> None:
        """Cancel all retries."""
        for failed in self._failed.values():
            if failed.timer is not None:
                failed.timer.cancel()
        self._failed.clear()

    def _schedule(self, failed: _FailedMapping, key: str, error: Exception) -> None:
        delay = min(_MAX_RETRY, _FIRST_RETRY * 2**failed.failure.times)
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

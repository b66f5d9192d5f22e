"""Watch-lists: a new state as the initial events of a watch, with a plain list as the fallback.

::

    watch with sendInitialEvents ──objects──> ... ──bookmark──> the new state, compared with a list if asked to
        └─ refused, or no such bookmark before the deadline ──> a plain list; remembered for the source

`masthead._sansio.listwatch` decides about the fallback. This module measures the deadline, and checks the result.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._cache.reflector.failure_reporter import describe_error
from masthead._cache.reflector.ingest import key_in
from masthead._client.list_by_watch import check_consistency
from masthead._client.listwatch import ListWatchOptions
from masthead._meta.object import Object
from masthead._sansio.listwatch_steps import INITIAL_EVENTS_TIMEOUT, Phase
from masthead.errors import DeadlineError, MastheadError

if TYPE_CHECKING:
    import asyncio

    from masthead._cache.reflector.event_intake import EventIntake
    from masthead._cache.reflector.foreign import Source
    from masthead._cache.reflector.ingest import Ingest
    from masthead._sansio.listwatch import ListWatchMachine
    from masthead.errors import DecodeError

__all__ = ["WatchListGuard", "compare_with_list"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")

_MAX_TIMER_LAG: Final = 0.1
"""A timer that fires later than this, in seconds, shows that our own event loop was blocked."""


class WatchListGuard(Generic[T]):
    """Limits the time until the next initial events of a watch.

    Args:
        machine: Knows whether initial events are expected.
        intake: Collects them.
    """

    def __init__(self, machine: ListWatchMachine, intake: EventIntake[T]) -> None:
        self._machine = machine
        self._intake = intake

    def set(self, timeout: asyncio.Timeout) -> None:
        """Set the deadline of the next initial events. After the last one, the client's read timeout applies."""
        is_initial = self._machine.phase is Phase.STREAMING
        due = self._intake.state.deadline(self._intake.clock()) if is_initial else None
        if due != timeout.when():
            timeout.reschedule(due)

    def expire(self, source: Source[T], due: float | None) -> DeadlineError:
        """Give up the watch-list at its deadline, and return the error that makes the machine list."""
        machine, intake = self._machine, self._intake
        if not machine.is_open:
            return DeadlineError(
                f"the server has not answered a watch of {source.resource} within {INITIAL_EVENTS_TIMEOUT:g} s"
            )
        # Objects without the bookmark prove that the server does not know sendInitialEvents. Without any object, the
        # connection may be dead; and if our loop was blocked, the bookmark may lie unread.
        is_late = due is not None and intake.clock() - due > _MAX_TIMER_LAG
        if intake.state.items and not is_late:
            source.disable_initial_events()
            machine.disable_initial_events()
        return DeadlineError(
            f"the server does not say where the initial {source.resource} end; they are listed instead"
        )


async def compare_with_list(
    source: Source[T], ingest: Ingest[T], intake: EventIntake[T], version: str, label: str
) -> None:
    """Compare the initial events with a plain list of their version, as client-go's detector does in its tests.

    Raises:
        InconsistentListError: If they differ. The caller discards them, and requests the state again.
    """
    broken: set[str] = set()

    def note_broken(error: DecodeError) -> None:
        broken.add(key_in(error.value) if isinstance(error.value, bytes) else "")

    options = ListWatchOptions(resource_version=version, resource_version_match="Exact")
    try:
        page = await source.list_page(options, note_broken)
    except MastheadError as error:
        # The version may have expired; the check is a diagnosis, and must not stop the informer.
        _log.warning("%s: the watch-list is not compared: %s", label, describe_error(error))
        return
    listed = {item.key: item.metadata.resource_version for item in page.items if ingest.selects(item)}
    unusable = broken | intake.state.broken.keys()
    check_consistency(
        source.resource,
        version,
        {key: revision for key, revision in intake.state.versions.items() if key not in unusable},
        {key: revision for key, revision in listed.items() if key not in unusable},
    )

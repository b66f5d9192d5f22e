"""The expiry of Events: some time after their last write, as with kube-apiserver's ``--event-ttl``."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectRef

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime, timedelta

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient

__all__ = ["EventExpiryController"]

_EVENTS: Final = "events"
_OLDEST: Final = ObjectRef(_EVENTS, "")
"""The only key of the queue: the Events that expire next."""
_BATCH: Final = 200
"""How many are removed before requests have their turn again."""


class EventExpiryController:
    """Removes expired Events, with or without finalizers, as etcd removes keys with a lease.

    All Events have the same lifetime, so that they expire in the order of their last writes, and one timer is enough.
    The lifetime of Events found at the start of the server begins then.

    Args:
        client: The cluster state, and its clock.
        ttl: The lifetime of an Event after its last write.
    """

    observes = frozenset({_EVENTS})

    def __init__(self, client: ObjectClient, ttl: timedelta) -> None:
        self._client = client
        self._ttl = ttl
        self._expiries: dict[ObjectRef, datetime] = {}
        """When each Event expires, in order."""

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Record the expiry of a written Event; start the timer if none runs."""
        is_first = not self._expiries
        # Moved to the end: a write starts the lifetime again.
        self._expiries.pop(write.ref, None)
        if write.record.is_deleted:
            return ()
        self._expiries[write.ref] = self._client.cluster.clock.now() + self._ttl
        return (_OLDEST,) if is_first else ()

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Remove the Events that have expired; return the seconds until the next one does.

        Raises:
            JournalError: A removal could not be stored.
        """
        del ref
        now = self._client.cluster.clock.now()
        for event_ref, expiry in list(islice(self._expiries.items(), _BATCH)):
            if expiry > now:
                return (expiry - now).total_seconds()
            self._remove(event_ref)
        # A full batch leaves the rest for the next turn of the loop.
        return 0.0 if self._expiries else None

    def _remove(self, ref: ObjectRef) -> None:
        cluster = self._client.cluster
        record, served = cluster.storage.table(_EVENTS).get(ref.key), self._client.served(_EVENTS)
        if record is not None and served is not None:
            cluster.remove(served, ref.key, served.load(record))
        self._expiries.pop(ref, None)

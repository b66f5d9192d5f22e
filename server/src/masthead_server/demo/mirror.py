"""The mirror: informers that cache the cluster's objects, and handlers that keep what they are notified of."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import masthead

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from masthead.api.apps.v1 import Deployment
    from masthead.api.core.v1 import Pod
    from masthead_server.demo.lag import LagMeter

T = TypeVar("T", bound=masthead.Object)

_STALL_AFTER: Final = 1.5
"""Seconds without a byte after which a watch is opened again; this server sends bookmarks more often than that."""
_WITHIN: Final = 60.0


class EventReporter(masthead.EventHandler[T]):
    """An event handler that logs its events, and keeps the objects they describe.

    Its methods run in a thread of their own, one call at a time.

    Args:
        kind: The name of the kind in log lines.
        log: Writes a line.
        lag: Notes when notifications arrive.
    """

    def __init__(self, kind: str, log: Callable[[str], None], lag: LagMeter) -> None:
        self._kind = kind
        self._log = log
        self._lag = lag
        self._changed = threading.Condition()
        self.objects: dict[str, T] = {}
        self.events = 0

    def on_add(self, obj: T, is_initial: bool) -> None:
        """An object was added, or existed already."""
        self._log(f"{'=' if is_initial else '+'} {self._kind} {obj.metadata.name}")
        self._note(obj.key, obj)

    def on_update(self, old: T, new: T) -> None:
        """An object changed."""
        del old
        self._log(f"~ {self._kind} {new.metadata.name}")
        self._note(new.key, new)

    def on_delete(self, obj: T, final_state_known: bool) -> None:
        """An object was deleted, perhaps while the watch was broken."""
        missed = "" if final_state_known else " (while the connection was broken)"
        self._log(f"- {self._kind} {obj.metadata.name}{missed}")
        self._note(obj.key, None)

    def wait_for_event(self, obj: T) -> None:
        """Wait until a version of an object, or a later one, has been delivered."""
        with self._changed:
            self._changed.wait_for(lambda: self._has(obj), _WITHIN)

    def _has(self, obj: T) -> bool:
        found = self.objects.get(obj.key)
        # Resource versions are numbers on this server, and grow.
        return found is not None and int(found.metadata.resource_version or 0) >= int(
            obj.metadata.resource_version or 0
        )

    def _note(self, key: str, obj: T | None) -> None:
        with self._changed:
            self.events += 1
            if obj is None:
                del self.objects[key]
            else:
                self._lag.saw(obj)
                self.objects[key] = obj
            self._changed.notify_all()


class MirroredResource(Generic[T]):
    """One resource of the mirror: its informer, and its event handler."""

    def __init__(self, informer: masthead.SharedInformer[T], reporter: EventReporter[T]) -> None:
        self.informer = informer
        self.reporter = reporter
        informer.add_event_handler(reporter)

    def cached(self) -> dict[str, T]:
        """The cached objects by key; read from memory."""
        return {obj.key: obj for obj in self.informer.indexer.list()}

    def catch_up(self, last: T) -> None:
        """Wait until the cache has an object that was just written, and the handler its event."""
        with contextlib.suppress(masthead.DeadlineError):  # the comparison reports missing objects
            self.informer.wait_for_version(last, timeout=_WITHIN)
        self.reporter.wait_for_event(last)


class ClusterMirror:
    """Caches of the cluster's pods and deployments.

    Args:
        client: The client of the cluster.
        log: Writes a line.
        lag: Notes when notifications arrive.
    """

    def __init__(self, client: masthead.Client, log: Callable[[str], None], lag: LagMeter) -> None:
        self._factory = masthead.SharedInformerFactory(client, namespace="default", stall_after=_STALL_AFTER)
        pods: EventReporter[Pod] = EventReporter("pod", log, lag)
        deployments: EventReporter[Deployment] = EventReporter("deployment", log, lag)
        self.pods = MirroredResource(self._factory.core_v1.pods.informer, pods)
        self.deployments = MirroredResource(self._factory.apps_v1.deployments.informer, deployments)
        self.pods.informer.add_indexers({"node": _nodes_of, "owner": _owners_of})

    def __enter__(self) -> Self:
        """Start the informers, and wait until they are synced."""
        self._factory.start()
        self._factory.wait_for_cache_sync(timeout=_WITHIN)
        return self

    def __exit__(self, *exc: object) -> None:
        self._factory.stop()

    @property
    def events(self) -> int:
        """The number of events that the handlers have received."""
        return self.pods.reporter.events + self.deployments.reporter.events

    @property
    def objects(self) -> int:
        """The number of cached objects."""
        return len(self.pods.cached()) + len(self.deployments.cached())

    @property
    def is_healthy(self) -> bool:
        """Whether all watches are open."""
        return self.pods.informer.health.is_healthy and self.deployments.informer.health.is_healthy

    def pods_by(self, index: str) -> dict[str, int]:
        """The number of pods by node or by owner: an index, read from memory."""
        indexer = self.pods.informer.indexer
        return {value: len(indexer.by_index(index, value)) for value in sorted(indexer.list_index_values(index))}


def _nodes_of(pod: Pod) -> list[str]:
    return [pod.spec.node_name or "none"]


def _owners_of(pod: Pod) -> list[str]:
    return [owner_reference.name for owner_reference in pod.metadata.owner_references if owner_reference.controller]

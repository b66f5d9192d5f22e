"""The mirror: informers that cache the cluster's objects, and handlers that keep what they are notified of."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import masthead
from masthead_server.demo.cluster import NAMESPACE, SILENCED
from masthead_server.demo.comparison import differences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Self

    from masthead.api.core.v1 import Pod
    from masthead.cache import InformerHealth
    from masthead_server.demo.lag import LagMeter
    from masthead_server.demo.observation import Listing

T = TypeVar("T", bound=masthead.Object)

_STALL_AFTER: Final = 1.5
"""Seconds without a byte after which a watch is opened again; this server sends bookmarks more often than that."""
_WITHIN: Final = 60.0


class EventReporter(masthead.EventHandler[T]):
    """An event handler that counts its events, and keeps the objects they describe.

    Its methods run in a thread of their own, one call at a time.

    Args:
        lag: Notes when notifications arrive; None for resources whose lag is not measured.
    """

    def __init__(self, lag: LagMeter | None = None) -> None:
        self._lag = lag
        self._lock = threading.Lock()
        self._objects: dict[str, T] = {}
        self.events = 0

    def on_add(self, obj: T, is_initial: bool) -> None:
        """An object was added, or existed already."""
        del is_initial
        self._note(obj)

    def on_update(self, old: T, new: T) -> None:
        """An object changed."""
        del old
        self._note(new)

    def on_delete(self, obj: T, final_state_known: bool) -> None:
        """An object was deleted, perhaps while the connection was broken."""
        del final_state_known
        # An unknown key is an error of the informer, and raises.
        with self._lock:
            self.events += 1
            del self._objects[obj.key]

    @property
    def objects(self) -> dict[str, T]:
        """A copy of the objects as the events describe them."""
        with self._lock:
            return dict(self._objects)

    def _note(self, obj: T) -> None:
        with self._lock:
            self.events += 1
            self._objects[obj.key] = obj
        if self._lag is not None:
            self._lag.saw(int(obj.metadata.resource_version or 0), time.monotonic())


class MirroredResource(Generic[T]):
    """One resource of the mirror: its informer, and its event handler."""

    def __init__(self, informer: masthead.SharedInformer[T], reporter: EventReporter[T]) -> None:
        self.informer = informer
        self.reporter = reporter
        informer.add_event_handler(reporter)

    def cached(self) -> dict[str, T]:
        """The cached objects by key; read from memory."""
        return {obj.key: obj for obj in self.informer.indexer.list()}

    def compare(self, name: str, listed: Iterable[T]) -> Iterator[str]:
        """What differs between the server and the mirror: its cache, and its handler's events."""
        server = {obj.key: obj for obj in listed}
        yield from differences(f"the cache of {name}", self.cached(), server)
        yield from differences(f"the events of the handler of {name}", self.reporter.objects, server)


class ClusterMirror:
    """Caches of the cluster's pods, Deployments, nodes and disruption budgets.

    Args:
        client: The client of the cluster.
        lag: Notes when pods' notifications arrive.
    """

    def __init__(self, client: masthead.Client, lag: LagMeter) -> None:
        self._factory = masthead.SharedInformerFactory(client, namespace=NAMESPACE, stall_after=_STALL_AFTER)
        self.pods = MirroredResource(self._factory.core_v1.pods.informer, EventReporter(lag))
        self.deployments = MirroredResource(self._factory.apps_v1.deployments.informer, EventReporter())
        self.nodes = MirroredResource(self._factory.core_v1.nodes.informer, EventReporter())
        self.budgets = MirroredResource(self._factory.policy_v1.pod_disruption_budgets.informer, EventReporter())
        self.pods.informer.add_indexers({"node": _nodes_of})
        self._resources: dict[str, MirroredResource[Any]] = {
            SILENCED: self.pods,
            "deployments": self.deployments,
            "nodes": self.nodes,
            "poddisruptionbudgets": self.budgets,
        }

    def __enter__(self) -> Self:
        """Start the informers, and wait until they are synced."""
        # Handlers included: the first comparison covers what they were notified of.
        self._factory.start()
        self._factory.wait_for_cache_sync(timeout=_WITHIN, handlers=True)
        return self

    def __exit__(self, *exc: object) -> None:
        self._factory.stop()

    @property
    def events(self) -> int:
        """The number of events that the handlers have received."""
        return sum(resource.reporter.events for resource in self._resources.values())

    @property
    def health(self) -> Mapping[str, InformerHealth]:
        """The health of each informer, by the plural of its resource."""
        return {name: resource.informer.health for name, resource in self._resources.items()}

    def versions(self) -> dict[str, str]:
        """The version of each cached object, by resource and key."""
        return versions_of({name: resource.cached().values() for name, resource in self._resources.items()})

    def compare(self, listing: Listing) -> list[str]:
        """What differs between the mirror and the objects that the server listed, field by field."""
        listed = listing.by_resource()
        return [line for name, resource in self._resources.items() for line in resource.compare(name, listed[name])]

    def pods_on(self, node: str) -> int:
        """The number of pods on a node: an index, read from memory."""
        return len(self.pods.informer.indexer.by_index("node", node))


def versions_of(objects: Mapping[str, Iterable[masthead.Object]]) -> dict[str, str]:
    """The version of each object, by resource and key."""
    return {
        f"{resource} {obj.key}": obj.metadata.resource_version or ""
        for resource, found in objects.items()
        for obj in found
    }


def _nodes_of(pod: Pod) -> list[str]:
    return [pod.spec.node_name or "none"]

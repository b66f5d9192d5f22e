"""The mirror: informers that keep a copy of the cluster, and handlers that hear of every change."""

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

T = TypeVar("T", bound=masthead.Object)

_STALL_AFTER: Final = 1.5
"""Seconds without a byte after which a watch is opened again; this server sends bookmarks more often than that."""
_WITHIN: Final = 60.0


class Reporter(masthead.EventHandler[T]):
    """A handler: says what it hears, and keeps what it has heard.

    Its methods run in a thread of their own, one call at a time.

    Args:
        kind: What the objects are called.
        describe: What is worth telling of one.
        say: Prints a line.
    """

    def __init__(self, kind: str, describe: Callable[[T], str], say: Callable[[str], None]) -> None:
        self._kind = kind
        self._describe = describe
        self._say = say
        self._moved = threading.Condition()
        self.heard: dict[str, T] = {}
        self.events = 0

    def on_add(self, obj: T, is_initial: bool) -> None:
        """An object came, or was there already."""
        self._say(f"{'=' if is_initial else '+'} {self._kind} {obj.metadata.name}: {self._describe(obj)}")
        self._note(obj.key, obj)

    def on_update(self, old: T, new: T) -> None:
        """An object changed."""
        self._say(f"~ {self._kind} {new.metadata.name}: {self._describe(old)} -> {self._describe(new)}")
        self._note(new.key, new)

    def on_delete(self, obj: T, final_state_known: bool) -> None:
        """An object is gone; perhaps while nobody was looking."""
        missed = "" if final_state_known else " (while the connection was broken)"
        self._say(f"- {self._kind} {obj.metadata.name}{missed}")
        self._note(obj.key, None)

    def on_error(self, error: Exception) -> None:
        """A list or watch failed. There is nothing to do: the informer tries again by itself."""
        self._say(f"! {self._kind}s: {error}")

    def wait_to_hear_of(self, key: str) -> None:
        """Wait until an object that is there has been told."""
        with self._moved:
            self._moved.wait_for(lambda: key in self.heard, _WITHIN)

    def _note(self, key: str, obj: T | None) -> None:
        with self._moved:
            self.events += 1
            if obj is None:
                del self.heard[key]
            else:
                self.heard[key] = obj
            self._moved.notify_all()


class Mirrored(Generic[T]):
    """One kind of the mirror: its informer, and the handler that reports on it."""

    def __init__(self, informer: masthead.SharedInformer[T], reporter: Reporter[T]) -> None:
        self.informer = informer
        self.reporter = reporter
        informer.add_event_handler(reporter)
        informer.set_watch_error_handler(reporter.on_error)

    def cached(self) -> dict[str, T]:
        """What the cache has, by key; read from memory."""
        return {obj.key: obj for obj in self.informer.lister.list()}

    def catch_up(self, last: T) -> None:
        """Wait until the cache has something that was just written, and the handler has heard of it."""
        with contextlib.suppress(masthead.DeadlineError):  # what is missing then, the comparison will tell
            self.informer.wait_for(last, timeout=_WITHIN)
        self.reporter.wait_to_hear_of(last.key)


class Mirror:
    """A copy of the cluster's pods and deployments.

    Args:
        client: Whose cluster.
        say: Prints a line.
    """

    def __init__(self, client: masthead.Client, say: Callable[[str], None]) -> None:
        self._factory = masthead.SharedInformerFactory(client, stall_after=_STALL_AFTER)
        pods: Reporter[Pod] = Reporter("pod", _pod_in_words, say)
        deployments: Reporter[Deployment] = Reporter("deployment", _deployment_in_words, say)
        self.pods = Mirrored(self._factory.core_v1.pods.informer, pods)
        self.deployments = Mirrored(self._factory.apps_v1.deployments.informer, deployments)
        self.pods.informer.add_indexers({"node": lambda pod: [pod.spec.node_name or "none"]})

    def __enter__(self) -> Self:
        """Start, and wait until everything is there."""
        self._factory.start()
        self._factory.wait_for_cache_sync(timeout=_WITHIN)
        return self

    def __exit__(self, *exc: object) -> None:
        self._factory.shutdown()

    @property
    def events(self) -> int:
        """How many changes the handlers have heard of."""
        return self.pods.reporter.events + self.deployments.reporter.events

    def pods_by_node(self) -> dict[str, int]:
        """How many pods each node has: an index, read from memory."""
        indexer = self.pods.informer.indexer
        return {
            node: len(indexer.by_index("node", node)) for node in sorted(indexer.list_index_values("node"))
        }


def _pod_in_words(pod: Pod) -> str:
    phase = "Terminating" if pod.metadata.deletion_timestamp else pod.status.phase
    return f"{phase} on {pod.spec.node_name}"


def _deployment_in_words(deployment: Deployment) -> str:
    return f"replicas={deployment.spec.replicas}"

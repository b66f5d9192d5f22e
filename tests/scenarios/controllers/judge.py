"""Watches every reconcile: never two of one key at once, never with a cache that is behind the operator's own
writes."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from masthead.testing.virtual_time import now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.aio import ReconcileContext, SharedInformer
    from masthead.meta import Object

_MOST: Final = 20


class Judge:
    """Notes what is wrong.

    Attributes:
        problems: What was wrong.
        reconciles: How often each key was reconciled, by controller and key.
        seen: The newest version of each resource's cache at the beginning of a reconcile, by controller and key.
        paused: The clients of replicas that are paused, or were during a reconcile.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.reconciles: Counter[tuple[str, str]] = Counter()
        self.seen: dict[tuple[str, str], dict[str, int]] = {}
        self.paused: set[int] = set()
        self._active: dict[tuple[str, str], int] = {}
        self._written: dict[tuple[int, str, str], dict[tuple[str, str, str], int]] = {}
        self._deleted: dict[tuple[int, str, str], set[tuple[str, str, str]]] = {}

    @contextlib.contextmanager
    def reconciling(self, controller: str, ctx: ReconcileContext[Any]) -> Iterator[None]:
        """Watch one reconcile."""
        process = id(ctx.client.rest)
        key = controller, ctx.request.key
        # Only work that was under way when its process was suspended may go on without the lease.
        if (other := self._active.get(key)) is not None and other not in self.paused | {process}:
            self._complain(f"{controller} reconciles {ctx.request} twice at once")
        if other == process:
            self._complain(f"{controller} reconciles {ctx.request} twice at once in one process")
        self._active[key] = process
        self.reconciles[key] += 1
        self._check_own_writes(process, controller, ctx)
        seen = self.seen.setdefault(key, {})
        for resource, informer in _informers(ctx):
            seen[resource] = max(seen.get(resource, 0), int(informer.last_sync_resource_version or 0))
        try:
            yield
        finally:
            if self._active.get(key) == process:
                del self._active[key]

    def wrote(self, controller: str, ctx: ReconcileContext[Any], resource: str, obj: Object | None) -> None:
        """Note an object as the server has returned it after a write."""
        if obj is None or not obj.metadata.resource_version:
            return
        place = id(ctx.client.rest), controller, ctx.request.key
        written = self._written.setdefault(place, {})
        version = int(obj.metadata.resource_version)
        identity = resource, obj.key, obj.metadata.uid
        written[identity] = max(written.get(identity, 0), version)

    def deleted(self, controller: str, ctx: ReconcileContext[Any], resource: str, obj: Object) -> None:
        """Note that an object was deleted."""
        place = id(ctx.client.rest), controller, ctx.request.key
        self._deleted.setdefault(place, set()).add((resource, obj.key, obj.metadata.uid))

    def was_deleted(self, uid: str) -> bool:
        """Whether a reconcile has deleted an object: a list after that does not show what others wrote to it before."""
        return any(each == uid for places in self._deleted.values() for _, _, each in places)

    def _check_own_writes(self, process: int, controller: str, ctx: ReconcileContext[Any]) -> None:
        written = self._written.get((process, controller, ctx.request.key), {})
        for (resource, key, uid), version in written.items():
            for held, informer in _informers(ctx):
                if held != resource:
                    continue
                obj = informer.indexer.get_by_key(key)
                store = int(informer.last_sync_resource_version or 0)
                is_new = obj is not None and int(obj.metadata.resource_version) >= version
                if not is_new and store < version:
                    has = "nothing" if obj is None else obj.metadata.resource_version
                    self._complain(
                        f"{controller} reconciles {ctx.request} with {resource} {key} ({uid[:4]}) at {has}, though it "
                        f"written {version}; the cache is at {store}"
                    )

        for resource, key, uid in self._deleted.get((process, controller, ctx.request.key), ()):
            for held, informer in _informers(ctx):
                obj = informer.indexer.get_by_key(key) if held == resource else None
                if obj is not None and obj.metadata.uid == uid:
                    self._complain(f"{controller} reconciles {ctx.request} with {resource} {key}, which it has deleted")

    def _complain(self, problem: str) -> None:
        if len(self.problems) < _MOST:
            self.problems.append(f"at {now():.3f}: {problem}")


def _informers(ctx: ReconcileContext[Any]) -> Iterator[tuple[str, SharedInformer[Any]]]:
    for resource, informers in ctx.cache._by_resource.items():
        for informer in informers:
            yield resource, informer

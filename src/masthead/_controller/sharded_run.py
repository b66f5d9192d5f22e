"""Runs controllers on the share of one replica: drains lost objects, and adopts gained ones.

::

    ShardMember ──a share──> start nothing outside of it ─> wait for reconciles outside ─> caches select it ─>
    acknowledge
                                            gained objects: wait for all caches to catch up ─> queue <────────┘
    ShardMember ──lost────> cancel everything
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from masthead._controller.cache_reader import informer_of
from masthead._controller.catch_up import CatchUp
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence

    from masthead._cache.factory.factory import SharedInformerFactory
    from masthead._cache.informer.informer import SharedInformer
    from masthead._controller.controller import Controller
    from masthead._controller.reconcile_loop import ReconcileLoop
    from masthead._controller.shard_member import ShardMember
    from masthead._meta.object import Object
    from masthead._sansio.sharding import ShardKey, ShardSet

__all__ = ["ShardedRun", "sharded_informers"]


class ShardedRun:
    """Runs the controllers of a replica on its share.

    Args:
        member: The membership.
        informers: The caches that contain only the share.
        loops: Returns the running controllers.
        run_controllers: Runs the controllers until cancelled.
    """

    def __init__(
        self,
        member: ShardMember,
        informers: Sequence[SharedInformer[Any]],
        loops: Callable[[], Iterable[ReconcileLoop]],
        run_controllers: Callable[[], Coroutine[object, None, None]],
    ) -> None:
        self.member = member
        self._informers = informers
        self._loops = loops
        self._run_controllers = run_controllers
        self._term: asyncio.Task[None] | None = None
        self._adoption: asyncio.Task[None] | None = None
        self._ready = member.share
        """The part of the share for which the caches have caught up."""

    async def prepare(self) -> None:
        """Keep the caches empty until the first share."""
        for informer in self._informers:
            await informer.select_shards(self.member.share)

    async def run(self) -> None:
        """Be a member of the group, and run the controllers with every share, until cancelled.

        Raises:
            ClosedError: If the client is closed.
        """
        await self.member.run(self._change, self._lose)

    async def wait_ended(self) -> None:
        """Wait for the controllers to end, if they run."""
        if self._term is not None:
            await asyncio.wait({self._term})

    @property
    def is_adopting(self) -> bool:
        """Whether gained objects wait for the caches to catch up."""
        return self._adoption is not None and not self._adoption.done()

    def owns(self, obj: Object) -> bool:
        """Whether this replica may work on an object now."""
        return self.member.owns(obj) and self._ready.owns_object(obj)

    def owned(self, uid: str, namespace: str) -> bool:
        """Whether this replica may reconcile the deletion of an object."""
        share = self.member.share
        return bool(len(share)) and share.ranges.selects_metadata(uid, namespace)

    async def _change(self, share: ShardSet) -> None:
        """Change to a new share."""
        # The loops ask `owns` before every reconcile, and it follows the new share already.
        await self._stop_adopting()
        # Lost objects immediately, gained objects only after the caches have caught up.
        self._ready = self._ready & share
        await asyncio.gather(*(loop.requests.wait_released() for loop in self._loops()))
        for informer in self._informers:
            await informer.select_shards(share)
        create_task = asyncio.get_running_loop().create_task
        if self._term is None:
            # The controllers wait for their caches before they start.
            self._ready = share
            self._term = create_task(self._run_controllers())
        elif len(share - self._ready):
            # In a task, because other replicas wait for the slots that this replica has lost.
            self._adoption = create_task(self._adopt(share))

    async def _adopt(self, share: ShardSet) -> None:
        """Enqueue gained objects, once the caches show the writes of their last owner."""
        catch_up = CatchUp()
        with contextlib.suppress(ClosedError):  # the manager stops
            for loop in list(self._loops()):
                for informer in loop.informers:
                    await informer.wait_for_cache_sync()
                    await catch_up.wait(informer)
            gained, self._ready = share - self._ready, share
            # Events that arrived earlier were dropped, because these objects were not in the share yet.
            for loop in self._loops():
                loop.enqueue_gained(gained)

    async def _stop_adopting(self) -> None:
        adoption, self._adoption = self._adoption, None
        if adoption is not None:
            adoption.cancel()
            await asyncio.wait({adoption})

    async def _lose(self) -> None:
        """Cancel the controllers.

        Raises:
            WorkAbandonedError: If cancelled work does not end.
        """
        await self._stop_adopting()
        term, self._term = self._term, None
        self._ready = self.member.share
        if term is not None:
            term.cancel()
            await asyncio.wait({term})
            if not term.cancelled():
                term.result()


def sharded_informers(
    controllers: Sequence[Controller[Any]], factory: SharedInformerFactory, by: ShardKey
) -> list[SharedInformer[Any]]:
    """Return the caches that need only the share of a replica.

    By UID, these are the caches of reconciled objects, unless another controller needs all objects. By namespace, the
    caches of owned objects are included, because owned objects are in the namespace of their owner. Caches of
    reconciled objects come last, so that owned objects are cached before their owner is reconciled.
    """
    found: dict[int, SharedInformer[Any]] = {}
    reconciled: set[int] = set()
    needed_whole: set[int] = set()
    for controller in controllers:
        is_namespaced = _is_namespaced(controller)
        for spec in controller.specs:
            informer = informer_of(factory, spec)
            is_partial = spec.role == "for" or (spec.role == "owns" and by == "namespace" and is_namespaced)
            if spec.role == "for":
                reconciled.add(id(informer))
            # One informer may be partial for one controller and needed as a whole by another.
            if is_partial:
                found[id(informer)] = informer
            else:
                needed_whole.add(id(informer))
    ordered = sorted(found, key=reconciled.__contains__)
    return [found[key] for key in ordered if key not in needed_whole]


def _is_namespaced(controller: Controller[Any]) -> bool:
    kind = controller.primary.kind
    return isinstance(kind, type) and kind.RESOURCE is not None and bool(kind.RESOURCE.namespaced)

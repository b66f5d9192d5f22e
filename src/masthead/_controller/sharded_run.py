"""Runs controllers on the share of one replica: drains what it loses, and fills the caches with what it gains.

::

    ShardMember ──a share──> stop beginning what is not in it ─> wait for what is in flight ─> caches select it ─> acknowledge
                                                   what is gained: wait until all caches have caught up ─> queue <─┘
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
    """The controllers of a replica that shares the objects with others.

    Args:
        member: The membership.
        informers: The caches that hold only the share.
        loops: Returns the running controllers.
        run_controllers: Runs them, until cancelled.
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
        """The part of the share that the caches are current for."""

    async def prepare(self) -> None:
        """Have the caches hold nothing before the first share."""
        for informer in self._informers:
            await informer.select_shards(self.member.share)

    async def run(self) -> None:
        """Be a member of the group, and run the controllers with each share, until cancelled.

        Raises:
            ClosedError: If the client is closed.
        """
        await self.member.run(self._change, self._lose)

    async def wait_ended(self) -> None:
        """Wait until the controllers have ended by themselves, if they run."""
        if self._term is not None:
            await asyncio.wait({self._term})

    @property
    def is_adopting(self) -> bool:
        """Whether it waits for its caches before it works on what its share has gained."""
        return self._adoption is not None and not self._adoption.done()

    def owns(self, obj: Object) -> bool:
        """Whether this replica may work on an object now."""
        return self.member.owns(obj) and self._ready.owns_object(obj)

    def owned(self, uid: str, namespace: str) -> bool:
        """Whether this replica may work on what an object has left behind that is gone."""
        share = self.member.share
        return bool(len(share)) and share.ranges.selects_metadata(uid, namespace)

    async def _change(self, share: ShardSet) -> None:
        """Work on a share from now on, and on nothing else."""
        # The loops ask `owns` before they begin anything, which follows the share already.
        await self._stop_adopting()
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
            # Not here: others wait for the slots that this replica has lost.
            self._adoption = create_task(self._adopt(share))

    async def _adopt(self, share: ShardSet) -> None:
        """Work on what a share has gained, once the caches show what its last owner has written."""
        catch_up = CatchUp()
        with contextlib.suppress(ClosedError):  # the manager stops
            for loop in list(self._loops()):
                for informer in loop.informers:
                    await informer.wait_for_cache_sync()
                    await catch_up.wait(informer)
            gained, self._ready = share - self._ready, share
            # What the caches have delivered meanwhile was dropped, because it was not to be worked on yet.
            for loop in self._loops():
                loop.enqueue_gained(gained)

    async def _stop_adopting(self) -> None:
        adoption, self._adoption = self._adoption, None
        if adoption is not None:
            adoption.cancel()
            await asyncio.wait({adoption})

    async def _lose(self) -> None:
        """End everything at once.

        Raises:
            WorkAbandonedError: If something goes on nonetheless.
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
    """The caches that need to hold only the share of a replica.

    By uid, those of the reconciled objects, unless another controller needs all of them. By namespace, those of owned
    objects as well, which are in the namespace of their owner. Those of the reconciled objects come last: when an object is
    reconciled, what it owns is there.
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
            if is_partial:
                found[id(informer)] = informer
            else:
                needed_whole.add(id(informer))
    ordered = sorted(found, key=reconciled.__contains__)
    return [found[key] for key in ordered if key not in needed_whole]


def _is_namespaced(controller: Controller[Any]) -> bool:
    kind = controller.primary.kind
    return isinstance(kind, type) and kind.RESOURCE is not None and bool(kind.RESOURCE.namespaced)

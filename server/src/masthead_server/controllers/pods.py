"""The pod controller: removes pods when their grace period is over, as the kubelet does."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from masthead_server.controllers.objects import is_marked, uid_of
from masthead_server.wire.plain import is_being_deleted, metadata, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient, ObjectRef

__all__ = ["PodController"]


class PodController:
    """Deletes pods for good at their deletionTimestamp, or when that is brought forward."""

    observes = frozenset({"pods"})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self.has_kubelet: bool = False
        """Whether a kubelet ends pods, which then is the one to remove them."""

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile pods in deletion, and once more after their removal, which ends their delay."""
        return (write.ref,) if not self.has_kubelet and is_marked(write.record) else ()

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Delete a pod at the end of its grace period; before that, return the rest of the period.

        Raises:
            JournalError: The deletion could not be stored.
        """
        pod = self._client.load(ref)
        if pod is None or not is_being_deleted(pod) or not metadata(pod).get("deletionGracePeriodSeconds"):
            return None
        until = datetime.fromisoformat(text(metadata(pod), "deletionTimestamp"))
        left = (until - self._client.cluster.clock.now()).total_seconds()
        if left > 0:
            return left
        # With its uid, so that a new pod of the same name is not deleted instead.
        await self._client.delete(ref, uid_of(pod), grace=0)
        return None

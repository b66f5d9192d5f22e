"""The deletion controller: completes deletions whose last step could not be stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import is_marked
from masthead_server.wire.plain import Plain, has_finalizers, is_being_deleted, metadata

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient, ObjectRef

__all__ = ["DeletionController"]

_NAMESPACES: Final = "namespaces"


class DeletionController:
    """Removes objects that are marked for deletion and that nothing holds back.

    A deletion stores its mark and removes the object in two writes. If the second could not be stored, the
    object stays behind: kube-apiserver has its storage's transactions for that.
    """

    observes = None

    def __init__(self, client: ObjectClient) -> None:
        self._client = client

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile objects that are marked for deletion, but for namespaces, which have a controller."""
        is_due = not write.record.is_deleted and is_marked(write.record) and write.ref.table != _NAMESPACES
        return (write.ref,) if is_due else ()

    async def reconcile(self, ref: ObjectRef) -> None:
        """Remove an object that only its mark is left of.

        Raises:
            JournalError: The removal could not be stored.
        """
        found = self._client.load(ref)
        if found is not None and is_being_deleted(found) and _nothing_holds(found):
            await self._client.update(ref, _keep_object)  # any write lets it go


def _nothing_holds(found: Plain) -> bool:
    return not has_finalizers(found) and not metadata(found).get("deletionGracePeriodSeconds")


def _keep_object(found: Plain) -> None:
    """Change nothing."""

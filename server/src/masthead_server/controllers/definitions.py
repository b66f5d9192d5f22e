"""The controller of CustomResourceDefinitions.

kube-apiserver runs it itself, and so it always runs. What it does is imported with the first definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.custom.installer import DEFINITIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.definition_reconciler import DefinitionReconciler
    from masthead_server.controllers.objects import ObjectClient, ObjectRef

__all__ = ["DefinitionController"]


class DefinitionController:
    """Sets the conditions of definitions, and deletes the custom resources of definitions in deletion."""

    observes = None

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._reconciler: DefinitionReconciler | None = None

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a written definition, and a definition in deletion after each removal of a custom resource."""
        if self._reconciler is None:
            if write.ref.table != DEFINITIONS:
                return ()
            from masthead_server.controllers.definition_reconciler import DefinitionReconciler

            self._reconciler = DefinitionReconciler(self._client)
        return self._reconciler.observe(write)

    async def reconcile(self, ref: ObjectRef) -> None:
        """Set the next condition of a definition, or delete the next of its objects.

        Raises:
            JournalError: A change could not be stored.
        """
        if self._reconciler is not None:
            await self._reconciler.reconcile(ref)

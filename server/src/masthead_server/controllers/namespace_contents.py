"""The controllers that put into every namespace what each has: a service account, and the authority's certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectRef, is_marked
from masthead_server.field_managers.own_entries import CONTROLLER_MANAGER, own_entry
from masthead_server.wire.plain import is_being_deleted, metadata

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.wire.plain import Plain

__all__ = ["RootCAController", "ServiceAccountController"]

_NAMESPACES: Final = "namespaces"
_DESCRIPTION: Final = "kubernetes.io/description"
_USE_OF_AUTHORITY: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)
"""The annotation that clients see."""


class _EveryNamespace:
    """Keeps one object in every namespace that is not terminating.

    Args:
        client: Reads and writes objects.
        table: The table of the object.
        name: Its name.
    """

    def __init__(self, client: ObjectClient, table: str, name: str) -> None:
        self._client = client
        self._table = table
        self._name = name
        self.observes = frozenset({_NAMESPACES, table})

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile the object of a new namespace, and a changed or deleted object."""
        _, ref, record = write
        if ref.table == _NAMESPACES:
            is_active = not record.is_deleted and not is_marked(record)
            return (ObjectRef(self._table, f"{ref.key}/{self._name}"),) if is_active else ()
        return (ref,) if ref.key.endswith(f"/{self._name}") else ()

    async def reconcile(self, ref: ObjectRef) -> None:
        """Create the object where it is missing, and restore its content.

        Raises:
            JournalError: The object could not be stored.
        """
        namespace = self._client.load(ObjectRef(_NAMESPACES, ref.namespace))
        if namespace is None or is_being_deleted(namespace):
            return
        stored = self._client.load(ref)
        if stored is None:
            made = self._content()
            entries = self._entries(made)
            if entries:
                metadata(made)["managedFields"] = entries
            await self._client.create(ref.table, ref.namespace, made, is_tracked=False)
        elif self._has_drifted(stored):
            await self._client.update(ref, lambda found: found.update(self._content(), metadata=found["metadata"]))

    def _content(self) -> Plain:
        """The object, with the metadata that it is created with."""
        return {"metadata": {"name": self._name}}

    def _entries(self, made: Plain) -> list[Plain]:
        """The managedFields of a new object."""
        del made
        return []

    def _has_drifted(self, stored: Plain) -> bool:
        """Whether the content has to be restored."""
        del stored
        return False


class ServiceAccountController(_EveryNamespace):
    """Keeps the service account ``default`` in every namespace."""

    def __init__(self, client: ObjectClient) -> None:
        super().__init__(client, "serviceaccounts", "default")


class RootCAController(_EveryNamespace):
    """Keeps the ConfigMap ``kube-root-ca.crt``, with the certificate of the server's authority, in every namespace."""

    def __init__(self, client: ObjectClient) -> None:
        super().__init__(client, "configmaps", "kube-root-ca.crt")

    def _content(self) -> Plain:
        return {
            "metadata": {"name": self._name, "annotations": {_DESCRIPTION: _USE_OF_AUTHORITY}},
            "data": {"ca.crt": self._client.cluster.authority},
        }

    def _entries(self, made: Plain) -> list[Plain]:
        return [own_entry(made, CONTROLLER_MANAGER, "v1", self._client.cluster.now())]

    def _has_drifted(self, stored: Plain) -> bool:
        return bool(stored.get("data") != self._content()["data"])

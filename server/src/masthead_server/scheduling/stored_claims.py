"""Reads of stored claims, volumes and storage classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectRef

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.wire.plain import Plain

__all__ = ["StoredClaims"]

_VOLUMES: Final = "persistentvolumes"
_CLASSES: Final = "storage.k8s.io/storageclasses"


class StoredClaims:
    """Reads claims, volumes and storage classes.

    Args:
        client: Reads them.
    """

    def __init__(self, client: ObjectClient) -> None:
        self._client = client

    def claim(self, namespace: str, name: str) -> Plain | None:
        """Return a claim; None if it does not exist."""
        return self._client.load(ObjectRef("persistentvolumeclaims", f"{namespace}/{name}"))

    def volume(self, name: str) -> Plain | None:
        """Return a volume; None if it does not exist."""
        return self._client.load(ObjectRef(_VOLUMES, name))

    def storage_class(self, name: str) -> Plain | None:
        """Return a storage class; None if it does not exist."""
        return self._client.load(ObjectRef(_CLASSES, name)) if name else None

    def volumes(self) -> Iterator[Plain]:
        """Iterate over all volumes."""
        for _, volume in self._client.listed(_VOLUMES):
            yield volume

    def has_storage(self) -> bool:
        """Tell whether there is any volume or storage class."""
        storage = self._client.cluster.storage
        return any(storage.table(table).count for table in (_VOLUMES, _CLASSES))

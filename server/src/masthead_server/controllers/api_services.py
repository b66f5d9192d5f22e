"""The controller of the APIServices of CustomResourceDefinitions.

kube-apiserver runs it itself: every served version of a definition has an APIService.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.bootstrap.api_services import MANAGED_LABEL, api_service
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.resources.custom.installer import DEFINITIONS
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.wire.plain import Plain

__all__ = ["ApiServiceController"]

_SERVICES: Final = "apiregistration.k8s.io/apiservices"
_PRIORITIES: Final = {"groupPriorityMinimum": 1000, "versionPriority": 100}
_MANAGED: Final = "true"


class ApiServiceController:
    """Creates, restores and deletes the APIServices of definitions."""

    observes = frozenset({DEFINITIONS, _SERVICES})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile the APIServices of a written definition, and a written APIService of a definition."""
        served, ref, record = write
        if ref.table == _SERVICES:
            is_managed = f'"{MANAGED_LABEL}":"{_MANAGED}"'.encode() in record.value
            return (ref,) if is_managed or record.is_deleted else ()
        definition = served.load(record)
        group = text(part(definition, "spec"), "group")
        # The versions that it served before have APIServices as well.
        names = {f"{version}.{group}" for version in _served_versions(definition)}
        return [ObjectRef(_SERVICES, name) for name in sorted(names | set(self._managed_names(group)))]

    async def reconcile(self, ref: ObjectRef) -> None:
        """Create, restore or delete an APIService.

        Raises:
            JournalError: A change could not be stored.
        """
        version, _, group = ref.key.partition(".")
        stored = self._client.load(ref)
        if not self._is_served(group, version):
            if stored is not None and _is_managed(stored):
                await self._client.delete(ref, uid_of(stored))
            return
        wanted = api_service(group, version, _PRIORITIES, _MANAGED)
        if stored is None:
            await self._client.create(_SERVICES, "", wanted)
        elif _is_managed(stored) and part(stored, "spec") != wanted["spec"]:
            await self._client.update(ref, lambda found: found.update(spec=wanted["spec"]))

    def _managed_names(self, group: str) -> Iterator[str]:
        for ref, service in self._client.listed(_SERVICES, containing=[f'"group":"{group}"'.encode()]):
            if _is_managed(service):
                yield ref.key

    def _is_served(self, group: str, version: str) -> bool:
        return any(
            text(part(definition, "spec"), "group") == group and version in _served_versions(definition)
            for _, definition in self._client.listed(DEFINITIONS, containing=[f'"{group}"'.encode()])
        )


def _is_managed(service: Plain) -> bool:
    return part(metadata(service), "labels").get(MANAGED_LABEL) == _MANAGED


def _served_versions(definition: Plain) -> list[str]:
    versions = items(part(definition, "spec"), "versions")
    return [text(version, "name") for version in versions if version.get("served")]

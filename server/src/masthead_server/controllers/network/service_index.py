"""Services by the pods that they select, for the controllers of their endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectRef
from masthead_server.controllers.pod_index import PodIndex, PodSelector, SelectorIndex
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.controllers.pod_index import IndexedPod

__all__ = ["ServiceIndex"]

_SERVICES: Final = "services"
_SERVICE_NAME: Final = "kubernetes.io/service-name"


class ServiceIndex:
    """Finds the Services of a write, and the pods of a Service, without a search.

    Args:
        client: The cluster state.
    """

    def __init__(self, client: ObjectClient) -> None:
        self._pods = PodIndex.of(client.cluster)
        self._selectors = SelectorIndex()
        self._known: dict[ObjectRef, PodSelector] = {}

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Take note of a write of a Service, a pod, or what endpoints are stored in; returns its Services."""
        match write.ref.table:
            case "pods":
                return self._observe_pod(write)
            case "services":
                return self._observe_service(write)
            case "endpoints":
                service = ObjectRef(_SERVICES, write.ref.key)
            case _:
                found = write.served.load(write.record)
                name = text(part(part(found, "metadata"), "labels"), _SERVICE_NAME)
                service = ObjectRef(_SERVICES, f"{write.ref.namespace}/{name}")
        # Somebody else may have changed or deleted them.
        return (service,) if service in self._known else ()

    def _observe_service(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        service = None if write.record.is_deleted else write.served.load(write.record)
        labels = part(part(service, "spec"), "selector") if service is not None else {}
        is_external = service is not None and text(part(service, "spec"), "type") == "ExternalName"
        selector = PodSelector.of_labels(labels) if labels and not is_external else None
        was_known = self._known.pop(write.ref, None) is not None
        self._selectors.put(write.ref, selector)
        if selector is not None:
            self._known[write.ref] = selector
        # One that never had a selector has endpoints of somebody else.
        return (write.ref,) if selector is not None or (was_known and service is None) else ()

    def _observe_pod(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        before, after = self._pods.update(write)
        if before is not None and after is not None and before.metadata.labels == after.metadata.labels:
            if before == after:
                return ()
            before = None
        found: dict[ObjectRef, None] = {}
        for pod in (before, after):
            if pod is not None:
                found |= dict.fromkeys(self._selectors.matching(write.ref.namespace, pod.metadata.labels))
        return tuple(found)

    def pods_of(self, service: ObjectRef) -> dict[ObjectRef, IndexedPod] | None:
        """Return the pods of a Service; None if it has no selector."""
        selector = self._known.get(service)
        return None if selector is None else self._pods.select(service.namespace, selector)

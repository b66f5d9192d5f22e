"""Index of Services and their pods, for the Endpoints and EndpointSlice controllers."""

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
    """Finds the Services that a write affects, and the pods of a Service, without a scan.

    Args:
        client: The cluster state.
    """

    def __init__(self, client: ObjectClient) -> None:
        self._pods = PodIndex.of(client.cluster)
        self._selectors = SelectorIndex()
        self._known: dict[ObjectRef, PodSelector] = {}

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Index a written Service or pod; return the Services of that, or of written Endpoints or slices."""
        match write.ref.table:
            case "pods":
                return self._observe_pod(write)
            case "services":
                return self._observe_service(write)
            case "endpoints":
                # Changes by somebody else remain until a pod or the Service changes, as in kube-controller-manager.
                if not write.record.is_deleted:
                    return ()
                service = ObjectRef(_SERVICES, write.ref.key)
            case _:
                found = write.served.load(write.record)
                name = text(part(part(found, "metadata"), "labels"), _SERVICE_NAME)
                service = ObjectRef(_SERVICES, f"{write.ref.namespace}/{name}")
        # Another client may have changed or deleted the Endpoints or slice.
        return (service,) if service in self._known else ()

    def _observe_service(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        service = None if write.record.is_deleted else write.served.load(write.record)
        labels = part(part(service, "spec"), "selector") if service is not None else {}
        is_external = service is not None and text(part(service, "spec"), "type") == "ExternalName"
        selector = PodSelector.of_labels(labels) if labels and not is_external else None
        self._known.pop(write.ref, None)
        self._selectors.put(write.ref, selector)
        if selector is not None:
            self._known[write.ref] = selector
        # The Endpoints of a deleted Service go with it, no matter who wrote them.
        return (write.ref,) if selector is not None or service is None else ()

    def _observe_pod(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        before, after = self._pods.update(write)
        namespace = write.ref.namespace
        if before is None or after is None:
            pod = before or after
            return () if pod is None else self._selectors.matching(namespace, pod.metadata.labels)
        is_changed = _changes_endpoints(before, after)
        if before.metadata.labels == after.metadata.labels and _has_same_host_name(before, after):
            return self._selectors.matching(namespace, after.metadata.labels) if is_changed else ()
        old = dict.fromkeys(self._selectors.matching(namespace, before.metadata.labels))
        new = dict.fromkeys(self._selectors.matching(namespace, after.metadata.labels))
        # A Service that selects both versions of the pod is affected only by what its endpoints show of the pod.
        return tuple(old | new) if is_changed else tuple(old.keys() ^ new.keys())

    def pods_of(self, service: ObjectRef) -> dict[ObjectRef, IndexedPod] | None:
        """Return the selected pods; None for a Service without a selector."""
        selector = self._known.get(service)
        return None if selector is None else self._pods.select(service.namespace, selector)


def _changes_endpoints(before: IndexedPod, after: IndexedPod) -> bool:
    """Tell whether a write of a pod may change endpoints, by kube-controller-manager's criteria."""
    if after.is_terminating or before.is_terminating:
        return True
    return (before.is_ready, before.ips) != (after.is_ready, after.ips)


def _has_same_host_name(before: IndexedPod, after: IndexedPod) -> bool:
    names = ((pod.spec.hostname, pod.spec.subdomain) for pod in (before, after))
    return next(names) == next(names)

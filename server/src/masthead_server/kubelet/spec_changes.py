"""Changes in the spec of a pod since the kubelet last observed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.kubelet.conditions import refresh_conditions
from masthead_server.kubelet.container_states import is_sidecar
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

__all__ = ["awaits_other_image", "changed_images", "has_news"]


def has_news(pod: Plain) -> bool:
    """Tell whether the status of a started pod is older than its spec or readiness gates."""
    status = part(pod, "status")
    if "containerStatuses" not in status or text(status, "phase") in {"Succeeded", "Failed"}:
        return False
    # A status from a test may lack the generation.
    if status.get("observedGeneration") and status["observedGeneration"] != metadata(pod).get("generation"):
        return True
    return bool(items(part(pod, "spec"), "readinessGates")) and _changes_conditions(pod)


def _changes_conditions(pod: Plain) -> bool:
    status = part(pod, "status")
    new = {"metadata": pod["metadata"], "spec": pod["spec"], "status": dict(status)}
    refresh_conditions(new, "")
    before = {text(condition, "type"): condition.get("status") for condition in items(status, "conditions")}
    after = {text(condition, "type"): condition["status"] for condition in items(part(new, "status"), "conditions")}
    return before != after


def changed_images(pod: Plain) -> list[str]:
    """Return the names of the running containers with another image than their spec."""
    return _changed_in(pod, "running")


def awaits_other_image(pod: Plain) -> bool:
    """Tell whether a container that waits has a new image, which may be present."""
    return bool(_changed_in(pod, "waiting"))


def _changed_in(pod: Plain, state: str) -> list[str]:
    spec, status = part(pod, "spec"), part(pod, "status")
    sidecars = [container for container in items(spec, "initContainers") if is_sidecar(container)]
    images = {
        text(container, "name"): text(container, "image") for container in (*sidecars, *items(spec, "containers"))
    }
    return [
        text(found, "name")
        for field in ("initContainerStatuses", "containerStatuses")
        for found in items(status, field)
        if state in part(found, "state") and text(found, "image") != images.get(text(found, "name"), found["image"])
    ]

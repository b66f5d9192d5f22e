"""Which container is meant if none is named: as kubectl decides it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead.errors import StatusError

__all__ = ["asks_for_container", "container_named", "default_container"]

_ANNOTATION: Final = "kubectl.kubernetes.io/default-container"
_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")


def asks_for_container(error: StatusError) -> bool:
    """Whether a server refuses a request because it names none of several containers."""
    return "a container name must be specified" in str(error)


def default_container(pod: Mapping[str, Any]) -> str:
    """The container that a pod's annotation names or, without one, its first; empty if it has none."""
    annotations: Mapping[str, str] = pod.get("metadata", {}).get("annotations") or {}
    named = annotations.get(_ANNOTATION, "")
    if named and container_named(pod, named) is not None:
        return named
    containers: list[Mapping[str, Any]] = pod.get("spec", {}).get("containers") or []
    return str(containers[0].get("name", "")) if containers else ""


def container_named(pod: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """The description of one of a pod's containers, of whatever sort; None without a container of that name."""
    spec: Mapping[str, list[Mapping[str, Any]] | None] = pod.get("spec", {})
    return next(
        (container for key in _LISTS for container in spec.get(key) or [] if container.get("name") == name), None
    )

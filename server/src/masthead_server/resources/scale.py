"""Scales: the view of an object that the scale subresource shows and changes."""

from __future__ import annotations

from typing import Final, Protocol

from masthead._meta.labels import from_label_selector
from masthead._meta.v1 import LabelSelector
from masthead._schema.errors import invalid
from masthead_server.wire.failures import refused_fields
from masthead_server.wire.plain import Plain, part, text

__all__ = ["NO_REPLICAS", "ReplicaScale", "ScaleView", "scale_of"]

NO_REPLICAS: Final = -(2**31)
"""Stands for replicas that an object does not have; kube-apiserver uses the smallest number of 32 bits."""
_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class ScaleView(Protocol):
    """Reads and changes the scale of an object."""

    def read(self, found: Plain) -> Plain:
        """Return the Scale of an object.

        Raises:
            StatusFailure: If it has none.
        """
        ...

    def read_for_update(self, found: Plain) -> Plain:
        """Return the Scale that an update changes.

        Raises:
            StatusFailure: If the object cannot have one.
        """
        ...

    def set_replicas(self, found: Plain, replicas: int) -> None:
        """Set the replicas of an object.

        Raises:
            StatusFailure: If it cannot have them.
        """
        ...


def scale_of(found: Plain, replicas: int, present: int, selector: str) -> Plain:
    """Return a Scale.

    Args:
        found: The object.
        replicas: The wanted number of replicas.
        present: The present number of replicas.
        selector: The selector of its pods, as text.
    """
    meta = part(found, "metadata")
    status: Plain = {"replicas": present}
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: meta[field] for field in _METADATA if field in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


class ReplicaScale:
    """The scale of a built-in kind, whose replicas and selector lie in its spec.

    Args:
        default: The replicas of an object that does not say.
        has_label_map: Whether the selector is a map of labels, and no LabelSelector.
    """

    def __init__(self, *, default: int = 0, has_label_map: bool = False) -> None:
        self._default = default
        self._has_label_map = has_label_map

    def read(self, found: Plain) -> Plain:
        """Return the Scale of an object."""
        spec, status = part(found, "spec"), part(found, "status")
        matching = part(spec, "selector")
        if self._has_label_map:
            matching = {"matchLabels": matching}
        selector = str(from_label_selector(LabelSelector.from_dict(matching)))
        return scale_of(found, spec.get("replicas", self._default), status.get("replicas", 0), selector)

    read_for_update = read

    def set_replicas(self, found: Plain, replicas: int) -> None:
        """Set the replicas of an object.

        Raises:
            StatusFailure: If the number is negative.
        """
        if replicas < 0:
            problem = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise refused_fields("autoscaling", "Scale", text(part(found, "metadata"), "name"), [problem])
        found.setdefault("spec", {})["replicas"] = replicas

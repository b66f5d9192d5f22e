"""The patches that add and remove a finalizer. They name the version: a concurrent change is a conflict, never lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.object import Object

__all__ = ["add_finalizer", "remove_finalizer"]


def add_finalizer(obj: Object, finalizer: str) -> Mapping[str, object] | None:
    """The patch that adds a finalizer; None if it is there, or the object is being deleted, which forbids it."""
    there = obj.metadata.finalizers
    if finalizer in there or obj.metadata.deletion_timestamp is not None:
        return None
    return _patch(obj, [*there, finalizer])


def remove_finalizer(obj: Object, finalizer: str) -> Mapping[str, object] | None:
    """The patch that removes a finalizer; None if it is not there."""
    there = obj.metadata.finalizers
    return _patch(obj, [each for each in there if each != finalizer]) if finalizer in there else None


def _patch(obj: Object, finalizers: list[str]) -> Mapping[str, object]:
    metadata = {"resourceVersion": obj.metadata.resource_version, "uid": obj.metadata.uid}
    return {"metadata": {**metadata, "finalizers": finalizers}}

"""The immediate effect of a DELETE on a CustomResourceDefinition; its controller does the rest."""

from __future__ import annotations

from masthead_server.resources.builtin.apiextensions.customresourcedefinition.conditions import (
    CLEANUP_FINALIZER,
    DELETION_PENDING,
    with_condition,
)
from masthead_server.wire.plain import Plain, metadata, part


def begin_deletion(definition: Plain, now: str) -> None:
    """Hold a definition until the objects that it defines are deleted, and say so in its status."""
    finalizers = metadata(definition).setdefault("finalizers", [])
    if CLEANUP_FINALIZER not in finalizers:
        finalizers.append(CLEANUP_FINALIZER)
    definition["status"] = with_condition(part(definition, "status"), DELETION_PENDING, now)

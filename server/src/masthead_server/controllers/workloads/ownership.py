"""Owner references: how a controller claims an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.labels import from_label_selector
from masthead._meta.v1 import LabelSelector
from masthead_server.controllers.objects import set_or_drop, uid_of
from masthead_server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead_server.controllers.objects import ObjectClient, ObjectRef

__all__ = ["adopt", "controller_reference", "release", "selector_of"]


def controller_reference(owner: Plain, api_version: str, kind: str) -> Plain:
    """Return the reference to the controller of an object."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": text(metadata(owner), "name"),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


async def adopt(client: ObjectClient, ref: ObjectRef, reference: Plain) -> None:
    """Make an object that has no controller the owner's.

    Raises:
        JournalError: The change could not be stored.
    """

    def change(found: Plain) -> None:
        references = items(metadata(found), "ownerReferences")
        if not any(reference.get("controller") for reference in references):
            metadata(found)["ownerReferences"] = [*references, reference]

    await client.update(ref, change)


async def release(client: ObjectClient, ref: ObjectRef, uid: str) -> None:
    """Remove the reference to an owner.

    Raises:
        JournalError: The change could not be stored.
    """

    def change(found: Plain) -> None:
        references = [
            owner_reference
            for owner_reference in items(metadata(found), "ownerReferences")
            if owner_reference.get("uid") != uid
        ]
        set_or_drop(metadata(found), "ownerReferences", references)

    await client.update(ref, change)


def selector_of(workload: Plain) -> Callable[[Mapping[str, str]], bool]:
    """Return what tells whether labels match the selector of a workload; that of a ReplicationController is a map."""
    written = part(part(workload, "spec"), "selector")
    if "matchLabels" not in written and "matchExpressions" not in written:
        written = {"matchLabels": written}
    wanted = part(written, "matchLabels")
    # Nearly all selectors, compared in C: a workload may have 20,000 pods.
    if wanted and not items(written, "matchExpressions"):
        return lambda labels: wanted.items() <= labels.items()
    return from_label_selector(LabelSelector.from_dict(written)).matches

"""Warnings about duplicate owner references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def dedup_owner_references(obj: Plain, *, is_patch: bool = False) -> list[str]:
    """Remove the owner references that repeat another one in every field, and warn of them.

    kube-apiserver does so with every write, before it decides or checks anything else.

    Args:
        obj: The object that was sent, or what a patch has made of the stored one; it is changed.
        is_patch: Whether a patch is checked, which the server does at a later time, with another message.
    """
    references = items(part(obj, "metadata"), "ownerReferences")
    if len(references) < 2:
        return []
    kept: dict[tuple[tuple[str, object], ...], Plain] = {}
    repeated: list[str] = []
    for reference in references:
        identity = tuple(sorted(reference.items()))  # all of its fields are texts and flags
        if identity in kept:
            repeated.append(str(reference.get("uid", "")))
        else:
            kept[identity] = reference
    if not repeated:
        return []
    obj["metadata"]["ownerReferences"] = list(kept.values())
    when = " after mutating admission happens" if is_patch else ""
    message = (
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+,"
        " and may reject such requests as early as 1.24; please fix your requests;"
        f" duplicate UID(s) observed: {', '.join(repeated)}"
    )
    return [message]

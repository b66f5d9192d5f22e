"""Owner references: who an object belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.gvk import GroupVersion
from masthead._meta.metadata import OwnerReference
from masthead.errors import AlreadyControlledError, InvalidValueError

if TYPE_CHECKING:
    from masthead._meta.object import Object


def owner_reference(
    owner: Object, *, controller: bool = False, block_deletion: bool = False
) -> OwnerReference:
    """A reference to an object that has been created.

    Args:
        owner: The owner.
        controller: Whether it is the one that manages the object.
        block_deletion: Whether a foreground deletion of the owner waits for the object.

    Raises:
        InvalidValueError: If the owner has no uid, which only the server gives.
    """
    if not owner.metadata.uid:
        raise InvalidValueError(
            f"{owner.kind} {owner.key or '(unnamed)'} has no uid yet; create it first, and use what the server returned"
        )
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=controller or None,
        block_owner_deletion=block_deletion or None,
    )


def controller_of(dependent: Object) -> OwnerReference | None:
    """The reference to the owner that manages an object, or None."""
    return next((each for each in dependent.metadata.owner_references if each.controller), None)


def is_controlled_by(dependent: Object, owner: Object) -> bool:
    """Whether this very owner, not one of the same name, manages an object."""
    found = controller_of(dependent)
    return found is not None and found.uid == owner.metadata.uid != ""


def set_controller(dependent: Object, owner: Object, *, block_deletion: bool = True) -> bool:
    """Make an owner the one that manages an object; returns whether anything changed.

    An owner that was created anew, under the same name, takes over from what it was before.

    Raises:
        AlreadyControlledError: If another owner manages it.
        InvalidValueError: If the owner has no uid, or lives in another namespace, where the garbage collector
            would take it for gone.
    """
    standing = controller_of(dependent)
    if standing is not None and not _is_same_owner(standing, owner_reference(owner)):
        raise AlreadyControlledError(
            f"{dependent.kind} {dependent.key} is already controlled by {standing.kind} {standing.name}"
        )
    return set_owner(dependent, owner, controller=True, block_deletion=block_deletion)


def set_owner(
    dependent: Object, owner: Object, *, controller: bool = False, block_deletion: bool = False
) -> bool:
    """Add an owner, or bring its reference up to date; returns whether anything changed.

    Raises:
        InvalidValueError: If the owner has no uid, or lives in another namespace.
    """
    _check_namespaces(dependent, owner)
    wanted = owner_reference(owner, controller=controller, block_deletion=block_deletion)
    references = dependent.metadata.owner_references
    for index, standing in enumerate(references):
        if _is_same_owner(standing, wanted):
            changed = standing != wanted
            references[index] = wanted
            return changed
    references.append(wanted)
    return True


def remove_owner(dependent: Object, owner: Object) -> bool:
    """Take an owner away; returns whether it was one."""
    references = dependent.metadata.owner_references
    kept = [each for each in references if each.uid != owner.metadata.uid]
    removed = len(kept) != len(references)
    if removed:
        references[:] = kept
    return removed


def _is_same_owner(one: OwnerReference, other: OwnerReference) -> bool:
    """Whether two references mean the same object, perhaps at another version of its API or created anew."""
    return (GroupVersion.parse(one.api_version).group, one.kind, one.name) == (
        GroupVersion.parse(other.api_version).group,
        other.kind,
        other.name,
    )


def _check_namespaces(dependent: Object, owner: Object) -> None:
    if owner.metadata.namespace and owner.metadata.namespace != dependent.metadata.namespace:
        where = dependent.metadata.namespace or "no namespace"
        raise InvalidValueError(
            f"{owner.kind} {owner.key} cannot own {dependent.kind} {dependent.metadata.name} in {where}: "
            f"an owner is cluster-scoped or lives in the same namespace, which here is {owner.metadata.namespace!r}"
        )

"""Helpers for owner references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.gvk import GroupVersion
from masthead._meta.metadata import OwnerReference
from masthead._module import set_module
from masthead.errors import AlreadyControlledError, ArgumentError

if TYPE_CHECKING:
    from masthead._meta.object import Object


@set_module("masthead.meta")
def owner_reference(owner: Object, *, controller: bool = False, block_deletion: bool = False) -> OwnerReference:
    """Create a reference to an object that exists on the server.

    Args:
        owner: The owner.
        controller: Whether the owner is the controller of the object.
        block_deletion: Whether a foreground deletion of the owner waits for the object.

    Raises:
        ArgumentError: If the owner has no uid, which the server assigns.
    """
    _check_uid(owner)
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=controller or None,
        block_owner_deletion=block_deletion or None,
    )


@set_module("masthead.meta")
def controller_of(dependent: Object) -> OwnerReference | None:
    """Return the reference to the controller of an object, or None."""
    return next((reference for reference in dependent.metadata.owner_references if reference.controller), None)


@set_module("masthead.meta")
def is_controlled_by(dependent: Object, owner: Object) -> bool:
    """Whether this owner, identified by its uid, is the controller of an object."""
    found = controller_of(dependent)
    return found is not None and found.uid == owner.metadata.uid != ""


@set_module("masthead.meta")
def set_controller(dependent: Object, owner: Object, *, block_deletion: bool = True) -> bool:
    """Set the controller of an object; return whether anything changed.

    A recreated owner with the same name replaces its predecessor.

    Raises:
        AlreadyControlledError: If another owner is the controller.
        ArgumentError: If the owner has no uid, or is in another namespace, where the garbage collector would not
            find it.
    """
    standing = controller_of(dependent)
    # The API server allows one controller only, and would refuse the object later.
    if standing is not None and not is_same_owner(standing, owner_reference(owner)):
        raise AlreadyControlledError(
            f"{dependent.kind} {dependent.key} is already controlled by {standing.kind} {standing.name}"
        )
    return set_owner(dependent, owner, controller=True, block_deletion=block_deletion)


@set_module("masthead.meta")
def set_owner(dependent: Object, owner: Object, *, controller: bool = False, block_deletion: bool = False) -> bool:
    """Add an owner, or update its reference; return whether anything changed.

    Raises:
        ArgumentError: If the owner has no uid, or is in another namespace.
    """
    check_ownable(dependent.kind, dependent.metadata.name, dependent.metadata.namespace, owner)
    wanted = owner_reference(owner, controller=controller, block_deletion=block_deletion)
    references = dependent.metadata.owner_references
    for index, standing in enumerate(references):
        # Replaced in place: the order of references stays the same, and flags and uid are refreshed.
        if is_same_owner(standing, wanted):
            changed = standing != wanted
            references[index] = wanted
            return changed
    references.append(wanted)
    return True


@set_module("masthead.meta")
def remove_owner(dependent: Object, owner: Object) -> bool:
    """Remove an owner; return whether it was one."""
    references = dependent.metadata.owner_references
    # By uid: an object of the same name may be another one.
    kept = [reference for reference in references if reference.uid != owner.metadata.uid]
    removed = len(kept) != len(references)
    if removed:
        references[:] = kept
    return removed


def is_same_owner(one: OwnerReference, other: OwnerReference) -> bool:
    """Whether two references name the same object, possibly with another API version or recreated."""
    return (GroupVersion.parse(one.api_version).group, one.kind, one.name) == (
        GroupVersion.parse(other.api_version).group,
        other.kind,
        other.name,
    )


def check_ownable(kind: str, name: str, namespace: str, owner: Object) -> None:
    """Check that an object can own another one of a kind, name and namespace.

    Raises:
        ArgumentError: If the owner has no uid, or is in another namespace.
    """
    _check_uid(owner)
    if owner.metadata.namespace and owner.metadata.namespace != namespace:
        raise ArgumentError(
            f"{owner.kind} {owner.key} cannot own {kind} {name} in {namespace or 'no namespace'}: "
            f"an owner must be cluster-scoped or in the same namespace, which here is {owner.metadata.namespace!r}; "
            "give it no owner (ctx.apply(..., owned=False)), and delete it in a finalizer"
        )


def _check_uid(owner: Object) -> None:
    if not owner.metadata.uid:
        raise ArgumentError(
            f"{owner.kind} {owner.key or '(unnamed)'} has no uid yet; create it first, and use the returned object"
        )

"""Deletion of an object by a reconcile, unless its owner has changed since it was cached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from masthead._controller.ownership import is_held_by_namesake
from masthead._meta.owners import controller_of, is_controlled_by
from masthead.errors import ConflictError, NotFoundError, StaleObjectError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead._client.resource import ResourceClient
    from masthead._meta.object import Object

__all__ = ["delete_object"]

_MAX_ATTEMPTS: Final = 5
"""Number of attempts to delete a child that others write concurrently."""


async def delete_object(
    resource: ResourceClient[Any],
    obj: Object,
    owner: Object | None,
    confirm_owner: Callable[[], Awaitable[bool]],
) -> bool:
    """Delete an object if it still exists.

    A child of the reconciled object is deleted with its cached version as a precondition, because a later version may
    have another controller.

    Args:
        resource: The client of its resource, in its namespace.
        obj: The cached object, or an object with only a name.
        owner: The cached reconciled object; None if it was deleted.
        confirm_owner: Asks the server whether the cache is right about the reconciled object.

    Returns:
        Whether the object is deleted or being deleted; False if it was recreated or has another owner.

    Raises:
        StaleObjectError: If the cache is wrong about the reconciled object, and the object may belong to its successor.
        ConflictError: If other clients keep changing the object.
    """
    is_namesakes = owner is not None and is_held_by_namesake(obj, owner)
    if (is_namesakes or not obj.metadata.uid) and not await confirm_owner():
        raise StaleObjectError(
            f"the cache does not show yet what has become of the reconciled object: {obj.kind} {obj.key} is not deleted"
        )
    is_child = owner is not None and is_controlled_by(obj, owner)
    version = obj.metadata.resource_version if is_child else None
    for attempt in range(_MAX_ATTEMPTS):
        try:
            await resource.delete(
                obj.metadata.name,
                uid=obj.metadata.uid or None,
                resource_version=version or None,
                propagation_policy="Background",
            )
        except NotFoundError:
            return True
        except ConflictError:
            # Only the UID was a precondition, so another object has the name by now.
            if not version:
                return False
            if attempt == _MAX_ATTEMPTS - 1:
                raise
            if (version := await _read_version(resource, obj)) is None:
                return False
        else:
            return True
    return False


async def _read_version(resource: ResourceClient[Any], child: Object) -> str | None:
    """Read the newest version of a child; None if it was deleted or recreated, or has another owner."""
    try:
        found: Object = await resource.get(child.metadata.name)
    except NotFoundError:
        return None
    is_same = found.metadata.uid == child.metadata.uid and controller_of(found) == controller_of(child)
    return found.metadata.resource_version if is_same else None

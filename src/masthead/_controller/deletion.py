"""Deletion of an object by a reconcile, unless the caches are wrong about it or about the reconciled object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from masthead._controller.freshness import is_current
from masthead._meta.owners import controller_of
from masthead.errors import ConflictError, NotFoundError, StaleObjectError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead._client.resource import ResourceClient
    from masthead._meta.object import Object

__all__ = ["delete_object"]

_MAX_ATTEMPTS: Final = 5
"""Number of attempts to delete an object that others write concurrently."""


async def delete_object(
    resource: ResourceClient[Any], obj: Object, confirm_owner: Callable[[], Awaitable[bool]]
) -> bool:
    """Delete an object if it still exists.

    Uid and version of a cached object are preconditions: a later version may have another controller or spec, for which
    the decision to delete it was not made.

    Args:
        resource: The client of its resource, in its namespace.
        obj: The cached object, or an object with only a name.
        confirm_owner: Asks the server whether the cache is right about the reconciled object.

    Returns:
        Whether the object is deleted or being deleted; False if it was recreated or has another controller.

    Raises:
        StaleObjectError: If the cache is wrong about the reconciled object, or the object has changed.
        ConflictError: If other clients keep changing the object.
    """
    # The decision may rest on an old spec, or on the name of an object that was replaced since.
    if not await confirm_owner():
        raise StaleObjectError(
            "the reconciled object was changed, deleted or recreated, which the cache does not show yet: "
            f"{obj.kind} {obj.key} is not deleted"
        )
    uid = obj.metadata.uid
    version = obj.metadata.resource_version if uid else ""
    for attempt in range(_MAX_ATTEMPTS):
        try:
            await resource.delete(
                obj.metadata.name,
                uid=uid or None,
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
            found = await _read_same(resource, obj)
            if found is None or found.metadata.deletion_timestamp is not None:
                return found is not None
            version = found.metadata.resource_version
        else:
            return True
    return False


async def _read_same(resource: ResourceClient[Any], known: Object) -> Object | None:
    """Read the newest version of an object; None if it was deleted or recreated, or has another controller.

    Raises:
        StaleObjectError: If it has another spec, so that the cached version may no longer justify its deletion.
    """
    try:
        found: Object = await resource.get(known.metadata.name)
    except NotFoundError:
        return None
    if found.metadata.uid != known.metadata.uid or controller_of(found) != controller_of(known):
        return None
    if found.metadata.deletion_timestamp is None and not is_current(known, found):
        raise StaleObjectError(
            f"{known.kind} {known.key} has changed, which the cache does not show yet: it is not deleted"
        )
    return found

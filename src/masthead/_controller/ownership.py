"""What a controller applies: with its owner, and only if something would change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.owners import controller_of, set_controller
from masthead._schema.extraction import extract
from masthead.errors import AlreadyControlledError, DecodeError

if TYPE_CHECKING:
    from masthead._meta.object import Object

__all__ = ["check_controllable", "is_applied", "owned_copy"]


def owned_copy(obj: Object, owner: Object | None, namespace: str) -> Object:
    """A copy of an object to apply: in a namespace, and with its owner as the controller.

    Args:
        obj: The object.
        owner: The owner; None for none.
        namespace: The namespace, if the object does not say; empty for a cluster-scoped one.

    Raises:
        AlreadyControlledError: If another owner is its controller.
        InvalidValueError: If the owner has no uid, or is in another namespace.
    """
    copy = obj.copy()
    if namespace and not copy.metadata.namespace:
        copy.metadata.namespace = namespace
    if owner is not None:
        set_controller(copy, owner)
    return copy


def check_controllable(live: Object, owner: Object) -> None:
    """See whether an owner may become, or is, the controller of an object.

    A recreated owner with the same name replaces its predecessor.

    Raises:
        AlreadyControlledError: If another object controls it.
    """
    standing = controller_of(live)
    if standing is None or standing.uid == owner.metadata.uid:
        return
    try:
        set_controller(live.copy(), owner)
    except AlreadyControlledError as error:
        raise AlreadyControlledError(
            f"{error}, and {owner.kind} {owner.key} cannot control it as well; give it another name, or apply it with "
            "owned=False",
            value=live.key,
        ) from None


def is_applied(live: Object, wanted: Object, field_manager: str) -> bool:
    """Whether a manager has applied exactly this, and nobody has changed it since, so that applying it changes nothing.

    False if that cannot be told, as when the cache drops managed fields.
    """
    if live.metadata.deletion_timestamp is not None or not live.metadata.managed_fields:
        return False
    try:
        return bool(extract(live, field_manager) == wanted)
    except DecodeError:
        return False

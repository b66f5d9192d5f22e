"""Ownership of applied objects: who may control an object, and when its owner has to be confirmed first."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.owners import controller_of, is_same_owner, owner_reference, set_controller
from masthead._schema.schema import is_object
from masthead.errors import AlreadyControlledError

if TYPE_CHECKING:
    from masthead._meta.object import Object

__all__ = ["check_controllable", "gains_controller", "is_held_by_namesake", "owned_copy"]

_SECRET: Final = GroupVersionKind("", "v1", "Secret")


def owned_copy(obj: Object, owner: Object | None, namespace: str) -> Object:
    """Return a copy of an object to apply: in a namespace, and with its owner as the controller.

    Args:
        obj: The object.
        owner: The owner; None for none.
        namespace: The namespace, if the object does not say; empty for a cluster-scoped one.

    Raises:
        AlreadyControlledError: If another owner is its controller.
        ArgumentError: If the owner has no uid, or is in another namespace.
    """
    copy = _with_encoded_data(obj) if obj.gvk == _SECRET else obj.copy()
    if namespace and not copy.metadata.namespace:
        copy.metadata.namespace = namespace
    if owner is not None:
        set_controller(copy, owner)
    return copy


def _with_encoded_data(secret: Object) -> Object:
    """Return a copy of a Secret with its ``stringData`` in ``data``, as the server stores it.

    A manager that applies ``stringData`` owns a field that no Secret has when it is read, so that nothing tells whether it has
    changed, and keys that are no longer applied stay.
    """
    plain: dict[str, Any] = secret.to_dict()
    texts = plain.pop("stringData", None)
    if is_object(texts) and all(isinstance(text, str) for text in texts.values()):
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
        plain["data"] = {**(plain.get("data") or {}), **encoded}
        return cast("type[Object]", type(secret).api_type).from_dict(plain)
    return secret.copy()


def check_controllable(live: Object, owner: Object) -> None:
    """Check that an owner may become, or is, the controller of an object.

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


def gains_controller(live: Object | None, owner: Object) -> bool:
    """Whether an owner that controls an object from now on has not controlled it before.

    Args:
        live: The object; None if it is to be created.
        owner: The owner.
    """
    standing = None if live is None else controller_of(live)
    return standing is None or standing.uid != owner.metadata.uid


def is_held_by_namesake(obj: Object, owner: Object) -> bool:
    """Whether the controller of an object has the kind and name of an owner, and another uid."""
    standing = controller_of(obj)
    return (
        standing is not None and standing.uid != owner.metadata.uid and is_same_owner(standing, owner_reference(owner))
    )

"""Ownership of applied objects: owner references, and checks of the controller."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.owners import check_ownable, controller_of, set_controller
from masthead._schema.schema import is_object
from masthead.errors import AlreadyControlledError

if TYPE_CHECKING:
    from masthead._meta.object import Object

__all__ = ["check_controllable", "gains_controller", "prepare_configuration"]

_SECRET: Final = GroupVersionKind("", "v1", "Secret")


def prepare_configuration(obj: Object, owner: Object | None, namespace: str) -> dict[str, Any]:
    """Return the data of an object to apply: in a namespace, and with its owner as the controller.

    Args:
        obj: The object.
        owner: The owner; None for none.
        namespace: The namespace for an object without one; empty for a cluster-scoped object.

    Raises:
        AlreadyControlledError: If another owner is its controller.
        ArgumentError: If the owner has no uid, or is in another namespace.
    """
    # Existing references need the full check for another controller.
    if owner is not None and obj.metadata.owner_references:
        obj = obj.copy()
        obj.metadata.namespace = obj.metadata.namespace or namespace
        set_controller(obj, owner)
        owner = None
    plain: dict[str, Any] = obj.to_dict()
    if obj.gvk == _SECRET:
        _encode_string_data(plain)
    metadata = plain["metadata"]
    if namespace and not metadata.get("namespace"):
        metadata["namespace"] = namespace
    if owner is not None:
        # As plain data, because changing and encoding a copy of the object takes several times longer.
        check_ownable(obj.kind, obj.metadata.name, metadata.get("namespace", ""), owner)
        metadata["ownerReferences"] = [_controller_reference(owner)]
    return plain


def _controller_reference(owner: Object) -> dict[str, object]:
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _encode_string_data(secret: dict[str, Any]) -> None:
    """Move the ``stringData`` of a Secret to ``data``, as the server stores it.

    A manager that applies ``stringData`` owns a field that no Secret has when it is read, so nothing shows whether it
    has changed, and keys that are no longer applied stay.
    """
    texts = secret.get("stringData")
    if is_object(texts) and all(isinstance(text, str) for text in texts.values()):
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
        secret["data"] = {**(secret.get("data") or {}), **encoded}
        del secret["stringData"]


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
    """Whether an owner becomes the controller of an object.

    Args:
        live: The current object; None for a new one.
        owner: The owner.
    """
    standing = None if live is None else controller_of(live)
    return standing is None or standing.uid != owner.metadata.uid

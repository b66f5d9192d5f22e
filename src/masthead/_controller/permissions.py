"""Permissions that a program needs in addition to those of its controllers, for `masthead manifests`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from masthead._cache.factory.selection import namespaces_of, resource_of
from masthead._controller.declarations import kind_of
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead._controller.declarations import KindLike
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.object import Object

__all__ = ["Permission", "check_permissions"]

_VERB: Final = re.compile(r"[a-z]+|\*")


@set_module("masthead.controller")
class Permission:
    """A permission in addition to those of the declared kinds.

    ::

        @app.controller(Website, permissions=[masthead.controller.Permission(Secret, "get", names=["tls"])])
        async def reconcile(ctx: masthead.aio.ReconcileContext[Website], site: Website) -> None: ...

    ``masthead manifests`` adds it to the rules of the program's service account. It has no effect at run time.

    Args:
        kind: The class, or the resource, such as ``v1/secrets``.
        verbs: The verbs: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete`` and so on.
        subresource: The subresource, such as ``log``; empty for the object itself.
        names: Only objects with these names; empty for all.
        namespace: Only objects of one namespace or of several; None for the manager's namespaces.

    Attributes:
        kind: The class, or the resource.
        verbs: The verbs.
        subresource: The subresource; empty for the object itself.
        names: Only objects with these names; empty for all.
        namespaces: Only objects of these namespaces; None for the manager's namespaces.

    Raises:
        ArgumentError: If an argument is invalid.
        UnknownKindError: If the class has no resource.
    """

    __slots__ = ("kind", "names", "namespaces", "subresource", "verbs")

    def __init__(
        self,
        kind: KindLike,
        *verbs: str,
        subresource: str = "",
        names: Sequence[str] = (),
        namespace: str | Sequence[str] | None = None,
    ) -> None:
        self.kind: type[Object] | GroupVersionResource = kind_of(kind)
        # A permission without verbs would silently grant nothing.
        if not verbs or not all(_VERB.fullmatch(verb) for verb in verbs):
            raise ArgumentError(
                f"a permission needs verbs, such as Permission({_title(kind)}, 'get', 'list'), not {verbs!r}",
                value=verbs,
            )
        # A string is a sequence, too: each of its characters would become a name.
        if isinstance(names, str):
            raise ArgumentError(f"names must be a list, such as [{names!r}]", value=names)
        self.verbs: tuple[str, ...] = verbs
        self.subresource: str = subresource
        self.names: tuple[str, ...] = tuple(names)
        self.namespaces: tuple[str, ...] | None = None if namespace is None else namespaces_of(namespace)

    @property
    def resource(self) -> GroupVersionResource:
        """The resource."""
        return resource_of(self.kind)

    def __repr__(self) -> str:
        slash = f"/{self.subresource}" if self.subresource else ""
        return f"<Permission to {', '.join(self.verbs)} {self.resource.group_resource}{slash}>"


def check_permissions(permissions: Iterable[Permission]) -> tuple[Permission, ...]:
    """Check that all items are permissions, and return them.

    Raises:
        ArgumentError: If an item is not a `Permission`.
    """
    checked = tuple(permissions)
    for permission in checked:
        if not isinstance(cast("object", permission), Permission):
            raise ArgumentError(
                f"permissions has {permission!r}; write masthead.controller.Permission(Kind, 'get')", value=permission
            )
    return checked


def _title(kind: KindLike) -> str:
    return kind.__name__ if isinstance(kind, type) else repr(str(kind))

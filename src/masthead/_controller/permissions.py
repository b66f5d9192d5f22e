"""What a program does beside what its controllers declare, for `masthead manifests`."""

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

__all__ = ["Permission", "checked_permissions"]

_VERB: Final = re.compile(r"[a-z]+|\*")


@set_module("masthead.controller")
class Permission:
    """A permission that a program needs beside those that its controllers imply.

    ::

        @app.controller(Website, permissions=[masthead.controller.Permission(Secret, "get", names=["tls"])])
        async def reconcile(ctx: masthead.aio.ReconcileContext[Website], site: Website) -> None: ...

    ``masthead manifests`` adds it to the rules of the program's service account; nothing is checked when the program runs.

    Args:
        kind: The class, or the resource, such as ``v1/secrets``.
        verbs: What is done: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete`` and so on.
        subresource: Of which subresource, such as ``log``; empty for the object itself.
        names: Only objects of these names; empty for all.
        namespace: Only objects of one namespace or of several; None for those of the manager.

    Attributes:
        kind: The class, or the resource.
        verbs: What is done.
        subresource: Of which subresource; empty for the object itself.
        names: Only objects of these names; empty for all.
        namespaces: Only objects of these namespaces; None for those of the manager.

    Raises:
        ArgumentError: If an argument is invalid.
        UnknownKindError: If the class does not say where it is served.
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
        if not verbs or not all(_VERB.fullmatch(verb) for verb in verbs):
            raise ArgumentError(
                f"a permission needs verbs, such as Permission({_title(kind)}, 'get', 'list'), not {verbs!r}",
                value=verbs,
            )
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


def checked_permissions(given: Iterable[Permission]) -> tuple[Permission, ...]:
    """Permissions, if they are.

    Raises:
        ArgumentError: If one is something else.
    """
    found = tuple(given)
    for each in found:
        if not isinstance(cast("object", each), Permission):
            raise ArgumentError(
                f"permissions has {each!r}; write masthead.controller.Permission(Kind, 'get')", value=each
            )
    return found


def _title(kind: KindLike) -> str:
    return kind.__name__ if isinstance(kind, type) else repr(str(kind))

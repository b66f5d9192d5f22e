"""Manifests with their resources: reads and checks documents, and looks up their kinds."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from masthead._client.documents import (
    KindScope,
    ManifestDocument,
    ManifestSource,
    defined_kinds,
    defined_namespaces,
    known_kind,
    read_documents,
    refusal,
)
from masthead._client.install_order import installation_order
from masthead.errors import ArgumentError, MastheadError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._client.dynamic import DynamicResource
    from masthead._discovery.model import DiscoveryResult, ServedResource
    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
    from masthead._meta.unstructured import Unstructured

__all__ = ["Manifest", "ManifestClient", "resolve_manifests"]


class _Mapper(Protocol):
    async def kind(self, gvk: GroupVersionKind) -> ServedResource: ...

    async def find(self, what: str, *, group: str | None) -> ServedResource: ...


class _Discovery(Protocol):
    async def resources(self) -> DiscoveryResult: ...


class ManifestClient(Protocol):
    """The part of a client that manifests need."""

    @property
    def namespace(self) -> str:
        """The default namespace."""
        ...

    @property
    def mapper(self) -> _Mapper:
        """Maps kinds to resources."""
        ...

    @property
    def discovery(self) -> _Discovery:
        """What the cluster serves."""
        ...

    def dynamic(self, what: GroupVersionResource, *, namespace: str | None) -> DynamicResource:
        """A client of a resource."""
        ...


@dataclass(frozen=True, slots=True)
class Manifest:
    """A document and its resource.

    Attributes:
        document: The document, in its namespace.
        resource: The resource of its kind.
        is_new: Whether the same manifests create its kind or its namespace.
    """

    document: ManifestDocument
    resource: GroupVersionResource
    is_new: bool

    @property
    def obj(self) -> Unstructured:
        """The object."""
        return self.document.obj

    @property
    def name(self) -> str:
        """The object's name."""
        return self.obj.metadata.name

    def at(self, client: ManifestClient) -> DynamicResource:
        """The client of its resource and namespace."""
        return client.dynamic(self.resource, namespace=self.obj.metadata.namespace or None)


async def resolve_manifests(
    client: ManifestClient,
    source: ManifestSource,
    namespace: str | None,
    *,
    skip_unknown_kinds: bool = False,
    identity_only: bool = False,
) -> list[Manifest]:
    """Read manifests, and resolve their resources and namespaces.

    Args:
        client: The client.
        source: The manifests; see `ManifestSource`.
        namespace: The namespace of objects that name none; None for the client's default.
        skip_unknown_kinds: Leave out objects of kinds that the cluster does not serve.
        identity_only: Check only kind and name, so that objects from the server are valid, too.

    Returns:
        The manifests in install order.

    Raises:
        ManifestError: If a manifest is invalid; it lists the problems of all of them.
    """
    documents, problems = read_documents(source, identity_only=identity_only)
    defined, namespaces = defined_kinds(documents), defined_namespaces(documents)
    found = await _all_served(client, {document.gvk for document in documents if _kind_of(document) not in defined})
    failures: list[MastheadError] = []
    prepared: dict[tuple[str, ...], Manifest] = {}
    for document in documents:
        gvk, new = document.gvk, defined.get(_kind_of(document))
        # A definition in the same manifests wins: it may change the scope of a kind.
        served = new or found[gvk]
        if isinstance(served, MastheadError):
            # Objects of an unknown kind are deleted already; but a failed discovery proves nothing about a kind.
            if not (skip_unknown_kinds and isinstance(served, UnknownKindError)):
                problems.append(f"{document.label}: {served}")
                failures.append(served)
            continue
        try:
            here = _with_namespace(document, client.namespace, namespace, served)
        except ArgumentError as error:
            problems.append(f"{document.label}: {error}")
            continue
        meta = here.obj.metadata
        # Without the version: two versions of an object are the same object.
        key = (gvk.group, gvk.kind, meta.namespace, meta.name)
        if key in prepared:
            problems.append(f"{here.label}: is also in {prepared[key].document.origin}")
        # Its kind or namespace may appear only during this run, so a 404 is not final.
        is_new = new is not None or meta.namespace in namespaces
        prepared[key] = Manifest(here, gvk.group_version.resource(served.resource), is_new)
    if problems:
        raise refusal("nothing was sent; fix these problems first:", problems) from next(iter(failures), None)
    return installation_order(prepared.values(), lambda each: each.document.gvk)


def _kind_of(document: ManifestDocument) -> tuple[str, str]:
    return document.gvk.group, document.gvk.kind


async def _all_served(
    client: ManifestClient, kinds: Iterable[GroupVersionKind]
) -> dict[GroupVersionKind, KindScope | MastheadError]:
    """The resource of each kind, or the error of its lookup."""
    # Concurrently: lookups of unknown kinds then share one refresh of discovery.
    async with asyncio.TaskGroup() as group:
        tasks = {kind: group.create_task(_find_scope(client, kind)) for kind in kinds}
    return {kind: task.result() for kind, task in tasks.items()}


async def _find_scope(client: ManifestClient, gvk: GroupVersionKind) -> KindScope | MastheadError:
    # Built-in kinds need no discovery.
    if (known := known_kind(gvk)) is not None:
        return known
    try:
        found = await client.mapper.kind(gvk)
    except MastheadError as error:
        return error
    return KindScope(found.name, found.namespaced)


def _with_namespace(
    document: ManifestDocument, default: str, wanted: str | None, served: KindScope
) -> ManifestDocument:
    """A document in its namespace.

    Raises:
        ArgumentError: If the document names another namespace than the caller.
    """
    if not served.namespaced:
        return document.in_namespace("")  # as the server does
    own = document.obj.metadata.namespace
    if own and wanted and own != wanted:
        raise ArgumentError(f"is in namespace {own!r}, not in {wanted!r}; leave out one of them", value=own)
    return document if own else document.in_namespace(wanted or default)

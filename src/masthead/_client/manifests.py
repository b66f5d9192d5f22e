"""Apply and delete manifests of any kinds, in install order.

::

    read ──> validate ──> map kinds to resources ──> sort ──> apply one by one ──> done
                │                │                              │
                └────────────────┴─ raise all problems;         ├─ after CRDs: wait until their kinds
                                    nothing was sent            │  are served
                                                                └─ the first failure ends it; the error
                                                                   lists what was done before
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from masthead._client.conditions import crd_established
from masthead._client.conflicts import retry_on
from masthead._client.documents import (
    KindScope,
    ManifestDocument,
    Source,
    defined_kinds,
    defined_namespaces,
    known_kind,
    read_documents,
    refusal,
)
from masthead._client.install_order import installation_order, is_definition
from masthead._sansio.backoff import Attempts
from masthead.errors import (
    InvalidValueError,
    ManifestError,
    MastheadError,
    NotFoundError,
    UnknownKindError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from masthead._client.dynamic import DynamicResource
    from masthead._client.options import FieldValidation
    from masthead._discovery.model import ApiResource
    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
    from masthead._meta.unstructured import Unstructured
    from masthead._meta.v1 import DeletionPropagation

__all__ = ["ManifestClient", "Source", "apply_manifests", "delete_manifests"]

_log: Final = logging.getLogger("masthead.client")
_SOON: Final = Attempts(count=6, first=0.05, factor=2.0, jitter=0.1)


class _Mapper(Protocol):
    async def kind(self, gvk: GroupVersionKind) -> ApiResource: ...


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

    def dynamic(self, what: GroupVersionResource, *, namespace: str | None) -> DynamicResource:
        """A client of a resource."""
        ...


@dataclass(frozen=True, slots=True)
class _Manifest:
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
    def name(self) -> str:
        """The object's name."""
        return self.document.obj.metadata.name

    def at(self, client: ManifestClient) -> DynamicResource:
        """The client of its resource and namespace."""
        return client.dynamic(self.resource, namespace=self.document.obj.metadata.namespace or None)


async def apply_manifests(
    client: ManifestClient,
    source: Source,
    *,
    namespace: str | None = None,
    field_manager: str | None = None,
    force: bool = False,
    dry_run: bool = False,
    field_validation: FieldValidation | None = None,
    client_side: bool = False,
    wait_for_crds: bool = True,
    timeout: float | None = None,
) -> list[Unstructured]:
    """Apply manifests in install order.

    Everything is read and checked before the first object is sent.

    Args:
        client: The client.
        source: The manifests; see `Source`.
        namespace: The namespace of objects that name none; None for the client's default. An object that
            names another is a problem.
        field_manager: The field manager; required here or as the client's default for server-side apply.
        force: Take over fields that other managers own; for server-side apply.
        dry_run: Run validation and admission without storing anything. An object whose kind or namespace is
            created by the same manifests cannot be dry-run: it is skipped, and a log line names it.
        field_validation: How the server treats unknown fields.
        client_side: Apply as kubectl does without ``--server-side``, instead of with server-side apply.
        wait_for_crds: Wait after the definitions until their kinds are served.
        timeout: Timeout of each call and of each wait for a definition, in seconds.

    Returns:
        The objects as the server stored them, or would have, in the order in which they were applied.

    Raises:
        ManifestError: If a manifest is invalid, or a call fails; see its attributes.
    """
    manifests = await _prepare(client, source, namespace)
    skipped: list[str] = []

    async def apply(manifest: _Manifest) -> Unstructured | None:
        async def send() -> Unstructured:
            if client_side:
                return await manifest.at(client).apply_client_side(
                    manifest.document.obj,
                    field_manager=field_manager,
                    dry_run=dry_run,
                    field_validation=field_validation,
                    timeout=timeout,
                )
            return await manifest.at(client).apply(
                manifest.document.obj,
                field_manager=field_manager,
                force=force,
                dry_run=dry_run,
                field_validation=field_validation,
                timeout=timeout,
            )

        if not manifest.is_new:
            return await send()
        # A definition is established a moment before its kind is served.
        try:
            return await retry_on(send, NotFoundError, attempts=1 if dry_run else _SOON)
        except NotFoundError:
            if not dry_run:
                raise
            skipped.append(manifest.document.label)
            return None

    async def served(manifest: _Manifest) -> None:
        await manifest.at(client).wait_for(manifest.name, crd_established(), timeout=timeout)

    done: list[Unstructured] = []
    definitions, others = _split_definitions(manifests)
    await _each("apply", definitions, apply, done)
    if wait_for_crds and not dry_run:
        await _each("wait for", definitions, served, done)
    await _each("apply", others, apply, done)
    if skipped:
        _log.warning(
            "dry run skipped objects whose kind or namespace does not exist yet: %s", ", ".join(skipped)
        )
    return done


async def delete_manifests(
    client: ManifestClient,
    source: Source,
    *,
    namespace: str | None = None,
    propagation_policy: DeletionPropagation | None = None,
    dry_run: bool = False,
    timeout: float | None = None,
) -> list[Unstructured]:
    """Delete the objects of manifests in reverse install order; objects that do not exist are skipped.

    Objects of a kind that the cluster does not serve are skipped; a kind of a group that could not be
    discovered is a problem.

    Args:
        client: The client.
        source: The manifests; see `Source`.
        namespace: The namespace of objects that name none; None for the client's default. An object that
            names another is a problem.
        propagation_policy: How dependents are treated.
        dry_run: Run validation and admission without deleting anything.
        timeout: Timeout of each call, in seconds.

    Returns:
        The objects that existed, as in the manifests. Their deletion may still be in progress.

    Raises:
        ManifestError: If a manifest is invalid, or a call fails; see its attributes.
    """
    manifests = await _prepare(client, source, namespace, skip_unknown_kinds=True)

    async def delete(manifest: _Manifest) -> Unstructured | None:
        try:
            await manifest.at(client).delete(
                manifest.name, propagation_policy=propagation_policy, dry_run=dry_run, timeout=timeout
            )
        except NotFoundError:
            # It is gone already, which is what was wanted.
            return None
        return manifest.document.obj

    done: list[Unstructured] = []
    # In reverse, so that what others depend on, such as a namespace, goes last.
    await _each("delete", reversed(manifests), delete, done)
    return done


def _split_definitions(manifests: Iterable[_Manifest]) -> tuple[list[_Manifest], list[_Manifest]]:
    """CustomResourceDefinitions, and everything else."""
    definitions: list[_Manifest] = []
    others: list[_Manifest] = []
    for each in manifests:
        (definitions if is_definition(each.document.gvk) else others).append(each)
    return definitions, others


async def _each(
    verb: str,
    manifests: Iterable[_Manifest],
    do: Callable[[_Manifest], Awaitable[Unstructured | None]],
    done: list[Unstructured],
) -> None:
    """Run an operation for each manifest, and append the results to `done`.

    Raises:
        ManifestError: If one fails.
    """
    for manifest in manifests:
        try:
            response = await do(manifest)
        except MastheadError as error:
            # Nothing is undone, so the error says how far it came.
            before = ", ".join(f"{each.kind} {each.key}" for each in done) or "nothing"
            raise ManifestError(
                f"{verb} {manifest.document.label}: {str(error).rstrip('.')}. Done before: {before}.",
                done=done,
            ) from error
        if response is not None:
            done.append(response)


async def _prepare(
    client: ManifestClient, source: Source, namespace: str | None, *, skip_unknown_kinds: bool = False
) -> list[_Manifest]:
    """The manifests with resources and namespaces, in install order.

    Raises:
        ManifestError: If a manifest is invalid; it lists the problems of all of them.
    """
    documents, problems = read_documents(source)
    defined, namespaces = defined_kinds(documents), defined_namespaces(documents)
    found = await _all_served(client, {each.gvk for each in documents if _kind_of(each) not in defined})
    failures: list[MastheadError] = []
    prepared: dict[tuple[str, ...], _Manifest] = {}
    for document in documents:
        gvk, new = document.gvk, defined.get(_kind_of(document))
        served = new or found[gvk]
        if isinstance(served, MastheadError):
            # What cannot exist is deleted already; but a failed discovery says nothing about a kind.
            if not (skip_unknown_kinds and isinstance(served, UnknownKindError)):
                problems.append(f"{document.label}: {served}")
                failures.append(served)
            continue
        try:
            here = _with_namespace(document, client.namespace, namespace, served)
        except InvalidValueError as error:
            problems.append(f"{document.label}: {error}")
            continue
        meta = here.obj.metadata
        key = (gvk.group, gvk.kind, meta.namespace, meta.name)
        if key in prepared:
            problems.append(f"{here.label}: is also in {prepared[key].document.origin}")
        is_new = new is not None or meta.namespace in namespaces
        prepared[key] = _Manifest(here, gvk.group_version.resource(served.resource), is_new)
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
        tasks = {each: group.create_task(_served(client, each)) for each in kinds}
    return {each: task.result() for each, task in tasks.items()}


async def _served(client: ManifestClient, gvk: GroupVersionKind) -> KindScope | MastheadError:
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
        InvalidValueError: If the document names another namespace than the caller.
    """
    if not served.namespaced:
        return document.in_namespace("")  # as the server does
    own = document.obj.metadata.namespace
    if own and wanted and own != wanted:
        raise InvalidValueError(
            f"is in namespace {own!r}, not in {wanted!r}; leave out one of them", value=own
        )
    return document if own else document.in_namespace(wanted or default)

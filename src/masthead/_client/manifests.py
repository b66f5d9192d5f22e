"""Applying and deleting manifests of any kinds, in the right order.

::

    read ──> check ──> find out where each kind is served ──> sort ──> apply one by one ──> done
                │                      │                                 │
                └──────────────────────┴─ problems: all of them,         ├─ behind definitions: wait until their
                                          and nothing was sent           │  kinds are served
                                                                         └─ the first failure ends it, and says
                                                                            what was done before
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
    """What is needed of a client."""

    @property
    def namespace(self) -> str:
        """Where objects go that say nothing else."""
        ...

    @property
    def mapper(self) -> _Mapper:
        """Knows what the cluster serves."""
        ...

    def dynamic(self, what: GroupVersionResource, *, namespace: str | None) -> DynamicResource:
        """The objects of a resource."""
        ...


@dataclass(frozen=True, slots=True)
class _Manifest:
    """A document, and where its object is served.

    Attributes:
        document: The document, in its namespace.
        resource: Where.
        is_new: Whether the manifests themselves define its kind, or its namespace.
    """

    document: ManifestDocument
    resource: GroupVersionResource
    is_new: bool

    @property
    def name(self) -> str:
        """The object's name."""
        return self.document.obj.metadata.name

    def at(self, client: ManifestClient) -> DynamicResource:
        """What to send it to."""
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
    wait_for_crds: bool = True,
    timeout: float | None = None,
) -> list[Unstructured]:
    """Apply manifests on the server's side, what others need first.

    Everything is read and checked before the first object is sent.

    Args:
        client: Where to.
        source: What; see `Source`.
        namespace: For objects that name none; None for the client's own. One that names another is a problem.
        field_manager: Who owns the fields; needed, here or as the client's own.
        force: Take fields over that others own.
        dry_run: Go through everything, and store nothing. An object whose kind or namespace is still to come, from the
            same manifests, cannot be tried out: it is passed over, and a line in the log names it.
        field_validation: What the server does about fields that it does not know.
        wait_for_crds: Wait behind definitions until their kinds are served.
        timeout: Seconds for each call, and for each definition to be served.

    Returns:
        The objects as the server stored them, or would have, in the order in which they were applied.

    Raises:
        ManifestError: if something is wrong with the manifests, or a call fails; see its attributes.
    """
    manifests = await _prepared(client, source, namespace)
    untried: list[str] = []

    async def apply(manifest: _Manifest) -> Unstructured | None:
        async def send() -> Unstructured:
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
        # That a kind is established is known a moment before it is served.
        try:
            return await retry_on(send, NotFoundError, attempts=1 if dry_run else _SOON)
        except NotFoundError:
            if not dry_run:
                raise
            untried.append(manifest.document.label)
            return None

    async def served(manifest: _Manifest) -> None:
        await manifest.at(client).wait_for(manifest.name, crd_established(), timeout=timeout)

    done: list[Unstructured] = []
    definitions, others = _apart(manifests)
    await _each("apply", definitions, apply, done)
    if wait_for_crds and not dry_run:
        await _each("wait for", definitions, served, done)
    await _each("apply", others, apply, done)
    if untried:
        _log.warning("not tried out, since kind or namespace is still to come: %s", ", ".join(untried))
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
    """Delete what manifests describe, in the reverse order; what is not there is passed over.

    A kind that the cluster does not know is not there; one that may be in what could not be discovered is a problem.

    Args:
        client: Where.
        source: What; see `Source`.
        namespace: For objects that name none; None for the client's own. One that names another is a problem.
        propagation_policy: What becomes of what the objects own.
        dry_run: Go through everything, and delete nothing.
        timeout: Seconds for each call.

    Returns:
        What was there, as the manifests describe it. It may yet take a while until the last of it is gone.

    Raises:
        ManifestError: if something is wrong with the manifests, or a call fails; see its attributes.
    """
    manifests = await _prepared(client, source, namespace, is_gone_fine=True)

    async def delete(manifest: _Manifest) -> Unstructured | None:
        try:
            await manifest.at(client).delete(
                manifest.name, propagation_policy=propagation_policy, dry_run=dry_run, timeout=timeout
            )
        except NotFoundError:
            return None
        return manifest.document.obj

    done: list[Unstructured] = []
    await _each("delete", reversed(manifests), delete, done)
    return done


def _apart(manifests: Iterable[_Manifest]) -> tuple[list[_Manifest], list[_Manifest]]:
    """Definitions, and everything else."""
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
    """Do something with each manifest, and add what came of it to what is done.

    Raises:
        ManifestError: if one fails.
    """
    for manifest in manifests:
        try:
            answer = await do(manifest)
        except MastheadError as error:
            before = ", ".join(f"{each.kind} {each.key}" for each in done) or "nothing"
            raise ManifestError(
                f"{verb} {manifest.document.label}: {str(error).rstrip('.')}. Done before: {before}.",
                done=done,
            ) from error
        if answer is not None:
            done.append(answer)


async def _prepared(
    client: ManifestClient, source: Source, namespace: str | None, *, is_gone_fine: bool = False
) -> list[_Manifest]:
    """The manifests, each where it belongs, in the order in which they are to be installed.

    Raises:
        ManifestError: if something is wrong with them.
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
            if not (is_gone_fine and isinstance(served, UnknownKindError)):
                problems.append(f"{document.label}: {served}")
                failures.append(served)
            continue
        try:
            here = _placed(document, client.namespace, namespace, served)
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
        raise refusal("nothing was sent; fix these first:", problems) from next(iter(failures), None)
    return installation_order(prepared.values(), lambda each: each.document.gvk)


def _kind_of(document: ManifestDocument) -> tuple[str, str]:
    return document.gvk.group, document.gvk.kind


async def _all_served(
    client: ManifestClient, kinds: Iterable[GroupVersionKind]
) -> dict[GroupVersionKind, KindScope | MastheadError]:
    """Where the objects of each kind are served, or why that cannot be told."""
    # All at once, since those that are missing then share a look at the server.
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


def _placed(
    document: ManifestDocument, usual: str, wanted: str | None, served: KindScope
) -> ManifestDocument:
    """A document in its namespace.

    Raises:
        InvalidValueError: if it names another than is wanted.
    """
    if not served.namespaced:
        return document.in_namespace("")  # which is what the server does
    own = document.obj.metadata.namespace
    if own and wanted and own != wanted:
        raise InvalidValueError(
            f"is of namespace {own!r}, not of {wanted!r}; leave out one of them", value=own
        )
    return document if own else document.in_namespace(wanted or usual)

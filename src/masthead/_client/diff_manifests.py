"""Compare manifests with the cluster: each is applied in a dry run, and the result is compared with the stored object.

::

    read the object ──> apply with dry run ──> same version of the object? ──yes──> compare
          ^                    │ conflict             │ no: it has changed in between
          │                    └─> dry run with force └───────────┐
          └───────────────────────────────────────────────────────┘
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead._client.diffs import DiffResult, ObjectDiff
from masthead._client.documents import refusal
from masthead._client.manifest_calls import apply_one, read_one
from masthead._client.manifest_resources import resolve_manifests
from masthead._client.pruning import open_apply_set
from masthead.errors import (
    ApplyConflictError,
    AuthError,
    ClosedError,
    MastheadError,
    TransportError,
    UnauthorizedError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._client.apply_sets import ApplySet
    from masthead._client.documents import ManifestSource
    from masthead._client.manifest_calls import ManifestOptions
    from masthead._client.manifest_resources import Manifest, ManifestClient

__all__ = ["diff_manifests"]

_log: Final = logging.getLogger("masthead.client")
_AT_ONCE: Final = 8
"""The number of concurrent comparisons."""
_CONNECTION: Final = (TransportError, AuthError, UnauthorizedError, ClosedError)
"""Errors of the connection or the user, not of a manifest."""
_ATTEMPTS: Final = 4
"""How often an object that keeps changing is read."""


async def diff_manifests(
    client: ManifestClient,
    source: ManifestSource,
    options: ManifestOptions,
    *,
    namespace: str | None = None,
    apply_set: str | ApplySet | None = None,
) -> DiffResult:
    """Compare manifests with the cluster. Nothing is stored.

    Args:
        client: The client.
        source: The manifests; see `ManifestSource`.
        options: How they would be applied.
        namespace: The namespace of objects that name none; None for the client's default.
        apply_set: The apply set of which the objects would become members; the result includes members to be pruned.

    Raises:
        ManifestError: If a manifest is invalid, or the server refuses some of them; it lists all.
        ArgumentError: If the apply set is invalid, or another tool manages it.
        MastheadError: If the apply set's parent or members cannot be read.
        TransportError: If there is no connection.
    """
    # Whatever the caller passes: a diff must never write.
    dry = replace(options, dry_run=True)
    manifests: Sequence[Manifest] = await resolve_manifests(client, source, namespace)
    opened = None
    if apply_set is not None:
        opened = await open_apply_set(client, apply_set, namespace, manifests, timeout=dry.timeout)
        manifests = opened.manifests
    diffs = await _diff_all(client, manifests, dry)
    if opened is not None:
        kept = [diff.before for diff in diffs if diff.before is not None]
        pruned = await opened.members_to_prune(kept, dry.timeout)
        diffs += [ObjectDiff(member.obj, None) for member in pruned]
    return DiffResult(diffs)


async def _diff_all(
    client: ManifestClient, manifests: Sequence[Manifest], options: ManifestOptions
) -> list[ObjectDiff]:
    slots = asyncio.Semaphore(_AT_ONCE)

    async def diff(manifest: Manifest) -> ObjectDiff | MastheadError:
        async with slots:
            try:
                return await _diff_one(client, manifest, options)
            except MastheadError as error:
                return error

    # Errors are results here: one bad manifest must not hide the differences of the others.
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(diff(manifest)) for manifest in manifests]
    diffs: list[ObjectDiff] = []
    errors: dict[str, MastheadError] = {}
    for manifest, task in zip(manifests, tasks, strict=True):
        result = task.result()
        if isinstance(result, _CONNECTION):
            raise result  # it would be said of every manifest
        if isinstance(result, MastheadError):
            errors[manifest.document.label] = result
        else:
            diffs.append(result)
    if errors:
        problems = [f"{label}: {error}" for label, error in errors.items()]
        raise refusal("these manifests cannot be compared:", problems) from next(iter(errors.values()))
    return diffs


async def _diff_one(client: ManifestClient, manifest: Manifest, options: ManifestOptions) -> ObjectDiff:
    for _ in range(_ATTEMPTS - 1):
        diff = await _compare(client, manifest, options)
        # Another client may write between the read and the dry run.
        if _is_consistent(diff):
            return diff
    diff = await _compare(client, manifest, options)
    if not _is_consistent(diff):
        _log.warning("diff: %s keeps changing; what is shown may mix two versions", manifest.document.label)
    return diff


async def _compare(client: ManifestClient, manifest: Manifest, options: ManifestOptions) -> ObjectDiff:
    before = await read_one(client, manifest, options.timeout)
    conflict: ApplyConflictError | None = None
    try:
        after = await apply_one(client, manifest, options)
    except ApplyConflictError as error:
        conflict = error
        # The user wants to see what --force would change.
        after = await apply_one(client, manifest, replace(options, force=True))
    # The server cannot dry-run an object whose kind or namespace the same manifests create.
    return ObjectDiff(before, manifest.obj if after is None else after, conflict)


def _is_consistent(diff: ObjectDiff) -> bool:
    """Whether both sides are of the same version: a dry run returns that of the object that it would change."""
    before, after = ("" if obj is None else obj.metadata.resource_version for obj in (diff.before, diff.after))
    return before == after

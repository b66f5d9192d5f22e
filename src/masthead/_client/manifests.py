"""Apply and delete manifests of any kinds, in install order.

::

    read ──> validate ──> map kinds to resources ──> sort ──> apply one by one ──> prune ──> wait ──> done
                │                │                              │
                └────────────────┴─ raise all problems;         ├─ after CRDs: wait until their kinds
                                    nothing was sent            │  are served
                                                                └─ the first failure ends it; the error
                                                                   lists the operations before
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, TypeVar

from masthead._client.apply_results import ApplyResult, outcome_of
from masthead._client.conditions import crd_established, deleted
from masthead._client.documents import ManifestSource
from masthead._client.install_order import is_definition
from masthead._client.manifest_calls import ManifestOptions, apply_one, read_one
from masthead._client.manifest_resources import Manifest, ManifestClient, resolve_manifests
from masthead._client.pruning import open_apply_set
from masthead._client.restarts import can_restart
from masthead._client.wait_all import wait_for_manifests
from masthead.errors import ArgumentError, ForbiddenError, ManifestError, MastheadError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from masthead._client.apply_results import ApplyOutcome
    from masthead._client.apply_sets import ApplySet
    from masthead._client.pruning import Member, OpenApplySet
    from masthead._meta.unstructured import Unstructured
    from masthead._meta.v1 import DeletionPropagation

__all__ = ["ManifestClient", "ManifestSource", "apply_manifests", "delete_manifests", "restart_manifests"]

T = TypeVar("T")

_log: Final = logging.getLogger("masthead.client")


async def apply_manifests(
    client: ManifestClient,
    source: ManifestSource,
    options: ManifestOptions,
    *,
    namespace: str | None = None,
    apply_set: str | ApplySet | None = None,
    prune: bool = False,
    wait_for_crds: bool = True,
    wait: float | None = None,
    on_applied: Callable[[Unstructured, ApplyOutcome], None] | None = None,
) -> ApplyResult:
    """Apply manifests in install order.

    Everything is read and checked before the first object is sent.

    Args:
        client: The client.
        source: The manifests; see `ManifestSource`.
        options: How each of them is applied.
        namespace: The namespace of objects that name none; None for the client's default. An object that
            names another is a problem.
        apply_set: The apply set of which the objects become members.
        prune: Delete members of the apply set that are not in the manifests.
        wait_for_crds: Wait after the definitions until their kinds are served.
        wait: Seconds to wait until all objects are ready and pruned objects are deleted; None not to wait.
        on_applied: Called with each applied object and the operation on it.

    Returns:
        The objects as the server stored them, or would have, in the order in which they were applied.

    Raises:
        ManifestError: If a manifest is invalid, or a call fails; see its attributes.
        ArgumentError: If `prune` is given without an apply set, or if the set is invalid or managed by another tool.
        MastheadError: If the parent of the apply set cannot be read.
    """
    if prune and apply_set is None:
        raise ArgumentError("prune needs an apply set: name its parent, such as apply_set='configmaps/web'")
    # All problems of all manifests are reported before the first request.
    manifests = await resolve_manifests(client, source, namespace)
    run = _ApplyRun(client, options, on_applied)
    if apply_set is None:
        await run.apply(manifests, wait_for_crds=wait_for_crds)
    else:
        opened = await open_apply_set(client, apply_set, namespace, manifests, timeout=options.timeout)
        # Before anything is applied, so that members are found even if this run ends early.
        await run.update_parent(opened, is_superset=True)
        await run.apply(opened.manifests, wait_for_crds=wait_for_crds)
        if prune:
            await run.prune(opened)
            # Only after pruning: the parent must list kinds as long as members of them may exist.
            await run.update_parent(opened, is_superset=False)
    if wait is not None and not options.dry_run:
        await run.wait(wait)
    return run.result()


async def delete_manifests(
    client: ManifestClient,
    source: ManifestSource,
    *,
    namespace: str | None = None,
    grace_period_seconds: int | None = None,
    propagation_policy: DeletionPropagation | None = None,
    dry_run: bool = False,
    on_deleted: Callable[[Unstructured], None] | None = None,
    timeout: float | None = None,
) -> list[Unstructured]:
    """Delete the objects of manifests in reverse install order; objects that do not exist are skipped.

    Objects of a kind that the cluster does not serve are skipped; a kind of a group that could not be
    discovered is a problem.

    Args:
        client: The client.
        source: The manifests; see `ManifestSource`.
        namespace: The namespace of objects that name none; None for the client's default. An object that
            names another is a problem.
        grace_period_seconds: The grace period of each object; None for its own.
        propagation_policy: How dependents are treated.
        dry_run: Run validation and admission without deleting anything.
        on_deleted: Called with each object as soon as its deletion is accepted.
        timeout: Timeout of each call, in seconds.

    Returns:
        The objects that existed: as the server has them if their deletion is in progress, otherwise as in the
        manifests.

    Raises:
        ManifestError: If a manifest is invalid, or a call fails; see its attributes.
    """
    manifests = await resolve_manifests(client, source, namespace, skip_unknown_kinds=True, identity_only=True)
    done: list[Unstructured] = []

    async def delete(manifest: Manifest) -> None:
        try:
            remaining = await manifest.at(client).delete(
                manifest.name,
                grace_period_seconds=grace_period_seconds,
                propagation_policy=propagation_policy,
                dry_run=dry_run,
                timeout=timeout,
            )
        except NotFoundError:
            # Deleted already, as desired.
            return
        done.append(remaining or manifest.obj)
        if on_deleted is not None:
            on_deleted(done[-1])

    # In reverse, so that what others depend on, such as a namespace, goes last.
    await _each("delete", reversed(manifests), delete, _label_of, done)
    return done


async def restart_manifests(
    client: ManifestClient,
    source: ManifestSource,
    *,
    namespace: str | None = None,
    dry_run: bool = False,
    field_manager: str | None = None,
    timeout: float | None = None,
) -> list[Unstructured]:
    """Restart the deployments, daemon sets and stateful sets among manifests; other objects are skipped.

    Args:
        client: The client.
        source: The objects, or their manifests.
        namespace: The namespace of objects that name none; None for the client's default.
        dry_run: Run validation and admission without storing anything.
        field_manager: The field manager to record.
        timeout: Timeout of each call, in seconds.

    Returns:
        The workloads as the server stored them.

    Raises:
        ManifestError: If a manifest is invalid, or a call fails; see its attributes.
    """
    manifests = await resolve_manifests(client, source, namespace, identity_only=True)
    done: list[Unstructured] = []

    async def restart(manifest: Manifest) -> None:
        resource = manifest.at(client)
        done.append(
            await resource.restart(manifest.name, dry_run=dry_run, field_manager=field_manager, timeout=timeout)
        )

    # Other kinds in the same files are left alone, as a directory often has all of an application.
    workloads = [manifest for manifest in manifests if can_restart(manifest.document.gvk)]
    await _each("restart", workloads, restart, _label_of, done)
    return done


class _ApplyRun:
    """One application of manifests, and what it has done so far."""

    def __init__(
        self,
        client: ManifestClient,
        options: ManifestOptions,
        on_applied: Callable[[Unstructured, ApplyOutcome], None] | None,
    ) -> None:
        self._client = client
        self._options = options
        self._on_applied = on_applied
        self._applied: list[Unstructured] = []
        self._outcomes: list[ApplyOutcome] = []
        self._pruned: list[Unstructured] = []
        self._skipped: list[str] = []

    def result(self) -> ApplyResult:
        pairs = zip(self._applied, self._outcomes, strict=True)
        return ApplyResult(pairs, self._pruned, is_dry_run=self._options.dry_run, skipped=self._skipped)

    async def apply(self, manifests: Sequence[Manifest], *, wait_for_crds: bool) -> None:
        """Apply all manifests, the definitions first.

        Raises:
            ManifestError: If a call fails.
        """
        definitions = [manifest for manifest in manifests if is_definition(manifest.document.gvk)]
        others = [manifest for manifest in manifests if not is_definition(manifest.document.gvk)]

        async def apply(manifest: Manifest) -> None:
            if not await self._apply_one(manifest):
                self._skipped.append(manifest.document.label)

        async def wait(manifest: Manifest) -> None:
            resource = manifest.at(self._client)
            await resource.wait_for(manifest.name, crd_established(), timeout=self._options.timeout)

        # Definitions first: the API server rejects objects of kinds that it does not serve yet.
        await _each("apply", definitions, apply, _label_of, self._applied)
        if wait_for_crds and not self._options.dry_run:
            await _each("wait for", definitions, wait, _label_of, self._applied)
        await _each("apply", others, apply, _label_of, self._applied)
        if self._skipped:
            _log.warning(
                "dry run skipped objects whose kind or namespace does not exist yet: %s",
                ", ".join(self._skipped),
            )

    async def wait(self, timeout: float) -> None:
        """Wait until all applied objects are ready, and all pruned ones are deleted.

        Raises:
            ManifestError: If that takes too long, or an object has failed.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout
        try:
            await wait_for_manifests(self._client, self._applied, None, namespace=None, timeout=timeout)
            # One timeout for both waits.
            left = max(deadline - clock(), 0.0)
            await wait_for_manifests(self._client, self._pruned, deleted(), namespace=None, timeout=left)
        except MastheadError as error:
            raise ManifestError(f"everything was applied, but: {error}", done=self._applied) from error

    async def _apply_one(self, manifest: Manifest) -> bool:
        """Apply one manifest; returns False if a dry run has to skip it."""
        before: Unstructured | None = None
        is_readable = True
        try:
            before = await read_one(self._client, manifest, self._options.timeout)
        except ForbiddenError:
            is_readable = False  # applying needs no right to read
        after = await apply_one(self._client, manifest, self._options)
        if after is None:
            return False
        # Without the right to read, a change cannot be ruled out.
        outcome = outcome_of(before, after, is_dry_run=self._options.dry_run) if is_readable else "configured"
        self._applied.append(after)
        self._outcomes.append(outcome)
        if self._on_applied is not None:
            self._on_applied(after, outcome)
        return True

    async def update_parent(self, opened: OpenApplySet, *, is_superset: bool) -> None:
        """Write the kinds and namespaces of the members to the parent.

        Raises:
            ManifestError: If the call fails.
        """
        # The union while objects of both may exist, so that an aborted run loses none.
        membership = opened.before | opened.after if is_superset else opened.after

        async def update(_: object) -> None:
            await opened.update_parent(membership, self._options)

        await _each("update", [opened.parent], update, str, [*self._applied, *self._pruned])

    async def prune(self, opened: OpenApplySet) -> None:
        """Delete the members that were not applied.

        Raises:
            ManifestError: If a call fails.
        """
        found: list[Member] = []

        async def list_members(_: object) -> None:
            found.extend(await opened.members_to_prune(self._applied, self._options.timeout))

        async def delete(member: Member) -> None:
            if await opened.delete(member, self._options):
                self._pruned.append(member.obj)

        await _each("list the members of", [opened.parent], list_members, str, self._applied)
        await _each("prune", found, delete, str, self._applied)


def _label_of(manifest: Manifest) -> str:
    return manifest.document.label


async def _each(
    verb: str,
    targets: Iterable[T],
    do: Callable[[T], Awaitable[None]],
    label: Callable[[T], str],
    done: Sequence[Unstructured],
) -> None:
    """Run an operation for each target.

    Raises:
        ManifestError: If a manifest fails; it lists the operations before.
    """
    for target in targets:
        try:
            await do(target)
        except MastheadError as error:
            # There is no rollback, so the error lists the completed operations.
            before = ", ".join(f"{document.kind} {document.key}" for document in done) or "nothing"
            raise ManifestError(
                f"{verb} {label(target)}: {str(error).rstrip('.')}. Done before: {before}.", done=done
            ) from error

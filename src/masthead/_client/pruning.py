"""Prune by apply set: update the parent, and delete the members that have left the set.

::

    read the parent ──> parent: superset ──> apply all ──> list members ──> delete those ──> parent: exact
         │                       │                                          not applied
         └─ refuses other tools  └─ whatever fails from here on, the next run still finds every member
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from masthead._client.apply_sets import (
    IS_PARENT_TYPE,
    ApplySetParent,
    Membership,
    apply_set_of,
    parent_resource,
    with_member_label,
)
from masthead._client.documents import refusal
from masthead._client.install_order import installation_order
from masthead._meta.gvk import GroupVersionResource
from masthead.errors import ArgumentError, ConflictError, MastheadError, NotFoundError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead._client.apply_sets import ApplySet
    from masthead._client.manifest_calls import ManifestOptions
    from masthead._client.manifest_resources import Manifest, ManifestClient
    from masthead._discovery.model import ServedResource
    from masthead._meta.gvk import GroupKind
    from masthead._meta.unstructured import Unstructured

__all__ = ["Member", "OpenApplySet", "open_apply_set"]

_log: Final = logging.getLogger("masthead.client")
_AT_ONCE: Final = 8
"""The number of concurrent lists."""
_DEFINITIONS: Final = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an apply set in the cluster.

    Attributes:
        obj: The object.
        resource: Its resource.
    """

    obj: Unstructured
    resource: GroupVersionResource

    def __str__(self) -> str:
        return f"{self.obj.kind} {self.obj.key}"


@dataclass(frozen=True, slots=True)
class OpenApplySet:
    """An apply set whose parent was read and checked.

    Attributes:
        client: The client.
        parent: The parent.
        resources: The resources of its present members.
        before: The kinds and namespaces of its present members.
        manifests: The manifests to apply, labelled as members.
    """

    client: ManifestClient
    parent: ApplySetParent
    resources: tuple[ServedResource, ...]
    before: Membership
    manifests: tuple[Manifest, ...]

    @property
    def after(self) -> Membership:
        """The kinds and namespaces of its members after the apply."""
        return Membership.of(manifest.obj for manifest in self.manifests)

    async def update_parent(self, membership: Membership, options: ManifestOptions) -> None:
        """Write the kinds and namespaces of the members to the parent.

        Raises:
            MastheadError: As any apply.
        """
        resource = self.client.dynamic(self.parent.resource, namespace=self.parent.namespace or None)

        async def apply(*, force: bool) -> None:
            await resource.apply(
                self.parent.configuration(membership),
                field_manager=self.parent.field_manager,
                force=force,
                dry_run=options.dry_run,
                field_validation=options.field_validation,
                timeout=options.timeout,
            )

        try:
            await apply(force=False)
        except ConflictError as error:
            # These fields belong to the tool that manages the set.
            _log.warning("%s: taking over fields of other managers: %s", self.parent, error)
            await apply(force=True)

    async def members_to_prune(self, kept: Iterable[Unstructured], timeout: float | None) -> list[Member]:
        """List the members that are neither in the manifests nor among the objects to keep, in the order of deletion.

        The parent is never among them. Only kinds and namespaces that the parent lists are searched.

        Args:
            kept: The objects of the manifests, from the server's responses. They are compared by UID, because several
                groups may serve one object.
            timeout: Timeout of each call, in seconds.

        Raises:
            MastheadError: As any list.
        """
        uids = {obj.metadata.uid for obj in kept}
        # differs from kubectl: an object that was deleted and created again since it was applied stays, too.
        names = {(manifest.obj.gvk.group_kind, manifest.obj.key) for manifest in self.manifests}
        # differs from kubectl: the parent stays though it was a member, or the set would lose its list of kinds.
        names.add((self.parent.gvk.group_kind, self.parent.key))
        slots = asyncio.Semaphore(_AT_ONCE)

        async def list_members(found: ServedResource, namespace: str | None) -> list[Member] | MastheadError:
            async with slots:
                try:
                    listed = await self.client.dynamic(found.gvr, namespace=namespace).list(
                        label_selector=self.parent.member_selector, timeout=timeout
                    )
                except MastheadError as error:
                    return error
            return [
                Member(obj, found.gvr)
                for obj in listed
                if obj.metadata.uid not in uids and (obj.gvk.group_kind, obj.key) not in names
            ]

        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(list_members(resource, namespace))
                for resource in self.resources
                # By namespace, because the user may lack the right to list across all of them.
                for namespace in (sorted(self.before.namespaces) if resource.namespaced else [None])
            ]
        members: list[Member] = []
        for task in tasks:
            # An incomplete list must not prune: what it lacks would look like a new set.
            if isinstance(result := task.result(), MastheadError):
                raise result
            members += result
        # In reverse, so that dependencies are deleted last.
        return installation_order(members, lambda each: each.obj.gvk)[::-1]

    async def delete(self, member: Member, options: ManifestOptions) -> bool:
        """Delete a member, unless it was replaced by another object of the same name.

        Returns:
            Whether it was deleted, by this or another client.

        Raises:
            MastheadError: As any delete.
        """
        meta = member.obj.metadata
        resource = self.client.dynamic(member.resource, namespace=meta.namespace or None)
        try:
            await resource.delete(
                meta.name,
                # Another client may have replaced the object since it was listed.
                uid=meta.uid,
                propagation_policy="Background",
                dry_run=options.dry_run,
                timeout=options.timeout,
            )
        except NotFoundError:
            return True
        except ConflictError as error:
            _log.warning("prune: %s was replaced by another object since it was listed: %s", member, error)
            return False
        return True


async def open_apply_set(
    client: ManifestClient,
    given: str | ApplySet,
    namespace: str | None,
    manifests: Sequence[Manifest],
    *,
    timeout: float | None,
) -> OpenApplySet:
    """Read the parent of an apply set, and label manifests as its members. Nothing is written.

    Raises:
        ArgumentError: If the parent is invalid, or another tool manages it.
        ManifestError: If a manifest has the label of a member already.
        MastheadError: As any call.
    """
    apply_set = apply_set_of(given)
    parent = await _find_parent(client, apply_set, namespace, timeout)
    before = Membership()
    try:
        found = await client.dynamic(parent.resource, namespace=parent.namespace or None).get(
            parent.name, timeout=timeout
        )
    except NotFoundError:
        # A custom parent carries meaning for its controller, so that it is not created on the side.
        if not parent.is_builtin:
            raise ArgumentError(
                f"{parent} does not exist; create it: only ConfigMaps and Secrets are created", value=parent
            ) from None
    else:
        before = parent.membership_of(found)
    resources = [each for kind in sorted(before.kinds) if (each := await _resource_of(client, kind))]
    # By kind from here on: an old annotation lists resources.
    kinds = frozenset(resource.gvk.group_kind for resource in resources)
    return OpenApplySet(
        client,
        parent,
        tuple(resources),
        replace(before, kinds=kinds),
        tuple(_add_labels(manifests, parent.id)),
    )


async def _find_parent(
    client: ManifestClient, apply_set: ApplySet, namespace: str | None, timeout: float | None
) -> ApplySetParent:
    resource, _, group = parent_resource(apply_set).partition(".")
    found = await client.mapper.find(resource, group=group or None)
    place = apply_set.namespace or namespace
    if found.namespaced and not place:
        # Not the client's default: with another default, it would silently be another set.
        raise ArgumentError(
            f"apply set {apply_set.parent!r} needs a namespace: pass namespace=... to the call or to the ApplySet",
            value=apply_set.parent,
        )
    parent = ApplySetParent(apply_set, found.gvk, found.gvr, place or "" if found.namespaced else "")
    if not parent.is_builtin:
        definitions = client.dynamic(_DEFINITIONS, namespace=None)
        allowed = {
            definition.metadata.name
            for definition in await definitions.list(label_selector=IS_PARENT_TYPE, timeout=timeout)
        }
        if found.gvr.group_resource not in allowed:
            raise ArgumentError(
                f"{found.gvr.group_resource} cannot be the parent of an apply set; use a ConfigMap or a "
                f"Secret, or label its CustomResourceDefinition with {IS_PARENT_TYPE}",
                value=apply_set.parent,
            )
    return parent


async def _resource_of(client: ManifestClient, kind: GroupKind) -> ServedResource | None:
    """The resource of a kind; None if its definition was deleted, and its objects with it."""
    try:
        return await client.mapper.find(kind.kind, group=kind.group)
    except UnknownKindError:
        failures = (await client.discovery.resources()).failures
        # A group that could not be discovered may have members.
        if any(failure.group == kind.group for failure in failures):
            raise
        _log.warning("prune: the apply set lists the kind %s, which the cluster no longer serves", kind)
        return None


def _add_labels(manifests: Iterable[Manifest], id_: str) -> list[Manifest]:
    labelled: list[Manifest] = []
    problems: list[str] = []
    for manifest in manifests:
        try:
            document = replace(manifest.document, obj=with_member_label(manifest.obj, id_))
        except ArgumentError as error:
            problems.append(f"{manifest.document.label}: {error}")
        else:
            labelled.append(replace(manifest, document=document))
    if problems:
        raise refusal("nothing was sent; fix these problems first:", problems)
    return labelled

"""Finds the family of an object on the server, and follows it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from masthead._cli.connection import connection_error
from masthead._cli.failures import explain
from masthead._cli.owner_tree import Family, FamilyMember, member_of
from masthead._printers.status import Vitals, vitals_of
from masthead.errors import MastheadError, NotFoundError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Sequence

    from masthead import aio
    from masthead._discovery.model import ServedResource
    from masthead._meta.metadata import OwnerReference
    from masthead._meta.v1 import PartialObjectMetadata

__all__ = ["FamilySearch"]

_AT_ONCE: Final = 8
"""How many requests are made at the same time."""
_FEW: Final = 5
"""Up to how many objects of a kind are requested one by one; more are listed."""
_WATCHES: Final = 40
_OFTEN: Final = frozenset(
    {
        "pods",
        "replicasets",
        "jobs",
        "controllerrevisions",
        "endpointslices",
        "persistentvolumeclaims",
        "secrets",
    }
)
"""Kinds that are dependents so often that they are watched even without an object."""


class FamilySearch:
    """Looks for the owners and the dependents of an object.

    Args:
        client: The client.
        resource: The resource of the object.
        namespace: Its namespace; None if it has none.
        name: Its name.
    """

    def __init__(self, client: aio.Client, resource: ServedResource, namespace: str | None, name: str) -> None:
        self._client = client
        self._resource = resource
        self._namespace = namespace
        self._name = name
        self._limit = asyncio.Semaphore(_AT_ONCE)
        self._with_owners: dict[str, ServedResource] = {}
        self._informers: list[aio.SharedInformer[PartialObjectMetadata]] = []
        self._unsynced: list[tuple[aio.SharedInformer[PartialObjectMetadata], ServedResource]] = []
        self.problems: dict[str, str] = {}
        self.vitals: dict[str, Vitals] = {}
        self.changed: set[str] = set()
        self.changes = 0
        self._has_new_owners = False

    async def begin(self) -> None:
        """Get the object, and the owners above it.

        Raises:
            NotFoundError: If there is no such object.
            MastheadError: As any call.
        """
        found = await self._client.metadata(self._resource.gvr, namespace=self._namespace).get(self._name)
        self.family = Family(member_of(found.metadata, self._resource))
        await self._climb()

    async def _climb(self) -> None:
        """Get the owners above the root that are not known yet."""
        self._has_new_owners = False
        while (member := self.family.with_missing_owner()) is not None:
            owner = await self._owner(member, member.owners[0])
            if owner is None or not self.family.add(owner, is_known=True):
                break

    async def _owner(self, member: FamilyMember, reference: OwnerReference) -> FamilyMember | None:
        """Get an owner; return None if it does not exist, or cannot be read."""
        try:
            resource = await self._client.mapper.find(reference.kind, api_version=reference.api_version)
            # An owner is in the namespace of its dependent, or cluster-scoped; references have no namespace.
            namespace = member.namespace if resource.namespaced else None
            found = await self._client.metadata(resource.gvr, namespace=namespace).get(reference.name)
        except (NotFoundError, UnknownKindError):
            return None
        except MastheadError as error:
            self.problems[reference.kind] = explain(error).line
            return None
        # Another object of the same name is not the owner.
        return member_of(found.metadata, resource) if found.metadata.uid == reference.uid else None

    async def kinds(self) -> list[ServedResource]:
        """The resources that can hold dependents: those of a namespaced object are in its namespace.

        Raises:
            MastheadError: As any call.
        """
        served = await self._client.discovery.preferred_resources()
        for version, error in served.failures.items():
            self.problems[str(version)] = explain(error).line
        return [
            resource
            for resource in served
            if "list" in resource.verbs
            # Events name their object in `involvedObject`, have no owners, and are the largest lists of many clusters.
            and resource.kind != "Event"
            and (resource.namespaced or not self._resource.namespaced)
        ]

    async def search(self, kinds: Sequence[ServedResource], on_done: Callable[[ServedResource], object]) -> None:
        """List the metadata of all kinds, and record objects with owners.

        Args:
            kinds: The resources to search.
            on_done: Called with each finished resource.
        """

        async def search_one(resource: ServedResource) -> None:
            async with self._limit:
                await self._list(resource)
                on_done(resource)

        async with asyncio.TaskGroup() as group:
            for kind in kinds:
                group.create_task(search_one(kind))

    async def _list(self, resource: ServedResource) -> None:
        listed = self._client.metadata(resource.gvr, namespace=self._place(resource))
        try:
            async for page in listed.iter_pages():
                for item in page.items:
                    if self.family.add(member_of(item.metadata, resource)):
                        self._with_owners[str(resource.gvr)] = resource
        # A kind that may not be listed must not hide the others; the command names it at the end.
        except MastheadError as error:
            self.problems[resource.gvr.group_resource] = explain(error).line

    def _place(self, resource: ServedResource) -> str | None:
        return self._namespace if resource.namespaced else None

    async def catch_up(self, most: int) -> None:
        """Refresh changed members, and the owners above the root if they have changed.

        Args:
            most: The maximum number of members.
        """
        for informer, resource in [pair for pair in self._unsynced if pair[0].has_synced]:
            self._unsynced.remove((informer, resource))
            self._forget_unlisted(resource, {obj.metadata.uid for obj in informer.lister.list()})
        if self._has_new_owners:
            await self._climb()
            self.changed.update(member.uid for member in self.family.path())
            self.changes += 1
        some = [self.changed.pop() for _ in range(min(most, len(self.changed)))]
        members = (self.family.get(uid) for uid in some)
        await self.look(member for member in members if member is not None)

    def _forget_unlisted(self, resource: ServedResource, listed: set[str]) -> None:
        """Remove members that were deleted between the search and a watch's first list: they have no event."""
        for member in self.family.members():
            if member.resource is not None and member.resource.gvr == resource.gvr and member.uid not in listed:
                self._forget(member.uid)

    def _forget(self, uid: str) -> None:
        if uid in self.family:
            self.family.remove(uid)
            self.vitals.pop(uid, None)
            self.changes += 1

    async def look(self, members: Iterable[FamilyMember]) -> None:
        """Find out how members are."""
        kinds: dict[tuple[str, str], list[FamilyMember]] = {}
        for member in members:
            if member.resource is not None and not member.is_missing:
                kinds.setdefault((str(member.resource.gvr), member.namespace), []).append(member)

        async def look_at(found: list[FamilyMember]) -> None:
            async with self._limit:
                await self._fetch_rows(found)

        async with asyncio.TaskGroup() as group:
            for found in kinds.values():
                # A list has all objects of the kind in the namespace, which is too much for a few rows.
                for some in [[member] for member in found] if len(found) <= _FEW else [found]:
                    group.create_task(look_at(some))

    async def _fetch_rows(self, members: Sequence[FamilyMember]) -> None:
        """Ask the server to print members of one kind, in one namespace."""
        resource = members[0].resource
        assert resource is not None
        one = f"metadata.name={members[0].name}" if len(members) == 1 else None
        listed = self._client.dynamic(resource.gvr, namespace=members[0].namespace or None)
        uids = {member.name: member.uid for member in members}
        try:
            table = await listed.table(field_selector=one)
        except MastheadError:
            return  # the last known row stays until the server answers again
        for row in table.rows:
            # The list has the other objects of the namespace as well.
            if row.name in uids:
                self.vitals[uids[row.name]] = vitals_of(table.columns, row.cells)

    @asynccontextmanager
    async def following(self, kinds: Sequence[ServedResource]) -> AsyncGenerator[None]:
        """Watch the kinds of the members, and kinds that are often dependents.

        Args:
            kinds: The searched resources.
        """
        from masthead._cache.informer.informer import SharedInformer

        members = [leaf.member.resource for leaf in self.family.leaves()]
        wanted = {str(member.gvr): member for member in members if member is not None} | self._with_owners
        wanted |= {str(kind.gvr): kind for kind in kinds if kind.name in _OFTEN}
        # A bound on the connections to the server: a watch per kind, in clusters with hundreds of CRDs.
        watched = [resource for resource in wanted.values() if "watch" in resource.verbs][:_WATCHES]
        async with AsyncExitStack() as stack:
            for resource in watched:
                place = self._place(resource)
                informer = SharedInformer(self._client.metadata(resource.gvr, namespace=place), transform=_essentials)
                self._handle(informer, resource)
                self._informers.append(await stack.enter_async_context(informer))
                self._unsynced.append((informer, resource))
            yield

    def _handle(self, informer: aio.SharedInformer[PartialObjectMetadata], resource: ServedResource) -> None:
        def take(obj: PartialObjectMetadata) -> None:
            member = member_of(obj.metadata, resource)
            known = self.family.get(member.uid)
            if self._is_new_root(member):
                self.family.replace_root(member)
            elif not self.family.add(member):
                return
            # The informer's first list repeats what the search found.
            if known is None or known.version != member.version:
                self.changed.add(member.uid)
                self.changes += 1
            if member.uid == self.family.root and (known is None or known.owners != member.owners):
                self._has_new_owners = True

        informer.add_event_handler(
            on_add=take,
            on_update=lambda _, obj: take(obj),
            on_delete=lambda obj: self._forget(obj.metadata.uid),
        )

    def _is_new_root(self, member: FamilyMember) -> bool:
        """Whether an object has the name of the root, but is not it: it was deleted, and created again."""
        is_of_kind = member.resource is not None and member.resource.gvr == self._resource.gvr
        place = (self._namespace or "", self._name)
        return is_of_kind and (member.namespace, member.name) == place and member.uid != self.family.root

    @property
    def watches(self) -> int:
        """How many kinds are watched."""
        return len(self._informers)

    @property
    def connection_error(self) -> str:
        """Why the display may be out of date; empty if all watches are open."""
        found = (connection_error(informer.health) for informer in self._informers)
        return next(filter(None, found), "")


def _essentials(obj: PartialObjectMetadata) -> PartialObjectMetadata:
    """Reduce an object to the fields that the tree needs."""
    obj.metadata.managed_fields = []
    obj.metadata.annotations = {}
    obj.metadata.labels = {}
    return obj

"""Owners and dependents: the tree that ownerReferences make. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._printers.ages import human_duration
from masthead._printers.status import Vitals, status_style, vitals_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from masthead._cli.document import Span
    from masthead._discovery.model import ServedResource
    from masthead._meta.metadata import ObjectMeta, OwnerReference

__all__ = ["Family", "FamilyMember", "Leaf", "Vitals", "member_of", "tree_rows", "vitals_of"]

_MAX_MEMBERS: Final = 100_000
"""How many objects with owners are remembered."""
_MAX_DEPTH: Final = 50
LINES: Final = ("├─ ", "└─ ", "│  ", "   ")
ASCII_LINES: Final = ("|- ", "`- ", "|  ", "   ")
HEAD: Final = ("NAME", "READY", "STATUS", "AGE")


@dataclass(frozen=True, slots=True)
class FamilyMember:
    """An object, and who owns it.

    Attributes:
        uid: Its uid.
        kind: Its kind.
        name: Its name.
        namespace: Its namespace; empty if it has none.
        resource: The resource that serves it; None if that is not known.
        owners: The references to its owners, its controller first.
        created: When it was created.
        version: Its resource version.
        is_deleting: Whether it is being deleted.
        is_missing: Whether only references to it were found.
    """

    uid: str
    kind: str
    name: str
    namespace: str = ""
    resource: ServedResource | None = None
    owners: tuple[OwnerReference, ...] = ()
    created: datetime | None = None
    version: str = ""
    is_deleting: bool = False
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class Leaf:
    """A member in its place in the tree.

    Attributes:
        member: The object.
        is_last: For each level above it, and for itself, whether it is the last there.
    """

    member: FamilyMember
    is_last: tuple[bool, ...]


def member_of(metadata: ObjectMeta, resource: ServedResource) -> FamilyMember:
    """Read what counts of an object's metadata.

    Args:
        metadata: The metadata.
        resource: The resource that serves it.
    """
    # The first owner is followed upwards; of several, the controller manages the object.
    owners = sorted(metadata.owner_references, key=lambda reference: not reference.controller)
    return FamilyMember(
        metadata.uid,
        resource.kind,
        metadata.name,
        metadata.namespace,
        resource,
        tuple(owners),
        metadata.creation_timestamp,
        metadata.resource_version,
        metadata.deletion_timestamp is not None,
    )


class Family:
    """Objects by uid, and their dependents.

    Args:
        root: The object whose family it is.
    """

    def __init__(self, root: FamilyMember) -> None:
        self.root = root.uid
        self._members = {root.uid: root}
        self._dependents: dict[str, set[str]] = {}
        self.is_full = False
        # With this link, `remove` keeps a deleted owner of the root as missing.
        self._link(root)

    def __contains__(self, uid: str) -> bool:
        return uid in self._members

    @property
    def namespace(self) -> str:
        """The namespace of the root; empty if it has none."""
        return self._members[self.root].namespace

    def get(self, uid: str) -> FamilyMember | None:
        """Find a member."""
        return self._members.get(uid)

    def members(self) -> list[FamilyMember]:
        """All members, including those outside the tree of the root."""
        return list(self._members.values())

    def add(self, member: FamilyMember, *, is_known: bool = False) -> bool:
        """Take an object, or its newer state; return whether it is remembered.

        Args:
            member: The object.
            is_known: Whether it counts without an owner, because it is an owner itself.
        """
        old = self._members.get(member.uid)
        # Objects without owners cannot be in the tree, and most objects of a cluster have none.
        if old is None and not member.owners and not is_known:
            return False
        # A bound for huge namespaces; the tree then carries a note that it is incomplete.
        if old is None and len(self._members) >= _MAX_MEMBERS:
            self.is_full = True
            return False
        self._put(member)
        return True

    def _put(self, member: FamilyMember) -> None:
        if (old := self._members.get(member.uid)) is not None:
            self._unlink(old)
        self._members[member.uid] = member
        self._link(member)

    def remove(self, uid: str) -> None:
        """Remove a deleted object. The root and its owners stay, as missing ones."""
        found = self._members.pop(uid, None)
        if found is None:
            return
        self._unlink(found)
        # Dependents of a missing owner still have to be drawn below something.
        if uid == self.root or uid in self._dependents:
            self._members[uid] = FamilyMember(uid, found.kind, found.name, found.namespace, is_missing=True)

    def replace_root(self, member: FamilyMember) -> None:
        """Make another object the root: the object that was created again with the name of the old one.

        Args:
            member: The new root.
        """
        old, self.root = self.root, member.uid
        self._put(member)
        self.remove(old)

    def path(self) -> list[FamilyMember]:
        """The owners of the root, the highest first, and the root."""
        found = [self._members[self.root]]
        seen = {self.root}
        # References may form a circle, since nothing in the API prevents that.
        while found[-1].owners and found[-1].owners[0].uid not in seen and len(found) < _MAX_DEPTH:
            owner = found[-1].owners[0]
            seen.add(owner.uid)
            missing = FamilyMember(owner.uid, owner.kind, owner.name, is_missing=True)
            found.append(self._members.get(owner.uid, missing))
        return found[::-1]

    def with_missing_owner(self) -> FamilyMember | None:
        """The highest known object above the root, or the root, if its owner is missing; None if nothing is missing."""
        path = self.path()
        # A deleted root is missing itself, and the only one in its path.
        return path[1] if len(path) > 1 and path[0].is_missing else None

    def leaves(self) -> Iterator[Leaf]:
        """The tree, line by line: the owners of the root above it, and all its dependents below it."""
        path = self.path()
        for at, member in enumerate(path):
            yield Leaf(member, (True,) * at)
        yield from self._below(self.root, (True,) * (len(path) - 1), {member.uid for member in path})

    def _below(self, uid: str, places: tuple[bool, ...], seen: set[str]) -> Iterator[Leaf]:
        # The same bound as for the path upwards.
        if len(places) >= _MAX_DEPTH:
            return
        dependents = [self._members[dependent] for dependent in self._dependents.get(uid, ()) if dependent not in seen]
        dependents.sort(key=lambda member: (member.kind, member.namespace, member.name))
        # Before the recursion: an object with two owners in the tree is drawn below the first only.
        seen.update(dependent.uid for dependent in dependents)
        for at, member in enumerate(dependents):
            place = (*places, at == len(dependents) - 1)
            yield Leaf(member, place)
            yield from self._below(member.uid, place, seen)

    def _link(self, member: FamilyMember) -> None:
        for owner in member.owners:
            self._dependents.setdefault(owner.uid, set()).add(member.uid)

    def _unlink(self, member: FamilyMember) -> None:
        for owner in member.owners:
            dependents = self._dependents.get(owner.uid, set())
            dependents.discard(member.uid)
            if not dependents:
                self._dependents.pop(owner.uid, None)
                # The placeholder of a missing owner is of no use without dependents.
                kept = self._members.get(owner.uid)
                if kept is not None and kept.is_missing and kept.uid != self.root:
                    del self._members[owner.uid]


def tree_rows(
    family: Family,
    leaves: Sequence[Leaf],
    vitals: Mapping[str, Vitals],
    now: datetime,
    *,
    lines: Sequence[str] = LINES,
) -> list[list[str | Span]]:
    """The rows of a table that shows a tree: name, readiness, status and age.

    An object in another namespace than the root is named with it, in one word: ``RoleBinding/red-dev/admin``.

    Args:
        family: Whose tree it is.
        leaves: The lines of the tree to show.
        vitals: How the members are, by uid.
        now: The time that ages refer to.
        lines: What draws the branches.
    """
    rows: list[list[str | Span]] = []
    for leaf in leaves:
        member, known = leaf.member, vitals.get(leaf.member.uid, Vitals())
        # Most kinds do not print that they are being deleted.
        status = "gone" if member.is_missing else "Terminating" if member.is_deleting else known.status
        age = "" if member.created is None else human_duration((now - member.created).total_seconds())
        name = f"{_branches(leaf.is_last, lines)}{_title(member, family.namespace)}"
        is_root = member.uid == family.root
        rows.append(
            [
                (name, "bold" if is_root else ""),
                (known.ready, status_style(known.ready)),
                (status, "red" if member.is_missing else status_style(status.partition(",")[0])),
                age,
            ]
        )
    return rows


def _title(member: FamilyMember, namespace: str) -> str:
    """The name of a member in the tree of a namespace. Each line is complete, for grep."""
    place = f"{member.namespace}/" if member.namespace not in {"", namespace} else ""
    return f"{member.kind}/{place}{member.name}"


def _branches(places: Sequence[bool], lines: Sequence[str]) -> str:
    branch, last, through, blank = lines
    if not places:
        return ""
    above = "".join(blank if place else through for place in places[:-1])
    return above + (last if places[-1] else branch)

"""ControllerRevisions: the history of a workload's template, for ``kubectl rollout history`` and ``undo``."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from masthead_server.cluster import SAFE_ALPHABET
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.controllers.workloads.ownership import controller_reference
from masthead_server.wire.plain import Plain, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Collection

    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.controllers.workloads.dependents import DependentIndex

__all__ = ["REVISIONS", "Revision", "RevisionHistory", "safe_hash"]

REVISIONS: Final = "apps/controllerrevisions"
_HASH: Final = "controller.kubernetes.io/hash"
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_REPLACE: Final = {"$patch": "replace"}


class Revision(NamedTuple):
    """A stored ControllerRevision.

    Attributes:
        content: The object.
    """

    content: Plain

    @property
    def name(self) -> str:
        """Its name."""
        return text(metadata(self.content), "name")

    @property
    def hash(self) -> str:
        """The hash of its template, a part of its name."""
        return self.name.rpartition("-")[2]

    @property
    def number(self) -> int:
        """Its revision number."""
        return int(self.content["revision"])

    @property
    def template(self) -> Plain:
        """Its template."""
        template = dict(part(part(part(self.content, "data"), "spec"), "template"))
        template.pop("$patch", None)
        return template


class RevisionHistory:
    """The revisions of one workload.

    Args:
        client: Reads and writes them.
        index: The stored revisions by owner.
        workload: The workload.
        kind: Its apiVersion and kind.
        namespace: Its namespace.
        hash_label: The label with the hash. DaemonSets use the label of their pods, and copy all annotations.
    """

    def __init__(
        self,
        client: ObjectClient,
        index: DependentIndex,
        workload: Plain,
        kind: tuple[str, str],
        namespace: str,
        *,
        hash_label: str = _HASH,
    ) -> None:
        self._client = client
        self._index = index
        self._workload = workload
        self._kind = kind
        self._namespace = namespace
        self._hash_label = hash_label

    def stored(self) -> list[Revision]:
        """Return the revisions, oldest first."""
        loaded = (self._client.load(ref) for ref in self._index.owned_by(uid_of(self._workload)))
        return sorted((Revision(content) for content in loaded if content), key=lambda each: (each.number, each.name))

    async def update(self) -> Revision | None:
        """Make the revision of the current template the newest, and return it; None if it cannot be stored.

        Raises:
            JournalError: A change could not be stored.
        """
        template = part(part(self._workload, "spec"), "template")
        history = self.stored()
        number = history[-1].number + 1 if history else 1
        equal = [revision for revision in history if revision.template == template]
        if not equal:
            return await self._create(template, number)
        if equal[-1] is not history[-1]:
            await self._client.update(self._ref(equal[-1].name), lambda found: found.update(revision=number))
        found = self._client.load(self._ref(equal[-1].name))
        return None if found is None else Revision(found)

    async def clean_up(self, limit: int, live: Collection[str], *, counted: Collection[str] = ()) -> None:
        """Delete the oldest unused revisions above a limit.

        Args:
            limit: The number of revisions to retain.
            live: The names of the revisions in use.
            counted: The names in use that count towards the limit, such as the old revisions of a DaemonSet.

        Raises:
            JournalError: A deletion could not be stored.
        """
        stored = self.stored()
        unused = [revision for revision in stored if revision.name not in live]
        total = len(unused) + sum(revision.name in counted for revision in stored)
        for revision in unused[: max(0, total - limit)]:
            await self._client.delete(self._ref(revision.name), uid_of(revision.content))

    async def _create(self, template: Plain, number: int) -> Revision | None:
        hashed = safe_hash([template, part(self._workload, "status").get("collisionCount", 0)])
        meta = metadata(self._workload)
        annotations = {
            key: value
            for key, value in part(meta, "annotations").items()
            if key != _APPLIED or self._hash_label != _HASH
        }
        content: Plain = {
            "metadata": {
                "name": f"{text(meta, 'name')}-{hashed}",
                "labels": {**part(part(template, "metadata"), "labels"), self._hash_label: hashed},
                **({"annotations": annotations} if annotations else {}),
                "ownerReferences": [controller_reference(self._workload, *self._kind)],
            },
            "data": _sort({"spec": {"template": {**template, **_REPLACE}}}),
            "revision": number,
        }
        name = text(metadata(content), "name")
        await self._client.create(REVISIONS, self._namespace, content)
        found = self._client.load(self._ref(name))
        return None if found is None else Revision(found)

    def _ref(self, name: str) -> ObjectRef:
        return ObjectRef(REVISIONS, f"{self._namespace}/{name}")


def _sort(data: Plain) -> Plain:
    """Sort the fields, as Go's encoder does: clients compare a revision with their template byte for byte."""
    return msgspec.json.decode(msgspec.json.encode(data, order="sorted"), type=Plain)


def safe_hash(value: object) -> str:
    """Return a short hash of a value that is safe in names."""
    digits = str(zlib.crc32(msgspec.json.encode(value, order="sorted")))
    return "".join(SAFE_ALPHABET[int(digit)] for digit in digits)

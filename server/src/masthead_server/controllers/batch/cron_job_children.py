"""Index of Jobs by the name of their CronJob, which also finds the Jobs of a deleted CronJob of that name."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta import typeinfo
from masthead_server.controllers.owner_references import OwnerReference, find_controller

if TYPE_CHECKING:
    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectRef

__all__ = ["CronJobChildren"]

_KIND: Final = "CronJob"


class _Metadata(msgspec.Struct, rename="camel"):
    owner_references: list[OwnerReference] = []


class _Job(msgspec.Struct):
    metadata: _Metadata


_decode = typeinfo.json_decoder(_Job).decode


class CronJobChildren:
    """The Jobs of all CronJobs, by the namespace and name of the CronJob."""

    def __init__(self) -> None:
        self._controllers: dict[ObjectRef, OwnerReference] = {}
        self._children: defaultdict[tuple[str, str], dict[ObjectRef, None]] = defaultdict(dict)

    def update(self, write: ObservedWrite) -> set[OwnerReference]:
        """Index a written Job; return its controllers before and after the write."""
        ref, record = write.ref, write.record
        before, after = self._controllers.pop(ref, None), None
        if before is not None:
            self._children[ref.namespace, before.name].pop(ref, None)
            if not self._children[ref.namespace, before.name]:
                del self._children[ref.namespace, before.name]
        if not record.is_deleted and b'"CronJob"' in record.value:
            after = find_controller(_decode(b"{" + record.value).metadata.owner_references)
        if after is not None and after.kind == _KIND:
            self._controllers[ref] = after
            self._children[ref.namespace, after.name][ref] = None
        return {controller for controller in (before, after) if controller is not None and controller.kind == _KIND}

    def of(self, ref: ObjectRef) -> list[ObjectRef]:
        """Return the Jobs of a CronJob."""
        key = (ref.namespace, ref.name)
        return sorted(self._children[key]) if key in self._children else []

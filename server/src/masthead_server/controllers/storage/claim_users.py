"""Index of the pods that use a claim, and of their nodes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from masthead_server.controllers.objects import ObjectRef
from masthead_server.controllers.volumes import NAMES_CLAIMS, claims_of
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Collection

    from masthead_server.controllers.base import ObservedWrite

__all__ = ["ClaimUsers"]


class ClaimUsers:
    """Finds the pods of a claim; every write of a pod updates it."""

    def __init__(self) -> None:
        self._claims: dict[ObjectRef, frozenset[ObjectRef]] = {}
        self._users: defaultdict[ObjectRef, dict[ObjectRef, str]] = defaultdict(dict)

    def update(self, write: ObservedWrite) -> frozenset[ObjectRef]:
        """Index a written pod; return the claims in its volumes before and after the write."""
        before = self._claims.pop(write.ref, frozenset[ObjectRef]())
        for claim in before:
            self._users[claim].pop(write.ref, None)
            if not self._users[claim]:
                del self._users[claim]
        # Search the JSON text first: most pods have no claims, and decoding is expensive.
        if write.record.is_deleted or not any(name in write.record.value for name in NAMES_CLAIMS):
            return before
        pod = write.served.load(write.record)
        after = self._claims[write.ref] = frozenset(
            ObjectRef("persistentvolumeclaims", f"{write.ref.namespace}/{name}") for name in claims_of(pod)
        )
        for claim in after:
            self._users[claim][write.ref] = text(part(pod, "spec"), "nodeName")
        return before | after

    def pods_of(self, claim: ObjectRef) -> Collection[ObjectRef]:
        """Return the pods that use a claim."""
        return tuple(self._users[claim]) if claim in self._users else ()

    def nodes_of(self, claim: ObjectRef) -> Collection[str]:
        """Return the node names of the pods that use a claim; empty for an unbound pod."""
        return tuple(self._users[claim].values()) if claim in self._users else ()

"""Index of pods by the resource claims and templates that they use."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.controllers.devices.pod_claims import claim_names, is_done, template_names
from masthead_server.controllers.objects import ObjectRef

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite

__all__ = ["CLAIMS", "TEMPLATES", "ClaimIndex"]

CLAIMS: Final = "resource.k8s.io/resourceclaims"
TEMPLATES: Final = "resource.k8s.io/resourceclaimtemplates"
_MENTIONS: Final = (b'"resourceClaims"', b'"extendedResourceClaimStatus"')
"""Text in the JSON of a pod with claims."""


class _Uses(NamedTuple):
    claims: frozenset[ObjectRef] = frozenset()
    templates: frozenset[ObjectRef] = frozenset()


class ClaimIndex:
    """Finds the claims of a pod, and the pods of a claim or template."""

    def __init__(self) -> None:
        self._uses: dict[ObjectRef, _Uses] = {}
        self._users: defaultdict[ObjectRef, dict[ObjectRef, None]] = defaultdict(dict)

    def update(self, write: ObservedWrite) -> frozenset[ObjectRef]:
        """Index a written pod; return the claims that it no longer needs."""
        before = self._uses.pop(write.ref, _Uses())
        for used in (*before.claims, *before.templates):
            self._users[used].pop(write.ref, None)
            if not self._users[used]:
                del self._users[used]
        # Search the JSON text first: few pods have claims, and decoding is expensive.
        if write.record.is_deleted or not any(mention in write.record.value for mention in _MENTIONS):
            return before.claims
        pod, namespace = write.served.load(write.record), write.ref.namespace
        after = self._uses[write.ref] = _Uses(
            _refs(CLAIMS, namespace, claim_names(pod)), _refs(TEMPLATES, namespace, template_names(pod))
        )
        for used in (*after.claims, *after.templates):
            self._users[used][write.ref] = None
        return after.claims if is_done(pod) else frozenset()

    def is_user(self, pod: ObjectRef) -> bool:
        """Tell whether a pod uses claims or claim templates."""
        return pod in self._uses

    def pods_of(self, used: ObjectRef) -> tuple[ObjectRef, ...]:
        """Return the pods that use a claim or a template."""
        return tuple(self._users[used]) if used in self._users else ()


def _refs(table: str, namespace: str, names: Iterable[str]) -> frozenset[ObjectRef]:
    return frozenset(ObjectRef(table, f"{namespace}/{name}") for name in names)

"""Claims with the access mode ReadWriteOncePod, which one pod at a time may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.scheduling.rejections import Cure, Rejection
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.scheduling.nodes import SchedulingNode
    from masthead_server.scheduling.pods import SchedulingPod
    from masthead_server.scheduling.state import SchedulingState
    from masthead_server.scheduling.volumes import ClaimReader

__all__ = ["ExclusiveClaimCheck"]

_EXCLUSIVE: Final = "ReadWriteOncePod"
_IN_USE_TEXT: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
_IN_USE: Final = Rejection((_IN_USE_TEXT,), Cure.NODE | Cure.POD_REMOVED | Cure.VOLUME)


class ExclusiveClaimCheck:
    """Keeps a pod from all nodes while another pod on any node uses one of its exclusive claims.

    Args:
        pod: The pod.
        state: The pods on nodes.
        reader: Reads the claims.
    """

    def __init__(self, pod: SchedulingPod, state: SchedulingState, reader: ClaimReader) -> None:
        self._namespace = pod.namespace
        self._names = {
            wanted.name
            for wanted in pod.claims
            # The claim of an ephemeral volume belongs to its pod.
            if not wanted.is_ephemeral and _is_exclusive(reader, pod.namespace, wanted.name)
        }
        self._users = sum(state.is_claim_used(pod.namespace, name) for name in self._names)

    @property
    def is_needed(self) -> bool:
        """Whether it may reject a node."""
        return self._users > 0

    def check(self, node: SchedulingNode) -> Rejection | None:  # noqa: ARG002 - all nodes are alike
        """Return the rejection of a node; None if it fits."""
        # Not final: preempting a pod of lower priority may release the claim.
        return _IN_USE if self._users > 0 else None

    def adjust(self, pod: SchedulingPod, node: SchedulingNode, sign: int) -> None:  # noqa: ARG002 - a NodeCheck
        """Count a pod as if it were on a node (1), or as if it were not (-1)."""
        if pod.namespace == self._namespace:
            self._users += sign * sum(claim.name in self._names for claim in pod.claims if not claim.is_ephemeral)


def _is_exclusive(reader: ClaimReader, namespace: str, name: str) -> bool:
    claim = reader.claim(namespace, name)
    return claim is not None and _EXCLUSIVE in (part(claim, "spec").get("accessModes") or ())

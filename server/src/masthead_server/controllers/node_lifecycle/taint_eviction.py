"""The taint eviction controller: deletes pods that do not, or no longer, tolerate a NoExecute taint of their node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Final

from masthead_server.clock import add_seconds
from masthead_server.controllers.events import ServerEventRecorder
from masthead_server.controllers.node_lifecycle.assignments import assigned_node, refs_on
from masthead_server.controllers.node_lifecycle.pod_disruption import set_disruption
from masthead_server.controllers.node_lifecycle.toleration import toleration_seconds
from masthead_server.controllers.objects import uid_of
from masthead_server.controllers.workloads.node_eligibility import decode_node
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient, ObjectRef
    from masthead_server.controllers.workloads.node_eligibility import NodeTaint
    from masthead_server.wire.plain import Plain

__all__ = ["TaintEvictionController"]

_NO_EXECUTE: Final = "NoExecute"
_REASON: Final = "TaintManagerEviction"
_CONDITION: Final = ("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")


@dataclass(slots=True)
class _Eviction:
    """A scheduled or completed eviction."""

    due: datetime
    is_done: bool = False


class TaintEvictionController:
    """Evicts pods from nodes with NoExecute taints when their tolerations expire."""

    observes = frozenset({"nodes", "pods"})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._taints: dict[str, tuple[NodeTaint, ...]] = {}
        """The NoExecute taints of tainted nodes."""
        self._evictions: dict[ObjectRef, _Eviction] = {}

    @cached_property
    def _recorder(self) -> ServerEventRecorder:
        return ServerEventRecorder(self._client, "taint-eviction-controller")

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile the pods of a node whose taints changed, and new pods on tainted nodes."""
        if write.ref.table == "nodes":
            return self._observe_node(write)
        if write.ref in self._evictions:
            return (write.ref,)
        if not self._taints or write.record.is_deleted:
            return ()
        return (write.ref,) if assigned_node(write.record) in self._taints else ()

    def _observe_node(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        name, record = write.ref.name, write.record
        before = self._taints.get(name, ())
        if record.is_deleted:
            self._taints.pop(name, None)
            return ()
        taints: tuple[NodeTaint, ...] = ()
        # Search the JSON text first: most nodes have no taint, and decoding is expensive.
        if b'"NoExecute"' in record.value:
            node = decode_node(b"{" + record.value)
            taints = tuple(taint for taint in node.spec.taints if taint.effect == _NO_EXECUTE)
        if taints == before:
            return ()
        if taints:
            self._taints[name] = taints
        else:
            del self._taints[name]
        return refs_on(self._client, name)

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Evict a pod, or return the seconds until its eviction.

        Raises:
            JournalError: A change could not be stored.
        """
        pod = self._client.load(ref)
        if pod is None:
            self._cancel(ref)
            return None
        spec = part(pod, "spec")
        taints = self._taints.get(text(spec, "nodeName"), ())
        seconds = toleration_seconds(spec, taints) if taints else inf
        if seconds == inf:
            self._cancel(ref)
            return None
        now = self._client.cluster.clock.now()
        eviction = self._evictions.get(ref)
        if eviction is None or (not seconds and not eviction.is_done):
            # An untolerated taint evicts immediately, even if a later eviction is scheduled.
            self._cancel(ref)
            eviction = self._evictions[ref] = _Eviction(add_seconds(now, seconds))
        left = (eviction.due - now).total_seconds()
        if left > 0:
            return left
        if not eviction.is_done:
            eviction.is_done = True
            await self._evict(ref, pod)
        return None

    def _cancel(self, ref: ObjectRef) -> None:
        eviction = self._evictions.pop(ref, None)
        if eviction is not None and not eviction.is_done:
            self._report(ref, "Cancelling deletion of Pod")

    async def _evict(self, ref: ObjectRef, pod: Plain) -> None:
        self._report(ref, "Marking for deletion Pod")
        now = self._client.cluster.now()

        def mark(found: Plain) -> None:
            set_disruption(found, *_CONDITION, now)

        await self._client.update(ref, mark, subresource="status")
        await self._client.delete(ref, uid_of(pod))

    def _report(self, ref: ObjectRef, what: str) -> None:
        involved: Plain = {"kind": "Pod", "namespace": ref.namespace, "name": ref.name, "apiVersion": "v1"}
        self._recorder.record(involved, _REASON, f"{what} {ref.key}")

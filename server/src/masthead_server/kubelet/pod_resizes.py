"""In-place resizes of pods, after changes of their spec and once their node has room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectRef
from masthead_server.kubelet.conditions import RESIZE_IN_PROGRESS, RESIZE_PENDING, drop_condition, set_condition
from masthead_server.kubelet.containers import ContainerRef
from masthead_server.kubelet.resizing import (
    actuate,
    allocate,
    find_shortage,
    resized_containers,
    restarted_containers,
    summarize,
)
from masthead_server.kubelet.termination import grace_of
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.kubelet.container_runs import ContainerRuns
    from masthead_server.kubelet.events import PodEvents
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.wire.plain import Plain

__all__ = ["PodResizes"]

_DEFERRED: Final = "Deferred"


class PodResizes:
    """Gives containers the resources of their spec, as far as their node has room.

    Args:
        runtime: The pods.
        client: Reads nodes and pods.
        runs: Restarts containers with the resize policy ``RestartContainer``.
        make_events: Returns the recorder of Events.
    """

    def __init__(
        self, runtime: PodRuntime, client: ObjectClient, runs: ContainerRuns, make_events: Callable[[], PodEvents]
    ) -> None:
        self._runtime = runtime
        self._client = client
        self._runs = runs
        self._events = make_events
        self._deferred: dict[ContainerRef, None] = {}

    @property
    def deferred(self) -> list[ContainerRef]:
        """Pods with deferred resizes, in the order of their requests."""
        return list(self._deferred)

    def is_deferred(self, ref: ContainerRef) -> bool:
        """Tell whether a resize of a pod is deferred."""
        return ref in self._deferred

    async def follow(self, ref: ContainerRef) -> None:
        """Resize a pod, or defer the resize.

        Raises:
            JournalError: A change could not be stored.
        """
        pod = self._runtime.load(ref.namespace, ref.pod)
        if pod is None:
            return
        if not resized_containers(pod):
            await self._forget_wish(pod, ref)
        elif shortage := self._find_shortage(pod):
            await self._defer(pod, ref, shortage)
        else:
            await self._resize(pod, ref)

    async def _forget_wish(self, pod: Plain, ref: ContainerRef) -> None:
        self._deferred.pop(ref, None)
        if any(text(condition, "type") == RESIZE_PENDING for condition in items(part(pod, "status"), "conditions")):
            await self._runs.writer.update(ref, lambda found: drop_condition(found, RESIZE_PENDING))

    def _find_shortage(self, pod: Plain) -> str:
        name = text(part(pod, "spec"), "nodeName")
        node = self._client.load(ObjectRef("nodes", name)) or {}
        # Search the JSON text for the node first, because decoding all pods is expensive.
        listed = self._client.listed("pods", containing=(f'"{name}"'.encode(),))
        uid = text(metadata(pod), "uid")
        others = (
            other
            for _, other in listed
            if text(part(other, "spec"), "nodeName") == name and text(metadata(other), "uid") != uid
        )
        return find_shortage(pod, part(part(node, "status"), "allocatable"), others)

    async def _defer(self, pod: Plain, ref: ContainerRef, shortage: str) -> None:
        conditions = {text(condition, "type"): condition for condition in items(part(pod, "status"), "conditions")}
        known, generation = conditions.get(RESIZE_PENDING, {}), metadata(pod).get("generation")
        self._deferred[ref] = None
        if known.get("message") == shortage and known.get("observedGeneration") == generation:
            return
        now = self._runtime.cluster.now()

        def wait(found: Plain) -> None:
            set_condition(found, RESIZE_PENDING, now, is_true=True, reason=_DEFERRED, message=shortage)

        await self._runs.writer.update(ref, wait)
        if known.get("observedGeneration") != generation:
            message = f"Pod resize {_DEFERRED}: {summarize(pod, shortage)}"
            self._events().about_pod(pod, "ResizeDeferred", message, is_warning=True)

    async def _resize(self, pod: Plain, ref: ContainerRef) -> None:
        self._deferred.pop(ref, None)
        now, restarted = self._runtime.cluster.now(), restarted_containers(pod)

        def begin(found: Plain) -> None:
            allocate(found)
            drop_condition(found, RESIZE_PENDING)
            set_condition(found, RESIZE_IN_PROGRESS, now, is_true=True)

        def end(found: Plain) -> None:
            actuate(found)
            drop_condition(found, RESIZE_IN_PROGRESS)

        await self._runs.writer.update(ref, begin)
        self._events().about_pod(pod, "ResizeStarted", f"Pod resize started: {summarize(pod)}")
        await self._runs.writer.update(ref, end)
        for name in restarted:
            chosen = ContainerRef(ref.namespace, ref.pod, name)
            message = f"Container {name} resize requires restart"
            self._runs.kill(pod, chosen, message, grace_of(pod), idle_code=0, must_restart=True)
        self._events().about_pod(pod, "ResizeCompleted", f"Pod resize completed: {summarize(pod)}")
        # The resize may have made room for deferred ones.
        for waiting in self.deferred:
            await self.follow(waiting)

    def forget(self, namespace: str, pod: str) -> None:
        """Forget a pod that was removed."""
        self._deferred.pop(ContainerRef(namespace, pod), None)

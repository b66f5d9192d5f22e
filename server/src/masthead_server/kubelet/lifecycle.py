"""The life of pods: schedules, starts, restarts and ends them, and writes their status."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectClient, ObjectRef
from masthead_server.kubelet import phases
from masthead_server.kubelet.container_states import ContainerEnd, Transition
from masthead_server.kubelet.main_process import MainProcesses
from masthead_server.kubelet.nodes import NodeRegistry
from masthead_server.kubelet.pods import (
    MAX_CONTAINERS,
    container_names,
    container_of,
    has_too_many_containers,
    restarts,
    running_containers,
    status_of,
)
from masthead_server.kubelet.termination import PodTermination, termination_message
from masthead_server.verbs.pod_binding import bind_pod
from masthead_server.wire.plain import is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead_server.clock import Timer
    from masthead_server.kubelet.containers import ContainerRef
    from masthead_server.kubelet.events import PodEvents
    from masthead_server.kubelet.pod_addresses import PodAddresses
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.node_templates import NodeSettings
    from masthead_server.wire.plain import Plain

__all__ = ["KUBELET", "PodLifecycle"]

_FIRST_BACKOFF: Final = 10.0
_MAX_BACKOFF: Final = 300.0
"""Seconds before a container that ends again and again is restarted; they double each time."""

_DEFAULT_GRACE: Final = 30.0
_CONFIG_ERROR: Final = "CreateContainerConfigError"
KUBELET: Final = "kubelet"
"""The field manager of what the kubelet writes."""
_NO_NODES: Final = "no nodes available to schedule pods"
_TOO_MANY: Final = f"0/1 nodes are available: 1 Too many containers, at most {MAX_CONTAINERS} of a pod run here."


class PodLifecycle:
    """Moves pods through their phases; through the verbs, so that watches see it.

    Args:
        runtime: The pods and their containers.
        nodes: The setting ``nodes``.
    """

    def __init__(self, runtime: PodRuntime, nodes: NodeSettings = 1) -> None:
        self._runtime = runtime
        self._client = ObjectClient(runtime.cluster, KUBELET)
        self.nodes: NodeRegistry = NodeRegistry(self._client, nodes, self._report_node)
        """The nodes that pods run on."""
        self._mains = MainProcesses(runtime, self._exited)
        self._restarts: set[Timer] = set()
        self._delays: dict[ContainerRef, tuple[float, datetime]] = {}
        self._blocked: dict[tuple[str, str], None] = {}
        self._terminations: dict[str, PodTermination] = {}

    @cached_property
    def _events(self) -> PodEvents:
        from masthead_server.kubelet.events import PodEvents  # which servers without pods do not need

        return PodEvents(self._runtime.cluster, self._client)

    @cached_property
    def _addresses(self) -> PodAddresses:
        from masthead_server.kubelet.pod_addresses import PodAddresses

        return PodAddresses(self._runtime.cluster, self._runtime.served)

    def _report_node(self, node: Plain) -> None:
        self._events.node_registered(node)

    async def start(self, ref: ContainerRef) -> None:
        """Schedule a pod, if it has no node, and start all its containers. One with too many of them stays pending.

        Raises:
            StatusFailure: If it does not exist.
        """
        pod, change = self._runtime.find(ref.namespace, ref.pod), self._transition()
        if has_too_many_containers(pod):
            await self._update(ref, lambda pod: phases.refuse(pod, change, _TOO_MANY))
            return
        # A test may have bound it already.
        if not text(part(pod, "spec"), "nodeName") and not await self._bind(ref, pod):
            await self._update(ref, lambda pod: phases.refuse(pod, change, _NO_NODES))
            return
        change = self._first_transition(ref)
        await self._launch(ref, lambda pod: phases.start(pod, change, self._mains.is_scripted))

    async def proceed(self, ref: ContainerRef) -> None:
        """Start the containers of a pod whose turn it is."""
        pod = self._runtime.load(ref.namespace, ref.pod)
        if pod is not None and not is_being_deleted(pod) and not phases.is_ended(pod):
            change = self._transition()
            await self._launch(ref, lambda pod: phases.proceed(pod, change, self._mains.is_scripted))

    async def _launch(self, ref: ContainerRef, start: Callable[[Plain], list[str]]) -> None:
        started: list[str] = []

        def act(pod: Plain) -> None:
            # A write that is retried starts anew.
            started[:] = start(pod)

        await self._update(ref, act)
        pod = self._runtime.load(ref.namespace, ref.pod)
        if pod is None:
            return
        ephemeral = [text(item, "name") for item in items(part(pod, "spec"), "ephemeralContainers")]
        names = [*started, *ephemeral] if started else started
        self._events.started(pod, names)
        self._report_problems(pod, ref)
        running = set(running_containers(pod))
        for name in names:
            if name in running:
                self._start_container(pod, name)

    def _report_problems(self, pod: Plain, ref: ContainerRef) -> None:
        """Record what keeps containers from being created, and remember the pod until that has changed."""
        key, is_blocked = (ref.namespace, ref.pod), False
        for name in container_names(pod):
            waiting = part(part(status_of(pod, name) or {}, "state"), "waiting")
            if text(waiting, "reason") == _CONFIG_ERROR:
                is_blocked = True
                self._events.failed(pod, name, f"Error: {text(waiting, 'message')}")
        if is_blocked:
            self._blocked[key] = None
        else:
            self._blocked.pop(key, None)

    def blocked(self, namespace: str) -> list[str]:
        """Return the pods of a namespace that wait for a ConfigMap or Secret."""
        return [pod for found, pod in self._blocked if found == namespace]

    def is_blocked(self, ref: ContainerRef) -> bool:
        """Tell whether a pod waits for a ConfigMap or Secret."""
        return (ref.namespace, ref.pod) in self._blocked

    async def report(self, ref: ContainerRef) -> None:
        """Write the phase and conditions of a pod anew, after others have written them."""
        now = self._runtime.cluster.now()
        await self._update(ref, lambda pod: phases.settle(pod, now))

    async def start_ephemeral(self, ref: ContainerRef) -> None:
        """Start the ephemeral containers that were added to a pod, unless it has too many of them.

        Raises:
            StatusFailure: If the pod does not exist.
        """
        if has_too_many_containers(self._runtime.find(ref.namespace, ref.pod)):
            return
        change, started = self._transition(), list[str]()
        await self._update(ref, lambda pod: started.extend(phases.start_ephemeral(pod, change)))
        pod = self._runtime.find(ref.namespace, ref.pod)
        self._events.started(pod, started)
        for name in started:
            self._start_container(pod, name)

    def _start_container(self, pod: Plain, name: str) -> None:
        container = self._runtime.container(pod, name)
        # A pod that ended and is started again begins with fresh containers.
        if container.ended.is_set():
            container.restart()
        self._mains.start(pod, name)

    def kill(self, pod: Plain, ref: ContainerRef) -> None:
        """End the containers of a pod that is evicted."""
        self._events.killing(pod, self._running(pod))
        self._end(ref)

    async def terminate(self, pod: Plain, ref: ContainerRef, on_ended: Callable[[], Awaitable[None]]) -> None:
        """End the containers of a pod that is deleted within its grace period, and write how they ended.

        Args:
            pod: The pod.
            ref: Its name.
            on_ended: Called when they have ended.

        Raises:
            StatusFailure: If it does not exist.
        """
        uid, grace = text(metadata(pod), "uid"), float(metadata(pod).get("deletionGracePeriodSeconds") or 0)
        if (running := self._terminations.get(uid)) is not None:
            until = datetime.fromisoformat(text(metadata(pod), "deletionTimestamp"))
            running.shorten(max(0.0, (until - self._runtime.now()).total_seconds()))
            return
        names = self._running(pod)
        self._events.killing(pod, names)
        self._blocked.pop((ref.namespace, ref.pod), None)

        async def finish() -> None:
            if self.nodes.postpone(_node_of(pod), lambda: background.run(finish())):
                return
            self._terminations.pop(uid, None)
            self._end(ref)
            # One that has never started has no containers to report.
            if items(part(pod, "status"), "containerStatuses") and not phases.is_ended(pod):
                change = self._transition()
                await self._update(ref, lambda found: phases.end_containers(found, change, termination.ends))
            await on_ended()

        background = self._runtime.cluster.background
        termination = PodTermination(self._runtime, pod, names, lambda: background.run(finish()))
        self._terminations[uid] = termination
        termination.begin(grace)

    def _running(self, pod: Plain) -> list[str]:
        """The containers of a pod that have not ended, whatever is written of it."""
        if has_too_many_containers(pod):
            return []  # it never ran here, whatever its status
        return [name for name in running_containers(pod) if not self._runtime.container(pod, name).ended.is_set()]

    def _end(self, ref: ContainerRef) -> None:
        for container in self._runtime.containers.of_pod(ref.namespace, ref.pod).values():
            container.end()

    def close(self) -> None:
        """Cancel all main processes and restarts."""
        self._mains.close()
        for termination in self._terminations.values():
            termination.close()
        for timer in self._restarts:
            timer.cancel()

    async def finish(self, ref: ContainerRef, code: int, *, reason: str = "", message: str = "") -> None:
        """End all containers of a pod with an exit code.

        Raises:
            StatusFailure: If it does not exist.
        """
        self._runtime.find(ref.namespace, ref.pod)
        change = self._transition()
        await self._update(ref, lambda pod: phases.finish(pod, change, code, reason=reason, message=message))
        self._end(ref)

    async def evict(self, ref: ContainerRef, message: str) -> None:
        """Fail a pod because its node is short of resources.

        Raises:
            StatusFailure: If it does not exist.
        """
        pod, change = self._runtime.find(ref.namespace, ref.pod), self._transition()
        # Before the status: watchers see the reason first, as from a kubelet.
        self._events.evicted(pod, message)
        await self._update(ref, lambda pod: phases.evict(pod, change, message))
        self.kill(pod, ref)

    async def restart(self, ref: ContainerRef, code: int, reason: str = "") -> None:
        """Restart a container, or all, which end with an exit code and a reason.

        Raises:
            StatusFailure: If the pod does not exist.
        """
        pod, change = self._runtime.find(ref.namespace, ref.pod), self._transition()
        for name in self._chosen(pod, ref):
            restart = partial(phases.restart_container, name=name, change=change, end=ContainerEnd(code, reason))
            await self._update(ref, restart)
            self._events.started(pod, [name])
            self._runtime.container(pod, name).restart()
            self._mains.start(pod, name)

    async def crash_loop(self, ref: ContainerRef, code: int, delay: float = 10, message: str = "") -> None:
        """End a container, or all, and have it wait for its restart.

        Raises:
            StatusFailure: If the pod does not exist.
        """
        pod, change = self._runtime.find(ref.namespace, ref.pod), self._transition()
        for name in self._chosen(pod, ref):
            await self._update(
                ref,
                partial(
                    phases.crash_loop, name=name, change=change, end=ContainerEnd(code, message=message), delay=delay
                ),
            )
            self._events.backing_off(pod, name)
            self._runtime.container(pod, name).end()

    def _chosen(self, pod: Plain, ref: ContainerRef) -> list[str]:
        return (
            [ref.container]
            if ref.container
            else [text(container, "name") for container in items(part(pod, "spec"), "containers")]
        )

    def _exited(self, ref: ContainerRef, code: int) -> None:
        self._runtime.cluster.background.run(self._on_exit(ref, code))

    async def _on_exit(self, ref: ContainerRef, code: int) -> None:
        """A main process has ended: its container ends, or is restarted according to its policy."""
        pod = self._runtime.load(ref.namespace, ref.pod)
        # Whoever deleted it ends its containers.
        if pod is None or is_being_deleted(pod):
            return
        # The kubelet of a failed node learns of it later.
        if self.nodes.postpone(_node_of(pod), lambda: self._exited(ref, code)):
            return
        container = self._runtime.container(pod, ref.container)
        message = termination_message(container_of(pod, ref.container) or {}, container, code)
        if not restarts(pod, ref.container, code):
            change = self._transition()
            ended = ContainerEnd(code, message=message)
            end = partial(phases.end_container, name=ref.container, change=change, end=ended)
            await self._update(ref, end)
            container.end()
            await self._continue(ref)
            return
        delay = self._next_delay(ref)
        # The first restart is immediate, as with a kubelet.
        if not delay:
            await self.restart(ref, code)
            return
        await self.crash_loop(ref, code, delay, message)
        self._restart_later(ref, code, delay)

    async def _continue(self, ref: ContainerRef) -> None:
        """Start what was waiting for a container that has ended, or end the sidecars of a pod that has ended."""
        pod = self._runtime.load(ref.namespace, ref.pod)
        if pod is None:
            return
        if not phases.has_finished(pod):
            await self.proceed(ref)
            return
        names = self._running(pod)
        if not names:
            return
        self._events.killing(pod, names)

        async def finish() -> None:
            change = self._transition()
            await self._update(ref, lambda found: phases.end_containers(found, change, ending.ends))
            self._end(ref)

        background = self._runtime.cluster.background
        ending = PodTermination(self._runtime, pod, names, lambda: background.run(finish()))
        grace = part(pod, "spec").get("terminationGracePeriodSeconds")
        ending.begin(_DEFAULT_GRACE if grace is None else float(grace))

    def _next_delay(self, ref: ContainerRef) -> float:
        """The seconds until the next restart of a container; 0 for the first one, and after a long run."""
        now = self._runtime.now()
        delay, last = self._delays.get(ref, (0.0, now))
        if not delay or (now - last).total_seconds() > 2 * _MAX_BACKOFF:
            self._delays[ref] = _FIRST_BACKOFF, now
            return 0.0
        self._delays[ref] = min(2 * delay, _MAX_BACKOFF), now + timedelta(seconds=delay)
        return delay

    def forget(self, namespace: str, pod: str) -> None:
        """Forget a pod that was removed."""
        self._blocked.pop((namespace, pod), None)
        for ref in [ref for ref in self._delays if (ref.namespace, ref.pod) == (namespace, pod)]:
            del self._delays[ref]

    def _restart_later(self, ref: ContainerRef, code: int, seconds: float) -> None:
        async def restart() -> None:
            self._restarts.discard(timer)
            pod = self._runtime.load(ref.namespace, ref.pod)
            state = part((status_of(pod, ref.container) if pod else None) or {}, "state")
            # A test may have restarted or ended the container in the meantime.
            if pod is None or "waiting" not in state or is_being_deleted(pod):
                return
            if not self.nodes.postpone(_node_of(pod), lambda: cluster.background.run(restart())):
                await self.restart(ref, code)

        cluster = self._runtime.cluster
        timer = cluster.clock.call_later(seconds, lambda: cluster.background.run(restart()))
        self._restarts.add(timer)

    async def _bind(self, ref: ContainerRef, found: Plain) -> bool:
        """Bind a pod to a node; returns False if there is none."""
        node = await self.nodes.register_first()
        if not node:
            return False
        now = self._runtime.cluster.now()

        def bind(pod: Plain) -> None:
            bind_pod(pod, node, now, {})

        if await self._client.update(self._ref(ref), bind, subresource="binding", is_tracked=False):
            self._events.scheduled(found, node)
        return True

    async def _update(self, ref: ContainerRef, change: Callable[[Plain], object]) -> None:
        await self._client.update(self._ref(ref), change, subresource="status")

    def _ref(self, ref: ContainerRef) -> ObjectRef:
        served = self._runtime.served
        return ObjectRef(served.table, served.key(ref.namespace, ref.pod))

    def _first_transition(self, ref: ContainerRef) -> Transition:
        """The start of a pod, which gets an address of its node's network."""
        spec = part(self._runtime.find(ref.namespace, ref.pod), "spec")
        network = self.nodes.network_of(text(spec, "nodeName"))
        if spec.get("hostNetwork"):
            return self._transition(network.host_ip, network.host_ip)
        return self._transition(network.host_ip, self._addresses.take(self._ref(ref).key, network.pods))

    def _transition(self, host_ip: str = "", pod_ip: str = "") -> Transition:
        cluster = self._runtime.cluster
        return Transition(
            now=cluster.now(),
            host_ip=host_ip,
            pod_ip=pod_ip,
            new_id=lambda: f"containerd://{cluster.new_uid().replace('-', '')}{cluster.new_uid().replace('-', '')}",
        )


def _node_of(pod: Plain) -> str:
    return text(part(pod, "spec"), "nodeName")

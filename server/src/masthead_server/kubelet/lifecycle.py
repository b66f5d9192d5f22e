"""The life of pods: schedules, starts, restarts and ends them, and writes their status."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectClient
from masthead_server.kubelet import phases
from masthead_server.kubelet.container_states import ContainerEnd
from masthead_server.kubelet.containers import ContainerRef
from masthead_server.kubelet.host_ports import HostPorts
from masthead_server.kubelet.main_process import KILLED, OOM_KILLED
from masthead_server.kubelet.nodes import NodeRegistry
from masthead_server.kubelet.pods import (
    MAX_CONTAINERS,
    check_container,
    container_names,
    has_too_many_containers,
    is_running,
    running_containers,
)
from masthead_server.kubelet.spec_changes import awaits_other_image, changed_images, has_news
from masthead_server.verbs.pod_binding import bind_pod
from masthead_server.wire.plain import is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from masthead_server.kubelet.container_runs import ContainerRuns
    from masthead_server.kubelet.events import PodEvents
    from masthead_server.kubelet.pod_resizes import PodResizes
    from masthead_server.kubelet.probe_rules import ProbeKind
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.kubelet.skipped_scripts import SkippedScripts
    from masthead_server.kubelet.start_problems import StartProblems
    from masthead_server.kubelet.termination import PodTermination
    from masthead_server.node_templates import NodeSettings
    from masthead_server.wire.plain import Plain

__all__ = ["KUBELET", "PodLifecycle"]

KUBELET: Final = "kubelet"
"""The field manager of what the kubelet writes."""
_NO_NODES: Final = "no nodes available to schedule pods"
_TOO_MANY: Final = f"0/1 nodes are available: 1 Too many containers, at most {MAX_CONTAINERS} of a pod run here."
_PORTS_TAKEN: Final = (
    "NodePorts",
    "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
)
_DEADLINE: Final = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


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
        self._terminations: dict[str, PodTermination] = {}
        self._host_ports = HostPorts(runtime.load)
        self._removals: dict[str, Callable[[], Awaitable[None]]] = {}
        """Callbacks for the end of the containers of deleted pods."""

    @cached_property
    def _runs(self) -> ContainerRuns:
        from masthead_server.kubelet.container_runs import ContainerRuns  # which servers without pods do not need

        return ContainerRuns(self._runtime, self._client, self.nodes, lambda: self._events, self._continue)

    @cached_property
    def problems(self) -> StartProblems:
        """Containers that cannot be created."""
        from masthead_server.kubelet.start_problems import StartProblems

        return StartProblems(self._runtime, lambda: self._events, self.proceed)

    @cached_property
    def _skipped_scripts(self) -> SkippedScripts:
        from masthead_server.kubelet.skipped_scripts import SkippedScripts

        return SkippedScripts(self._runtime, self._runs.mains, self._events)

    @cached_property
    def resizes(self) -> PodResizes:
        """Resizes of pods in place."""
        from masthead_server.kubelet.pod_resizes import PodResizes

        return PodResizes(self._runtime, self._client, self._runs, lambda: self._events)

    @property
    def _has_run(self) -> bool:
        """Whether a container was started."""
        return "_runs" in vars(self)

    @cached_property
    def _events(self) -> PodEvents:
        from masthead_server.kubelet.events import PodEvents  # which servers without pods do not need

        return PodEvents(self._runtime.cluster, self._client, self._runtime.images)

    def _report_node(self, node: Plain) -> None:
        self._events.node_registered(node, by_kubelet_alone=self.nodes.has_controller)

    async def start(self, ref: ContainerRef) -> None:
        """Bind a pod, unless it has a node, and start all its containers. A pod with too many containers stays pending.

        Raises:
            StatusFailure: If it does not exist.
        """
        pod, change = self._runtime.find(ref.namespace, ref.pod), self._runs.writer.transition()
        if has_too_many_containers(pod):
            await self._runs.writer.update(ref, lambda pod: phases.refuse(pod, change, _TOO_MANY))
            return
        # A test may have bound the pod already.
        if not text(part(pod, "spec"), "nodeName") and not await self._bind(ref, pod):
            await self._runs.writer.update(ref, lambda pod: phases.refuse(pod, change, _NO_NODES))
            return
        if not await self._admit(ref):
            return
        change = self._runs.writer.first_transition(ref)
        await self._launch(ref, lambda pod: phases.start(pod, change, self._runs.can_start))

    async def _admit(self, ref: ContainerRef) -> bool:
        """Reject a pod that its node cannot run: a spec may name any node, without the scheduler's checks."""
        pod = self._runtime.find(ref.namespace, ref.pod)
        if self._host_ports.take(pod):
            return True
        reason, message = _PORTS_TAKEN
        self._events.about_pod(pod, reason, message, is_warning=True)
        await self._runs.writer.update(ref, lambda pod: phases.reject(pod, reason, message))
        return False

    async def resume(self, ref: ContainerRef) -> None:
        """Run a pod whose status is older than this server: its running containers get their processes and probes.

        Raises:
            JournalError: A change could not be stored.
        """
        pod = self._runtime.load(ref.namespace, ref.pod)
        if pod is None or phases.is_ended(pod) or has_too_many_containers(pod):
            return
        self._host_ports.take(pod)
        for name in container_names(pod):
            await self._runs.resume(pod, name)
        await self._continue(ref)

    async def proceed(self, ref: ContainerRef) -> None:
        """Start the next containers of a pod."""
        pod = self._runtime.load(ref.namespace, ref.pod)
        if pod is None or self.nodes.has_failed(_node_of(pod)):
            return
        if not is_being_deleted(pod) and not phases.is_ended(pod):
            change = self._runs.writer.transition()
            await self._launch(ref, lambda pod: phases.proceed(pod, change, self._runs.can_start))

    async def _launch(self, ref: ContainerRef, start: Callable[[Plain], list[str]]) -> None:
        started: list[str] = []

        def act(pod: Plain) -> None:
            # A retried write begins with an empty list.
            started[:] = start(pod)

        await self._runs.writer.update(ref, act)
        pod = self._runtime.load(ref.namespace, ref.pod)
        if pod is None:
            return
        ephemeral = [text(item, "name") for item in items(part(pod, "spec"), "ephemeralContainers")]
        names = [*started, *ephemeral] if started else started
        self._events.started(pod, names)
        self.problems.report(pod, ref)
        running = set(running_containers(pod))
        for name in names:
            if name in running:
                self._runs.start(pod, name)
        self._skipped_scripts.report(pod, names)

    async def report(self, ref: ContainerRef) -> None:
        """Restore the phase and conditions of a pod after a write by another client."""
        now = self._runtime.cluster.now()
        await self._runs.writer.update(ref, lambda pod: phases.settle(pod, now))

    async def start_ephemeral(self, ref: ContainerRef) -> None:
        """Start the ephemeral containers that were added to a pod, unless it has too many of them.

        Raises:
            StatusFailure: If the pod does not exist.
        """
        before = self._runtime.find(ref.namespace, ref.pod)
        if has_too_many_containers(before):
            return
        change, started = self._runs.writer.transition(), list[str]()
        await self._runs.writer.update(ref, lambda pod: started.extend(phases.start_ephemeral(pod, change)))
        pod = self._runtime.find(ref.namespace, ref.pod)
        self._events.started(pod, started)
        for name in started:
            self._runs.start(pod, name)
        self._skipped_scripts.report(pod, started)
        # The same generation may have another image as well, and is now observed.
        if has_news(before):
            await self.follow(ref)

    async def follow(self, ref: ContainerRef) -> None:
        """Apply changes of the spec of a pod: restart containers with another image, resize others.

        Raises:
            JournalError: A change could not be stored.
        """
        from masthead_server.kubelet.termination import grace_of

        pod = self._runtime.load(ref.namespace, ref.pod)
        if pod is None:
            return
        now = self._runtime.cluster.now()
        await self._runs.writer.update(ref, lambda found: phases.settle(found, now))
        for name in changed_images(pod):
            chosen = ContainerRef(ref.namespace, ref.pod, name)
            message = f"Container {name} definition changed, will be restarted"
            self._runs.kill(pod, chosen, message, grace_of(pod), idle_code=0, must_restart=True)
        if awaits_other_image(pod):
            await self.proceed(ref)
        await self.resizes.follow(ref)

    def kill(self, pod: Plain, ref: ContainerRef) -> None:
        """End the containers of an evicted pod."""
        self._events.killing(pod, self._running(pod))
        self._end(ref)

    async def terminate(self, pod: Plain, ref: ContainerRef, on_ended: Callable[[], Awaitable[None]]) -> None:
        """End the containers of a deleted pod within its grace period, and write their states.

        Args:
            pod: The pod.
            ref: Its name.
            on_ended: Called when all containers have ended.

        Raises:
            StatusFailure: If it does not exist.
        """
        grace = float(metadata(pod).get("deletionGracePeriodSeconds") or 0)
        if (running := self._terminations.get(text(metadata(pod), "uid"))) is not None:
            until = datetime.fromisoformat(text(metadata(pod), "deletionTimestamp"))
            running.shorten(max(0.0, (until - self._runtime.now()).total_seconds()))
            self._removals[text(metadata(pod), "uid")] = on_ended
            return
        self._end_all(pod, ref, grace, on_ended)

    async def exceed_deadline(self, pod: Plain, ref: ContainerRef) -> None:
        """Fail a pod that exceeded its ``activeDeadlineSeconds``."""
        if text(metadata(pod), "uid") not in self._terminations:
            reason, message = _DEADLINE
            self._events.about_pod(pod, reason, message)
            self._end_all(pod, ref, None, None, reason=reason, message=message)

    def _end_all(
        self,
        pod: Plain,
        ref: ContainerRef,
        grace: float | None,
        on_ended: Callable[[], Awaitable[None]] | None,
        *,
        reason: str = "",
        message: str = "",
    ) -> None:
        """End all containers of a pod.

        A reason lets the pod fail, whatever the exit codes. The default grace period is that of the pod.
        """
        from masthead_server.kubelet.termination import PodTermination, grace_of

        uid, names = text(metadata(pod), "uid"), self._running(pod)
        if on_ended is not None:
            self._removals[uid] = on_ended
        self._runs.stop(ref.namespace, ref.pod)
        self._events.killing(pod, names)
        self.problems.forget(ref.namespace, ref.pod)

        async def finish() -> None:
            if self.nodes.postpone(_node_of(pod), lambda: background.insist(finish)):
                return
            self._terminations.pop(uid, None)
            self._end(ref)
            await self._write_end(ref, termination.ends, reason, message)
            if (removal := self._removals.pop(uid, None)) is not None:
                await removal()

        background = self._runtime.cluster.background
        termination = PodTermination(
            self._runtime, self._runs.hooks, pod, names, self._runs.report_hook(pod), lambda: background.insist(finish)
        )
        self._terminations[uid] = termination
        termination.begin(grace_of(pod) if grace is None else grace)

    async def _write_end(self, ref: ContainerRef, ends: Mapping[str, ContainerEnd], reason: str, message: str) -> None:
        found = self._runtime.load(ref.namespace, ref.pod) or {}
        # A pod that never started has no containers to report.
        has_begun = bool(items(part(found, "status"), "containerStatuses"))
        if (has_begun or reason) and (not phases.is_ended(found) or running_containers(found)):
            change = self._runs.writer.transition()
            end = partial(phases.end_containers, change=change, ends=ends, reason=reason, message=message)
            await self._runs.writer.update(ref, end)

    def _running(self, pod: Plain) -> list[str]:
        """Return the containers that run by the status of their pod and have not ended here."""
        if has_too_many_containers(pod):
            return []  # the pod never ran here, even if its status reports running containers
        return [name for name in running_containers(pod) if not self._runtime.container(pod, name).ended.is_set()]

    def _end(self, ref: ContainerRef) -> None:
        self._runs.stop(ref.namespace, ref.pod)
        for container in self._runtime.containers.of_pod(ref.namespace, ref.pod).values():
            container.end()

    def close(self) -> None:
        """Cancel all main processes and restarts."""
        if self._has_run:
            self._runs.close()
        for termination in self._terminations.values():
            termination.close()
        self.problems.close()

    async def finish(self, ref: ContainerRef, code: int, *, reason: str = "", message: str = "") -> None:
        """End all containers of a pod with an exit code.

        Raises:
            StatusFailure: If it does not exist.
        """
        self._runtime.find(ref.namespace, ref.pod)
        change = self._runs.writer.transition()
        await self._runs.writer.update(
            ref, lambda pod: phases.finish(pod, change, code, reason=reason, message=message)
        )
        self._end(ref)

    async def evict(self, ref: ContainerRef, message: str) -> None:
        """Fail a pod because its node is short of resources.

        Raises:
            StatusFailure: If it does not exist.
        """
        pod, change = self._runtime.find(ref.namespace, ref.pod), self._runs.writer.transition()
        # As from a kubelet, watchers see the Event before the status.
        self._events.evicted(pod, message)
        await self._runs.writer.update(ref, lambda pod: phases.evict(pod, change, message))
        self.kill(pod, ref)

    async def restart(self, ref: ContainerRef, code: int, reason: str = "") -> None:
        """Restart one or all containers, which end with an exit code and a reason.

        Raises:
            StatusFailure: If the pod does not exist.
        """
        for chosen in self._chosen(ref):
            await self._runs.restart(chosen, ContainerEnd(code, reason))

    async def crash_loop(self, ref: ContainerRef, code: int, delay: float = 10) -> None:
        """End one or all containers, and put them into CrashLoopBackOff.

        Raises:
            StatusFailure: If the pod does not exist.
        """
        for chosen in self._chosen(ref):
            await self._runs.crash_loop(chosen, ContainerEnd(code), delay)

    async def crash(self, ref: ContainerRef, end: ContainerEnd) -> None:
        """End one or all containers; their restart policy applies.

        Raises:
            StatusFailure: If the pod does not exist.
        """
        for chosen in self._chosen(ref):
            pod = self._runtime.find(ref.namespace, ref.pod)
            if is_running(pod, chosen.container):
                await self._runs.end(chosen, end)

    async def run_out_of_memory(self, ref: ContainerRef) -> None:
        """End one or all containers as if they had exceeded their memory limit.

        Raises:
            StatusFailure: If the pod does not exist.
        """
        await self.crash(ref, ContainerEnd(KILLED, OOM_KILLED))

    async def force_probe(self, ref: ContainerRef, kind: ProbeKind, *, is_success: bool) -> None:
        """Set the result of a probe of one or all containers.

        Raises:
            StatusFailure: If the pod does not exist.
        """
        for chosen in self._chosen(ref):
            self._runs.probes.force(chosen, kind, is_success=is_success)

    async def fail_liveness(self, ref: ContainerRef, output: str) -> None:
        """Let the liveness probe of one or all containers fail.

        Raises:
            StatusFailure: If the pod does not exist.
        """
        for chosen in self._chosen(ref):
            self._runs.unhealthy(chosen, "liveness", output)
            self._runs.failed(chosen, "liveness")

    def wake_probes(self) -> None:
        """Run all resting probes again, because handlers or listeners have changed."""
        if self._has_run:
            self._runs.probes.wake()

    def _chosen(self, ref: ContainerRef) -> list[ContainerRef]:
        pod = self._runtime.find(ref.namespace, ref.pod)
        check_container(pod, ref.container)
        names = (
            [ref.container]
            if ref.container
            else [text(container, "name") for container in items(part(pod, "spec"), "containers")]
        )
        return [ContainerRef(ref.namespace, ref.pod, name) for name in names]

    async def _continue(self, ref: ContainerRef) -> None:
        """After the end of a container, start the next containers, or end the sidecars."""
        pod = self._runtime.load(ref.namespace, ref.pod)
        if pod is None or is_being_deleted(pod):
            return
        if not phases.has_finished(pod):
            await self.proceed(ref)
        elif self._running(pod) and text(metadata(pod), "uid") not in self._terminations:
            self._end_all(pod, ref, None, None)

    def forget(self, namespace: str, pod: str) -> None:
        """Forget a pod that was removed."""
        self.problems.forget(namespace, pod)
        self._host_ports.forget(namespace, pod)
        self.resizes.forget(namespace, pod)
        self._runs.forget(namespace, pod)

    async def _bind(self, ref: ContainerRef, found: Plain) -> bool:
        """Bind a pod to a node; return False if no node fits."""
        node = await self.nodes.register_first()
        if not node:
            return False
        now = self._runtime.cluster.now()

        def bind(pod: Plain) -> None:
            bind_pod(pod, node, now, {})

        if await self._client.update(self._runs.writer.object_ref(ref), bind, subresource="binding", is_tracked=False):
            self._events.scheduled(found, node)
        return True


def _node_of(pod: Plain) -> str:
    return text(part(pod, "spec"), "nodeName")

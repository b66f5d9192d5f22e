"""The runs of containers: processes, hooks and probes from start to end, and restarts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet import phases
from masthead_server.kubelet.container_states import ContainerEnd, is_sidecar
from masthead_server.kubelet.containers import ContainerRef
from masthead_server.kubelet.environment import PodSandboxError
from masthead_server.kubelet.hooks import HookRuns, hook_of
from masthead_server.kubelet.images import ImagePullError
from masthead_server.kubelet.main_process import KILLED, MainProcesses
from masthead_server.kubelet.pod_host import host_name_problem
from masthead_server.kubelet.pod_writer import PodWriter
from masthead_server.kubelet.pods import container_of, is_running, restarts, restarts_all, restarts_unhealthy, status_of
from masthead_server.kubelet.probe_rules import probe_of
from masthead_server.kubelet.probes import PodProbes
from masthead_server.kubelet.restart_backoff import RestartBackoff
from masthead_server.kubelet.termination import PodTermination, grace_of, termination_message
from masthead_server.kubelet.working_dir import WorkingDirError
from masthead_server.wire.plain import is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import Any

    from masthead_server.clock import Timer
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.kubelet.container_states import ContainerHealth
    from masthead_server.kubelet.events import PodEvents
    from masthead_server.kubelet.nodes import NodeRegistry
    from masthead_server.kubelet.probe_rules import ProbeKind
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.wire.plain import Plain

__all__ = ["ContainerRuns"]

_NO_CODE: Final = ContainerEnd(0)
_BACKING_OFF: Final = "CrashLoopBackOff"
_NOT_STARTED: Final = 128
"""The exit code of a container that its runtime could not start."""
_RUNTIME_ERROR: Final = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
    "unable to start container process: error during container init"
)


class ContainerRuns:
    """Runs containers, and restarts them according to their policy.

    Args:
        runtime: The pods and their containers.
        client: Writes as the kubelet.
        nodes: The nodes. Changes on a failed node are written when it recovers.
        make_events: Returns the recorder of Events.
        proceed: Called after a container has started or ended: starts the next containers, or ends the pod.
    """

    def __init__(
        self,
        runtime: PodRuntime,
        client: ObjectClient,
        nodes: NodeRegistry,
        make_events: Callable[[], PodEvents],
        proceed: Callable[[ContainerRef], Awaitable[None]],
    ) -> None:
        self._runtime = runtime
        self._nodes = nodes
        self._events = make_events
        self._proceed = proceed
        self.mains: MainProcesses = MainProcesses(runtime, self._handle_exit)
        self.hooks: HookRuns = HookRuns(runtime)
        self.probes: PodProbes = PodProbes(runtime, self)
        self._backoff = RestartBackoff()
        self._restarts: set[Timer] = set()
        self._kills: dict[ContainerRef, PodTermination] = {}
        self.writer: PodWriter = PodWriter(runtime, client, nodes, self.probes.first_health)

    def can_start(self, pod: Plain, name: str) -> bool:
        """Tell whether a container has a main process.

        Raises:
            ContainerStartError: If the container cannot be created now.
        """
        if problem := host_name_problem(pod):
            raise PodSandboxError(problem)
        self._runtime.images.check(pod, container_of(pod, name) or {}, self._runtime.now())
        return self.mains.is_scripted(pod, name)

    def start(self, pod: Plain, name: str) -> None:
        """Start the process of a container, its postStart hook and its probes."""
        container = self._runtime.container(pod, name)
        # A finished pod that a test starts again gets new containers.
        if container.ended.is_set():
            container.restart()
        if not self._start_process(pod, name):
            return
        if not hook_of(pod, name, "postStart"):
            self.probes.begin(pod, name)
            return
        self.hooks.start(pod, name, "postStart", partial(self._end_hook, _ref(pod, name), container.ended))

    async def resume(self, pod: Plain, name: str) -> None:
        """Run a container whose status is older than this server, without another postStart hook.

        Raises:
            JournalError: A change could not be stored.
        """
        container, ref = self._runtime.container(pod, name), _ref(pod, name)
        if is_running(pod, name):
            if container.ended.is_set():
                container.restart()
            if container.process is None and not self._start_process(pod, name):
                return
            self.probes.begin(pod, name, keeps_health=True)
        elif _awaits_restart(pod, name):
            await self.restart(ref, _NO_CODE)
        else:
            return
        # Its handler is gone, and without a process an init container completes.
        if container.process is None and _is_init(pod, name):
            await self.end(ref, _NO_CODE)

    def _start_process(self, pod: Plain, name: str) -> bool:
        """Start the process of a container; if its runtime cannot, end the container and return False."""
        try:
            self.mains.start(pod, name)
        except WorkingDirError as error:
            message = f"{_RUNTIME_ERROR}: {error}: unknown"
            self._events().warn(pod, name, "Failed", f"Error: {message}")
            self._handle_exit(_ref(pod, name), ContainerEnd(_NOT_STARTED, "StartError", message))
            return False
        return True

    def _end_hook(self, ref: ContainerRef, ended: object, is_success: bool) -> None:
        pod = self._load(ref)
        # The container may have ended before its hook.
        if pod is None or self._runtime.container(pod, ref.container).ended is not ended:
            return
        if is_success:
            self.probes.begin(pod, ref.container)
            return
        self._events().warn(pod, ref.container, "FailedPostStartHook", "PostStartHook failed")
        self.kill(pod, ref, "FailedPostStartHook", grace_of(pod), idle_code=KILLED)

    def kill(
        self, pod: Plain, ref: ContainerRef, message: str, grace: float, *, idle_code: int, must_restart: bool = False
    ) -> None:
        """Terminate a container, which may restart.

        Args:
            pod: The pod.
            ref: The container.
            message: The reason, for the Event.
            grace: Its grace period in seconds.
            idle_code: The exit code of a container without a process.
            must_restart: Whether it restarts regardless of its policy.
        """
        if ref in self._kills:
            return
        name = ref.container
        self._events().killing(pod, [name], message)
        self.probes.end(ref)
        is_idle = self._runtime.container(pod, name).process is None

        async def finish() -> None:
            self._kills.pop(ref, None)
            end = ContainerEnd(idle_code) if is_idle else termination.ends.get(name, _NO_CODE)
            await self.end(ref, end, must_restart=must_restart)

        background = self._runtime.cluster.background
        termination = PodTermination(
            self._runtime, self.hooks, pod, [name], self.report_hook(pod), lambda: background.insist(finish)
        )
        self._kills[ref] = termination
        termination.begin(grace)

    def report_hook(self, pod: Plain) -> Callable[[str], None]:
        """Return a function that reports a failed preStop hook."""
        return lambda name: self._events().warn(pod, name, "FailedPreStopHook", "PreStopHook failed")

    def _handle_exit(self, ref: ContainerRef, end: ContainerEnd) -> None:
        self._runtime.cluster.background.insist(lambda: self._on_exit(ref, end))

    async def _on_exit(self, ref: ContainerRef, end: ContainerEnd) -> None:
        pod = self._load(ref)
        if pod is None:
            return
        container = self._runtime.container(pod, ref.container)
        message = end.message or termination_message(container_of(pod, ref.container) or {}, container, end.code)
        await self.end(ref, end._replace(message=message))

    async def end(self, ref: ContainerRef, end: ContainerEnd, *, must_restart: bool = False) -> None:
        """Write the end of a container, and restart it according to its policy.

        Raises:
            JournalError: The change could not be stored.
        """
        pod = self._load(ref)
        # The termination of a deleted pod also ends its containers.
        if pod is None:
            return
        # A failed node reports the end when it recovers.
        if self._postpone(pod, lambda: self.end(ref, end, must_restart=must_restart)):
            return
        self._stop(ref)
        # Written in one step: the end alone would finish a pod with the restart policy Never.
        if must_restart:
            await self.restart(ref, end)
            return
        change = self.writer.transition()
        await self.writer.update(ref, partial(phases.end_container, name=ref.container, change=change, end=end))
        self._runtime.container(pod, ref.container).end()
        if restarts_all(pod, ref.container, end.code):
            await self._restart_all(ref)
            return
        if not restarts(pod, ref.container, end.code):
            await self._proceed(ref)
            return
        delay = self._backoff.next_delay(ref, self._runtime.now())
        # As with a kubelet, the first restart is immediate.
        if not delay:
            await self.restart(ref, end)
            return
        await self.crash_loop(ref, end, delay)
        self._restart_later(ref, end, delay)

    async def _restart_all(self, ref: ContainerRef) -> None:
        pod = self._load(ref)
        if pod is None:
            return
        for name, container in self._runtime.containers.of_pod(ref.namespace, ref.pod).items():
            self._stop(ContainerRef(ref.namespace, ref.pod, name))
            container.end()
        change = self.writer.transition()
        await self.writer.update(ref, partial(phases.restart_all, change=change))
        await self._proceed(ref)

    async def restart(self, ref: ContainerRef, end: ContainerEnd) -> None:
        """Restart a container, which ends first if it runs.

        Raises:
            JournalError: The change could not be stored.
        """
        pod = self._runtime.load(ref.namespace, ref.pod)
        if pod is None:
            return
        self._stop(ref)
        change, name = self.writer.transition(), ref.container
        try:
            self._runtime.images.check(pod, container_of(pod, name) or {}, self._runtime.now())
        except ImagePullError:
            await self.writer.update(ref, partial(phases.recreate, name=name, change=change, end=end))
            self._runtime.container(pod, name).end()
            await self._proceed(ref)
            return
        await self.writer.update(ref, partial(phases.restart_container, name=name, change=change, end=end))
        self._events().started(pod, [name])
        self._runtime.container(pod, name).restart()
        restarted = self._runtime.load(ref.namespace, ref.pod)
        if restarted is not None:
            self.start(restarted, name)

    async def crash_loop(self, ref: ContainerRef, end: ContainerEnd, delay: float) -> None:
        """End a container, and put it into CrashLoopBackOff.

        Raises:
            JournalError: The change could not be stored.
        """
        pod = self._runtime.load(ref.namespace, ref.pod)
        if pod is None:
            return
        self._stop(ref)
        change = self.writer.transition()
        await self.writer.update(
            ref, partial(phases.crash_loop, name=ref.container, change=change, end=end, delay=delay)
        )
        self._events().backing_off(pod, ref.container)
        self._runtime.container(pod, ref.container).end()

    def _restart_later(self, ref: ContainerRef, end: ContainerEnd, seconds: float) -> None:
        async def restart() -> None:
            self._restarts.discard(timer)
            pod = self._load(ref)
            if pod is None or self._postpone(pod, restart):
                return
            state = part(status_of(pod, ref.container) or {}, "state")
            # A test may have restarted or ended the container during the backoff.
            if text(part(state, "waiting"), "reason") == _BACKING_OFF:
                await self.restart(ref, end)

        cluster = self._runtime.cluster
        timer = cluster.clock.call_later(seconds, lambda: cluster.background.insist(restart))
        self._restarts.add(timer)

    def changed(self, ref: ContainerRef, health: ContainerHealth) -> None:
        """Write the probe results of a container."""
        self._runtime.cluster.background.insist(lambda: self._write_health(ref, health))

    async def _write_health(self, ref: ContainerRef, health: ContainerHealth) -> None:
        pod = self._runtime.load(ref.namespace, ref.pod)
        if pod is None or phases.is_ended(pod) or self._postpone(pod, lambda: self._write_health(ref, health)):
            return
        now = self._runtime.cluster.now()
        await self.writer.update(ref, lambda found: phases.set_health(found, ref.container, now, health))
        # The next init containers wait for a sidecar to start.
        if health.is_started and text(part(pod, "status"), "phase") == "Pending":
            await self._proceed(ref)

    def unhealthy(self, ref: ContainerRef, kind: ProbeKind, output: str) -> None:
        """Report a failed probe."""
        pod = self._load(ref)
        if pod is not None and not self._nodes.has_failed(_node_of(pod)):
            self._events().warn(pod, ref.container, "Unhealthy", f"{kind.capitalize()} probe failed: {output}")

    def failed(self, ref: ContainerRef, kind: ProbeKind) -> None:
        """Kill a container whose probe has reached its failure threshold."""
        pod = self._load(ref)
        if pod is None or self._nodes.postpone(_node_of(pod), lambda: self.failed(ref, kind)):
            return
        name = ref.container
        suffix = ", will be restarted" if restarts_unhealthy(pod, name) else ""
        grace = probe_of(container_of(pod, name) or {}, kind).get("terminationGracePeriodSeconds")
        seconds = grace_of(pod) if grace is None else float(grace)
        # A hanging process would not react to SIGTERM either.
        self.kill(pod, ref, f"Container {name} failed {kind} probe{suffix}", seconds, idle_code=KILLED)

    def _postpone(self, pod: Plain, work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Postpone work until the node of a pod recovers; return False if the node has not failed."""
        background = self._runtime.cluster.background
        return self._nodes.postpone(_node_of(pod), lambda: background.insist(work))

    def _load(self, ref: ContainerRef) -> Plain | None:
        """Load a pod; None if it does not exist or is being deleted."""
        pod = self._runtime.load(ref.namespace, ref.pod)
        return None if pod is None or is_being_deleted(pod) else pod

    def _stop(self, ref: ContainerRef) -> None:
        self.probes.end(ref)
        if (kill := self._kills.pop(ref, None)) is not None:
            kill.close()

    def stop(self, namespace: str, pod: str) -> None:
        """Stop the probes of a terminating pod; the caller ends its containers."""
        for name in self._runtime.containers.of_pod(namespace, pod):
            self._stop(ContainerRef(namespace, pod, name))

    def forget(self, namespace: str, pod: str) -> None:
        """Forget a pod that was removed."""
        self._backoff.forget(namespace, pod)
        self.probes.forget(namespace, pod)
        for ref in [ref for ref in self._kills if (ref.namespace, ref.pod) == (namespace, pod)]:
            self._kills.pop(ref).close()

    def close(self) -> None:
        """Cancel all processes, hooks, probes and timers."""
        self.probes.close()
        self.mains.close()
        self.hooks.close()
        for kill in self._kills.values():
            kill.close()
        for timer in self._restarts:
            timer.cancel()


def _awaits_restart(pod: Plain, name: str) -> bool:
    """Whether a container has ended and restarts, now or after its back-off."""
    state = part(status_of(pod, name) or {}, "state")
    ended = part(state, "terminated")
    is_backing_off = text(part(state, "waiting"), "reason") == _BACKING_OFF
    return is_backing_off or (bool(ended) and restarts(pod, name, ended.get("exitCode") or 0))


def _is_init(pod: Plain, name: str) -> bool:
    init_containers = items(part(pod, "spec"), "initContainers")
    return any(text(container, "name") == name and not is_sidecar(container) for container in init_containers)


def _ref(pod: Plain, name: str) -> ContainerRef:
    meta = metadata(pod)
    return ContainerRef(text(meta, "namespace"), text(meta, "name"), name)


def _node_of(pod: Plain) -> str:
    return text(part(pod, "spec"), "nodeName")

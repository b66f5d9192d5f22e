"""The probes of running containers: they update health, and report containers to kill."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from masthead_server.kubelet.container_states import HEALTHY, ContainerHealth, is_sidecar
from masthead_server.kubelet.containers import ContainerRef
from masthead_server.kubelet.pods import container_of, find_container, status_of
from masthead_server.kubelet.probe_rules import PROBES, ProbeTiming, probe_of
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.kubelet.probe_checks import ProbeChecks
    from masthead_server.kubelet.probe_rules import ProbeKind, ProbeOutcome
    from masthead_server.kubelet.probe_worker import ProbeWorker
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.wire.plain import Plain

__all__ = ["PodProbes", "ProbeListener"]

_AFTER_START: Final[tuple[ProbeKind, ...]] = ("readiness", "liveness")


class ProbeListener(Protocol):
    """Receives reports of probes."""

    def changed(self, ref: ContainerRef, health: ContainerHealth) -> None:
        """Report a change of a container's health."""
        ...

    def unhealthy(self, ref: ContainerRef, kind: ProbeKind, output: str) -> None:
        """Report a failed probe."""
        ...

    def failed(self, ref: ContainerRef, kind: ProbeKind) -> None:
        """Report that a startup or liveness probe has reached its failure threshold."""
        ...


class PodProbes:
    """Runs the probes of containers from their start to their end.

    Only probes with a handler of a test or a listener on a port run periodically. A probe that depends on files runs
    after these have changed, and a probe that cannot fail costs nothing.

    Args:
        runtime: The pods and their handlers.
        listener: Receives their reports.
    """

    def __init__(self, runtime: PodRuntime, listener: ProbeListener) -> None:
        self._runtime = runtime
        self._listener = listener
        self._running: dict[ContainerRef, _ContainerProbes] = {}
        self._forced: dict[ContainerRef, dict[ProbeKind, bool]] = {}
        self._made_checks: ProbeChecks | None = None

    @property
    def _checks(self) -> ProbeChecks:
        if self._made_checks is None:
            from masthead_server.kubelet.probe_checks import ProbeChecks  # which servers without probes do not need

            self._made_checks = ProbeChecks(self._runtime)
        return self._made_checks

    def first_health(self, pod: Plain, name: str) -> ContainerHealth:
        """Return the initial health of a container."""
        container = container_of(pod, name) or {}
        forced = self._forced.get(_ref(pod, name), {})
        if part(part(container, "lifecycle"), "postStart"):
            return ContainerHealth(is_started=False, is_ready=False)
        if not forced and not any(probe_of(container, kind) for kind in PROBES):
            return HEALTHY
        is_started = forced.get("startup", self._is_healthy_at_once(pod, name, "startup"))
        is_ready = forced.get("readiness", self._is_healthy_at_once(pod, name, "readiness"))
        return ContainerHealth(is_started=is_started, is_ready=is_started and is_ready)

    def _is_healthy_at_once(self, pod: Plain, name: str, kind: ProbeKind) -> bool:
        probe = probe_of(container_of(pod, name) or {}, kind)
        return not probe or (ProbeTiming.of(probe).is_immediate(kind) and self._checks.is_constant(pod, name, kind))

    def begin(self, pod: Plain, name: str, *, keeps_health: bool = False) -> None:
        """Start the probes of a container.

        Args:
            pod: The pod.
            name: The container.
            keeps_health: Whether the health in its status counts until a probe fails.
        """
        ref, container = _ref(pod, name), container_of(pod, name) or {}
        self.end(ref)
        if not _reports_health(pod, name):
            return
        if any(probe_of(container, kind) for kind in PROBES):
            forced = self._forced.setdefault(ref, {})
            probes = _ContainerProbes(self._runtime, self._checks, self._listener, pod, ref, forced)
            self._running[ref] = probes
            if keeps_health:
                probes.keep_health()
            probes.begin(pod)
        elif (found := self._health_without_probes(ref)) != _written_health(pod, name):
            self._listener.changed(ref, found)

    def _health_without_probes(self, ref: ContainerRef) -> ContainerHealth:
        forced = self._forced.get(ref, {})
        is_started = forced.get("startup", True)
        return ContainerHealth(is_started=is_started, is_ready=is_started and forced.get("readiness", True))

    def end(self, ref: ContainerRef) -> None:
        """Stop the probes of a container."""
        if (probes := self._running.pop(ref, None)) is not None:
            probes.close()

    def force(self, ref: ContainerRef, kind: ProbeKind, *, is_success: bool) -> None:
        """Set the result of a probe of a container until the pod is removed."""
        self._forced.setdefault(ref, {})[kind] = is_success
        if (probes := self._running.get(ref)) is not None:
            probes.apply()
        else:
            self._listener.changed(ref, self._health_without_probes(ref))

    def wake(self) -> None:
        """Run all resting probes again, because handlers or listeners have changed."""
        for probes in tuple(self._running.values()):
            probes.wake()

    def forget(self, namespace: str, pod: str) -> None:
        """Forget a pod that was removed."""
        for table in (self._running, self._forced):
            for ref in [ref for ref in table if (ref.namespace, ref.pod) == (namespace, pod)]:
                if table is self._forced:
                    del self._forced[ref]
                else:
                    self.end(ref)

    def close(self) -> None:
        """Stop all probes."""
        for probes in self._running.values():
            probes.close()
        self._running.clear()
        if self._made_checks is not None:
            self._made_checks.close()


class _ContainerProbes:
    """The probes of one run of a container."""

    __slots__ = (
        "_checks",
        "_forced",
        "_health",
        "_is_closed",
        "_listener",
        "_ref",
        "_results",
        "_runtime",
        "_specs",
        "_started",
        "_workers",
    )

    def __init__(
        self,
        runtime: PodRuntime,
        checks: ProbeChecks,
        listener: ProbeListener,
        pod: Plain,
        ref: ContainerRef,
        forced: dict[ProbeKind, bool],
    ) -> None:
        self._runtime = runtime
        self._checks = checks
        self._listener = listener
        self._ref = ref
        self._forced = forced
        self._started = runtime.now()
        self._is_closed = False
        container = container_of(pod, ref.container) or {}
        self._specs: dict[ProbeKind, Plain] = {kind: probe for kind in PROBES if (probe := probe_of(container, kind))}
        self._workers: dict[ProbeKind, ProbeWorker] = {}
        # A missing probe counts as a success, and so does a liveness probe before its first failure.
        self._results = {kind: True for kind in PROBES if kind not in self._specs or kind == "liveness"}
        self._health = _written_health(pod, ref.container)

    def keep_health(self) -> None:
        """Count the probes as successful that the health in the container's status is the result of."""
        if self._health.is_started:
            self._results["startup"] = True
        if self._health.is_ready:
            self._results["readiness"] = True

    def begin(self, pod: Plain) -> None:
        """Start the startup probe, or else the others."""
        for kind, probe in self._specs.items():
            # No worker, until a handler or listener makes the outcome uncertain.
            if ProbeTiming.of(probe).is_immediate(kind) and self._checks.is_constant(pod, self._ref.container, kind):
                self._results[kind] = True
        self._continue(pod)

    def _continue(self, pod: Plain) -> None:
        if not self._result("startup"):
            self._start(pod, "startup")
        else:
            self._stop("startup")
            for kind in _AFTER_START:
                self._start(pod, kind)
        self.apply()

    def _result(self, kind: ProbeKind) -> bool:
        return self._forced.get(kind, self._results.get(kind, False))

    def _start(self, pod: Plain, kind: ProbeKind) -> None:
        probe, name = self._specs.get(kind), self._ref.container
        if probe is None or kind in self._workers or kind in self._forced:
            return
        if self._results.get(kind) and self._checks.is_constant(pod, name, kind):
            return
        from masthead_server.kubelet.probe_worker import ProbeWorker

        def check(report: Callable[[ProbeOutcome], None]) -> Callable[[], object]:
            found = self._runtime.load(self._ref.namespace, self._ref.pod)
            # The removal of the pod also stops its probes.
            return _do_nothing if found is None else self._checks.start(found, name, kind, report)

        timing = ProbeTiming.of(probe)
        self._workers[kind] = worker = ProbeWorker(timing, self._runtime.cluster.clock, check, partial(self._act, kind))
        if "exec" in probe:
            self._runtime.container(pod, name).files.on_change = self._wake_workers
        passed = (self._runtime.now() - self._started).total_seconds()
        worker.begin(timing.first_run(kind) - passed)

    def _stop(self, kind: ProbeKind) -> None:
        if (worker := self._workers.pop(kind, None)) is not None:
            worker.close()

    def _act(self, kind: ProbeKind, outcome: ProbeOutcome, result: bool | None) -> None:
        if not outcome.is_success:
            self._listener.unhealthy(self._ref, kind, outcome.output)
        if result is None:
            return
        self._results[kind] = result
        if not result and kind != "readiness":
            # The restarted container gets new probes.
            self.close()
            self._listener.failed(self._ref, kind)
        elif kind == "startup" and (pod := self._runtime.load(self._ref.namespace, self._ref.pod)) is not None:
            self._continue(pod)
        else:
            self.apply()

    def apply(self) -> None:
        """Report the health, if it has changed."""
        is_started = self._result("startup")
        health = ContainerHealth(is_started=is_started, is_ready=is_started and self._result("readiness"))
        if health != self._health:
            self._health = health
            self._listener.changed(self._ref, health)

    def wake(self) -> None:
        """Run resting probes again, and start probes whose outcome has become uncertain."""
        if self._is_closed:
            return
        self._wake_workers()
        idle: list[ProbeKind] = [kind for kind in _AFTER_START if kind in self._specs and kind not in self._workers]
        if idle and self._result("startup"):
            pod = self._runtime.load(self._ref.namespace, self._ref.pod)
            for kind in idle if pod is not None else ():
                self._start(pod or {}, kind)

    def _wake_workers(self) -> None:
        """Run resting probes again at their next period, rather than in the middle of a change of files."""
        for worker in tuple(self._workers.values()):
            worker.wake()

    def close(self) -> None:
        """Stop the probes."""
        self._is_closed = True
        for kind in tuple(self._workers):
            self._stop(kind)


def _reports_health(pod: Plain, name: str) -> bool:
    """Whether readiness applies to a container: to sidecars, but not to other init or ephemeral containers."""
    kind, container = find_container(pod, name)
    return kind == "containers" or (kind == "initContainers" and is_sidecar(container))


def _written_health(pod: Plain, name: str) -> ContainerHealth:
    """Return the health in the status of a container."""
    found = status_of(pod, name) or {}
    return ContainerHealth(is_started=bool(found.get("started")), is_ready=bool(found.get("ready")))


def _do_nothing() -> None:
    pass


def _ref(pod: Plain, name: str) -> ContainerRef:
    meta = metadata(pod)
    return ContainerRef(text(meta, "namespace"), text(meta, "name"), name)

"""The controller manager: runs the controllers of a server, as kube-controller-manager does.

A write is reconciled directly afterwards, in the server's thread, and counts as work until that is done. A delayed
reconcile waits for another write or for the clock: no controller polls. A write that fails because the disk is full is
retried after a backoff, and does not count as work until then.
"""

from __future__ import annotations

import logging
from collections import Counter
from contextvars import ContextVar
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead.errors import ConfigError
from masthead_server.argument_checks import check_type
from masthead_server.controllers.aggregation import ClusterRoleAggregationController
from masthead_server.controllers.api_services import ApiServiceController
from masthead_server.controllers.base import ObservedWrite
from masthead_server.controllers.certificate_signing import CertificateSigningController
from masthead_server.controllers.definitions import DefinitionController
from masthead_server.controllers.deletions import DeletionController
from masthead_server.controllers.garbage import GarbageCollector
from masthead_server.controllers.namespace_contents import RootCAController, ServiceAccountController
from masthead_server.controllers.namespaces import NamespaceController
from masthead_server.controllers.objects import ObjectClient, ObjectRef
from masthead_server.controllers.pods import PodController
from masthead_server.controllers.policy_status import PolicyStatusController
from masthead_server.controllers.queue import ReconcileQueue
from masthead_server.controllers.resource_quotas import ResourceQuotaController
from masthead_server.controllers.service_account_secrets import ServiceAccountSecretController
from masthead_server.controllers.volumes import VolumeProtectionController
from masthead_server.field_managers.own_entries import CLUSTER_MANAGER
from masthead_server.request_origin import CURRENT_ORIGIN, RequestOrigin

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from masthead_server.cluster import ClusterState
    from masthead_server.controllers.base import ServerController
    from masthead_server.controllers.missed_writes import MissedWrites
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record

    Key: TypeAlias = tuple[ServerController, ObjectRef]

__all__ = [
    "BOOTSTRAP_CONTROLLERS",
    "CONTROLLERS",
    "POD_CONTROLLERS",
    "SCHEDULER",
    "WORKLOAD_CONTROLLERS",
    "ControllerManager",
]


def _lazy(module: str, name: str) -> Callable[[ObjectClient], ServerController]:
    """Return a factory that imports its module when the controller is to run, because few servers have workloads."""

    def make(client: ObjectClient) -> ServerController:
        factory: Callable[[ObjectClient], ServerController] = getattr(import_module(module), name)
        return factory(client)

    return make


_WORKLOADS: Final = "masthead_server.controllers.workloads"
_BATCH: Final = "masthead_server.controllers.batch"
_AUTOSCALING: Final = "masthead_server.controllers.autoscaling"
_STORAGE: Final = "masthead_server.controllers.storage"
_NETWORK: Final = "masthead_server.controllers.network"
_DEVICES: Final = "masthead_server.controllers.devices"
_NODES: Final = "masthead_server.controllers.node_lifecycle"
SCHEDULER: Final = "scheduler"
"""The controller that gives pods their nodes; it runs wherever pods run by themselves."""
CONTROLLERS: Final[Mapping[str, Callable[[ObjectClient], ServerController]]] = {
    "namespaces": NamespaceController,
    "garbage": GarbageCollector,
    "pods": PodController,
    "volumes": VolumeProtectionController,
    "deletions": DeletionController,
    "serviceaccounts": ServiceAccountController,
    "root-ca": RootCAController,
    "aggregation": ClusterRoleAggregationController,
    "serviceaccount-tokens": ServiceAccountSecretController,
    "certificate-signing": CertificateSigningController,
    "certificate-approval": _lazy("masthead_server.controllers.certificate_approval", "CertificateApprovalController"),
    "certificate-cleaner": _lazy("masthead_server.controllers.certificate_cleaner", "CertificateCleaner"),
    "resourcequotas": ResourceQuotaController,
    "policystatus": PolicyStatusController,
    "replicasets": _lazy(f"{_WORKLOADS}.replicas", "replica_set_controller"),
    "replicationcontrollers": _lazy(f"{_WORKLOADS}.replicas", "replication_controller"),
    "deployments": _lazy(f"{_WORKLOADS}.deployments", "DeploymentController"),
    "statefulsets": _lazy(f"{_WORKLOADS}.statefulsets", "StatefulSetController"),
    "daemonsets": _lazy(f"{_WORKLOADS}.daemonsets", "DaemonSetController"),
    "jobs": _lazy(f"{_BATCH}.jobs", "JobController"),
    "cronjobs": _lazy(f"{_BATCH}.cronjobs", "CronJobController"),
    "horizontalpodautoscalers": _lazy(f"{_AUTOSCALING}.horizontalpodautoscalers", "HorizontalPodAutoscalerController"),
    "ttl-after-finished": _lazy(f"{_BATCH}.ttl", "ExpiredJobController"),
    "ephemeral-volumes": _lazy(f"{_STORAGE}.ephemeral_volumes", "EphemeralVolumeController"),
    "persistentvolumes": _lazy(f"{_STORAGE}.persistent_volumes", "PersistentVolumeController"),
    "disruption": _lazy("masthead_server.controllers.disruption", "DisruptionController"),
    "endpoints": _lazy(f"{_NETWORK}.endpoints", "EndpointsController"),
    "endpointslices": _lazy(f"{_NETWORK}.endpoint_slices", "EndpointSliceController"),
    "endpointslicemirroring": _lazy(f"{_NETWORK}.endpoint_slice_mirroring", "EndpointSliceMirroringController"),
    "resourceclaims": _lazy(f"{_DEVICES}.resource_claims", "ResourceClaimController"),
    "node-lifecycle": _lazy(f"{_NODES}.lifecycle", "NodeLifecycleController"),
    "taint-eviction": _lazy(f"{_NODES}.taint_eviction", "TaintEvictionController"),
    "pod-gc": _lazy(f"{_NODES}.pod_collector", "PodCollector"),
    SCHEDULER: _lazy("masthead_server.scheduling.scheduler", "Scheduler"),
}
"""Every controller by name, in the order in which they observe a write."""
ALWAYS: Final[Mapping[str, Callable[[ObjectClient], ServerController]]] = {
    "definitions": DefinitionController,
    "apiservices": ApiServiceController,
}
"""The controllers that kube-apiserver runs itself, which cannot be switched off."""
WORKLOAD_CONTROLLERS: Final = frozenset(
    {
        "replicasets",
        "replicationcontrollers",
        "deployments",
        "statefulsets",
        "jobs",
        "cronjobs",
        "horizontalpodautoscalers",
        "ttl-after-finished",
        "daemonsets",
        "ephemeral-volumes",
        "persistentvolumes",
        "disruption",
        "endpoints",
        "endpointslices",
        "endpointslicemirroring",
        "resourceclaims",
    }
)
"""Controllers that run only with workloads enabled: they write objects that tests often write themselves."""
POD_CONTROLLERS: Final = frozenset({SCHEDULER, "node-lifecycle", "taint-eviction", "pod-gc"})
"""Controllers that run only where pods run by themselves: without a kubelet, every node would be unreachable."""
BOOTSTRAP_CONTROLLERS: Final = frozenset({"serviceaccounts", "root-ca"})
"""Controllers that create the contents of every namespace."""

_log: Final = logging.getLogger("masthead.server")
_ACTING: Final[ContextVar[ServerController | None]] = ContextVar("masthead_server_acting", default=None)
"""The controller that reconciles in this context."""


class ControllerManager:
    """Dispatches writes to controllers, and runs their reconciles.

    Args:
        cluster: The cluster state that they observe and change.
        enabled: The names of the controllers to run; True for all but those of workloads, False for none.
        on_idle: Called when there is nothing left to reconcile.
        records_origins: Whether writes are attributed to controllers.

    Raises:
        ConfigError: If there is no controller of a name.
    """

    def __init__(
        self,
        cluster: ClusterState,
        enabled: bool | Collection[str],
        on_idle: Callable[[], object],
        *,
        records_origins: bool = False,
    ) -> None:
        self._cluster = cluster
        self._client = ObjectClient(cluster)
        # Writes of a part of kube-apiserver carry its manager's name, as on the real server.
        of_server = ObjectClient(cluster, CLUSTER_MANAGER)
        # In the order of CONTROLLERS, not of the caller's names: the order of observation is part of the behaviour.
        chosen = {name: CONTROLLERS[name] for name in CONTROLLERS if name in _names(enabled)}
        self.controllers: dict[str, ServerController] = {
            **{name: make(of_server) for name, make in ALWAYS.items()},
            **{name: make(self._client) for name, make in chosen.items()},
        }
        """The running controllers, by name."""
        self._delays: dict[ServerController, float] = {}
        self._missed: dict[ServerController, MissedWrites] = {}
        """What controllers failed to observe."""
        self._records_origins = records_origins
        self._observers: dict[str, list[ServerController]] = {}
        """The controllers that observe each table; filled as tables are written."""
        self._queue: ReconcileQueue[Key] = ReconcileQueue(
            cluster.clock, self._reconcile, on_idle, lambda: cluster.storage.written
        )

    def add(self, name: str, controller: ServerController) -> None:
        """Add a controller outside `CONTROLLERS`. Call it before `start`."""
        self.controllers[name] = controller

    def enqueue(self, name: str, refs: Iterable[ObjectRef]) -> None:
        """Let a controller reconcile objects without a write, if it runs."""
        controller = self.controllers.get(name)
        if controller is not None:
            for ref in refs:
                self._queue.add((controller, ref))

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to reconcile, and no reconcile waits."""
        return self._queue.is_idle

    def set_delay(self, name: str, seconds: float) -> None:
        """Delay the reconciles of a controller by some seconds; 0 ends the delay, also of pending reconciles.

        Raises:
            TypeError: If the delay is no number.
            ConfigError: If no controller of this name runs, or the delay is negative or endless.
        """
        controller = self.controllers.get(name)
        if controller is None:
            raise ConfigError(f"no controller {name!r} runs on this server; there are {', '.join(self.controllers)}")
        check_type("seconds", seconds, int | float, "a number")
        if not 0 <= seconds < inf:
            raise ConfigError(f"a controller acts after 0 or more seconds, not after {seconds}")
        if seconds:
            self._delays[controller] = seconds
            return
        self._delays.pop(controller, None)
        self._queue.hurry(lambda key: key[0] is controller)

    def describe_delays(self) -> list[str]:
        """Describe the delayed reconciles, one sentence per controller."""
        late = Counter(controller for controller, _ in self._queue.late_keys())
        return [
            f"the slow controller {name} waits before it acts on {late[controller]} objects"
            for name, controller in self.controllers.items()
            if controller in late
        ]

    def start(self) -> None:
        """Observe every stored object, and then every write."""
        # The list is complete before the first write is observed: both run in the server's thread.
        for served, ref in self._client.everywhere():
            record = self._cluster.storage.table(ref.table).get(ref.key)
            if record is not None:
                self._observe(served, record)
        self._cluster.on_write.append(self._observe)

    def stop(self) -> None:
        """Stop observing and reconciling; the next server finds the remaining work when it starts."""
        # A server that failed during its start may not have begun to observe.
        if self._observe in self._cluster.on_write:
            self._cluster.on_write.remove(self._observe)
        self._queue.close()

    def drain(self) -> None:
        """Reconcile all due keys now."""
        self._queue.drain()

    def _observe(self, served: ServedResource, record: Record) -> None:
        ref = ObjectRef(served.table, record.key)
        observers = self._observers.get(ref.table)
        # Which controllers observe a table does not change, so that it is looked up once.
        if observers is None:
            observers = self._observers[ref.table] = [
                controller
                for controller in self.controllers.values()
                if controller.observes is None or ref.table in controller.observes
            ]
        # Controllers read objects as they are stored, whatever the version of the request.
        write = ObservedWrite(self._client.served(ref.table) or served, ref, record)
        for controller in observers:
            try:
                self._report(controller, write)
            # The write is stored: neither its client nor the other controllers may suffer.
            except Exception:  # noqa: BLE001 - whatever a controller raises
                self._miss(controller, write)
            else:
                if self._missed and (missed := self._missed.get(controller)) is not None:
                    missed.discard(ref)

    def _report(self, controller: ServerController, write: ObservedWrite) -> None:
        """Let a controller observe a write, and reconcile what is due."""
        # A controller's own write does not restart its delay, so that it finishes what it began.
        is_late = controller in self._delays and _ACTING.get() is not controller
        for due in controller.observe(write):
            # Recorded objects stay as they were recorded; what is written here has its effects.
            if self._cluster.is_replaying:
                continue
            if is_late:
                self._queue.add_late((controller, due), self._delays[controller])
            else:
                self._queue.add((controller, due))

    def _miss(self, controller: ServerController, write: ObservedWrite) -> None:
        """Log that a controller failed to observe a write, and let the queue retry that."""
        _log.exception("the controller %s failed at a write of %s", self._name_of(controller), write.ref)
        missed = self._missed.get(controller)
        if missed is None:
            from masthead_server.controllers.missed_writes import MissedWrites  # which only a bug needs

            missed = self._missed[controller] = MissedWrites(controller, self._report)
        missed.add(write)
        self._queue.add((missed, write.ref))

    async def _reconcile(self, key: Key) -> float | None:
        controller, ref = key
        acted, origin = _ACTING.get(), CURRENT_ORIGIN.get()
        _ACTING.set(controller)
        if self._records_origins:
            CURRENT_ORIGIN.set(RequestOrigin(client=self._name_of(controller)))
        try:
            return await controller.reconcile(ref)
        finally:
            # Without a token: a reconcile that waits ends in another context.
            _ACTING.set(acted)
            CURRENT_ORIGIN.set(origin)

    def _name_of(self, controller: ServerController) -> str:
        # The retry of an observation acts for no controller.
        return next((name for name, running in self.controllers.items() if running is controller), "")


def _names(enabled: bool | Collection[str]) -> Collection[str]:
    if isinstance(enabled, bool):
        # Workloads create pods, which would surprise tests that only store their Deployments.
        return CONTROLLERS.keys() - WORKLOAD_CONTROLLERS - POD_CONTROLLERS if enabled else ()
    if unknown := sorted(set(enabled) - CONTROLLERS.keys()):
        raise ConfigError(f"there is no controller {unknown[0]!r}; there are {', '.join(CONTROLLERS)}")
    return enabled

"""Pods of Jobs, partly decoded and indexed by their owner."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta import typeinfo
from masthead_server.clock import add_seconds
from masthead_server.controllers.owner_references import OwnerReference, find_controller

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectRef

__all__ = ["INDEX", "TRACKING_FINALIZER", "ContainerState", "JobPod", "JobPodIndex", "PodCondition"]

TRACKING_FINALIZER: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_OWNED: Final = b'"controller":true'
_KIND: Final = b'"kind":"Job"'
_JOBS: Final = ("Job", "batch/v1")


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: list[str] = []
    owner_references: list[OwnerReference] = []
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None


class _Container(msgspec.Struct, rename="camel"):
    name: str = ""
    restart_policy: str | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    init_containers: list[_Container] = []


class PodCondition(msgspec.Struct, rename="camel"):
    """A condition of a pod."""

    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class _Terminated(msgspec.Struct, rename="camel"):
    exit_code: int = 0
    finished_at: str | None = None


class _State(msgspec.Struct):
    terminated: _Terminated | None = None


class ContainerState(msgspec.Struct, rename="camel"):
    """The status of a container."""

    name: str = ""
    restart_count: int = 0
    state: _State = msgspec.field(default_factory=_State)


class _Status(msgspec.Struct, rename="camel"):
    phase: str = ""
    conditions: list[PodCondition] | None = None
    container_statuses: list[ContainerState] | None = None
    init_container_statuses: list[ContainerState] | None = None


class JobPod(msgspec.Struct):
    """The fields of a pod that the Job controller reads.

    Attributes:
        metadata: Its names, owners and finalizers.
        spec: Its node, and which init containers are sidecars.
        status: Its phase, conditions and containers.
    """

    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def uid(self) -> str:
        """The uid."""
        return self.metadata.uid

    @property
    def controller(self) -> OwnerReference | None:
        """The reference to its controller."""
        return find_controller(self.metadata.owner_references)

    @property
    def is_of_job(self) -> bool:
        """Whether its controller is a Job."""
        owner = self.controller
        return owner is not None and (owner.kind, owner.api_version) == _JOBS

    @property
    def is_marked(self) -> bool:
        """Whether its deletion has begun."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_active(self) -> bool:
        """Whether it is neither finished nor marked for deletion."""
        return not self.is_marked and self.status.phase not in _FINISHED

    @property
    def is_terminating(self) -> bool:
        """Whether it is marked for deletion and not yet finished."""
        return self.is_marked and self.status.phase not in _FINISHED

    @property
    def has_finalizer(self) -> bool:
        """Whether the Job controller still has to count it."""
        return TRACKING_FINALIZER in self.metadata.finalizers

    @property
    def is_ready(self) -> bool:
        """Whether its Ready condition is true."""
        condition = self.condition("Ready")
        return condition is not None and condition.status == "True"

    @property
    def index(self) -> int | None:
        """Its completion index; None if it has none or an invalid one."""
        written = self.metadata.annotations.get(INDEX, "")
        return int(written) if written.isascii() and written.isdigit() else None

    @property
    def finished_at(self) -> datetime:
        """When it finished, by its containers, or else its Ready condition, its deletion, or its creation."""
        by_containers = self._end_of_containers()
        if by_containers is not None:
            return by_containers
        ready = self.condition("Ready")
        if ready is not None and ready.status == "False" and ready.last_transition_time:
            return datetime.fromisoformat(ready.last_transition_time)
        meta = self.metadata
        if meta.deletion_timestamp is not None:
            grace = meta.deletion_grace_period_seconds or 0
            return add_seconds(datetime.fromisoformat(meta.deletion_timestamp), -grace)
        return datetime.fromisoformat(meta.creation_timestamp)

    def condition(self, of_type: str) -> PodCondition | None:
        """Return the condition of a type."""
        conditions = self.status.conditions or ()
        return next((condition for condition in conditions if condition.type == of_type), None)

    def _end_of_containers(self) -> datetime | None:
        """Return when the last container terminated; None if one runs. Sidecars terminate after the others."""
        sidecars = {container.name for container in self.spec.init_containers if container.restart_policy == "Always"}
        states = list(self.status.container_statuses or ())
        states += [state for state in self.status.init_container_statuses or () if state.name in sidecars]
        ends = [state.state.terminated.finished_at if state.state.terminated else None for state in states]
        if not ends or not all(ends):
            return None
        return max(datetime.fromisoformat(end) for end in ends if end)


_decode = typeinfo.json_decoder(JobPod).decode


class JobPodIndex:
    """Index of the pods of Jobs by the Job's uid, and of orphans by namespace."""

    def __init__(self) -> None:
        self._pods: dict[ObjectRef, JobPod] = {}
        self._owned: defaultdict[str, dict[ObjectRef, JobPod]] = defaultdict(dict)
        self._orphans: defaultdict[str, dict[ObjectRef, JobPod]] = defaultdict(dict)

    def update(self, write: ObservedWrite) -> tuple[JobPod | None, JobPod | None]:
        """Index a written pod; return it before and after the write, None while another controller owns it."""
        ref, record = write.ref, write.record
        before = self._pods.pop(ref, None)
        if before is not None:
            self._remove(before, ref)
        # Search the JSON text first: most pods belong to other controllers, and decoding is expensive.
        if record.is_deleted or (_OWNED in record.value and _KIND not in record.value):
            return before, None
        after = _decode(b"{" + record.value)
        owner = after.controller
        if owner is not None and not after.is_of_job:
            return before, None
        self._pods[ref] = after
        group = self._owned[owner.uid] if owner is not None else self._orphans[ref.namespace]
        group[ref] = after
        return before, after

    def get(self, ref: ObjectRef) -> JobPod | None:
        """Return a pod of a Job, or an orphan."""
        return self._pods.get(ref)

    def owned_by(self, uid: str) -> dict[ObjectRef, JobPod]:
        """Return the pods of the Job with this uid."""
        return dict(self._owned[uid]) if uid in self._owned else {}

    def orphans_in(self, namespace: str) -> Iterable[tuple[ObjectRef, JobPod]]:
        """Return the pods of a namespace without a controller."""
        return list(self._orphans[namespace].items()) if namespace in self._orphans else ()

    def _remove(self, pod: JobPod, ref: ObjectRef) -> None:
        owner = pod.controller
        groups, key = (self._owned, owner.uid) if owner is not None else (self._orphans, ref.namespace)
        groups[key].pop(ref, None)
        # Empty groups of deleted Jobs would accumulate.
        if not groups[key]:
            del groups[key]

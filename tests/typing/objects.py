"""What type checkers see. Checked by mypy and pyright, never run."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, assert_type

import masthead
from masthead._meta.quantity import Quantity
from masthead.api.coordination.v1 import Lease, LeaseSpec
from masthead.api.core.v1 import (
    ConfigMap,
    Container,
    ContainerPort,
    Event,
    PersistentVolumeAccessMode,
    PersistentVolumeClaim,
    Pod,
    PodCondition,
    PodList,
    PodPhase,
    PodSpec,
    PodStatus,
    Secret,
    Service,
    ServicePort,
    Taint,
)
from masthead.meta import (
    Condition,
    LabelSelector,
    LabelSelectorRequirement,
    MicroTime,
    ObjectMeta,
    OwnerReference,
    Unstructured,
    set_condition,
)
from masthead.meta.v1 import ConditionStatus

if TYPE_CHECKING:
    from masthead.api.apps.v1 import Deployment
    from masthead.api.batch.v1 import CronJob


def reading(pod: Pod, pods: PodList, deployment: Deployment) -> None:
    assert_type(pod.spec, PodSpec)
    assert_type(pod.spec.containers[0].ports, list[ContainerPort])
    assert_type(pod.spec.containers[0].ports[0].container_port, int)
    assert_type(pod.spec.node_name, str | None)
    assert_type(pod.spec.containers[0].resources.limits, dict[str, Quantity])
    assert_type(pod.status, PodStatus)
    assert_type(pod.status.start_time, datetime | None)
    assert_type(pod.metadata, ObjectMeta)
    assert_type(pod.metadata.name, str)
    assert_type(pod.metadata.owner_references, list[OwnerReference])
    assert_type(deployment.spec.template.spec.containers, list[Container])
    assert_type(deployment.spec.selector, LabelSelector)
    assert_type(deployment.spec.replicas, int | None)
    assert_type(ServicePort().target_port, int | str | None)
    assert_type(Secret().data, dict[str, bytes])
    assert_type(pods.items, list[Pod])
    assert_type(pods[0], Pod)
    assert_type(pods[1:], list[Pod])
    assert_type([each.key for each in pods], list[str])


def making() -> None:
    assert_type(Pod.new("web", spec={"containers": [Container(name="web")]}), Pod)
    assert_type(Pod.new("web", namespace="shop", labels={"a": "b"}, spec=PodSpec()), Pod)
    assert_type(ConfigMap.new("x", data={"a": "b"}), ConfigMap)
    assert_type(Pod.from_json(b""), Pod)
    assert_type(PodList.from_json(b""), PodList)
    assert_type(Pod.from_yaml("").copy(), Pod)
    assert_type(Pod(metadata=ObjectMeta(name="web")).to_json(), bytes)
    assert_type(Unstructured.new("web", api_version="v1", kind="Pod"), Unstructured)
    assert_type(masthead.Quantity("1") + 1, Quantity)


def times(lease: Lease, pod: Pod, now: datetime) -> None:
    spec = LeaseSpec(renew_time=now, acquire_time=MicroTime.of(now))
    spec.renew_time = now
    assert_type(spec.renew_time, datetime)
    assert_type(lease.spec.renew_time, datetime | None)
    Lease.new("x", spec=LeaseSpec(acquire_time=now))
    pod.metadata.creation_timestamp = now
    set_condition(pod.status.conditions, PodCondition(type="Ready", status="True"))
    set_condition(pod.status.conditions, PodCondition(type="Ready", last_transition_time=now), now=now)


def enumerations(pod: Pod, service: Service, claim: PersistentVolumeClaim, deployment: Deployment) -> None:
    assert_type(pod.status.phase, PodPhase | None)
    assert_type(pod.status.conditions[0].status, ConditionStatus)
    assert_type(pod.status.conditions[0].type, str)
    assert_type(claim.spec.access_modes, list[PersistentVolumeAccessMode])
    service.spec.type = "LoadBalancer"
    claim.spec.access_modes = ["ReadWriteOnce"]
    deployment.spec.strategy.type = "Recreate"
    deployment.spec.template.spec.containers[0].ports[0].protocol = "UDP"
    LabelSelectorRequirement(key="app", operator="In", values=["web"])
    Pod.new("web", spec={"restartPolicy": "Never"})


def misspelt_values(pod: Pod, service: Service, claim: PersistentVolumeClaim, event: Event, job: CronJob) -> None:
    print(pod.status.phase == "Runing")  # type: ignore[comparison-overlap]  # pyright: ignore[reportUnnecessaryComparison]
    print(pod.status.conditions[0].status == "true")  # type: ignore[comparison-overlap]  # pyright: ignore[reportUnnecessaryComparison]
    print(event.type == "Warn")  # type: ignore[comparison-overlap]  # pyright: ignore[reportUnnecessaryComparison]
    pod.spec.restart_policy = "never"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    service.spec.type = "Loadbalancer"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    claim.spec.access_modes = ["RWO"]  # type: ignore[list-item]  # pyright: ignore[reportAttributeAccessIssue]
    job.spec.concurrency_policy = "Allowed"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    Container(image_pull_policy="Allways")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Condition(type="Ready", status="yes")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Taint(key="a", effect="NoScheduling")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    LabelSelectorRequirement(key="app", operator="in")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def mistakes(pod: Pod) -> None:
    print({pod})  # pyright: ignore[reportUnhashable]
    LeaseSpec(renew_time="2026-01-01")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pod.spec.nodename = "x"  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    pod.spec.node_name = 5  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    Pod.new("web", sepc={})  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Container(nmae="web")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Container(name=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    masthead.Clinet()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]

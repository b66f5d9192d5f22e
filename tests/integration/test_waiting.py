"""Waiting for a condition of an object."""

from __future__ import annotations

import asyncio
import math
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.objects import config_map, deployment, job, pod

from masthead import conditions
from masthead._meta.patch import Patch
from masthead.conditions import WaitCondition
from masthead.errors import ArgumentError, DeadlineError, NameFormatError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.integration.conftest import Cluster

LONG = 60.0


class RecordingCondition:
    """A condition that signals its first call: from then on, only a watch delivers changes."""

    def __init__(self, condition: WaitCondition[Any]) -> None:
        self._called = threading.Event()
        self._test = condition
        self.condition = WaitCondition(self._call_test, condition.description, says=condition.says)

    def _call_test(self, obj: Any) -> bool:
        self._called.set()
        return self._test(obj)

    async def called(self) -> None:
        assert await asyncio.to_thread(self._called.wait, LONG)


async def waited(
    resource: Any, name: str, condition: WaitCondition[Any], *steps: Callable[[], Awaitable[object]]
) -> Any:
    """Wait for an object, and take these steps once the wait has begun."""
    noticed = RecordingCondition(condition)
    async with asyncio.TaskGroup() as tasks:
        result = tasks.create_task(resource.wait_for(name, noticed.condition, timeout=LONG))
        await noticed.called()
        for step in steps:
            await step()
    return result.result()


@pytest.fixture
def maps(client: Any, namespace: str) -> Any:
    return client.core_v1.config_maps(namespace)


async def test_a_condition_that_already_holds_returns_at_once(maps: Any) -> None:
    made = await maps.create(config_map("a"))

    assert await maps.wait_for("a", conditions.exists()) == made
    assert await maps.wait_for("absent", conditions.deleted()) is None


async def test_waiting_for_a_new_object(maps: Any) -> None:
    found = await waited(maps, "a", conditions.exists(), lambda: maps.create(config_map("a")))

    assert found.metadata.name == "a"


async def test_waiting_for_a_deletion(maps: Any) -> None:
    await maps.create(config_map("a", finalizers=["example.com/wait"]))

    gone = await waited(
        maps,
        "a",
        conditions.deleted(),
        lambda: maps.delete("a"),
        lambda: maps.patch("a", Patch.merge({"metadata": {"finalizers": None}})),
    )

    assert gone is None


async def test_an_object_is_gone_even_if_another_has_its_name(maps: Any) -> None:
    made = await maps.create(config_map("a"))

    other = await waited(
        maps,
        "a",
        conditions.deleted(uid=made.metadata.uid) & conditions.exists(),
        lambda: maps.delete("a"),
        lambda: maps.create(config_map("a")),
    )

    assert other.metadata.uid != made.metadata.uid


async def test_other_objects_do_not_count(maps: Any) -> None:
    found = await waited(
        maps,
        "b",
        conditions.exists(),
        lambda: maps.create(config_map("a")),
        lambda: maps.create(config_map("ba")),
        lambda: maps.create(config_map("b")),
    )

    assert found.metadata.name == "b"


async def test_a_field_is_waited_for(maps: Any) -> None:
    await maps.create(config_map("a", data={"color": "red"}))

    found = await waited(
        maps,
        "a",
        conditions.field_is("data.color", "blue"),
        lambda: maps.patch("a", Patch.merge({"data": {"color": "green"}})),
        lambda: maps.patch("a", Patch.merge({"data": {"color": "blue"}})),
    )

    assert found.data == {"color": "blue"}


def status(resource: Any, name: str, **fields: object) -> Callable[[], Awaitable[object]]:
    return lambda: resource.patch_status(name, Patch.merge({"status": fields}))


async def test_a_pod_is_waited_for(client: Any, namespace: str) -> None:
    pods = client.core_v1.pods(namespace)
    await pods.create(pod("web"))
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}

    running = await waited(pods, "web", conditions.pod_running(), status(pods, "web", phase="Running"))
    found = await waited(pods, "web", conditions.pod_ready(), status(pods, "web", **ready))
    done = await waited(pods, "web", conditions.pod_finished(), status(pods, "web", phase="Succeeded"))

    assert (running.status.phase, done.status.phase) == ("Running", "Succeeded")
    assert found.status.conditions[0].type == "Ready"


async def test_a_rollout_is_waited_for(client: Any, namespace: str) -> None:
    deployments = client.apps_v1.deployments(namespace)
    await deployments.create(deployment("web", replicas=2))
    counts = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2, "readyReplicas": 2}

    found = await waited(
        deployments,
        "web",
        conditions.deployment_rolled_out(),
        status(deployments, "web", **{**counts, "availableReplicas": 1}),
        status(deployments, "web", observedGeneration=1),
        status(deployments, "web", **counts),
    )

    assert found.status.available_replicas == 2


async def test_a_job_is_waited_for(client: Any, namespace: str) -> None:
    jobs = client.batch_v1.jobs(namespace)
    await jobs.create(job("it"))
    began = {"startTime": "2001-02-03T04:05:06Z"}
    failed = [{"type": each, "status": "True"} for each in ("FailureTarget", "Failed")]

    found = await waited(jobs, "it", conditions.job_finished(), status(jobs, "it", **began, conditions=failed))

    assert conditions.job_failed()(found)
    assert not conditions.job_complete()(found)


async def test_objects_without_a_type_and_metadata_are_waited_for(client: Any, namespace: str) -> None:
    dynamic = client.dynamic("cm", namespace=namespace)
    metadata = client.metadata("cm", namespace=namespace)
    await dynamic.create(config_map("a"))
    touch = Patch.merge({"metadata": {"labels": {"x": "y"}}, "data": {"color": "blue"}})

    found = await waited(dynamic, "a", conditions.field_is("data.color", "blue"), lambda: dynamic.patch("a", touch))
    assert found["data"] == {"color": "blue"}
    labelled = await metadata.wait_for("a", conditions.field_is("metadata.labels.x", "y"), timeout=LONG)
    assert labelled.metadata.labels == {"x": "y"}


@pytest.mark.slow
async def test_a_timeout_names_the_unmet_condition(client: Any, namespace: str) -> None:
    pods = client.core_v1.pods(namespace)
    await pods.create(pod("web"))

    with pytest.raises(DeadlineError) as raised:
        await pods.wait_for("web", conditions.pod_running(), timeout=1)

    assert f"Pod {namespace}/web: waited 1 s until the pod is running" in str(raised.value)
    assert "status.phase is 'Pending'" in str(raised.value)
    assert isinstance(raised.value, TimeoutError)


async def test_an_exception_of_a_condition_propagates(maps: Any) -> None:
    await maps.create(config_map("a"))

    with pytest.raises(ZeroDivisionError):
        await maps.wait_for("a", conditions.matches(lambda _: 1 // 0 > 0, "impossible"))
    with pytest.raises(ArgumentError, match="dta"):
        await maps.wait_for("a", conditions.field_is("dta.color", "red"))


async def test_a_wait_can_be_cancelled(maps: Any) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await maps.wait_for("a", conditions.deleted())


async def test_a_name_is_needed_and_a_namespace_if_several_have_it(client: Any, namespace: str, maps: Any) -> None:
    with pytest.raises(NameFormatError):
        await maps.wait_for("", conditions.exists())
    with pytest.raises(NameFormatError):
        await maps.wait_for("a/b", conditions.exists())
    other = await client.core_v1.namespaces().create({"metadata": {"generateName": "other-"}})
    for each in (namespace, other.metadata.name):
        await client.core_v1.config_maps(each).create(config_map(namespace))
    with pytest.raises(ArgumentError, match="name the namespace"):
        await client.core_v1.config_maps().wait_for(namespace, ~conditions.exists())
    await client.core_v1.namespaces().delete(other.metadata.name)


@pytest.mark.slow
@pytest.mark.embedded_only
@pytest.mark.parametrize("fault", ["drop_watch", "cut_watch", "expire_watch"])
async def test_a_wait_outlives_its_watch(cluster: Cluster, maps: Any, fault: str) -> None:
    assert cluster.embedded is not None
    await maps.create(config_map("a", data={"step": "0"}))
    hit = getattr(cluster.embedded.faults, fault)(after=1, times=1, resource="configmaps")

    def step(value: int) -> Callable[[], Awaitable[object]]:
        return lambda: maps.patch("a", Patch.merge({"data": {"step": str(value)}}))

    found = await waited(maps, "a", conditions.field_is("data.step", "3"), step(1), step(2), step(3))

    assert found.data == {"step": "3"}
    assert hit.hits == 1


async def test_a_wait_may_last_for_ever(maps: Any) -> None:
    await maps.create(config_map("a"))

    assert await maps.wait_for("a", conditions.exists(), timeout=math.inf)

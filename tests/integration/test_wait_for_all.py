"""Waiting for all objects of a set."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.conformance.objects import config_map, deployment, job, named, pod
from tests.integration.test_waiting import RecordingCondition

from masthead import conditions
from masthead._meta.patch import Patch
from masthead.errors import DeadlineError, ManifestError, NotFoundError, ObjectFailedError

LONG = 60.0
ROLLED_OUT = {
    "observedGeneration": 1,
    "replicas": 1,
    "updatedReplicas": 1,
    "availableReplicas": 1,
    "readyReplicas": 1,
}
NOW = "2026-01-01T00:00:00Z"


def claim(name: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return named("v1", "PersistentVolumeClaim", name, spec=spec)


async def create_all(client: Any, namespace: str, *manifests: Any) -> Any:
    return await client.apply_manifests(list(manifests), namespace=namespace, client_side=True)


async def test_objects_that_are_ready_are_returned_at_once(client: Any, namespace: str) -> None:
    made = await create_all(client, namespace, config_map("a"), deployment("none", replicas=0))
    await client.apps_v1.deployments(namespace).patch_status("none", Patch.merge({"status": {"observedGeneration": 1}}))

    found = await client.wait_for_manifests(made, timeout=0)

    assert [each.key for each in found] == [f"{namespace}/a", f"{namespace}/none"]


async def test_all_are_waited_for_whatever_makes_their_kind_ready(client: Any, namespace: str) -> None:
    made = await create_all(client, namespace, deployment("web", replicas=1), claim("disk"), pod("p"))
    seen = RecordingCondition(conditions.ready())

    async with asyncio.TaskGroup() as tasks:
        wait = tasks.create_task(client.wait_for_manifests(made, seen.condition, timeout=LONG))
        await seen.called()
        await client.apps_v1.deployments(namespace).patch_status("web", Patch.merge({"status": ROLLED_OUT}))
        await client.core_v1.persistent_volume_claims(namespace).patch_status(
            "disk", Patch.merge({"status": {"phase": "Bound"}})
        )
        await client.core_v1.pods(namespace).patch_status(
            "p", Patch.merge({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        )

    assert [each.kind for each in wait.result()] == ["PersistentVolumeClaim", "Pod", "Deployment"]


async def test_a_deadline_names_what_is_not_ready_and_why(client: Any, namespace: str) -> None:
    made = await create_all(client, namespace, config_map("a"), deployment("web", replicas=1), claim("disk"))
    await client.apps_v1.deployments(namespace).patch_status(
        "web", Patch.merge({"status": {**ROLLED_OUT, "availableReplicas": 0}})
    )

    with pytest.raises(DeadlineError) as raised:
        await client.wait_for_manifests(made, timeout=0)

    text = str(raised.value)
    assert "2 of 3 objects left:" in text
    assert f"\n  Deployment {namespace}/web: 0 of 1 new pods are available\n" in text
    assert f"\n  PersistentVolumeClaim {namespace}/disk: status.phase is 'Pending'\n" in text
    assert "ConfigMap" not in text
    with pytest.raises(DeadlineError, match="Deployment"):
        await client.wait_for_manifests(made, timeout=0.2)


async def test_a_failed_job_ends_the_wait(client: Any, namespace: str) -> None:
    made = await create_all(client, namespace, job("import"), claim("disk"))
    seen = RecordingCondition(conditions.ready())

    async def fail() -> None:
        await seen.called()
        reason = {"status": "True", "reason": "BackoffLimitExceeded", "lastTransitionTime": NOW}
        failed = [{"type": type_, **reason} for type_ in ("FailureTarget", "Failed")]
        await client.batch_v1.jobs(namespace).patch_status(
            "import", Patch.merge({"status": {"startTime": NOW, "conditions": failed}})
        )

    with pytest.raises(ObjectFailedError, match=rf"Job {namespace}/import has failed: .*BackoffLimitExceeded"):
        await asyncio.gather(client.wait_for_manifests(made, seen.condition, timeout=LONG), fail())


async def test_waiting_until_all_are_gone(client: Any, namespace: str) -> None:
    manifests = [config_map("a"), config_map("b", finalizers=["example.com/wait"])]
    await create_all(client, namespace, *manifests)
    await client.delete_manifests(manifests, namespace=namespace)
    seen = RecordingCondition(conditions.deleted())
    unserved = named("example.com/v1", "Unicorn", "u")

    async with asyncio.TaskGroup() as tasks:
        wait = tasks.create_task(
            client.wait_for_manifests([*manifests, unserved], seen.condition, namespace=namespace, timeout=LONG)
        )
        await seen.called()
        await client.core_v1.config_maps(namespace).patch("b", Patch.merge({"metadata": {"finalizers": None}}))

    assert list(wait.result()) == []


def definition(group: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return named(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        f"widgets.{group}",
        spec={
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    )


@pytest.mark.parametrize("seconds", [LONG, 0])
async def test_an_object_is_gone_with_its_definition(client: Any, namespace: str, facade: str, seconds: float) -> None:
    group = f"gone-{facade}-{seconds:.0f}.example.com"
    manifests = [definition(group), named(f"{group}/v1", "Widget", "w")]
    applied = await client.apply_manifests(manifests, namespace=namespace, field_manager="us")
    await client.delete_manifests(manifests, namespace=namespace)
    await client.wait_for_manifests(manifests[:1], conditions.deleted(), timeout=LONG)

    for given in (manifests, applied):
        gone = await client.wait_for_manifests(
            given, conditions.deleted(), namespace=namespace if given is manifests else None, timeout=seconds
        )
        assert list(gone) == []
    with pytest.raises(NotFoundError):
        await client.wait_for_manifests(applied, conditions.exists(), timeout=seconds)


async def test_objects_that_do_not_exist_yet_are_waited_for(client: Any, namespace: str) -> None:
    seen = RecordingCondition(conditions.ready())

    async with asyncio.TaskGroup() as tasks:
        wait = tasks.create_task(
            client.wait_for_manifests(config_map("late"), seen.condition, namespace=namespace, timeout=LONG)
        )
        await seen.called()
        await client.core_v1.config_maps(namespace).create(config_map("late"))

    assert [each.metadata.name for each in wait.result()] == ["late"]


async def test_more_objects_than_are_watched_at_once(client: Any, namespace: str) -> None:
    maps = client.core_v1.config_maps(namespace)
    made = await create_all(client, namespace, *(config_map(f"m{number}") for number in range(40)))
    painted = conditions.field_is("data.color", "red")
    seen = RecordingCondition(painted)

    async with asyncio.TaskGroup() as tasks:
        wait = tasks.create_task(client.wait_for_manifests(made, seen.condition, timeout=LONG))
        await seen.called()
        for each in reversed(made):
            await maps.patch(each.metadata.name, Patch.merge({"data": {"color": "red"}}))

    assert len(wait.result()) == 40


async def test_an_apply_that_waits_says_what_did_not_become_ready(client: Any, namespace: str) -> None:
    options = {"namespace": namespace, "client_side": True, "wait": True}
    result = await client.apply_manifests(config_map("a"), **options)
    assert len(result.created) == 1

    with pytest.raises(ManifestError, match=r"everything was applied, but: .*\n.*PersistentVolumeClaim") as raised:
        await client.apply_manifests([config_map("a"), claim("disk")], **options, wait_timeout=0.1)

    assert isinstance(raised.value.__cause__, DeadlineError)
    assert [each.kind for each in raised.value.done] == ["ConfigMap", "PersistentVolumeClaim"]

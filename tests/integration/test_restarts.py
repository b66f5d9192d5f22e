"""Restarts of workloads, as by ``kubectl rollout restart``."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.conformance.objects import config_map, deployment, workload

from masthead.api.apps.v1 import Deployment
from masthead.errors import ArgumentError, ManifestError, NotFoundError

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


def restarted_at(obj: Any) -> str:
    return str(obj.to_dict()["spec"]["template"]["metadata"].get("annotations", {}).get(RESTARTED_AT, ""))


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
async def test_a_restart_changes_the_pod_template_and_nothing_else(client: Any, namespace: str, kind: str) -> None:
    verbs = {
        "Deployment": client.apps_v1.deployments,
        "StatefulSet": client.apps_v1.stateful_sets,
        "DaemonSet": client.apps_v1.daemon_sets,
    }[kind](namespace)
    before = await verbs.create(workload(kind, "web"))

    after = await verbs.restart("web", field_manager="us")

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", restarted_at(after))
    assert after.metadata.generation == before.metadata.generation + 1
    del after.spec.template.metadata.annotations[RESTARTED_AT]
    assert after.spec == before.spec


async def test_each_restart_is_another(client: Any, namespace: str) -> None:
    deployments = client.apps_v1.deployments(namespace)
    await deployments.create(deployment("web"))

    first, second = await deployments.restart("web"), await deployments.restart("web")

    assert restarted_at(first) < restarted_at(second)


async def test_a_paused_deployment_cannot_be_restarted(client: Any, namespace: str) -> None:
    deployments = client.apps_v1.deployments(namespace)
    paused = deployment("web")
    paused["spec"]["paused"] = True
    made = await deployments.create(paused)

    with pytest.raises(ArgumentError, match=r"restart Deployment .*/web: the deployment is paused"):
        await deployments.restart("web")

    assert (await deployments.get("web")).metadata.resource_version == made.metadata.resource_version


async def test_a_dry_run_restarts_nothing(client: Any, namespace: str) -> None:
    deployments = client.apps_v1.deployments(namespace)
    await deployments.create(deployment("web"))

    tried = await deployments.restart("web", dry_run=True)

    assert restarted_at(tried)
    assert not restarted_at(await deployments.get("web"))


async def test_a_client_of_any_kind_restarts_workloads_only(client: Any, namespace: str) -> None:
    await client.apps_v1.deployments(namespace).create(deployment("web"))
    await client.core_v1.config_maps(namespace).create(config_map("a"))

    assert restarted_at(await client.dynamic("deploy", namespace=namespace).restart("web"))
    assert restarted_at(await client.resource(Deployment, namespace).restart("web"))
    with pytest.raises(ArgumentError, match="only deployments, daemon sets and stateful sets"):
        await client.dynamic("configmaps", namespace=namespace).restart("a")
    with pytest.raises(NotFoundError):
        await client.dynamic("deploy", namespace=namespace).restart("absent")


async def test_the_workloads_among_manifests_are_restarted(client: Any, namespace: str) -> None:
    manifests = [config_map("a"), deployment("web"), workload("DaemonSet", "agent")]
    result = await client.apply_manifests(manifests, namespace=namespace, client_side=True)

    done = await client.restart_manifests(result)

    assert [each.metadata.name for each in done] == ["agent", "web"]
    assert all(restarted_at(each) for each in done)
    with pytest.raises(ManifestError, match=r"restart Deployment .*/absent"):
        await client.restart_manifests([deployment("web"), deployment("absent")], namespace=namespace)

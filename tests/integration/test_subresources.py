"""Subresources with their own verbs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.cases.minimal import CERTIFICATE_REQUEST
from tests.conformance.objects import deployment, named, pod

from masthead._meta.patch import Patch
from masthead.api.apps.v1 import Deployment
from masthead.api.authentication.v1 import TokenRequest
from masthead.api.autoscaling.v1 import Scale
from masthead.api.core.v1 import Namespace, Pod
from masthead.errors import (
    ArgumentError,
    ConflictError,
    NotFoundError,
    StatusError,
    TooManyRequestsError,
    UnprocessableError,
)


@pytest.fixture
def deployments(client: Any, namespace: str) -> Any:
    return client.apps_v1.deployments(namespace)


@pytest.fixture
def pods(client: Any, namespace: str) -> Any:
    return client.core_v1.pods(namespace)


async def test_status_is_patched_as_a_subresource(deployments: Any) -> None:
    await deployments.create(deployment("web", replicas=1))

    written = await deployments.patch_status("web", Patch.merge({"spec": {"replicas": 7}, "status": {"replicas": 2}}))

    assert isinstance(written, Deployment)
    assert (written.spec.replicas, written.status.replicas) == (1, 2)
    assert written.metadata.generation == 1


async def test_a_status_from_an_old_version_is_a_conflict(deployments: Any) -> None:
    stale = await deployments.create(deployment("web"))
    await deployments.patch_status("web", Patch.merge({"status": {"replicas": 2}}))

    stale.status.replicas = 3
    with pytest.raises(ConflictError) as raised:
        await deployments.update_status(stale)

    assert raised.value.resource == "deployments.apps/status"


async def test_a_status_update_can_be_a_dry_run(deployments: Any) -> None:
    made = await deployments.create(deployment("web"))
    made.status.replicas = 3

    tried = await deployments.update_status(made, dry_run=True)
    patched = await deployments.patch_status("web", Patch.merge({"status": {"replicas": 4}}), dry_run=True)

    assert (tried.status.replicas, patched.status.replicas) == (3, 4)
    assert not (await deployments.get("web")).status.replicas


async def test_a_patch_can_target_a_subresource(deployments: Any) -> None:
    await deployments.create(deployment("web"))

    written = await deployments.patch("web", Patch.merge({"status": {"replicas": 2}}), subresource="status")

    assert written.status.replicas == 2


async def test_status_is_applied_and_owned_as_a_subresource(deployments: Any) -> None:
    await deployments.create(deployment("web"))

    written = await deployments.apply_status(
        named("apps/v1", "Deployment", "web", status={"replicas": 2}), field_manager="counter"
    )

    assert written.status.replicas == 2
    assert ("counter", "status") in {
        (managed_field.manager, managed_field.subresource) for managed_field in written.metadata.managed_fields
    }
    with pytest.raises(ConflictError):
        await deployments.apply_status(
            named("apps/v1", "Deployment", "web", status={"replicas": 3}), field_manager="other"
        )


async def test_a_scale_is_read_and_written(deployments: Any) -> None:
    await deployments.create(deployment("web", replicas=1))

    scale = await deployments.get_scale("web")
    scale.spec.replicas = 3
    written = await deployments.update_scale("web", scale)

    assert isinstance(written, Scale)
    assert written.status.selector == "app=a"
    assert (await deployments.get("web")).spec.replicas == 3
    with pytest.raises(ConflictError):
        await deployments.update_scale("web", scale)


async def test_a_scale_is_patched(deployments: Any) -> None:
    await deployments.create(deployment("web", replicas=1))

    tried = await deployments.patch_scale("web", Patch.merge({"spec": {"replicas": 5}}), dry_run=True)
    assert tried.spec.replicas == 5
    assert (await deployments.get_scale("web")).spec.replicas == 1

    steps = Patch.json([{"op": "replace", "path": "/spec/replicas", "value": 4}])
    assert (await deployments.patch_scale("web", steps)).spec.replicas == 4


async def test_the_scale_of_a_missing_object_is_not_found(deployments: Any) -> None:
    with pytest.raises(NotFoundError) as raised:
        await deployments.get_scale("absent")

    assert raised.value.resource == "deployments.apps/scale"


@pytest.mark.parametrize("typed", [True, False])
async def test_a_scale_is_applied_and_owned(deployments: Any, *, typed: bool) -> None:
    await deployments.create(deployment("web"), field_manager="maker")
    wanted: Any = named("autoscaling/v1", "Scale", "web", spec={"replicas": 3})

    with pytest.raises(ConflictError, match=r"apply deployments\.apps/scale .* conflict with \"maker\""):
        await deployments.apply_scale("web", wanted, field_manager="scaler")
    written = await deployments.apply_scale(
        "web", Scale.from_dict(wanted) if typed else wanted, field_manager="scaler", force=True
    )

    assert written.spec.replicas == 3
    with pytest.raises(ConflictError, match="scaler"):
        await deployments.apply_scale("web", {**wanted, "spec": {"replicas": 4}}, field_manager="other")


async def test_a_scale_is_never_applied_without_an_owner_nor_forced_without_being_applied(
    deployments: Any,
) -> None:
    with pytest.raises(ArgumentError, match="field_manager"):
        await deployments.apply_scale("web", named("autoscaling/v1", "Scale", "web"))
    with pytest.raises(ArgumentError, match="force is for apply patches"):
        await deployments.patch_scale("web", Patch.merge({}), force=True)


async def test_a_resource_without_replicas_has_no_scale(client: Any, namespace: str) -> None:
    await client.core_v1.pods(namespace).create(pod("web"))

    with pytest.raises(NotFoundError):
        await client.resource(Pod, namespace).get_scale("web")


async def test_an_eviction_deletes(pods: Any) -> None:
    await pods.create(pod("web"))

    await pods.evict("web", dry_run=True)
    await pods.get("web")
    assert await pods.evict("web") is None

    with pytest.raises(NotFoundError):
        await pods.get("web")
    with pytest.raises(NotFoundError):
        await pods.evict("web")


async def test_an_eviction_takes_the_options_of_a_delete(pods: Any) -> None:
    made = await pods.create(pod("web"))

    await pods.evict("web", uid=made.metadata.uid, grace_period_seconds=0, propagation_policy="Background")

    with pytest.raises(NotFoundError):
        await pods.get("web")


async def test_an_eviction_can_have_preconditions(pods: Any) -> None:
    await pods.create(pod("web"))
    # Of a pod that still waits to be run, the real server tries to learn better for ten seconds.
    await pods.patch_status("web", Patch.merge({"status": {"phase": "Running"}}))

    with pytest.raises(ConflictError):
        await pods.evict("web", uid="00000000-0000-0000-0000-000000000000")


async def test_a_budget_can_refuse_an_eviction(client: Any, namespace: str, pods: Any) -> None:
    budgets = client.policy_v1.pod_disruption_budgets(namespace)
    await pods.create(pod("web", labels={"app": "a"}))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await pods.patch_status("web", Patch.merge({"status": status}))
    await budgets.create(
        {"metadata": {"name": "all"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}}
    )

    async def allow(disruptions: int) -> None:
        counts = {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        status = {"observedGeneration": 1, "disruptionsAllowed": disruptions, **counts}
        await budgets.patch_status("all", Patch.merge({"status": status}))

    await allow(0)
    with pytest.raises(TooManyRequestsError, match="disruption budget") as raised:
        await pods.evict("web")
    assert raised.value.details is not None
    assert raised.value.details.causes[0].reason == "DisruptionBudget"

    await allow(1)
    await pods.evict("web")
    with pytest.raises(NotFoundError):
        await pods.get("web")
    counted = (await budgets.get("all")).status
    assert (counted.disruptions_allowed, list(counted.disrupted_pods)) == (0, ["web"])


async def test_a_pod_is_bound_to_a_node_once(pods: Any) -> None:
    await pods.create(pod("web"))

    await pods.bind("web", "node-1", dry_run=True)
    assert not (await pods.get("web")).spec.node_name
    assert await pods.bind("web", "node-1") is None

    assert (await pods.get("web")).spec.node_name == "node-1"
    with pytest.raises(ConflictError, match="already assigned"):
        await pods.bind("web", "node-2")
    await pods.delete("web", grace_period_seconds=0)


async def test_ephemeral_containers_are_added(pods: Any) -> None:
    made = await pods.create(pod("web"))
    wanted = made.to_dict()
    wanted["spec"]["ephemeralContainers"] = [{"name": "look", "image": "tools"}]
    wanted["spec"]["containers"][0]["image"] = "ignored"

    written = await pods.update_ephemeral_containers(wanted)

    assert [ephemeral_container.name for ephemeral_container in written.spec.ephemeral_containers] == ["look"]
    assert written.spec.containers[0].image == "image"


async def test_resources_are_changed_as_a_subresource(pods: Any) -> None:
    made = await pods.create(pod("web", spec={"containers": [container(cpu="100m")]}))
    wanted = made.to_dict()
    wanted["spec"]["containers"] = [container(cpu="200m")]

    with pytest.raises(UnprocessableError):
        await pods.update(wanted)
    written = await pods.update_resize(wanted)

    assert str(written.spec.containers[0].resources.requests["cpu"]) == "200m"


def container(*, cpu: str) -> dict[str, Any]:
    return {"name": "main", "image": "image", "resources": {"requests": {"cpu": cpu}}}


async def test_subresource_writes_can_be_dry_runs(client: Any, namespace: str, pods: Any) -> None:
    made = await pods.create(pod("web", spec={"containers": [container(cpu="100m")]}))
    looking, larger = made.to_dict(), made.to_dict()
    looking["spec"]["ephemeralContainers"] = [{"name": "look", "image": "tools"}]
    larger["spec"]["containers"] = [container(cpu="200m")]
    space = await client.core_v1.namespaces().get(namespace)
    finalizers, space.spec.finalizers = space.spec.finalizers, ["example.com/wait"]

    assert (await pods.update_ephemeral_containers(looking, dry_run=True)).spec.ephemeral_containers
    resized = await pods.update_resize(larger, dry_run=True)
    assert str(resized.spec.containers[0].resources.requests["cpu"]) == "200m"
    held = await client.core_v1.namespaces().finalize(space, dry_run=True)
    assert held.spec.finalizers == ["example.com/wait"]

    assert await pods.get("web") == made
    assert (await client.core_v1.namespaces().get(namespace)).spec.finalizers == finalizers


async def test_a_token_is_created_for_a_service_account(client: Any, namespace: str) -> None:
    accounts = client.core_v1.service_accounts(namespace)
    await accounts.create({"metadata": {"name": "robot"}})

    made = await accounts.create_token("robot", audiences=["https://example.com"], expiration_seconds=900)

    assert isinstance(made, TokenRequest)
    assert made.status.token.count(".") == 2
    assert made.spec.audiences == ["https://example.com"]
    assert made.spec.expiration_seconds == 900
    with pytest.raises(NotFoundError):
        await accounts.create_token("nobody")


async def test_a_token_can_be_bound_to_an_object(client: Any, namespace: str, pods: Any) -> None:
    accounts = client.core_v1.service_accounts(namespace)
    await accounts.create({"metadata": {"name": "robot"}})
    bound = await pods.create(pod("web", spec={"serviceAccountName": "robot"}))

    made = await accounts.create_token("robot", bound_object=bound)

    assert made.spec.bound_object_ref is not None
    assert (made.spec.bound_object_ref.kind, made.spec.bound_object_ref.uid) == ("Pod", bound.metadata.uid)


@pytest.fixture
async def request_name(client: Any, namespace: str) -> str:
    """A certificate signing request that awaits a decision."""
    await client.certificates_v1.certificate_signing_requests().create(
        {
            "metadata": {"name": namespace},
            "spec": {
                "request": CERTIFICATE_REQUEST,
                "signerName": "example.com/a",
                "usages": ["client auth"],
            },
        }
    )
    return namespace


def decisions(request: Any) -> list[tuple[str, str, str]]:
    return [(condition.type, condition.status, condition.reason) for condition in request.status.conditions]


async def test_a_request_is_approved_once_and_for_all(client: Any, request_name: str) -> None:
    requests = client.certificates_v1.certificate_signing_requests()

    approved = await requests.approve(request_name, reason="Known", message="we know them")
    again = await requests.approve(request_name)

    assert decisions(approved) == [("Approved", "True", "Known")]
    assert again.metadata.resource_version == approved.metadata.resource_version
    with pytest.raises(UnprocessableError):
        await requests.deny(request_name)


async def test_a_request_is_denied(client: Any, request_name: str) -> None:
    requests = client.certificates_v1.certificate_signing_requests()

    denied = await requests.deny(request_name)

    assert decisions(denied) == [("Denied", "True", "Denied")]
    with pytest.raises(UnprocessableError):
        await requests.approve(request_name)


async def test_decisions_can_be_replaced_by_hand(client: Any, request_name: str) -> None:
    requests = client.certificates_v1.certificate_signing_requests()
    found = (await requests.get(request_name)).to_dict()
    found["status"] = {"conditions": [{"type": "Approved", "status": "True", "reason": "ByHand"}]}

    tried = await requests.update_approval(found, dry_run=True)
    assert decisions(tried) == [("Approved", "True", "ByHand")]
    assert decisions(await requests.get(request_name)) == []

    assert decisions(await requests.update_approval(found)) == [("Approved", "True", "ByHand")]
    with pytest.raises(ConflictError):
        await requests.update_approval(found)


async def test_a_namespace_is_deleted_with_its_last_finalizer(client: Any, namespace: str) -> None:
    namespaces = client.core_v1.namespaces()
    name = f"held-{namespace[-20:]}"
    await namespaces.create({"metadata": {"name": name}, "spec": {"finalizers": ["example.com/wait"]}})
    waiting = await namespaces.delete(name)
    assert isinstance(waiting, Namespace)

    current = await namespaces.get(name)
    current.spec.finalizers = []
    await namespaces.finalize(current)

    with pytest.raises(NotFoundError):
        await namespaces.get(name)


async def test_a_missing_subresource_is_rejected(client: Any, namespace: str) -> None:
    await client.core_v1.config_maps(namespace).create({"metadata": {"name": "plain"}})

    with pytest.raises(StatusError) as raised:
        await client.core_v1.config_maps(namespace).patch("plain", Patch.merge({}), subresource="status")

    assert raised.value.code in {404, 405}

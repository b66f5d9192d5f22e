"""What type checkers see of the clients, blocking and async. Checked by mypy and pyright, never run."""

from __future__ import annotations

from typing import TypeVar, assert_type

import masthead
import masthead.aio
from masthead import conditions
from masthead._client.watch_event import WatchEvent, WatchEventType
from masthead.api.apps.v1 import DaemonSet, Deployment
from masthead.api.apps.v1beta1 import Deployment as OldDeployment
from masthead.api.core.v1 import ConfigMap, Node, Pod, PodStatus
from masthead.api.extensions.v1beta1 import REMOVED_IN, Ingress, IngressRule
from masthead.errors import ConflictError, NotFoundError
from masthead.meta import Object, ObjectList, Unstructured

T = TypeVar("T", bound=Object)


def blocking() -> None:
    with masthead.Client(timeout=5) as client:
        pods = client.core_v1.pods("default")
        assert_type(pods.get("web"), Pod)
        assert_type(pods.list(label_selector="app=web"), ObjectList[Pod])
        assert_type([pod.status for pod in pods.list()], list[PodStatus])
        assert_type([pod.metadata.name for pod in pods.iter()], list[str])
        assert_type([len(page.items) for page in pods.iter_pages()], list[int])
        assert_type(client.resource(Deployment, "default").get("web"), Deployment)
        assert_type(client.dynamic("apps/v1", "deployments").get("web"), Unstructured)
        assert_type(client.extensions_v1beta1.ingresses("default").get("web"), Ingress)
        assert_type(client.apps_v1beta1.deployments().list(), ObjectList[OldDeployment])
        assert_type([REMOVED_IN], list[str])
        with pods.watch(resource_version="5") as events:
            for event in events:
                assert_type(event, WatchEvent[Pod])
                assert_type(event.type, WatchEventType)
                assert_type(event.object.spec.node_name, str | None)
        try:
            pods.create(Pod.new("web"))
        except (ConflictError, NotFoundError) as error:
            assert_type(error.retry_after, float | None)


async def awaited() -> None:
    async with masthead.aio.Client(kubeconfig={"kind": "Config"}, namespace="shop", impersonate="jane") as client:
        maps = client.core_v1.config_maps(client.namespace)
        assert_type(await maps.get("settings"), ConfigMap)
        assert_type(await maps.list(), ObjectList[ConfigMap])
        assert_type([each.data async for each in maps.iter()], list[dict[str, str]])
        assert_type(await client.resource(Deployment).get("web"), Deployment)
        ingress = await client.extensions_v1beta1.ingresses("default").get("web")
        assert_type(ingress, Ingress)
        assert_type(ingress.spec.rules, list[IngressRule])
        assert_type(await client.dynamic("deploy").list(), ObjectList[Unstructured])
        async with maps.watch() as events:
            async for event in events:
                assert_type(event, WatchEvent[ConfigMap])
                assert_type(event.object.data, dict[str, str])


def names_of(resource: masthead.ResourceClient[T]) -> list[str]:
    return [each.metadata.name for each in resource.list()]


async def names_awaited(resource: masthead.aio.ResourceClient[T]) -> list[str]:
    return [each.metadata.name for each in await resource.list()]


def first_pod(pods: masthead.ResourceClient[Pod]) -> Pod:
    return pods.list()[0]


async def one_type_for_every_resource(client: masthead.Client, awaited: masthead.aio.Client) -> None:
    assert_type(first_pod(client.core_v1.pods("x")), Pod)
    assert_type(first_pod(client.resource(Pod, "x")), Pod)
    names_of(client.core_v1.config_maps("x"))
    names_of(client.dynamic("pods"))
    await names_awaited(awaited.apps_v1.deployments("x"))
    await names_awaited(awaited.resource(Pod))
    await names_awaited(awaited.dynamic("pods"))


def waiting(client: masthead.Client) -> None:
    pods = client.core_v1.pods("x")
    assert_type(pods.wait_for("web", conditions.pod_ready()), Pod)
    assert_type(pods.wait_for("web", conditions.pod_ready() | conditions.pod_finished()), Pod)
    assert_type(pods.wait_for("web", conditions.exists() & ~conditions.deleted()), Pod)
    assert_type(pods.wait_for("web", ~conditions.deleted() & conditions.exists()), Pod)
    assert_type(pods.wait_for("web", conditions.matches(lambda pod: pod.status.phase == "Failed", "it failed")), Pod)
    assert_type(pods.wait_for("web", conditions.condition_is("Ready") & conditions.pod_running()), Pod)
    assert_type(pods.wait_for("web", conditions.pod_running() & conditions.condition_is("Ready")), Pod)
    assert_type(pods.wait_for("web", conditions.deleted()), Pod | None)
    assert_type(pods.wait_for("web", conditions.pod_finished() | conditions.deleted()), Pod | None)
    assert_type(pods.wait_for("web", conditions.deleted() | conditions.pod_finished()), Pod | None)
    assert_type(pods.wait_for("web", ~conditions.pod_ready()), Pod | None)
    on_node = conditions.matches(is_scheduled, "it is scheduled")
    assert_type(pods.wait_for("web", on_node & conditions.pod_ready()), Pod)
    assert_type(pods.wait_for("web", conditions.pod_ready() & on_node), Pod)
    assert_type(client.dynamic("pods").wait_for("web", conditions.pod_ready()), Unstructured)
    deployments = client.apps_v1.deployments("x")
    assert_type(deployments.wait_for("web", conditions.deployment_available()), Deployment)
    pods.wait_for("web", conditions.deployment_available())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    deployments.wait_for("web", conditions.pod_ready())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]


async def waiting_awaited(client: masthead.aio.Client) -> None:
    pods = client.core_v1.pods("x")
    assert_type(await pods.wait_for("web", conditions.pod_ready()), Pod)
    assert_type(await pods.wait_for("web", conditions.deleted()), Pod | None)
    assert_type(await client.dynamic("pods").wait_for("web", conditions.exists()), Unstructured)


def manifests(client: masthead.Client) -> None:
    done = client.apply_manifests("...", apply_set=masthead.manifests.ApplySet("configmaps/a"), prune=True)
    assert_type(done, masthead.manifests.ApplyResult)
    assert_type(done[0], Unstructured)
    assert_type(client.diff_manifests(Deployment.new("web"))[0], masthead.manifests.ObjectDiff)
    client.wait_for_manifests(done)
    client.wait_for_manifests([ConfigMap.new("a"), "text"], conditions.ready() | conditions.deleted(), timeout=1)
    client.wait_for_manifests(done, conditions.deployment_rolled_out())
    assert_type(client.apps_v1.deployments("x").restart("web"), Deployment)
    assert_type(client.dynamic("deploy").restart("web"), Unstructured)
    assert_type(client.core_v1.pods("x").wait_for("web", conditions.ready()), Pod)
    client.core_v1.pods("x").restart("web")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


async def manifests_awaited(client: masthead.aio.Client) -> None:
    assert_type(await client.apply_manifests(["text", {"kind": "Pod"}]), masthead.manifests.ApplyResult)
    assert_type(await client.apps_v1.daemon_sets("x").restart("web"), DaemonSet)


def is_scheduled(pod: Pod) -> bool:
    return pod.spec.node_name is not None


def with_and_without_parentheses(client: masthead.Client) -> None:
    assert_type(client.core_v1.nodes.get("a"), Node)
    assert_type(client.core_v1.nodes().get("a"), Node)
    assert_type(client.core_v1.pods.list(), ObjectList[Pod])
    assert_type(client.core_v1.pods("x").get("a"), Pod)
    resource: masthead.ResourceClient[Pod] = client.core_v1.pods
    assert_type(resource.get("a"), Pod)


def mistakes(client: masthead.Client, event: WatchEvent[Pod]) -> None:
    print(event.type == "ADDDED")  # type: ignore[comparison-overlap]  # pyright: ignore[reportUnnecessaryComparison]
    client.core_v1.pod("x")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    client.core_v1.pods("x").list(labels="a=b")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.core_v1.pods("x").create(ConfigMap())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.core_v1.nodes("x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def misspelt_options(client: masthead.Client) -> None:
    maps = client.core_v1.config_maps("default")
    maps.create(ConfigMap.new("a"), dry_run=True, field_validation="Strict", timeout=3)
    maps.create(ConfigMap.new("a"), dryrun=True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    maps.list(label_selektor="app=web")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    maps.create(ConfigMap.new("a"), field_validation="Strikt")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    maps.delete("a", grace_period_seconds="0")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

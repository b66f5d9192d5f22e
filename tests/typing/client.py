"""What type checkers see of the clients, blocking and async. Checked by mypy and pyright, never run."""

from __future__ import annotations

from typing import assert_type

import masthead
import masthead.aio
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap, Pod, PodStatus
from masthead.client.event import Event, EventType
from masthead.errors import ConflictError, NotFoundError
from masthead.meta import ObjectList, Unstructured


def blocking() -> None:
    with masthead.Client(timeout=5) as client:
        pods = client.core_v1.pods("default")
        assert_type(pods.get("web"), Pod)
        assert_type(pods.list(label_selector="app=web"), ObjectList[Pod])
        assert_type([pod.status for pod in pods.list()], list[PodStatus])
        assert_type([pod.metadata.name for pod in pods.iterate()], list[str])
        assert_type([len(page.items) for page in pods.list_pages()], list[int])
        assert_type(client.resource(Deployment, "default").get("web"), Deployment)
        assert_type(client.dynamic("apps/v1", "deployments").get("web"), Unstructured)
        with pods.watch(since="5") as events:
            for event in events:
                assert_type(event, Event[Pod])
                assert_type(event.type, EventType)
                assert_type(event.object.spec.node_name, str | None)
        try:
            pods.create(Pod.new("web"))
        except (ConflictError, NotFoundError) as error:
            assert_type(error.retry_after, float | None)


async def awaited() -> None:
    async with masthead.aio.Client(namespace="shop") as client:
        maps = client.core_v1.config_maps(client.namespace)
        assert_type(await maps.get("settings"), ConfigMap)
        assert_type(await maps.list(), ObjectList[ConfigMap])
        assert_type([each.data async for each in maps.iterate()], list[dict[str, str]])
        assert_type(await client.resource(Deployment).get("web"), Deployment)
        assert_type(await client.dynamic("deploy").list(), ObjectList[Unstructured])
        async with maps.watch() as events:
            async for event in events:
                assert_type(event, Event[ConfigMap])
                assert_type(event.object.data, dict[str, str])


def mistakes(client: masthead.Client) -> None:
    client.core_v1.pod("x")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    client.core_v1.pods("x").list(labels="a=b")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.core_v1.pods("x").create(ConfigMap())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.core_v1.nodes("x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]

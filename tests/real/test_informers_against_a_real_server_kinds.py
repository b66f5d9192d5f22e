"""Informers of custom resources whose definitions are added and removed while they run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.real.informers_proxy import Proxy
from tests.real.informers_recording import PATIENCE, agree, config_of, quick, recorded
from tests.real.informers_writers import define, undefine, widgets_of

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.object import Object
from masthead._meta.resource import Resource
from masthead.aio import Client, SharedInformer
from masthead.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from tests.real.informers_recording import RecordingHandler
    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real-informers")]

WAYS = ["typed", "dynamic", "by name", "metadata"]
NAMESPACE = "default"


@pytest.fixture
async def client(real_server: RealServer) -> AsyncIterator[Client]:
    """A client without a proxy."""
    async with Client(config_of(real_server)) as made:
        yield made


def mirrored(client: Client, way: str, group: str) -> Any:
    """Widgets, reached in one of the ways that a client has."""

    class Widget(Object):
        GVK = GroupVersionKind(group, "v1", "Widget")
        RESOURCE = Resource("widgets", singular="widget", namespaced=True)

        spec: dict[str, Any] | None = None

    if way == "typed":
        return client.resource(Widget, NAMESPACE)
    if way == "metadata":
        return client.metadata(f"{group}/v1", "widgets", namespace=NAMESPACE)
    return (
        widgets_of(client, NAMESPACE, group)
        if way == "dynamic"
        else client.dynamic(f"widgets.{group}", namespace=NAMESPACE)
    )


async def in_every_way(client: Client, do: Callable[[Client, str], Awaitable[None]]) -> None:
    """Do something in all ways at once, because the server takes seconds to define a kind, or to forget it."""
    await asyncio.gather(*(do(client, way) for way in WAYS))


async def make(client: Client, group: str, *names: str) -> None:
    for name in names:
        widget = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": name}}
        await widgets_of(client, NAMESPACE, group).create({**widget, "spec": {"size": len(name)}})


def is_missed(recorder: RecordingHandler[Any]) -> bool:
    """Whether the informer got the error that the kind does not exist."""
    return bool(recorder.errors) and isinstance(recorder.errors[-1], (NotFoundError, LookupError))


async def test_a_kind_may_be_removed_and_added_again(client: Client) -> None:
    await in_every_way(client, goes_and_comes)


async def goes_and_comes(client: Client, way: str) -> None:
    group = f"{way.replace(' ', '-')}.example.com"
    await define(client, group)
    await make(client, group, "a", "bb", "ccc")
    widgets = mirrored(client, way, group)
    informer: SharedInformer[Any] = SharedInformer(widgets, backoff=quick)
    recorder = recorded(informer)
    async with informer:
        await agree(informer, recorder, widgets.list)

        await undefine(client, group)
        await recorder.until(lambda: not recorder.state and is_missed(recorder))
        assert len(informer.indexer) == 0
        assert not informer.health.is_healthy
        assert informer.health.last_error

        await define(client, group)
        await make(client, group, "bb", "dddd")
        await agree(informer, recorder, widgets.list)
        await make(client, group, "later")
        await agree(informer, recorder, widgets.list)
        assert informer.health.failures == 0
    assert len(recorder.state) == 3


async def test_a_kind_that_does_not_exist_yet_is_cached_once_it_does(client: Client) -> None:
    await in_every_way(client, comes)


async def comes(client: Client, way: str) -> None:
    group = f"late-{way.replace(' ', '-')}.example.com"
    widgets = mirrored(client, way, group)
    informer: SharedInformer[Any] = SharedInformer(widgets, backoff=quick)
    recorder = recorded(informer)
    async with informer:
        await recorder.until(lambda: len(recorder.errors) > 2)
        assert is_missed(recorder)
        assert not informer.health.is_synced
        await define(client, group)
        await make(client, group, "a", "bb")
        await agree(informer, recorder, widgets.list)
    assert len(recorder.state) == 2


async def test_objects_are_kept_while_their_state_is_unknown(real_server: RealServer, client: Client) -> None:
    """The kind is removed while the connection is cut: there is nothing to compare with until it is back."""
    group = "unseen.example.com"
    await define(client, group)
    await make(client, group, "a", "bb")
    async with Proxy(real_server.url) as proxy, Client(config_of(real_server, proxy.url)) as far:
        informer = SharedInformer(widgets_of(far, NAMESPACE, group), backoff=quick)
        recorder = recorded(informer)
        async with informer:
            await informer.wait_for_cache_sync(PATIENCE)
            await proxy.shut()
            await undefine(client, group)
            proxy.open()
            await recorder.until(lambda: is_missed(recorder))
            assert sorted(informer.indexer.list_keys()) == [f"{NAMESPACE}/a", f"{NAMESPACE}/bb"]
            assert not informer.health.is_healthy

            await define(client, group)
            await make(client, group, "bb")
            await agree(informer, recorder, widgets_of(client, NAMESPACE, group).list)
            assert informer.health.failures == 0
    assert recorder.recorded[2:] == [
        ("tombstone", f"{NAMESPACE}/a"),
        ("tombstone", f"{NAMESPACE}/bb"),
        ("add", f"{NAMESPACE}/bb"),
    ]

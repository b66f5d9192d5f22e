"""Factories of informers through both façades, against the embedded server and a real one."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.facades import factory_of, informer_of

import masthead
from masthead._meta.gvk import GroupVersionResource
from masthead._meta.patch import Patch
from masthead.api.core.v1 import ConfigMap, Namespace, Secret
from masthead.errors import ClosedError, DeadlineError, InformerStateError, MutationError, NotFoundError

if TYPE_CHECKING:
    from tests.integration.conftest import Cluster

    from masthead._cache.factory.selection import ListSelectors
    from masthead._meta.object import Object

PATIENCE = 60
MAPS = GroupVersionResource("", "v1", "configmaps")
ABSENT = GroupVersionResource("nowhere.example.com", "v1", "widgets")


class RecordingHandler:
    """An event handler that records its events, in any thread."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self._more = threading.Condition()

    def add(self, obj: Object) -> None:
        self._record(f"add {obj.metadata.name}")

    def update(self, _: Object, new: Object) -> None:
        self._record(f"update {new.metadata.name}")

    def delete(self, obj: Object) -> None:
        self._record(f"delete {obj.metadata.name}")

    def _record(self, sentence: str) -> None:
        with self._more:
            self.events.append(sentence)
            self._more.notify_all()

    async def until(self, sentence: str) -> list[str]:
        def wait() -> list[str]:
            with self._more:
                assert self._more.wait_for(lambda: sentence in self.events, PATIENCE), self.events
                return list(self.events)

        return await asyncio.to_thread(wait)


async def filled(client: Any, namespace: str, *names: str, **labels: str) -> Any:
    """The ConfigMaps of a namespace, some of which are made first."""
    maps = client.core_v1.config_maps(namespace)
    for name in names:
        await maps.create(ConfigMap.new(name, labels=labels))
    return maps


def names(lister: Any) -> list[str]:
    return sorted(each.metadata.name for each in lister.list(label_selector="!kube"))


async def test_informers_are_shared_within_a_program(client: Any, namespace: str) -> None:
    maps = await filled(client, namespace, "a", "b", kind="test")
    factory = factory_of(client, namespace=namespace, label_selector="kind=test")
    shared, handler = factory.core_v1.config_maps, RecordingHandler()
    handle = shared.informer.add_event_handler(on_add=handler.add, on_update=handler.update, on_delete=handler.delete)
    shared.informer.add_indexers({"colour": lambda each: [each.data["colour"]] if each.data else []})

    async with factory:
        assert await factory.wait_for_cache_sync(PATIENCE, handlers=True)
        assert await shared.informer.wait_for_cache_sync(PATIENCE)
        assert await handle.wait_for_cache_sync(PATIENCE)
        assert sorted(handler.events) == ["add a", "add b"]
        assert names(shared.lister) == ["a", "b"]

        changed = await maps.patch("a", Patch.merge({"data": {"colour": "blue"}}))
        await shared.informer.wait_for_version(changed, PATIENCE)
        assert shared.lister.namespace(namespace).get("a").data == {"colour": "blue"}
        assert [each.metadata.name for each in shared.informer.indexer.by_index("colour", "blue")] == ["a"]
        await maps.delete("b")
        assert (await handler.until("delete b"))[2:] == ["update a", "delete b"]
        with pytest.raises(NotFoundError, match='"b" not found in the cache'):
            shared.lister.namespace(namespace).get("b")
        (health,) = factory.health.values()
        assert health.is_healthy
    assert shared.informer.is_stopped


async def test_informers_with_different_selectors_coexist(client: Any, namespace: str) -> None:
    await filled(client, namespace, "web", app="web")
    await filled(client, namespace, "db", app="db")
    factory = factory_of(client, namespace=namespace)
    web = factory.informer(ConfigMap, label_selector="app=web")
    named = factory.informer(ConfigMap, field_selector={"metadata.name": "db"})
    apart = factory.informer(ConfigMap, label_selector="app", field_selector="metadata.name!=db")

    async with factory:
        await factory.wait_for_cache_sync(PATIENCE)
        assert names(web.lister) == ["web"]
        assert names(named.lister) == ["db"]
        assert names(apart.lister) == ["web"]


async def test_typed_untyped_and_metadata_informers_coexist(client: Any, namespace: str) -> None:
    await filled(client, namespace, "web", app="web")
    factory = factory_of(client, namespace=namespace, label_selector="app=web")
    typed, untyped, metadata = (
        factory.for_resource(MAPS),
        factory.dynamic(MAPS),
        factory.metadata(ConfigMap),
    )

    async with factory:
        await factory.wait_for_cache_sync(PATIENCE)
        found = [each.lister.namespace(namespace).get("web") for each in (typed, untyped, metadata)]
        assert [type(each).__name__ for each in found] == [
            "ConfigMap",
            "Unstructured",
            "PartialObjectMetadata",
        ]
        assert {each.metadata.uid for each in found} == {found[0].metadata.uid}


async def test_a_list_of_namespaces_is_one_cache_and_cluster_scoped_resources_are_complete(
    client: Any, namespace: str
) -> None:
    other = f"{namespace}-more"
    await client.core_v1.namespaces().create(Namespace.new(other))
    for place in (namespace, other):
        await filled(client, place, "colour", kind="test")
    factory = factory_of(client, namespace=[namespace, other])
    maps, spaces = factory.core_v1.config_maps, factory.core_v1.namespaces

    async with factory:
        await factory.wait_for_cache_sync(PATIENCE)
        assert {each.metadata.namespace for each in maps.lister.list("kind=test")} == {namespace, other}
        assert {each.metadata.name for each in spaces.lister.list()} >= {namespace, other, "default"}
        made = await client.core_v1.config_maps(other).create(ConfigMap.new("late"))
        await maps.informer.wait_for_version(made, PATIENCE)
        assert maps.lister.namespace(other).get("late").metadata.uid == made.metadata.uid
    await client.core_v1.namespaces().delete(other)


async def test_a_tweak_is_for_lists_and_watches_alike(client: Any, namespace: str) -> None:
    maps = await filled(client, namespace, "web", app="web")
    await filled(client, namespace, "db", app="db")

    def only_web(what: object, selection: ListSelectors) -> ListSelectors:
        return replace(selection, label_selector="app=web") if what is ConfigMap else selection

    for watch_list in (True, False):
        factory = factory_of(client, namespace=namespace, tweak=only_web, watch_list=watch_list)
        shared = factory.core_v1.config_maps
        async with factory:
            await factory.wait_for_cache_sync(PATIENCE)
            await maps.create(ConfigMap.new(f"db-{watch_list}".lower(), labels={"app": "db"}))
            made = await maps.create(ConfigMap.new(f"web-{watch_list}".lower(), labels={"app": "web"}))
            await shared.informer.wait_for_version(made, PATIENCE)
            assert {each.metadata.labels["app"] for each in shared.lister.list()} == {"web"}


async def test_a_late_informer_is_started_automatically(client: Any, namespace: str) -> None:
    factory = factory_of(client, namespace=namespace)
    await factory.start()
    await factory.start()
    secrets = factory.core_v1.secrets
    await secrets.informer.wait_for_cache_sync(PATIENCE)
    made = await client.core_v1.secrets(namespace).create(Secret.new("one", data={}))
    await secrets.informer.wait_for_version(made, PATIENCE)
    await factory.stop()

    assert secrets.lister.namespace(namespace).get("one").metadata.uid == made.metadata.uid
    with pytest.raises(ClosedError, match="it has stopped"):
        _ = factory.core_v1.pods


@pytest.mark.slow
async def test_an_unserved_resource_is_named_when_waiting_for_sync(client: Any) -> None:
    factory = factory_of(client)
    with pytest.raises(InformerStateError, match="start"):
        await factory.wait_for_cache_sync(PATIENCE)
    factory.dynamic(ABSENT).informer.set_watch_error_handler(lambda _: None)
    spaces = factory.core_v1.namespaces.informer

    async with factory:
        await spaces.wait_for_cache_sync(PATIENCE)
        with pytest.raises(DeadlineError, match=r"widgets\.nowhere\.example\.com\[untyped\] \(NotFoundError"):
            await factory.wait_for_cache_sync(2)


async def test_a_transform_is_done_to_every_kind(client: Any, namespace: str) -> None:
    await filled(client, namespace, "web", app="web")
    factory = factory_of(client, namespace=namespace, transform=masthead.cache.drop_managed_fields)
    typed, untyped = factory.core_v1.config_maps, factory.dynamic(MAPS)

    async with factory:
        await factory.wait_for_cache_sync(PATIENCE)
        for each in (typed, untyped):
            assert each.lister.namespace(namespace).get("web").metadata.managed_fields == []


async def test_an_informer_needs_no_factory(client: Any, namespace: str) -> None:
    maps = await filled(client, namespace, "web", app="web")
    informer, handler = informer_of(maps, label_selector="app=web"), RecordingHandler()
    handle = informer.add_event_handler(on_add=handler.add)

    async with informer:
        await handle.wait_for_cache_sync(PATIENCE)
        assert handler.events == ["add web"]
        await handle.remove()
        made = await maps.create(ConfigMap.new("more", labels={"app": "web"}))
        await informer.wait_for_version(made, PATIENCE)
        assert names(informer.lister) == ["more", "web"]
    assert handler.events == ["add web"]


async def test_a_resource_is_named_as_for_the_client(client: Any, namespace: str) -> None:
    await filled(client, namespace, "web", app="web")
    factory = factory_of(client, namespace=namespace)
    untyped, metadata = factory.dynamic("v1", "configmaps"), factory.metadata("v1", "configmaps")

    async with factory:
        await factory.wait_for_cache_sync(PATIENCE)
        for each in (untyped, metadata):
            assert each.lister.namespace(namespace).get("web").metadata.name == "web"


def test_blocking_factories_have_a_repr_and_their_informers_take_parentheses(
    embedded_cluster: Cluster,
) -> None:
    with masthead.Client(config=embedded_cluster.config) as client:
        factory = masthead.SharedInformerFactory(client)
        pods: Any = factory.core_v1.pods

        assert repr(factory) == "<SharedInformerFactory: new, 1 informers>"
        assert repr(pods) == "<Informers of pods, 0 objects>"
        assert pods().lister is pods.lister
        with pytest.raises(TypeError, match="namespaces of the factory"):
            pods("default")


def test_a_client_that_is_closed_first_hides_no_mutations(embedded_cluster: Cluster) -> None:
    with masthead.Client(config=embedded_cluster.config) as client:
        factory = masthead.SharedInformerFactory(client, detect_mutations=True)
        spaces = factory.core_v1.namespaces
        factory.start()
        factory.wait_for_cache_sync(PATIENCE)
        spaces.lister.get("default").metadata.labels["mine"] = "yes"

    with pytest.raises(MutationError, match="default"):
        factory.stop()


def test_an_error_of_a_blocking_block_is_not_hidden_by_one_of_its_end(
    embedded_cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(client: masthead.Client) -> None:
        factory = masthead.SharedInformerFactory(client, detect_mutations=True)
        spaces = factory.core_v1.namespaces
        with factory:
            factory.wait_for_cache_sync(PATIENCE)
            spaces.lister.get("default").metadata.labels["mine"] = "yes"
            raise LookupError("the block's own")

    with masthead.Client(config=embedded_cluster.config) as client, pytest.raises(LookupError):
        fail(client)
    assert "default" in caplog.text

"""Factories: identity, creation, start and stop of informers, and the messages of errors."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cache.clusters import QUICK, processed

from masthead._cache.factory.factory import SharedInformerFactory
from masthead._cache.informer.informer import SharedInformer
from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead._meta.object import Object
from masthead._meta.resource import Resource
from masthead._meta.unstructured import Unstructured
from masthead._meta.v1 import PartialObjectMetadata
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap, Namespace, Node, Pod
from masthead.errors import (
    ArgumentError,
    ClosedError,
    DeadlineError,
    InformerStateError,
    MutationError,
    SelectorError,
    UnknownKindError,
)

if TYPE_CHECKING:
    from tests.unit.cache.clusters import EmbeddedCluster

    from masthead._cache.factory.selection import ListSelectors
    from masthead._client.client import Client

PODS = GroupVersionResource("", "v1", "pods")
NODES = GroupVersionResource("", "v1", "nodes")
WIDGETS = GroupVersionResource("example.com", "v1", "widgets")


class Widget(Object):
    """A custom resource of a user's own."""

    GVK = GroupVersionKind("example.com", "v1", "Widget")
    RESOURCE = Resource("widgets", "widget", namespaced=True, verbs=("list", "watch"))


@pytest.fixture
def client(embedded: EmbeddedCluster) -> Client:
    return embedded.client


@pytest.fixture
def factory(client: Client) -> SharedInformerFactory:
    return SharedInformerFactory(client, backoff=QUICK)


class TestWhich:
    def test_all_accessors_of_a_kind_return_one_informer(self, factory: SharedInformerFactory) -> None:
        pods = factory.core_v1.pods

        assert factory.core_v1.pods is pods
        assert pods.informer is pods.informer
        assert factory.informer(Pod) is pods.informer
        assert factory.for_resource(PODS).informer is pods.informer
        assert pods.lister is pods.informer.lister

    def test_informers_are_created_on_first_access(self, factory: SharedInformerFactory) -> None:
        core = factory.core_v1
        assert factory.health == {}

        assert core.pods.informer.indexer.list() == []
        assert list(factory.health) == ["pods"]

    @pytest.mark.parametrize(
        "options",
        [{"namespace": "shop"}, {"label_selector": "app=web"}, {"field_selector": "spec.nodeName=one"}],
    )
    def test_other_namespaces_and_selectors_get_their_own_informers(
        self, factory: SharedInformerFactory, options: dict[str, Any]
    ) -> None:
        special = factory.informer(Pod, **options)

        assert special is not factory.informer(Pod)
        assert special is factory.informer(Pod, **options)

    def test_equivalent_options_share_an_informer(self, factory: SharedInformerFactory) -> None:
        one = factory.informer(Pod, namespace=["b", "a", "b"], label_selector={"app": "web"})
        other = factory.informer(Pod, namespace=("a", "b"), label_selector=" app = web ")

        assert one is other
        assert factory.informer(Pod, namespace=["a"]) is factory.informer(Pod, namespace="a")

    def test_omitted_options_default_to_the_factorys_and_empty_ones_do_not(self, client: Client) -> None:
        factory = SharedInformerFactory(client, namespace="shop", label_selector="app=web")

        assert factory.informer(Pod, namespace="shop", label_selector="app=web") is factory.informer(Pod)
        assert factory.informer(Pod).name == "pods[shop/*;labels app=web]"
        assert factory.informer(Pod, namespace="").name == "pods[labels app=web]"
        assert factory.informer(Pod, label_selector="").name == "pods[shop/*]"

    def test_typed_untyped_and_metadata_informers_of_a_resource_have_their_own_names(
        self, factory: SharedInformerFactory
    ) -> None:
        deployments = GroupVersionResource("apps", "v1", "deployments")
        for informer in (
            factory.apps_v1.deployments,
            factory.dynamic(deployments),
            factory.metadata(Deployment),
            factory.metadata(deployments),
            factory.metadata(deployments, namespace=["a", "b"]),
        ):
            assert informer.informer.indexer.list() == []

        assert list(factory.health) == [
            "deployments.apps",
            "deployments.apps[untyped]",
            "deployments.apps[metadata]",
            "deployments.apps[metadata;a/*,b/*]",
        ]

    async def test_names_distinguish_informers(self, factory: SharedInformerFactory) -> None:
        there: list[SharedInformer[Any]] = [
            factory.informer(ConfigMap, namespace="metadata"),
            factory.metadata(ConfigMap).informer,
            factory.informer(ConfigMap, label_selector="metadata"),
            factory.informer(ConfigMap, label_selector="metadata.name=a"),
            factory.informer(ConfigMap, field_selector="metadata.name=a"),
            factory.autoscaling_v1.horizontal_pod_autoscalers.informer,
            factory.autoscaling_v2.horizontal_pod_autoscalers.informer,
        ]

        assert len(set(there)) == len({informer.name for informer in there}) == len(factory.health)
        assert there[-1].name == "horizontalpodautoscalers.v2.autoscaling"
        await factory.stop()
        assert all(informer.is_stopped for informer in there)

    async def test_two_classes_of_one_resource_are_both_waited_for_reported_and_stopped(
        self, factory: SharedInformerFactory
    ) -> None:
        class OtherMap(ConfigMap):
            """Another class of the same resource."""

        one, other = factory.informer(ConfigMap), factory.informer(OtherMap)

        assert list(factory.health) == ["configmaps", "configmaps (2)"]
        async with factory:
            await factory.wait_for_cache_sync(30)
            assert one.has_synced
            assert other.has_synced
        assert one.is_stopped
        assert other.is_stopped

    def test_an_api_version_and_a_plural_name_a_resource(self, factory: SharedInformerFactory) -> None:
        deployments = GroupVersionResource("apps", "v1", "deployments")

        assert factory.dynamic("apps/v1", "deployments").informer is factory.dynamic(deployments).informer
        assert factory.metadata("v1", "pods").informer is factory.metadata(Pod).informer

    def test_a_factory_and_its_accessors_have_a_readable_repr(self, factory: SharedInformerFactory) -> None:
        assert repr(factory) == "<SharedInformerFactory: new, 0 informers>"
        assert repr(factory.core_v1.pods) == "<Informers of pods, 0 objects>"
        assert repr(factory) == "<SharedInformerFactory: new, 1 informers>"

    def test_a_resource_without_a_class_is_unstructured(self, factory: SharedInformerFactory) -> None:
        assert factory.for_resource(WIDGETS).informer.name == "widgets.example.com[untyped]"
        assert factory.for_resource(WIDGETS).informer is factory.dynamic(WIDGETS).informer

    def test_custom_classes_are_kinds_like_any_other(self, factory: SharedInformerFactory) -> None:
        assert factory.informer(Widget).name == "widgets.example.com"
        assert factory.metadata(Widget).informer is factory.metadata(WIDGETS).informer

    def test_cluster_scoped_kinds_ignore_the_namespace_of_the_factory(self, client: Client) -> None:
        factory = SharedInformerFactory(client, namespace=["a", "b"])

        assert factory.core_v1.nodes.informer.name == "nodes"
        assert factory.dynamic(NODES).informer.name == "nodes[untyped]"
        assert factory.core_v1.pods.informer.name == "pods[a/*,b/*]"

    def test_the_first_access_decides_the_options(self, factory: SharedInformerFactory) -> None:
        def make(client: Client, resync: float) -> SharedInformer[Pod]:
            assert resync == 0.0
            return SharedInformer(client.core_v1.pods("shop"), name="mine")

        mine = factory.informer_for(Pod, make)

        assert mine.name == "mine"
        assert factory.core_v1.pods.informer is mine
        assert factory.informer_for(Pod, lambda client, _: SharedInformer(client.core_v1.pods())) is mine

    def test_an_existing_informer_is_not_created_again(self, factory: SharedInformerFactory) -> None:
        there = factory.core_v1.pods.informer

        assert factory.informer_for(Pod, lambda _, __: pytest.fail("it is there")) is there

    def test_a_tweak_is_applied_last_and_gets_the_kind(self, client: Client) -> None:
        def only_here(what: object, selection: ListSelectors) -> ListSelectors:
            return replace(selection, field_selector="spec.nodeName=one") if what is Pod else selection

        factory = SharedInformerFactory(client, label_selector="app=web", tweak=only_here)

        assert (
            factory.informer(Pod, field_selector="spec.nodeName=two").name
            == "pods[labels app=web;fields spec.nodeName=one]"
        )
        assert factory.core_v1.config_maps.informer.name == "configmaps[labels app=web]"


class TestWrong:
    def test_no_namespace_is_not_all_namespaces(self, client: Client) -> None:
        with pytest.raises(ArgumentError, match="give some, or None for all"):
            SharedInformerFactory(client, namespace=[])

    @pytest.mark.parametrize("namespace", ["Shop", ["shop", "no name"], [3]])
    def test_an_invalid_namespace_is_rejected(self, factory: SharedInformerFactory, namespace: Any) -> None:
        with pytest.raises(ArgumentError):
            factory.informer(Pod, namespace=namespace)

    def test_a_namespace_for_a_cluster_scoped_kind_is_rejected(self, factory: SharedInformerFactory) -> None:
        with pytest.raises(ArgumentError, match="nodes live in no namespace"):
            factory.informer(Node, namespace="shop")
        with pytest.raises(ArgumentError, match="nodes live in no namespace"):
            factory.metadata(NODES, namespace="shop")

    def test_an_invalid_selector_is_rejected_immediately(self, factory: SharedInformerFactory) -> None:
        with pytest.raises(SelectorError):
            factory.informer(Pod, label_selector="a=b=c")

    def test_a_class_that_is_not_served_is_rejected(self, factory: SharedInformerFactory) -> None:
        with pytest.raises(UnknownKindError):
            factory.informer(Object)

    def test_an_invalid_class_is_rejected(self, factory: SharedInformerFactory) -> None:
        nonsense: Any = "pods"
        with pytest.raises(ArgumentError, match="'pods' is neither a class of objects nor"):
            factory.informer(nonsense)

    def test_a_resource_that_is_not_fully_specified_is_rejected(self, factory: SharedInformerFactory) -> None:
        with pytest.raises(ArgumentError, match="looks nothing up on the cluster, and 'deploy' alone"):
            factory.dynamic("deploy")
        with pytest.raises(ArgumentError, match="'Deployment' is no resource; give its plural"):
            factory.metadata("apps/v1", "Deployment")
        with pytest.raises(ArgumentError, match="says it all; leave out 'pods'"):
            factory.dynamic(PODS, "pods")
        nonsense: Any = "pods"
        with pytest.raises(ArgumentError, match=r"GroupVersionResource\('apps', 'v1', 'deployments'\)"):
            factory.for_resource(nonsense)

    def test_calling_an_accessor_with_a_namespace_is_rejected_with_advice(self, factory: SharedInformerFactory) -> None:
        pods: Any = factory.core_v1.pods
        with pytest.raises(TypeError, match=r"for one namespace, ask for factory\.informer\(Pod, namespace="):
            pods("shop")
        assert pods() is pods

    @pytest.mark.parametrize("options", [{"label_selector": "a=b=c"}, {"field_selector": "nonsense"}])
    def test_selectors_of_the_factory_are_validated_by_the_constructor(
        self, client: Client, options: dict[str, Any]
    ) -> None:
        with pytest.raises(SelectorError):
            SharedInformerFactory(client, **options)

    @pytest.mark.parametrize(
        "options",
        [
            {"hold": "compat"},
            {"page_size": -1},
            {"resync": "10m"},
            {"resyncs": {Pod: "10m"}},
            {"metrics": "prom"},
            {"buffer_limit": -1},
            {"tweak": "spec.nodeName=one"},
        ],
    )
    def test_options_are_validated_by_the_constructor(self, client: Client, options: dict[str, Any]) -> None:
        with pytest.raises(ArgumentError):
            SharedInformerFactory(client, **options)

    def test_a_tweak_that_returns_nothing_is_rejected(self, client: Client) -> None:
        tweak: Any = lambda *_: None  # noqa: E731
        with pytest.raises(ArgumentError, match=r"the tweak of pods returned a NoneType; it must return"):
            _ = SharedInformerFactory(client, tweak=tweak).core_v1.pods

    def test_a_constructor_that_returns_something_else_is_rejected(self, factory: SharedInformerFactory) -> None:
        wrong: Any = lambda *_: "informer"  # noqa: E731
        with pytest.raises(ArgumentError, match="the constructor for Pod made a str"):
            factory.informer_for(Pod, wrong)

        assert factory.health == {}


class TestLife:
    async def test_informers_created_before_the_start_are_started_and_can_be_waited_for(
        self, factory: SharedInformerFactory, embedded: EmbeddedCluster
    ) -> None:
        await embedded.put("a", "1")
        maps = factory.core_v1.config_maps
        received: list[str] = []
        maps.informer.add_event_handler(on_add=lambda each: received.append(each.metadata.name))

        async with factory:
            await factory.wait_for_cache_sync(30, handlers=True)
            assert maps.lister.namespace("default").get("a").data == {"value": "1"}
            assert received == ["a"]
            assert factory.health["configmaps"].is_healthy

    async def test_listing_an_informer_created_after_the_wait_warns(self, factory: SharedInformerFactory) -> None:
        async with factory:
            await factory.wait_for_cache_sync(30)
            with pytest.warns(RuntimeWarning, match=r"ask before start\(\) and wait_for_cache_sync\(\)"):
                assert factory.core_v1.namespaces.lister.list() == []

    async def test_accessing_a_lister_creates_its_informer(self, factory: SharedInformerFactory) -> None:
        namespaces = factory.core_v1.namespaces
        async with factory:
            await factory.wait_for_cache_sync(30)
            assert "default" in {obj.metadata.name for obj in namespaces.lister.list()}

    async def test_an_informer_created_while_the_factory_runs_is_started(self, factory: SharedInformerFactory) -> None:
        async with factory:
            await factory.core_v1.namespaces.informer.wait_for_cache_sync(30)
            assert factory.core_v1.namespaces.lister.get("default").metadata.name == "default"

    async def test_an_informer_created_by_another_thread_is_started_too(self, factory: SharedInformerFactory) -> None:
        async with factory:
            informer = await asyncio.to_thread(lambda: factory.core_v1.namespaces.informer)
            await informer.wait_for_cache_sync(30)

    async def test_starting_again_starts_only_new_informers(self, factory: SharedInformerFactory) -> None:
        informer = factory.core_v1.namespaces.informer
        await informer.start()
        await factory.start()
        await factory.start()
        await factory.wait_for_cache_sync(30)
        await factory.stop()

        assert informer.is_stopped

    async def test_an_informer_stopped_by_its_owner_stays_stopped(self, factory: SharedInformerFactory) -> None:
        informer = factory.core_v1.namespaces.informer
        await informer.stop()
        async with factory:
            assert informer.is_stopped
            with pytest.raises(ClosedError, match="namespaces"):
                await factory.wait_for_cache_sync(30)

    async def test_waiting_without_a_start_is_an_error_with_advice(self, factory: SharedInformerFactory) -> None:
        with pytest.raises(InformerStateError, match=r"start\(\) it first"):
            await factory.wait_for_cache_sync()

    async def test_informers_that_have_not_synced_are_named_with_their_errors(
        self, factory: SharedInformerFactory
    ) -> None:
        gone = factory.dynamic(WIDGETS).informer
        gone.set_watch_error_handler(lambda _: None)
        async with factory:
            await factory.core_v1.namespaces.informer.wait_for_cache_sync(30)
            with pytest.raises(DeadlineError) as caught:
                await factory.wait_for_cache_sync(0.2)

        assert "widgets.example.com[untyped] (NotFoundError:" in str(caught.value)
        assert "namespaces" not in str(caught.value)

    async def test_handlers_that_have_not_synced_are_named(self, factory: SharedInformerFactory) -> None:
        go_on = asyncio.Event()

        async def wait(_: Namespace) -> None:
            await go_on.wait()

        factory.core_v1.namespaces.informer.add_event_handler(on_add=wait, name="slow")
        async with factory:
            await factory.wait_for_cache_sync(30)
            with pytest.raises(DeadlineError, match=r"namespaces \(its handlers slow have not processed"):
                await factory.wait_for_cache_sync(0.05, handlers=True)
            go_on.set()
            await factory.wait_for_cache_sync(30, handlers=True)

    async def test_after_a_stop_caches_are_read_only(self, factory: SharedInformerFactory) -> None:
        namespaces = factory.core_v1.namespaces
        async with factory:
            await namespaces.informer.wait_for_cache_sync(30)
        await factory.stop()

        assert namespaces.informer.is_stopped
        assert namespaces.lister.get("default").metadata.name == "default"
        with pytest.raises(ClosedError, match="make an informer for pods any more: it has stopped"):
            _ = factory.core_v1.pods.informer
        with pytest.raises(ClosedError, match="it has stopped; make a new one"):
            await factory.start()

    async def test_a_factory_that_never_ran_can_be_stopped(self, factory: SharedInformerFactory) -> None:
        informer = factory.core_v1.pods.informer
        await factory.stop()

        assert informer.is_stopped

    async def test_a_handler_may_shut_the_factory_down(self, factory: SharedInformerFactory) -> None:
        done = asyncio.Event()

        async def stop(_: Namespace) -> None:
            await factory.stop()
            done.set()

        other = factory.core_v1.config_maps.informer
        factory.core_v1.namespaces.informer.add_event_handler(on_add=stop)
        await factory.start()
        async with asyncio.timeout(30):
            await done.wait()
        await factory.stop()

        assert other.is_stopped
        assert factory.core_v1.namespaces.informer.is_stopped

    async def test_a_factory_whose_block_is_cancelled_on_entry_is_stopped(self, factory: SharedInformerFactory) -> None:
        async def enter() -> None:
            async with factory:
                await asyncio.Event().wait()

        informer = factory.core_v1.namespaces.informer
        task = asyncio.get_running_loop().create_task(enter())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert informer.is_stopped

    async def test_a_factory_belongs_to_one_event_loop(self, factory: SharedInformerFactory) -> None:
        async with factory:

            def elsewhere() -> None:
                with pytest.raises(InformerStateError, match="another event loop"):
                    asyncio.run(factory.start())

            await asyncio.to_thread(elsewhere)

    async def test_concurrent_threads_get_the_same_informer(self, factory: SharedInformerFactory) -> None:
        together = threading.Barrier(4)

        def access() -> SharedInformer[Pod]:
            together.wait(30)
            return factory.core_v1.pods.informer

        found = await asyncio.gather(*(asyncio.to_thread(access) for _ in range(4)))

        assert len(set(found)) == 1

    async def test_mutations_of_shared_objects_are_reported_at_stop(self, client: Client) -> None:
        factory = SharedInformerFactory(client, detect_mutations=True)
        namespaces = factory.core_v1.namespaces
        await factory.start()
        await factory.wait_for_cache_sync(30)
        namespaces.lister.get("default").metadata.labels["mine"] = "yes"

        with pytest.raises(MutationError) as caught:
            await factory.stop()
        assert caught.value.keys == ("default",)
        assert namespaces.informer.is_stopped

    async def test_an_error_in_the_block_is_not_hidden_by_one_at_stop(
        self, client: Client, caplog: pytest.LogCaptureFixture
    ) -> None:
        factory = SharedInformerFactory(client, detect_mutations=True)
        namespaces = factory.core_v1.namespaces

        async def fail() -> None:
            async with factory:
                await factory.wait_for_cache_sync(30)
                namespaces.lister.get("default").metadata.labels["mine"] = "yes"
                raise LookupError("the block's own")

        with pytest.raises(LookupError):
            await fail()
        assert "default" in caplog.text


class TestOptions:
    async def test_several_namespaces_share_one_cache(self, client: Client) -> None:
        for name in ("red", "blue", "green"):
            await client.core_v1.namespaces().create(Namespace.new(name))
            await client.core_v1.config_maps(name).create(ConfigMap.new("colour"))
        factory = SharedInformerFactory(client, namespace=["red", "blue"])
        maps = factory.core_v1.config_maps

        async with factory:
            await factory.wait_for_cache_sync(30)
            assert sorted(obj.key for obj in maps.lister.list()) == ["blue/colour", "red/colour"]

    async def test_selectors_apply_to_lists_and_watches(self, client: Client) -> None:
        maps = client.core_v1.config_maps("default")
        for name in ("web", "db"):
            await maps.create(ConfigMap.new(name, labels={"app": name}))
        factory = SharedInformerFactory(client, label_selector="app=web", watch_list=False)
        informer = factory.core_v1.config_maps.informer

        async with factory:
            await factory.wait_for_cache_sync(30)
            await maps.create(ConfigMap.new("other", labels={"app": "other"}))
            last = await maps.create(ConfigMap.new("more", labels={"app": "web"}))
            await informer.wait_for_version(last, 30)
            assert sorted(informer.indexer.list_keys()) == ["default/more", "default/web"]

    async def test_the_factorys_transform_applies_to_every_informer(self, client: Client) -> None:
        def without_labels(obj: Object) -> Object:
            obj.metadata.labels.clear()
            return obj

        factory = SharedInformerFactory(client, transform=without_labels)
        typed = factory.core_v1.namespaces
        own = factory.informer_for(Node, lambda client, _: SharedInformer(client.core_v1.nodes()))
        untyped = factory.dynamic(GroupVersionResource("", "v1", "namespaces"))
        await client.core_v1.nodes().create(Node.new("one", labels={"a": "b"}))

        async with factory:
            await factory.wait_for_cache_sync(30)
            assert typed.lister.get("default").metadata.labels == {}
            assert untyped.lister.get("default").metadata.labels == {}
            assert own.lister.get("one").metadata.labels == {}

    async def test_the_resync_period_of_a_kind_wins(self, client: Client) -> None:
        periods: dict[type[Object], float] = {}
        factory = SharedInformerFactory(
            client, resync=60.0, resyncs={Pod: 30.0, GroupVersionResource("", "v1", "nodes"): 10.0}
        )
        for kind in (Pod, Node, ConfigMap):

            def note(client: Client, resync: float, kind: type[Object] = kind) -> SharedInformer[Any]:
                periods[kind] = resync
                return SharedInformer(client.resource(kind), resync=resync)

            factory.informer_for(kind, note)

        assert periods == {Pod: 30.0, Node: 10.0, ConfigMap: 60.0}

    async def test_unstructured_and_metadata_informers_are_informers_like_any_other(
        self, embedded: EmbeddedCluster, factory: SharedInformerFactory
    ) -> None:
        await embedded.put("a", "1")
        maps = GroupVersionResource("", "v1", "configmaps")
        untyped, metadata = factory.dynamic(maps), factory.metadata(ConfigMap)
        async with factory:
            await untyped.informer.wait_for_cache_sync(30)
            await metadata.informer.wait_for_cache_sync(30)
            one, other = untyped.lister.get("default/a"), metadata.lister.namespace("default").get("a")

        assert isinstance(one, Unstructured)
        assert one["data"] == {"value": "1"}
        assert isinstance(other, PartialObjectMetadata)
        assert other.metadata.name == "a"

    async def test_handlers_of_an_unstructured_informer_are_called_for_every_change(
        self, embedded: EmbeddedCluster, factory: SharedInformerFactory
    ) -> None:
        await embedded.put("a", "1")
        informer = factory.dynamic(GroupVersionResource("", "v1", "configmaps")).informer
        calls: list[tuple[str, object]] = []
        handle = informer.add_event_handler(
            on_add=lambda added: calls.append(("add", added["data"])),
            on_update=lambda _, updated: calls.append(("update", updated["data"])),
            on_delete=lambda deleted: calls.append(("delete", deleted["data"])),
        )
        async with factory:
            await handle.wait_for_cache_sync(30)
            await embedded.put("a", "2")
            await informer.wait_for_version(await embedded.remove("a"), 30)
            await processed(handle)

        assert calls == [
            ("add", {"value": "1"}),
            ("update", {"value": "2"}),
            ("delete", {"value": "2"}),
        ]

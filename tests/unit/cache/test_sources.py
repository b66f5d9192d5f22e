"""Sources of informers: namespaces, selectors, unstructured kinds, and queues."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cache.clusters import QUICK, processed, reached, state_of
from tests.unit.cache.fake_list_watch import FakeListWatch
from tests.unit.cache.recording_handler import RecordingHandler

import masthead
from masthead._cache.informer.informer import SharedInformer
from masthead._cache.options import InformerOptions
from masthead._meta.patch import Patch
from masthead._meta.unstructured import Unstructured
from masthead._sansio.deltafifo import DeltaFIFO
from masthead.api.core.v1 import ConfigMap, Namespace
from masthead.errors import ArgumentError, NotFoundError, SelectorError
from masthead.metrics import PrometheusMetrics

if TYPE_CHECKING:
    from tests.unit.cache.clusters import Cluster, EmbeddedCluster


def following(source: Any, **options: Any) -> SharedInformer[Any]:
    options.setdefault("backoff", QUICK)
    return SharedInformer(source, **options)


async def test_several_namespaces_share_one_cache(embedded: EmbeddedCluster) -> None:
    core = embedded.client.core_v1
    shop, bank, other = (core.config_maps(namespace) for namespace in ("shop", "bank", "other"))
    for namespace in ("shop", "bank", "other"):
        await core.namespaces().create(Namespace.new(namespace))
    for maps in (shop, bank, other):
        await maps.create(ConfigMap.new("a", data={"value": "1"}))
    embedded.server.faults.expire_watch(after=3, namespace="shop", resource="configmaps")
    recorder = RecordingHandler()
    informer = following([shop, bank])
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        assert sorted(informer.indexer.list_keys()) == ["bank/a", "shop/a"]
        made = await shop.create(ConfigMap.new("b", data={"value": "1"}))
        await informer.wait_for_version(made, 30)
        await shop.delete("a")  # during which only the watch of that namespace is lost
        made = await bank.create(ConfigMap.new("c", data={"value": "1"}))
        await informer.wait_for_version(made, 30)
        made = await shop.create(ConfigMap.new("d", data={"value": "1"}))
        await informer.wait_for_version(made, 30)
        await processed(handle)
        assert sorted(informer.indexer.list_keys()) == ["bank/a", "bank/c", "shop/b", "shop/d"]
        assert informer.lister.namespace("bank").get("c").data == {"value": "1"}
        with pytest.raises(NotFoundError, match='configmaps "a" not found in the cache'):
            informer.lister.namespace("shop").get("a")
    assert len([event for event in recorder.recorded if "a=1" in event]) == 3  # two additions and a deletion


async def test_several_sources_must_have_distinct_namespaces(embedded: EmbeddedCluster) -> None:
    core = embedded.client.core_v1
    for wrong in (
        [core.config_maps("a"), core.config_maps("a")],
        [core.config_maps(), core.config_maps("a")],
    ):
        with pytest.raises(ArgumentError, match="each must be of another namespace"):
            following(wrong)
    with pytest.raises(ArgumentError, match="leave out queue"):
        following([core.config_maps("a"), core.config_maps("b")], queue=DeltaFIFO)


async def test_informers_with_different_selectors_are_independent(embedded: EmbeddedCluster) -> None:
    async def put(name: str, app: str) -> ConfigMap:
        return await embedded.maps.create(ConfigMap.new(name, labels={"app": app}, data={"value": app}))

    await put("a", "web")
    await put("b", "db")
    web = following(embedded.maps, label_selector="app=web")
    others = following(embedded.maps, label_selector="app!=web")
    by_name = following(embedded.maps, field_selector="metadata.name=b")
    recorder = RecordingHandler()
    handle = web.add_event_handler(recorder)
    async with web, others, by_name:
        for informer in (web, others, by_name):
            await informer.wait_for_cache_sync(30)
        assert [sorted(state_of(informer)) for informer in (web, others, by_name)] == [["a"], ["b"], ["b"]]
        await embedded.maps.patch("a", Patch.merge({"metadata": {"labels": {"app": "db"}}}))
        await web.wait_for_version(await put("c", "web"), 30)
        await others.wait_for_version(await put("d", "db"), 30)
        await processed(handle)
        assert [sorted(state_of(informer)) for informer in (web, others, by_name)] == [["c"], ["a", "b", "d"], ["b"]]
    assert recorder.recorded == ["initial a=web", "delete a=web", "add c=web"]


@pytest.mark.parametrize(
    "selector",
    [{"label_selector": "app in web"}, {"label_selector": "=x"}, {"field_selector": "metadata.name>b"}],
    ids=str,
)
async def test_an_invalid_selector_is_rejected_immediately(embedded: EmbeddedCluster, selector: dict[str, str]) -> None:
    with pytest.raises(SelectorError):
        following(embedded.maps, **selector)


@pytest.mark.slow
async def test_a_selector_that_the_server_rejects_is_reported(embedded: EmbeddedCluster) -> None:
    async with following(embedded.maps, field_selector="spec.colour=red") as informer:
        from masthead.errors import DeadlineError

        with pytest.raises(DeadlineError, match=r"has not synced.*the last error was .*spec\.colour"):
            await informer.wait_for_cache_sync(0.5)
        assert informer.health.state in {"waiting", "listing"}
        assert not informer.health.is_healthy
    before = len(embedded.server.requests)
    async with following(embedded.maps) as informer:  # other informers are not affected
        await informer.wait_for_cache_sync(30)
    # The last request of the first informer may arrive only now.
    requests = [request.query for request in embedded.server.requests[before:] if "colour" not in request.query]
    assert ["sendInitialEvents=true" in request for request in requests] == [True]


@pytest.mark.parametrize("form", ["group and version", "a word", "metadata"])
async def test_unstructured_kinds_are_cached_too(embedded: EmbeddedCluster, form: str) -> None:
    client = embedded.client
    sources: dict[str, Any] = {
        "group and version": client.dynamic("v1", "configmaps", namespace="default"),
        "a word": client.dynamic("configmaps", namespace="default"),
        "metadata": client.metadata("v1", "configmaps", namespace="default"),
    }
    await embedded.put("a")
    received: list[str] = []
    informer = following(sources[form], indexers={"name": lambda obj: [obj.metadata.name]})
    handle = informer.add_event_handler(
        on_add=lambda obj: received.append(f"add {obj.metadata.name}"),
        on_delete=lambda obj: received.append(f"delete {obj.metadata.name}"),
    )
    async with informer:
        await handle.wait_for_cache_sync(30)
        await embedded.put("b")
        await reached(informer, await embedded.remove("a"), handle)
        (found,) = informer.indexer.by_index("name", "b")
        assert found.metadata.namespace == "default"
        if form != "metadata":
            assert isinstance(found, Unstructured)
            assert found["data"] == {"value": "1"}
            assert found.kind == "ConfigMap"
    assert received == ["add a", "add b", "delete a"]


async def test_cluster_scoped_kinds_are_cached_too(embedded: EmbeddedCluster) -> None:
    namespaces = embedded.client.core_v1.namespaces()
    updates: list[tuple[str, str]] = []
    informer = following(namespaces)
    handle = informer.add_event_handler(
        on_update=lambda old, new: updates.append((old.metadata.labels.get("x", ""), new.metadata.labels["x"]))
    )
    async with informer:
        await informer.wait_for_cache_sync(30)
        made = await namespaces.patch("default", Patch.merge({"metadata": {"labels": {"x": "1"}}}))
        await informer.wait_for_version(made, 30)
        await processed(handle)
        assert informer.lister.get("default").metadata.labels["x"] == "1"
        assert informer.indexer.get_by_key("default") is not None
        with pytest.raises(NotFoundError):
            informer.lister.get("nowhere")
    assert updates == [("", "1")]


async def test_a_delta_fifo_may_be_the_queue(cluster: Cluster) -> None:
    await cluster.put("a")
    await cluster.put("b")
    recorder = RecordingHandler()
    informer = cluster.informer(queue=DeltaFIFO)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        await cluster.put("a", "2")
        await cluster.remove("b")
        await reached(informer, await cluster.put("c"), handle)
        assert state_of(informer) == await cluster.state()
    assert sorted(recorder.recorded[:2]) == ["initial a=1", "initial b=1"]
    assert recorder.state == {"a": "2", "c": "1"}


class Blank:
    """No source."""


async def test_an_invalid_source_is_rejected_with_advice(embedded: EmbeddedCluster) -> None:
    core = embedded.client.core_v1
    for wrong, message in (
        (
            core.config_maps.list_watch,
            r"a method can be neither listed nor watched; call it, .*: list_watch\(\)",
        ),
        (ConfigMap, r"the class ConfigMap can .*, or ask a factory: factory\.informer\(ConfigMap\)"),
        (FakeListWatch, r"the class FakeListWatch can .*; give an object: FakeListWatch\(\.\.\.\)"),
        ([ConfigMap], r"the class ConfigMap is no resource of a client; .*factory\.informer\(ConfigMap\)"),
        (Blank(), r"a Blank can be .* or a ListerWatcher, which has item, resource"),
    ):
        with pytest.raises(ArgumentError, match=message):
            following(wrong)


def test_a_source_of_the_blocking_client_needs_a_blocking_informer(embedded: EmbeddedCluster) -> None:
    with masthead.Client(kubeconfig=embedded.server.kubeconfig()) as client:
        wrong: Any = client.core_v1.config_maps()
        with pytest.raises(ArgumentError, match=r"masthead\.Client goes with masthead\.SharedInformer"):
            SharedInformer(wrong)


OPTIONS: dict[str, Any] = {
    "page_size": [-1, "x", 1.5, True, None],
    "buffer_limit": [-1, "x", None],
    "resync": ["10m", timedelta(minutes=10), -1, float("inf"), None],
    "stall_after": [0, -1, "1m"],
    "queue": ["fifo", DeltaFIFO[object](), 5],
    "metrics": ["prom", object(), PrometheusMetrics],
    "indexers": [["node"], "node", len],
    "hold": ["compat", None],
    "backoff": [1.0, None],
    "transform": ["drop", 5],
}


@pytest.mark.parametrize(("option", "value"), [(name, value) for name, values in OPTIONS.items() for value in values])
async def test_invalid_options_are_rejected_by_the_constructor(option: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=rf"{option}.*; give |a {option} must be a function"):
        following(FakeListWatch(), **{option: value})
    with pytest.raises(ArgumentError):
        InformerOptions(**{option: value})


def test_valid_options_are_accepted() -> None:
    InformerOptions()
    InformerOptions(resync=0, stall_after=None, queue=DeltaFIFO, hold="eager")

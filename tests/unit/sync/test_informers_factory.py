"""Factories of the blocking client: each informer has one blocking wrapper, shared by all threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import masthead.aio
from masthead._meta.gvk import GroupVersionResource
from masthead._sync.client import Client
from masthead._sync.factory import SharedInformerFactory
from masthead._sync.informer import SharedInformer
from masthead.api.core.v1 import ConfigMap, Namespace, Node, Pod
from masthead.config import load
from masthead.errors import ArgumentError, ClosedError, DeadlineError, InformerStateError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.kube_server(bootstrap=False)

TIMEOUT = 30
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
WIDGETS = GroupVersionResource("example.com", "v1", "widgets")


@pytest.fixture
def client(kubeconfig_file: Path) -> Iterator[Client]:
    with Client(kubeconfig=kubeconfig_file) as client:
        yield client


@pytest.fixture
def factory(client: Client) -> Iterator[SharedInformerFactory]:
    made = SharedInformerFactory(client)
    yield made
    made.stop()


def test_all_ways_to_a_kind_lead_to_one_informer(factory: SharedInformerFactory) -> None:
    pods = factory.core_v1.pods

    assert factory.core_v1.pods is pods
    assert factory.informer(Pod) is pods.informer
    assert factory.for_resource(GroupVersionResource("", "v1", "pods")).informer is pods.informer
    assert pods.lister is pods.informer.lister
    assert factory.informer(Pod, namespace="shop") is not pods.informer
    assert factory.dynamic(NAMESPACES).informer is factory.dynamic(NAMESPACES).informer
    assert factory.metadata(Namespace).informer is factory.metadata(NAMESPACES).informer


def test_a_factory_serves_listers_health_and_late_informers(client: Client, factory: SharedInformerFactory) -> None:
    client.core_v1.config_maps("default").create(ConfigMap.new("web", labels={"app": "web"}))
    maps, handler = factory.core_v1.config_maps, list[str]()
    maps.informer.add_event_handler(on_add=lambda each: handler.append(each.metadata.name))

    with factory:
        factory.wait_for_cache_sync(TIMEOUT, handlers=True)
        assert handler == ["web"]
        assert maps.lister.namespace("default").get("web").metadata.labels == {"app": "web"}
        assert factory.health["configmaps"].is_healthy

        late = factory.metadata(Namespace)
        late.informer.wait_for_cache_sync(TIMEOUT)
        assert late.lister.get("default").metadata.name == "default"
    assert maps.informer.is_stopped
    assert late.informer.is_stopped


def test_the_first_constructor_wins_and_gets_the_blocking_client(
    client: Client, factory: SharedInformerFactory
) -> None:
    def make(given: Client, resync: float) -> SharedInformer[Namespace]:
        assert given is client
        return SharedInformer(given.core_v1.namespaces(), resync=resync, name="mine")

    mine = factory.informer_for(Namespace, make)

    assert factory.core_v1.namespaces.informer is mine
    with factory:
        factory.wait_for_cache_sync(TIMEOUT)
        assert mine.has_synced


def test_an_informer_of_another_client_is_refused(factory: SharedInformerFactory, kubeconfig_file: Path) -> None:
    with (
        Client(kubeconfig=kubeconfig_file) as other,
        pytest.raises(ArgumentError, match="the informer for Node is not of the factory's client"),
    ):
        factory.informer_for(Node, lambda *_: SharedInformer(other.core_v1.nodes()))


def test_an_invalid_informer_is_rejected(factory: SharedInformerFactory) -> None:
    wrong: Any = lambda *_: None  # noqa: E731
    with pytest.raises(ArgumentError, match="the constructor for Node made a NoneType"):
        factory.informer_for(Node, wrong)


def test_a_constructor_may_call_the_client_while_the_factory_starts(
    client: Client, factory: SharedInformerFactory
) -> None:
    inside, starting = threading.Event(), threading.Thread(target=factory.start)

    def make(given: Client, _: float) -> SharedInformer[Namespace]:
        starting.start()
        starting.join(TIMEOUT)
        inside.set()
        given.core_v1.namespaces().list()
        return SharedInformer(given.core_v1.namespaces())

    informer = factory.informer_for(Namespace, make)
    informer.wait_for_cache_sync(TIMEOUT)

    assert inside.is_set()
    assert not starting.is_alive()
    assert client.core_v1.namespaces().list().items


def test_a_handler_may_shut_the_factory_down(factory: SharedInformerFactory) -> None:
    done = threading.Event()

    def stop(_: Namespace) -> None:
        factory.stop()
        done.set()

    factory.core_v1.namespaces.informer.add_event_handler(on_add=stop)
    pods = factory.core_v1.pods.informer
    factory.start()
    assert done.wait(TIMEOUT)
    factory.stop()

    assert pods.is_stopped
    assert factory.core_v1.namespaces.informer.is_stopped


def test_informers_that_do_not_sync_in_time_are_named(factory: SharedInformerFactory) -> None:
    factory.dynamic(WIDGETS).informer.set_watch_error_handler(lambda _: None)
    with pytest.raises(InformerStateError, match=r"start\(\) it first"):
        factory.wait_for_cache_sync(TIMEOUT)
    with factory, pytest.raises(DeadlineError, match=r"widgets\.example\.com\[untyped\]"):
        factory.wait_for_cache_sync(0.2)


def test_no_informer_is_started_after_stop(factory: SharedInformerFactory) -> None:
    factory.stop()
    with pytest.raises(ClosedError, match="it has stopped"):
        factory.start()
    with pytest.raises(ClosedError, match="it has stopped"):
        _ = factory.core_v1.pods


def test_closing_the_client_ends_the_factorys_informers(kubeconfig_file: Path) -> None:
    with Client(kubeconfig=kubeconfig_file) as client:
        factory = SharedInformerFactory(client)
        namespaces = factory.core_v1.namespaces
        factory.start()
        factory.wait_for_cache_sync(TIMEOUT)

    assert namespaces.informer.is_stopped
    assert namespaces.lister.get("default").metadata.name == "default"
    with pytest.raises(ClosedError, match="make a new factory"):
        _ = factory.core_v1.pods
    factory.stop()
    assert not [each for each in threading.enumerate() if each.name == "masthead-client"]


async def test_an_async_client_is_refused(kubeconfig_file: Path) -> None:
    async with masthead.aio.Client(load(kubeconfig_file)) as client:
        wrong: Any = client
        with pytest.raises(ArgumentError, match=r"use masthead\.aio\.SharedInformerFactory"):
            SharedInformerFactory(wrong)


def test_concurrent_threads_get_the_same_informer(factory: SharedInformerFactory) -> None:
    barrier, found = threading.Barrier(8), list[SharedInformer[Pod]]()

    def get_informer() -> None:
        barrier.wait(TIMEOUT)
        found.append(factory.informer(Pod))

    threads = [threading.Thread(target=get_informer) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)

    assert len({each.indexer for each in found}) == 1

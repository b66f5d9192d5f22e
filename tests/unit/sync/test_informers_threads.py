"""Interactions of handlers in threads, and what runs on the client's loop whichever thread calls it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from tests.unit.sync.recording_handler import TIMEOUT, threads

from masthead._sync.client import Client
from masthead._sync.informer import SharedInformer
from masthead.api.core.v1 import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from masthead._sync.registration import Registration
    from masthead._sync.resource import ResourceClient

pytestmark = pytest.mark.kube_server(bootstrap=False)


@pytest.fixture
def maps(kubeconfig_file: Path) -> Iterator[ResourceClient[ConfigMap]]:
    with Client(kubeconfig=kubeconfig_file) as client:
        yield client.core_v1.config_maps("default")


@pytest.fixture
def informer(maps: ResourceClient[ConfigMap]) -> Iterator[SharedInformer[ConfigMap]]:
    made = SharedInformer(maps)
    yield made
    made.stop()


def test_handlers_may_remove_each_other(maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap]) -> None:
    both, removed = threading.Barrier(2), threading.Barrier(3)
    handles: list[Registration] = []

    def removing(other: int) -> Callable[[ConfigMap], None]:
        def on_add(_: ConfigMap) -> None:
            both.wait(TIMEOUT)
            handles[other].remove()
            removed.wait(TIMEOUT)

        return on_add

    maps.create(ConfigMap.new("a"))
    handles += [informer.add_event_handler(on_add=removing(other)) for other in (1, 0)]
    with informer:
        removed.wait(TIMEOUT)


def test_stopping_waits_for_one_that_has_removed_itself(
    maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap]
) -> None:
    left, go_on, returned = threading.Event(), threading.Event(), threading.Event()
    handles: list[Registration] = []

    def leave(_: ConfigMap) -> None:
        handles[0].remove()
        left.set()
        assert go_on.wait(TIMEOUT)
        returned.set()

    maps.create(ConfigMap.new("a"))
    handles.append(informer.add_event_handler(on_add=leave))
    informer.start()
    assert left.wait(TIMEOUT)
    threading.Timer(0.01, go_on.set).start()
    informer.stop()

    assert returned.is_set()
    assert threads() == ["masthead-client"]


def test_indexers_are_called_on_the_clients_loop_whichever_thread_adds_them(
    maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap]
) -> None:
    called: list[str] = []
    added: list[object] = []
    done = threading.Event()

    def here(obj: ConfigMap) -> list[str]:
        called.append(threading.current_thread().name)
        return [obj.metadata.name]

    def add_more(_: ConfigMap) -> None:
        informer.add_indexers({"from a handler": here})
        added.append(informer.add_event_handler(on_add=lambda _: done.set()))

    maps.create(ConfigMap.new("web"))
    informer.add_indexers({"before": here})
    informer.add_event_handler(on_add=add_more)
    with informer:
        assert done.wait(TIMEOUT)
        informer.add_indexers({"after": here})
        assert [each.key for each in informer.indexer.by_index("after", "web")] == ["default/web"]
    assert called == ["masthead-client"] * 3


def test_adding_on_the_loop_itself_is_refused(
    maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap]
) -> None:
    refused: list[str] = []

    def add_more(_: ConfigMap) -> list[str]:
        try:
            informer.add_indexers({"more": lambda _: []})
        except RuntimeError as error:
            refused.append(str(error))
        return []

    maps.create(ConfigMap.new("web"))
    informer.add_indexers({"first": add_more})
    with informer:
        informer.wait_for_cache_sync(TIMEOUT)
    assert len(refused) == 1
    assert "an index function, a transform or a handler of watch errors, must not call" in refused[0]

"""The blocking façade's informers against a real server: handlers in threads, and the same truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.real.informers_recording import PATIENCE, agree_blocking, config_of, quick, recorded_in_a_thread

import masthead
from masthead._meta.patch import Patch
from masthead.api.core.v1 import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real-informers")]


@pytest.fixture
def client(real_server: RealServer) -> Iterator[masthead.Client]:
    with masthead.Client(config_of(real_server)) as made:
        yield made


@pytest.fixture
def namespace(client: masthead.Client) -> str:
    """A namespace of the test's own."""
    made = client.core_v1.namespaces().create({"metadata": {"generateName": "informed-"}})
    return made.metadata.name


@pytest.mark.parametrize("watch_list", [True, False], ids=["stream", "list"])
def test_a_blocking_informer_caches_the_server(client: masthead.Client, namespace: str, watch_list: bool) -> None:
    configs = client.core_v1.config_maps(namespace)
    for number in range(20):
        configs.create(ConfigMap.new(f"c-{number}", data={"n": str(number)}))
    informer = masthead.SharedInformer(configs, watch_list=watch_list, backoff=quick)
    recorder = recorded_in_a_thread(informer)
    with informer:
        informer.wait_for_cache_sync(PATIENCE)
        assert len(informer.indexer) == 20

        made = configs.create(ConfigMap.new("mine"))
        informer.wait_for_version(made, PATIENCE)
        assert informer.lister.namespace(namespace).get("mine") == made
        made = configs.patch("mine", Patch.merge({"data": {"a": "b"}}))
        informer.wait_for_version(made, PATIENCE)
        assert informer.indexer.get(made) == made

        configs.delete("c-0")
        agree_blocking(informer, recorder, configs.list())
    assert recorder.recorded[-3:] == [
        ("add", f"{namespace}/mine"),
        ("update", f"{namespace}/mine"),
        ("delete", f"{namespace}/c-0"),
    ]
    assert recorder.errors == []


def test_a_blocking_factory_starts_from_a_snapshot(client: masthead.Client, namespace: str, tmp_path: Path) -> None:
    configs = client.core_v1.config_maps(namespace)
    for number in range(5):
        configs.create(ConfigMap.new(f"c-{number}"))
    with masthead.SharedInformer(configs) as first:
        first.wait_for_cache_sync(PATIENCE)
        first.save(tmp_path / "snapshot")
    configs.delete("c-0")
    configs.create(ConfigMap.new("c-new"))

    factory = masthead.SharedInformerFactory(client, namespace=namespace)
    informer = factory.core_v1.config_maps.informer
    assert informer.seed(tmp_path / "snapshot") == 5
    recorder = recorded_in_a_thread(informer)
    recorder.state.update({obj.key: obj for obj in informer.indexer.list()})
    with factory:
        factory.wait_for_cache_sync(timeout=PATIENCE)
        agree_blocking(informer, recorder, configs.list())
    assert recorder.recorded == [("delete", f"{namespace}/c-0"), ("add", f"{namespace}/c-new")]

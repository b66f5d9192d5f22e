"""The blocking client, against the embedded server."""

from __future__ import annotations

import asyncio
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from masthead._client.conditions import matches
from masthead._meta.patch import Patch
from masthead._sync.client import Client
from masthead.api.apps.v1 import Deployment
from masthead.api.authorization.v1 import SelfSubjectAccessReview
from masthead.api.core.v1 import ConfigMap, Namespace, Pod
from masthead.errors import ClosedError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from masthead._sync.resource import ResourceClient

pytestmark = pytest.mark.kube_server(bootstrap=False)


@pytest.fixture
def client(kubeconfig_file: Path) -> Iterator[Client]:
    with Client(kubeconfig=kubeconfig_file) as client:
        yield client


@pytest.fixture
def maps(client: Client) -> ResourceClient[ConfigMap]:
    return client.core_v1.config_maps("default")


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "masthead-client"]


def test_objects_are_created_read_changed_and_deleted(maps: ResourceClient[ConfigMap]) -> None:
    made = maps.create(ConfigMap.new("web", data={"colour": "red"}))
    assert made.metadata.uid

    maps.patch("web", Patch.merge({"data": {"colour": "blue"}}))
    assert maps.get("web").data == {"colour": "blue"}

    maps.update_with_retry("web", lambda found: found.data.update(size="large"))
    assert [each.data for each in maps.list()] == [{"colour": "blue", "size": "large"}]

    assert maps.delete("web") is None
    with pytest.raises(NotFoundError, match="default/web"):
        maps.get("web")


def test_lists_can_be_read_whole_in_pages_or_item_by_item(maps: ResourceClient[ConfigMap]) -> None:
    names = [f"map-{number}" for number in range(7)]
    for name in names:
        maps.create(ConfigMap.new(name))

    assert [each.metadata.name for each in maps.list(page_size=3)] == names
    assert [len(page.items) for page in maps.iter_pages(page_size=3)] == [3, 3, 1]
    assert [each.metadata.name for each in maps.iter(page_size=3)] == names


def test_a_watch_delivers_existing_objects_and_changes(maps: ResourceClient[ConfigMap]) -> None:
    maps.create(ConfigMap.new("first"))
    with maps.watch() as events:
        changes = (event for event in events if event.type in {"ADDED", "DELETED"})
        assert next(changes).object.metadata.name == "first"
        maps.create(ConfigMap.new("second"))
        assert next(changes).object.metadata.name == "second"
        maps.delete("first")
        assert next(changes).type == "DELETED"
    assert list(events) == []


def test_a_condition_is_waited_for(maps: ResourceClient[ConfigMap]) -> None:
    def is_blue(found: ConfigMap | None) -> bool:
        return found is not None and found.data.get("colour") == "blue"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(maps.wait_for, "web", matches(is_blue, "blue"), timeout=30)
        maps.create(ConfigMap.new("web", data={"colour": "red"}))
        maps.patch("web", Patch.merge({"data": {"colour": "blue"}}))
        found = waiting.result()

    assert found is not None
    assert found.data == {"colour": "blue"}


def test_groups_subresources_and_reviews_are_available(client: Client) -> None:
    spec = {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web"}]},
        },
    }
    deployments = client.apps_v1.deployments("default")
    deployments.create(Deployment.from_dict({"metadata": {"name": "web"}, "spec": spec}))
    deployments.patch_scale("web", Patch.merge({"spec": {"replicas": 3}}))
    assert deployments.get_scale("web").spec.replicas == 3
    assert client.scales("default").get("deployments", "web").spec.replicas == 3

    review = SelfSubjectAccessReview.from_dict({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}})
    assert client.authorization_v1.self_subject_access_reviews().create(review).status.allowed is True


def test_kinds_are_found_by_class_by_name_and_in_discovery(client: Client) -> None:
    client.resource(Namespace).create(Namespace.new("blue"))

    assert client.dynamic("namespaces").get("blue").metadata.name == "blue"
    assert client.metadata("v1", "namespaces").get("blue").metadata.name == "blue"
    assert client.mapper.find("po").gvk == Pod.GVK
    assert "apps" in {group.name for group in client.discovery.groups()}
    assert client.rest.get("/version").json()


def test_namespaces_are_as_in_the_async_client(client: Client) -> None:
    assert client.namespace == "default"
    assert client.core_v1.pods("blue").namespace == "blue"
    assert client.core_v1.pods().namespace is None


def test_many_threads_share_a_client(maps: ResourceClient[ConfigMap]) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: maps.create(ConfigMap.new(f"map-{number}")), range(40)))

    assert len(maps.list().items) == 40
    assert len(threads()) == 1


async def test_a_client_works_in_a_notebook(client: Client) -> None:
    assert asyncio.get_running_loop().is_running()
    assert client.core_v1.namespaces().get("default").metadata.name == "default"


def test_a_call_on_a_closed_client_raises_closed_error(client: Client) -> None:
    client.core_v1.namespaces().list()
    client.close()

    with pytest.raises(ClosedError, match="make a new one"):
        client.core_v1.namespaces().list()
    assert threads() == []


def test_an_unclosed_client_warns_and_ends_its_thread(kubeconfig_file: Path) -> None:
    client = Client(kubeconfig=kubeconfig_file)
    pods = client.core_v1.pods("default")
    del client
    pods.list()  # what came from a client keeps it alive
    (thread,) = (each for each in threading.enumerate() if each.name == "masthead-client")
    with pytest.warns(ResourceWarning, match="unclosed client"):
        del pods
    thread.join(10)

    assert not thread.is_alive()


def test_an_unused_client_starts_no_thread(kubeconfig_file: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client = Client(kubeconfig=kubeconfig_file)
        assert threads() == []
        del client


def test_a_condition_that_calls_the_client_gets_an_error(
    maps: ResourceClient[ConfigMap],
) -> None:
    def calls_back(_: ConfigMap | None) -> bool:
        return bool(maps.list().items)

    maps.create(ConfigMap.new("web"))
    with pytest.raises(RuntimeError, match="must not call the client"):
        maps.wait_for("web", matches(calls_back, "anything"), timeout=30)


def test_the_repr_of_a_client_names_its_server(client: Client) -> None:
    assert repr(client).startswith("Client(https://127.0.0.1:")

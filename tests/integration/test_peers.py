"""Known bugs of clients for this API, one test each; the docstrings describe the bug."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import deque
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected
from tests.integration.scripts import (
    Plain,
    ScriptedServer,
    client_of,
    config_map,
    event,
    json_response,
    listed,
    status,
    stream,
)

import masthead
import masthead.aio
import masthead.server
from masthead._meta.patch import Patch
from masthead.api.core.v1 import ConfigMap, Pod
from masthead.config import from_kubeconfig
from masthead.errors import DecodeError, NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.conftest import Cluster

    from masthead.server import Server


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def embedded(cluster: Cluster) -> Server:
    assert cluster.embedded is not None
    return cluster.embedded


# Round trips


NEWER: Plain = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "5", "shade": {"of": "blue"}},
    "spec": {
        "containers": [
            {
                "name": "web",
                "image": "web:1",
                "gravity": 9.81,
                "ports": [{"containerPort": 80, "mood": "calm"}],
            }
        ],
        "orbit": ["low", {"earth": True}],
    },
    "status": {"phase": "Running", "altitude": 12345678901234567890},
    "horizon": None,
}


@pytest.mark.parametrize("how", ["get", "list", "watch"])
async def test_fields_of_a_newer_server_survive_a_read_and_an_update(facade: str, how: str) -> None:
    """Typed clients drop what they do not know, so that reading and writing back deletes it on the server."""
    many = listed(NEWER) | {"kind": "PodList"}
    script = ScriptedServer(
        deque([stream(event("ADDED", NEWER))]), deque([json_response(many if how == "list" else NEWER)])
    )
    async with client_of(script.handle, facade) as client:
        pods = client.core_v1.pods("shop")
        if how == "watch":
            async with pods.watch(resource_version="1") as events:
                pod = (await anext(events)).object
        else:
            pod = await pods.get("web") if how == "get" else (await pods.list())[0]
        pod.spec.containers[0].image = "web:2"
        pod.metadata.labels["seen"] = "yes"
        script.rest = deque([json_response(NEWER)])
        await pods.update(pod)

    expected = json.loads(json.dumps(NEWER).replace("web:1", "web:2"))
    expected["metadata"]["labels"] = {"seen": "yes"}
    assert script.seen[-1].line.startswith("PUT /api/v1/namespaces/shop/pods/web ")
    assert json.loads(script.seen[-1].body) == expected


async def test_an_object_that_breaks_the_rules_of_its_kind_can_be_read(facade: str) -> None:
    """Clients that validate responses fail on stored objects: absent lists, nulls, unknown enum values."""
    odd = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "odd", "labels": None, "ownerReferences": None},
        "spec": {"containers": None, "restartPolicy": "Sometimes", "tolerations": [{}]},
        "status": {"conditions": None, "phase": "Pondering", "containerStatuses": [{"state": {}}]},
    }
    script = ScriptedServer(rest=deque([json_response(odd)]))
    async with client_of(script.handle, facade) as client:
        pod = await client.core_v1.pods("shop").get("odd")

    assert isinstance(pod, Pod)
    assert pod.spec.containers == []
    assert (pod.spec.restart_policy, pod.status.phase) == ("Sometimes", "Pondering")
    assert pod.metadata.labels == {}


async def test_delete_is_not_a_dry_run_by_default(client: Any, namespace: str) -> None:
    """A low-level delete that is a dry run by default reports success, and deletes nothing."""
    maps = client.core_v1.config_maps(namespace)
    await maps.create(ConfigMap.new("gone"))

    await maps.delete("gone")

    with pytest.raises(NotFoundError):
        await maps.get("gone")


async def test_a_patch_names_its_kind(client: Any, namespace: str) -> None:
    """A patch that goes out as strategic by default is refused by every custom resource, and by others."""
    untyped = client.dynamic("v1", "configmaps", namespace=namespace)
    await untyped.create({"metadata": {"name": "a"}, "data": {"x": "1", "y": "1"}})

    await untyped.patch("a", Patch.merge({"data": {"x": None}}))
    found = await untyped.patch("a", Patch.json([{"op": "replace", "path": "/data/y", "value": "2"}]))

    assert found["data"] == {"y": "2"}


@pytest.mark.embedded_only
async def test_a_request_is_retried_after_retry_after(cluster: Cluster, client: Any, namespace: str) -> None:
    """Retry-After was ignored: the first 429 went to the caller, or was retried at once."""
    throttled = embedded(cluster).faults.throttle(retry_after=0, times=2, namespace=namespace, verb="create")

    made = await client.core_v1.config_maps(namespace).create(ConfigMap.new("a"))

    assert made.metadata.name == "a"
    assert throttled.hits == 2


# Lists


async def test_a_list_is_more_than_its_first_page(client: Any, namespace: str) -> None:
    """Of many pages, the first was taken for all."""
    maps = client.core_v1.config_maps(namespace)
    for index in range(12):
        await maps.create(ConfigMap.new(f"map-{index:02}", labels={"here": "yes"}))

    found = await maps.list(label_selector="here=yes", page_size=5)

    assert [item.metadata.name for item in found.items] == [f"map-{index:02}" for index in range(12)]


async def test_a_list_that_expires_between_two_pages_is_listed_without_paging(facade: str) -> None:
    """The caller was left with half a list, or an error that repeating would have mended."""
    a, b = config_map("a"), config_map("b")
    gone = json_response(status(410, "Expired", "the token is too old"), "410 Gone")
    script = ScriptedServer(rest=deque([json_response(listed(a, token="more")), gone, json_response(listed(a, b))]))
    async with client_of(script.handle, facade) as client:
        found = await client.core_v1.config_maps("shop").list(page_size=1)

    assert [each.metadata.name for each in found] == ["a", "b"]
    first, second, third = (each.line.split()[1] for each in script.seen)
    assert "limit=1" in first
    assert "continue=more" in second
    assert "limit" not in third


SELECTED = {
    "app=x,tier=f": ["xf"],
    "app in (x)": ["xb", "xf"],
    "app==x": ["xb", "xf"],
    "app!=x": ["none", "yf"],
    "app notin (x, y)": ["none"],
    "!app": ["none"],
    "app,tier!=b": ["xf", "yf"],
}


@pytest.mark.parametrize(("selector", "names"), SELECTED.items(), ids=SELECTED.keys())
async def test_every_form_of_a_selector_selects(client: Any, namespace: str, selector: str, names: list[str]) -> None:
    """Selectors that were understood in part only returned everything: dangerous in a loop that deletes."""
    maps = client.core_v1.config_maps(namespace)
    for name in ("xf", "xb", "yf"):
        labels = {"mine": "yes", "app": name[0], "tier": name[1]}
        await maps.create(ConfigMap.new(name, labels=labels))
    await maps.create(ConfigMap.new("none", labels={"mine": "yes"}))

    found = await maps.list(label_selector=f"mine=yes,{selector}")

    assert [each.metadata.name for each in found] == names


async def test_one_undecodable_object_does_not_break_a_list(facade: str) -> None:
    """One object that a model rejects makes all others unreadable."""
    broken = config_map("broken") | {"metadata": {"name": 5}}
    script = ScriptedServer(rest=deque([json_response(listed(config_map("a"), broken, config_map("b")))]))
    problems: list[DecodeError] = []
    async with client_of(script.handle, facade) as client:
        found = await client.core_v1.config_maps("shop").list(on_error=problems.append)

    assert [each.metadata.name for each in found] == ["a", "b"]
    assert [problem.path for problem in problems] == ["items[1].metadata.name"]


# Who else is there


async def test_two_clusters_in_one_program_do_not_mix(facade: str) -> None:
    """One configuration for the whole process sends what is meant for one cluster to the other."""
    async with masthead.server.run() as here, masthead.server.run() as there:
        configs = [from_kubeconfig(each.kubeconfig()) for each in (here, there)]
        async with connected(configs[0], facade) as one, connected(configs[1], facade) as two:
            await one.core_v1.config_maps("default").create(ConfigMap.new("mine"))
            with pytest.raises(NotFoundError):
                await two.core_v1.config_maps("default").get("mine")


@pytest.mark.embedded_only
async def test_discovery_takes_two_requests_and_leaves_no_files(cluster: Cluster, client: Any, temporary: Path) -> None:
    """One request per group, and a file with a predictable name, which never grows old."""
    server = embedded(cluster)
    before = len(server.requests)

    names = ("deploy", "pods", "ingresses.networking.k8s.io", "cj", "ConfigMap", "crd")
    await asyncio.gather(*(client.dynamic(name).list() for name in names))

    paths = [request.path for request in server.requests[before:] if request.info.verb != "list"]
    assert sorted(paths) == ["/api", "/apis"]
    assert files_in(temporary) == []

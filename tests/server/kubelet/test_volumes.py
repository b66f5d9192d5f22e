"""Volumes: what ConfigMaps, Secrets, the pod and other containers put into the files of a container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MERGE_PATCH
from tests.server.kubelet.remote import PODS, connected, pod

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.kubelet.remote import Remote

CORE = "/api/v1/namespaces/default"
SETTINGS = {"metadata": {"name": "settings"}, "data": {"color": "blue", "size": "9"}}


@pytest.fixture
async def remote() -> AsyncIterator[Remote]:
    """A client of a server whose pods run by themselves, with a ConfigMap."""
    async with (
        masthead.server.run(clock=VirtualClock, token=None, kubelet=True) as server,
        connected(server) as made,
    ):
        await send(made, "POST", f"{CORE}/configmaps", SETTINGS)
        yield made


async def send(remote: Remote, method: str, path: str, body: Any = None) -> Any:
    headers = {"Content-Type": MERGE_PATCH if method == "PATCH" else "application/json"}
    async with remote.http.request(method, path, json=body, headers=headers) as response:
        assert response.status < 300, await response.text()
        found = await response.json()
    await remote.server.wait_for_idle()
    return found


async def create(remote: Remote, name: str, volume: dict[str, Any], *mounts: dict[str, Any], **meta: Any) -> None:
    """Create a pod with one volume, which is mounted at /data unless mounts are given."""
    body = pod(name, volumes=[{"name": "data", **volume}], automountServiceAccountToken=False)
    body["metadata"] |= meta
    found = [{"name": "data", "mountPath": "/data", **mount} for mount in mounts or ({},)]
    body["spec"]["containers"][0]["volumeMounts"] = found
    await send(remote, "POST", PODS, body)


async def run(remote: Remote, script: str, name: str = "web") -> tuple[str, str, int]:
    result = await remote.exec("sh", "-c", script, name=name)
    return result.stdout, result.stderr, result.code


async def test_a_config_map_is_shown_and_followed(remote: Remote) -> None:
    await create(remote, "web", {"configMap": {"name": "settings"}})
    assert await run(remote, "cd /data; ls; cat color") == ("color\nsize\nblue", "", 0)

    await send(remote, "PATCH", f"{CORE}/configmaps/settings", {"data": {"color": "red", "size": None}})
    assert await run(remote, "cd /data; ls; cat color") == ("color\nred", "", 0)


async def test_items_have_paths_and_modes(remote: Remote) -> None:
    item = {"key": "color", "path": "a/b", "mode": 0o400}
    await create(remote, "web", {"configMap": {"name": "settings", "items": [item]}})

    out, _, _ = await run(remote, "ls /data; cat /data/a/b; ls -l /data/a")
    assert out.startswith("a\nblue-r--------")


async def test_shown_files_are_read_only(remote: Remote) -> None:
    await create(remote, "web", {"configMap": {"name": "settings"}})

    _, error, code = await run(remote, "rm /data/color")
    assert (error, code) == ("rm: /data/color: Read-only file system\n", 1)
    _, error, code = await run(remote, "echo x > /data/color")
    assert ("Read-only file system" in error, code) == (True, 1)


async def test_a_projected_volume_has_fields_secrets_and_a_token(remote: Remote) -> None:
    await send(remote, "POST", f"{CORE}/secrets", {"metadata": {"name": "key"}, "stringData": {"pin": "1234"}})
    sources = [
        {"secret": {"name": "key", "items": [{"key": "pin", "path": "pin"}]}},
        {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"serviceAccountToken": {"path": "token", "audience": "shop"}},
    ]
    await create(remote, "web", {"projected": {"sources": sources}}, labels={"app": "one"})
    assert (await run(remote, "cat /data/pin /data/labels"))[0] == '1234app="one"'

    token, _, _ = await run(remote, "cat /data/token")
    review = {"spec": {"token": token, "audiences": ["shop"]}}
    found = await send(remote, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)
    assert found["status"]["user"]["username"] == "system:serviceaccount:default:default"
    assert found["status"]["user"]["extra"]["authentication.kubernetes.io/pod-name"] == ["web"]

    await send(remote, "PATCH", f"{PODS}/web", {"metadata": {"labels": {"app": "two"}}})
    assert (await run(remote, "cat /data/labels"))[0] == 'app="two"'


async def test_every_pod_has_the_token_of_its_account(remote: Remote) -> None:
    await send(remote, "POST", PODS, pod("web"))

    out, _, _ = await run(remote, "cd /var/run/secrets/kubernetes.io/serviceaccount; ls; cat namespace")
    assert out == "ca.crt\nnamespace\ntoken\ndefault"


async def test_containers_share_an_empty_directory_until_the_pod_ends(remote: Remote) -> None:
    mount = [{"name": "data", "mountPath": "/data"}]
    body = pod("web", "one", "two", volumes=[{"name": "data", "emptyDir": {}}])
    init = {"name": "init", "image": "x", "command": ["sh", "-c", "echo hi > /data/greeting"]}
    body["spec"]["initContainers"] = [init]
    for container in (*body["spec"]["containers"], *body["spec"]["initContainers"]):
        container["volumeMounts"] = mount
    await send(remote, "POST", PODS, body)

    found = await remote.exec("cat", "/data/greeting", container="two")
    assert found.stdout == "hi\n"
    await send(remote, "DELETE", f"{PODS}/web", {"gracePeriodSeconds": 0})
    await create(remote, "web", {"emptyDir": {}})
    assert (await run(remote, "ls /data"))[0] == ""


@pytest.mark.parametrize(
    ("volume", "stays"),
    [
        ({"emptyDir": {}}, False),
        ({"hostPath": {"path": "/srv/shop"}}, True),
        ({"persistentVolumeClaim": {"claimName": "shop"}}, True),
    ],
)
async def test_only_files_of_hosts_and_claims_outlive_a_pod(remote: Remote, volume: Any, *, stays: bool) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await send(remote, "POST", f"{CORE}/persistentvolumeclaims", {"metadata": {"name": "shop"}, "spec": spec})
    await create(remote, "web", volume)
    assert (await run(remote, "echo 1 > /data/count"))[2] == 0
    await send(remote, "DELETE", f"{PODS}/web", {"gracePeriodSeconds": 0})

    await create(remote, "next", volume)
    assert (await run(remote, "cat /data/count", "next"))[0] == ("1\n" if stays else "")


async def test_a_sub_path_is_a_directory_or_file_of_its_volume(remote: Remote) -> None:
    mounts: tuple[dict[str, Any], ...] = (
        {},
        {"mountPath": "/part", "subPath": "a/b"},
        {"mountPath": "/locked", "readOnly": True},
    )
    await create(remote, "web", {"emptyDir": {}}, *mounts)

    assert (await run(remote, "echo 1 > /part/file; cat /data/a/b/file /locked/a/b/file"))[0] == "1\n1\n"
    assert (await run(remote, "touch /locked/new"))[2] == 1
    assert (await run(remote, "rm -r /part"))[1] == "rm: /part: Device or resource busy\n"
    await create(remote, "one", {"configMap": {"name": "settings"}}, {"mountPath": "/etc/color", "subPath": "color"})
    assert (await run(remote, "cat /etc/color", "one"))[0] == "blue"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "missing value for PART"),
        ("/tmp", "error SubPath `/tmp` must not be an absolute path"),
        ("..", "unable to provision SubPath `..`: must not contain '..'"),
    ],
)
async def test_a_path_in_a_volume_that_follows_from_the_environment_is_checked(
    remote: Remote, value: str, message: str
) -> None:
    body = pod("web", volumes=[{"name": "data", "emptyDir": {}}])
    field = {"fieldRef": {"fieldPath": "metadata.annotations['part']"}}
    body["metadata"]["annotations"] = {"part": value}
    body["spec"]["containers"][0] |= {
        "env": [{"name": "PART", "valueFrom": field}],
        "volumeMounts": [{"name": "data", "mountPath": "/data", "subPathExpr": "$(PART)"}],
    }
    await send(remote, "POST", PODS, body)
    waiting = (await remote.get())["status"]["containerStatuses"][0]["state"]["waiting"]
    assert waiting == {"reason": "CreateContainerConfigError", "message": message}

    await send(remote, "PATCH", f"{PODS}/web", {"metadata": {"annotations": {"part": "mine"}}})
    assert (await remote.get())["status"]["phase"] == "Running"


async def test_a_probe_sees_the_files_of_a_volume_change(remote: Remote) -> None:
    probe = {"exec": {"command": ["cat", "/data/color"]}, "periodSeconds": 5}
    item = {"key": "color", "path": "color"}
    body = pod("web", volumes=[{"name": "data", "configMap": {"name": "settings", "items": [item]}}])
    body["spec"]["containers"][0] |= {
        "readinessProbe": {**probe, "failureThreshold": 1},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    await send(remote, "POST", PODS, body)
    assert (await remote.get())["status"]["containerStatuses"][0]["ready"]

    await send(remote, "PATCH", f"{CORE}/configmaps/settings", {"data": {"color": None}})
    remote.server.advance(10)
    await remote.server.wait_for_idle()
    assert not (await remote.get())["status"]["containerStatuses"][0]["ready"]

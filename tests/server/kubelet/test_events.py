"""The Events of pods: what scheduler and kubelet report, as in a real cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.kubelet.remote import PODS, connected, pod

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.kubelet.remote import Plain, Remote

EVENTS = "/api/v1/namespaces/default/events"
PRESENT = 'Container image "busybox:1" already present on machine and can be accessed by the pod'
PULLING = 'Pulling image "busybox"'
PULLED = 'Successfully pulled image "busybox" in 0s (0s including waiting). Image size: 0 bytes.'
STARTS = ["Pulling", "Pulled", "Created", "Started"]
START = "2026-01-01T00:00:00Z"


@pytest.fixture
async def automatic() -> AsyncIterator[Remote]:
    """A client of a server whose pods run by themselves."""
    async with (
        masthead.server.run(clock=VirtualClock, token=None, bootstrap=False, kubelet=True) as server,
        connected(server) as made,
    ):
        yield made


async def events(remote: Remote, kind: str = "Pod", path: str = EVENTS) -> list[Plain]:
    """The Events of objects of a kind, in the order in which they were first written."""
    async with remote.http.get(f"{path}?fieldSelector=involvedObject.kind={kind}") as response:
        found: list[Plain] = (await response.json())["items"]
    return sorted(found, key=lambda each: int(each["metadata"]["name"].rpartition(".")[2], 16))


async def summary(remote: Remote) -> list[tuple[str, str, int]]:
    """The reason, message and count of each."""
    return [(event["reason"], event["message"], event.get("count", 0)) for event in await events(remote)]


def strip(event: Plain) -> Plain:
    """An Event without what differs from one to the next."""
    meta = {key: value for key, value in event["metadata"].items() if key not in {"uid", "resourceVersion"}}
    return {**event, "metadata": meta}


async def test_a_started_pod_was_scheduled_and_its_containers_pulled_created_and_started(
    remote: Remote,
) -> None:
    await remote.create(pod("web", "a", initContainers=[{"name": "setup", "image": "busybox"}]))

    found = await events(remote)

    assert [(each["reason"], each["involvedObject"].get("fieldPath", "")) for each in found] == [
        ("Scheduled", ""),
        *((reason, "spec.initContainers{setup}") for reason in STARTS),
        *((reason, "spec.containers{a}") for reason in STARTS),
    ]
    assert [each["message"] for each in found[5:]] == [PULLING, PULLED, "Container created", "Container started"]


@pytest.mark.parametrize("container", [{"image": "busybox:1"}, {"image": "busybox", "imagePullPolicy": "IfNotPresent"}])
async def test_an_image_that_need_not_be_pulled_is_present(remote: Remote, container: Plain) -> None:
    body = pod()
    body["spec"]["containers"][0].update(container)
    await remote.create(body)

    reasons = [(reason, message.replace("busybox:1", "busybox")) for reason, message, _ in await summary(remote)]

    assert reasons[1:] == [
        ("Pulled", PRESENT.replace("busybox:1", "busybox")),
        ("Created", "Container created"),
        ("Started", "Container started"),
    ]


async def test_an_image_that_was_absent_is_pulled_once(automatic: Remote) -> None:
    automatic.server.kubelet.fail_pull("busybox:1")
    body = pod()
    body["spec"]["containers"][0]["image"] = "busybox:1"
    await automatic.create(body, start=False)
    await automatic.server.wait_for_idle()
    automatic.server.kubelet.allow_pull("busybox:1")
    automatic.server.kubelet.restart("web")

    found = [(reason, message, count) for reason, message, count in await summary(automatic) if "Pull" in reason]

    assert found == [
        ("Pulling", PULLING.replace("busybox", "busybox:1"), 2),
        ("Pulled", PULLED.replace("busybox", "busybox:1"), 1),
        ("Pulled", PRESENT, 1),
    ]


async def test_an_event_of_the_kubelet_has_the_fields_of_a_real_one(remote: Remote) -> None:
    await remote.create(pod())
    stored = await remote.get()

    [event] = [each for each in await events(remote) if each["reason"] == "Started"]

    reference = event.pop("involvedObject")
    assert int(reference.pop("resourceVersion")) <= int(stored["metadata"]["resourceVersion"])
    assert reference == {
        "kind": "Pod",
        "namespace": "default",
        "name": "web",
        "uid": stored["metadata"]["uid"],
        "apiVersion": "v1",
        "fieldPath": "spec.containers{app}",
    }
    assert event.pop("metadata")["name"].startswith("web.1886")
    assert event == {
        "reason": "Started",
        "message": "Container started",
        "source": {"component": "kubelet", "host": "masthead-node"},
        "firstTimestamp": START,
        "lastTimestamp": START,
        "count": 1,
        "type": "Normal",
        "eventTime": None,
        "reportingComponent": "kubelet",
        "reportingInstance": "masthead-node",
    }


async def test_the_scheduler_reports_in_the_form_of_the_new_group(remote: Remote) -> None:
    await remote.create(pod())

    event = (await events(remote))[0]

    assert event["message"] == "Successfully assigned default/web to masthead-node"
    assert (event["reason"], event["action"], event["type"]) == ("Scheduled", "Binding", "Normal")
    assert event["eventTime"] == "2026-01-01T00:00:00.000000Z"
    assert (event["source"], event["firstTimestamp"], event["lastTimestamp"]) == ({}, None, None)
    assert event["reportingComponent"] == "default-scheduler"
    assert event["reportingInstance"] == "default-scheduler-masthead-node"
    assert "count" not in event
    path = f"/apis/events.k8s.io/v1/namespaces/default/events/{event['metadata']['name']}"
    async with remote.http.get(path) as response:
        new = await response.json()
    assert (new["regarding"], new["note"]) == (event["involvedObject"], event["message"])


@pytest.mark.parametrize(
    ("reason", "manager", "group"),
    [
        ("Scheduled", "kube-scheduler", "/apis/events.k8s.io/v1"),
        ("Started", "kubelet", "/api/v1"),
    ],
)
async def test_events_are_stored_as_if_a_client_had_created_them(
    remote: Remote, reason: str, manager: str, group: str
) -> None:
    await remote.create(pod())
    [written] = [event for event in await events(remote) if event["reason"] == reason]
    path = f"{group}/namespaces/default/events"
    async with remote.http.get(f"{path}/{written['metadata']['name']}") as response:
        body = await response.json()
    async with remote.http.delete(f"{path}/{written['metadata']['name']}") as response:
        assert response.status == 200

    body["metadata"] = {"name": body["metadata"]["name"], "namespace": "default"}
    async with remote.http.post(path, json=body, headers={"User-Agent": f"{manager}/1"}) as response:
        assert response.status == 201, await response.text()

    [created] = [event for event in await events(remote) if event["reason"] == reason]
    assert strip(created) == strip(written)


async def test_a_repeat_raises_the_count_of_an_event(remote: Remote) -> None:
    await remote.create(pod())
    remote.server.advance(60)
    before = len(await events(remote))

    remote.server.kubelet.restart("web")

    assert len(await events(remote)) == before
    [event] = [each for each in await events(remote) if each["reason"] == "Started"]
    assert (event["count"], event["firstTimestamp"], event["lastTimestamp"]) == (
        2,
        START,
        "2026-01-01T00:01:00Z",
    )
    assert [each["time"] for each in event["metadata"]["managedFields"]] == ["2026-01-01T00:01:00Z"]


async def test_an_event_that_was_deleted_is_written_again_with_its_count(remote: Remote) -> None:
    await remote.create(pod())
    async with remote.http.delete(EVENTS) as response:
        assert response.status == 200

    remote.server.kubelet.restart("web")

    assert await summary(remote) == [
        ("Pulling", PULLING, 2),
        ("Pulled", PULLED, 2),
        ("Created", "Container created", 2),
        ("Started", "Container started", 2),
    ]


async def test_a_crash_loop_is_a_warning(remote: Remote) -> None:
    await remote.create(pod())
    remote.server.kubelet.crash_loop("web")

    event = (await events(remote))[-1]

    uid = (await remote.get())["metadata"]["uid"]
    assert (event["type"], event["reason"]) == ("Warning", "BackOff")
    assert event["message"] == f"Back-off restarting failed container app in pod web_default({uid})"
    assert event["involvedObject"]["fieldPath"] == "spec.containers{app}"


async def test_an_evicted_pod_says_why_and_its_containers_are_killed(remote: Remote) -> None:
    await remote.create(pod("web", "a", "b"))
    remote.server.kubelet.evict("web", message="too much")

    evicted, *killed = (await events(remote))[9:]

    assert (evicted["type"], evicted["reason"], evicted["message"]) == ("Warning", "Evicted", "too much")
    assert [(each["reason"], each["message"]) for each in killed] == [
        ("Killing", "Stopping container a"),
        ("Killing", "Stopping container b"),
    ]


async def test_a_pod_that_ends_by_itself_is_not_killed(remote: Remote) -> None:
    await remote.create(pod())
    before = await summary(remote)

    remote.server.kubelet.succeed("web")

    assert await summary(remote) == before


async def test_a_deleted_pod_is_killed_once(automatic: Remote) -> None:
    body = pod()
    body["metadata"]["finalizers"] = ["a.test/wait"]
    await automatic.create(body, start=False)
    await automatic.server.wait_for_idle()

    for _ in range(2):
        async with automatic.http.delete(f"{PODS}/web") as response:
            assert response.status == 200
        await automatic.server.wait_for_idle()

    assert (await summary(automatic))[5:] == [("Killing", "Stopping container app", 1)]


async def test_an_ephemeral_container_is_started(automatic: Remote) -> None:
    await automatic.create(pod(), start=False)
    await automatic.server.wait_for_idle()
    async with automatic.http.patch(
        f"{PODS}/web/ephemeralcontainers",
        json={"spec": {"ephemeralContainers": [{"name": "debugger", "image": "busybox"}]}},
        headers={"Content-Type": "application/strategic-merge-patch+json"},
    ) as response:
        assert response.status == 200, await response.text()
    await automatic.server.wait_for_idle()

    found = (await events(automatic))[5:]

    assert [each["reason"] for each in found] == STARTS
    assert {each["involvedObject"]["fieldPath"] for each in found} == {"spec.ephemeralContainers{debugger}"}


async def test_a_pod_with_a_node_of_its_own_was_not_scheduled(remote: Remote) -> None:
    await remote.create(pod(nodeName="mine"))

    assert [reason for reason, _, _ in await summary(remote)] == STARTS


async def test_the_name_of_an_event_is_never_too_long(remote: Remote) -> None:
    name = "a" * 250
    await remote.create(pod(name))

    async with remote.http.get(EVENTS) as response:
        found = [each for each in (await response.json())["items"] if each["reason"] == "Started"]
    assert [len(each["metadata"]["name"]) for each in found] == [36]


async def test_there_is_no_event_in_a_namespace_that_terminates(automatic: Remote) -> None:
    async with automatic.http.post("/api/v1/namespaces", json={"metadata": {"name": "shop"}}) as response:
        assert response.status == 201
    body = pod()
    body["metadata"]["finalizers"] = ["a.test/wait"]
    async with automatic.http.post("/api/v1/namespaces/shop/pods", json=body) as response:
        assert response.status == 201
    await automatic.server.wait_for_idle()
    assert len(await events(automatic, path="/api/v1/events")) == 5

    async with automatic.http.delete("/api/v1/namespaces/shop") as response:
        assert response.status == 200
    await automatic.server.wait_for_idle()
    assert "Killing" not in [event["reason"] for event in await events(automatic, path="/api/v1/events")]

    async with automatic.http.patch(
        "/api/v1/namespaces/shop/pods/web",
        json={"metadata": {"finalizers": None}},
        headers={"Content-Type": "application/merge-patch+json"},
    ) as response:
        assert response.status == 200
    await automatic.server.wait_for_idle()
    async with automatic.http.get("/api/v1/namespaces/shop") as response:
        assert response.status == 404
    assert await events(automatic, path="/api/v1/events") == []


async def test_requests_write_no_events(remote: Remote) -> None:
    body = pod(nodeName="mine")
    await remote.create(body, start=False)
    status: Any = {"status": {"phase": "Running"}}
    async with remote.http.patch(
        f"{PODS}/web/status", json=status, headers={"Content-Type": "application/merge-patch+json"}
    ) as response:
        assert response.status == 200
    async with remote.http.delete(f"{PODS}/web") as response:
        assert response.status == 200
    remote.server.advance(60)

    assert await events(remote) == []

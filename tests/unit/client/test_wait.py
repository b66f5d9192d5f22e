"""Waiting for objects: against the embedded server, and on a scripted network for failures."""

from __future__ import annotations

import asyncio
import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from tests.unit.client.scripted import (
    FakeResponse,
    FakeTransport,
    SentRequest,
    context_over,
    failure,
    reply,
    stream,
)

from masthead._auth.tokens import BearerToken
from masthead._client.base import ClientContext, Defaults
from masthead._client.conditions import (
    WaitCondition,
    condition_is,
    deleted,
    exists,
    field_is,
    matches,
    pod_ready,
)
from masthead._client.resource import ResourceClient
from masthead._client.resource_target import typed_target
from masthead._meta.patch import Patch
from masthead._meta.secret import Secret
from masthead._rest.client import RestClient
from masthead._transport.http import HttpTransport
from masthead.api.core.v1 import ConfigMap, Pod
from masthead.errors import (
    ArgumentError,
    ConnectError,
    DeadlineError,
    ForbiddenError,
    MastheadError,
    NameFormatError,
    NotFoundError,
    ProtocolError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead.server import Server

PATIENCE = 30.0


@asynccontextmanager
async def config_maps(server: Server, namespace: str | None = "default") -> AsyncIterator[ResourceClient[ConfigMap]]:
    rest = RestClient(HttpTransport(server.url, tls=None), BearerToken(Secret(server.token or "")))
    try:
        yield ResourceClient(ClientContext(rest, Defaults()), typed_target(ConfigMap), namespace)
    finally:
        await rest.close()


class RecordingCondition:
    """A condition that records its objects and signals the first call, so that a test can act then."""

    def __init__(self) -> None:
        self.called = asyncio.Event()
        self.seen: list[str | None] = []

    def __call__(self, obj: ConfigMap | None) -> bool:
        self.called.set()
        self.seen.append(None if obj is None else obj.data.get("step", ""))
        return obj is not None and obj.data.get("step") == "done"


async def test_a_condition_that_already_holds_needs_no_watch(kube_server: Server) -> None:
    async with config_maps(kube_server) as maps:
        made = await maps.create(ConfigMap.new("a"))
        assert await maps.wait_for("a", exists(), timeout=PATIENCE) == made
        assert await maps.wait_for("b", deleted(), timeout=PATIENCE) is None
    assert {request.info.verb for request in kube_server.requests} == {"create", "list"}


async def test_a_wait_follows_an_object_that_is_created_and_updated(kube_server: Server) -> None:
    noticed = RecordingCondition()
    async with config_maps(kube_server) as maps, asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(maps.wait_for("a", WaitCondition(noticed, "it is done"), timeout=PATIENCE))
        await noticed.called.wait()
        await maps.create(ConfigMap.new("b", data={"step": "done"}))
        await maps.create(ConfigMap.new("a", data={"step": "begun"}))
        await maps.delete("a")
        await maps.create(ConfigMap.new("a", data={"step": "done"}))
    found = waiting.result()
    assert found is not None
    assert found.data == {"step": "done"}
    assert noticed.seen == [None, "begun", None, "done"]


async def test_waiting_for_a_deletion_distinguishes_a_new_object_by_uid(kube_server: Server) -> None:
    async with config_maps(kube_server) as maps:
        first = await maps.create(ConfigMap.new("a", namespace="default"))
        noticed = RecordingCondition()
        gone = ~WaitCondition[ConfigMap](noticed, "it is done") & deleted(uid=first.metadata.uid)
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(maps.wait_for("a", gone, timeout=PATIENCE))
            await noticed.called.wait()
            await maps.delete("a")
        assert waiting.result() is None
        await maps.create(ConfigMap.new("a"))
        successor = await maps.wait_for("a", deleted(uid=first.metadata.uid), timeout=PATIENCE)
        assert successor is not None
        assert successor.metadata.uid != first.metadata.uid


async def test_an_expired_version_is_listed_again(kube_server: Server) -> None:
    kube_server.faults.expire_watch(after=1, resource="configmaps")
    noticed = RecordingCondition()
    async with config_maps(kube_server) as maps, asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(maps.wait_for("a", WaitCondition(noticed, "it is done"), timeout=PATIENCE))
        await noticed.called.wait()
        await maps.create(ConfigMap.new("a"))
        await maps.patch("a", Patch.merge({"data": {"step": "done"}}))
    assert waiting.result() is not None


async def test_an_exception_of_a_condition_propagates_unchanged(kube_server: Server) -> None:
    def fails(_: ConfigMap) -> bool:
        raise LookupError("mine")

    async with config_maps(kube_server) as maps:
        await maps.create(ConfigMap.new("a"))
        with pytest.raises(LookupError, match="mine"):
            await maps.wait_for("a", matches(fails, "never"), timeout=PATIENCE)


async def test_one_name_in_two_namespaces_is_refused(kube_server: Server) -> None:
    async with config_maps(kube_server, None) as maps:
        await maps.create(ConfigMap.new("a", namespace="default"))
        assert await maps.wait_for("a", exists(), timeout=PATIENCE) is not None
        await maps.create(ConfigMap.new("a", namespace="kube-system"))
        with pytest.raises(ArgumentError, match="default/a and kube-system/a; name the namespace"):
            await maps.wait_for("a", exists(), timeout=PATIENCE)


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "resourceVersion": "7"},
}
NOT_READY = {
    "conditions": [
        {
            "type": "Ready",
            "status": "False",
            "reason": "ContainersNotReady",
            "message": "containers with status: [web]",
        }
    ]
}


def listed(*items: object, version: str = "7") -> FakeResponse:
    return reply(
        {
            "apiVersion": "v1",
            "kind": "PodList",
            "metadata": {"resourceVersion": version},
            "items": list(items),
        }
    )


def pods(network: FakeTransport) -> ResourceClient[Pod]:
    return ResourceClient(context_over(network), typed_target(Pod), "default")


async def test_a_timeout_names_the_condition_and_the_current_state() -> None:
    def respond(request: SentRequest) -> FakeResponse:
        if request.is_watch:
            event = {"type": "MODIFIED", "object": {**POD, "status": NOT_READY}}
            return stream(event)
        return listed()

    with pytest.raises(DeadlineError) as caught:
        await pods(FakeTransport(respond)).wait_for("web", pod_ready(), timeout=0.1)
    assert str(caught.value) == (
        "Pod default/web: waited 0.1 s until the pod is ready; now: Ready is False (ContainersNotReady: containers "
        "with status: [web]). Wait longer, or look at the object's status and events."
    )


async def test_a_timeout_before_any_response_is_reported_as_such() -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    class Silent(FakeTransport):
        async def send(self, request: object) -> FakeResponse:  # noqa: ARG002 - the contract's
            await never()
            raise AssertionError

    with pytest.raises(
        DeadlineError,
        match=r"object default/web: .* has not responded\. Wait longer, or check that the server",
    ):
        await pods(Silent(lambda _: FakeResponse())).wait_for("web", exists(), timeout=0.05)


async def test_a_timeout_for_a_missing_object_suggests_checking_its_name() -> None:
    def respond(request: SentRequest) -> FakeResponse:
        return stream() if request.is_watch else listed()

    with pytest.raises(DeadlineError, match=r"Wait longer, or check name and namespace\.$"):
        await pods(FakeTransport(respond)).wait_for("web", exists(), timeout=0.05)


async def test_one_object_is_listed_and_watched_from_the_lists_version() -> None:
    def respond(request: SentRequest) -> FakeResponse:
        return stream({"type": "ADDED", "object": POD}) if request.is_watch else listed(version="41")

    network = FakeTransport(respond)
    found = await pods(network).wait_for("web", exists(), timeout=math.inf)
    assert found is not None
    assert found.metadata.resource_version == "7"
    first, second = network.sent
    assert first.query["fieldSelector"] == second.query["fieldSelector"] == "metadata.name=web"
    assert second.query["resourceVersion"] == "41"


async def test_an_undecodable_change_is_skipped() -> None:
    broken = {**POD, "metadata": {"name": ["web"], "resourceVersion": "8"}}
    events = [
        {"type": "ADDED", "object": POD},
        {"type": "MODIFIED", "object": broken},
        {
            "type": "BOOKMARK",
            "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}},
        },
        {"type": "MODIFIED", "object": {**POD, "status": {"phase": "Running"}}},
    ]

    def respond(request: SentRequest) -> FakeResponse:
        return stream(*events) if request.is_watch else listed()

    found = await pods(FakeTransport(respond)).wait_for("web", field_is("status.phase", "Running"), timeout=PATIENCE)
    assert found is not None
    assert found.status.phase == "Running"


@pytest.mark.parametrize("version", [reply(failure(404, "NotFound"), 404), reply({"hello": "world"})])
@pytest.mark.parametrize("seconds", [0, PATIENCE])
async def test_a_server_that_finds_nothing_at_all_has_deleted_nothing(version: FakeResponse, seconds: float) -> None:
    def respond(request: SentRequest) -> FakeResponse:
        return version if request.path == "/version" else reply(failure(404, "NotFound"), 404)

    maps = ResourceClient(context_over(FakeTransport(respond)), typed_target(ConfigMap), "default")

    with pytest.raises(NotFoundError):
        await maps.wait_for("a", deleted(), timeout=seconds)


async def test_an_object_is_gone_whose_kind_is_not_watched_any_more() -> None:
    listed = {"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "5"}}
    found = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}

    def respond(request: SentRequest) -> FakeResponse:
        if request.path == "/version":
            return reply({"major": "1", "gitVersion": "v1.36.0"})
        return reply(failure(404, "NotFound"), 404) if request.is_watch else reply({**listed, "items": [found]})

    maps = ResourceClient(context_over(FakeTransport(respond)), typed_target(ConfigMap), "default")

    assert await maps.wait_for("a", deleted(), timeout=PATIENCE) is None


async def test_an_error_response_ends_the_wait() -> None:
    network = FakeTransport(lambda _: reply(failure(403, "Forbidden"), 403))
    with pytest.raises(ForbiddenError):
        await pods(network).wait_for("web", condition_is("Ready"), timeout=PATIENCE)


PASSING: dict[str, FakeResponse | MastheadError] = {
    "500": reply(failure(500, "InternalError"), 500),
    "429": reply(failure(429, "TooManyRequests"), 429),
    "dropped": ProtocolError("the connection was lost"),
    "unreachable": ConnectError("no way"),
}


@pytest.mark.parametrize("why", PASSING)
async def test_a_transient_list_failure_is_retried(why: str, caplog: pytest.LogCaptureFixture) -> None:
    failures = [PASSING[why]]

    def respond(_: SentRequest) -> FakeResponse:
        if not failures:
            return listed(POD)
        failed = failures.pop()
        if isinstance(failed, FakeResponse):
            return failed
        raise failed

    network = FakeTransport(respond)
    assert await pods(network).wait_for("web", exists(), timeout=PATIENCE) is not None
    assert len(network.sent) == 2
    [record] = caplog.records
    assert record.getMessage().startswith("wait for object default/web: retry in 0.")


async def test_a_timeout_names_the_last_list_failure() -> None:
    network = FakeTransport(lambda _: reply(failure(500, "InternalError"), 500))
    with pytest.raises(
        DeadlineError,
        match=r"has not responded \(the last attempt failed: list pods default: it is InternalError",
    ):
        await pods(network).wait_for("web", exists(), timeout=0.05)


async def test_a_timeout_of_zero_checks_the_object_once() -> None:
    network = FakeTransport(lambda _: listed(POD))
    assert await pods(network).wait_for("web", exists(), timeout=0) is not None
    with pytest.raises(DeadlineError, match="Pod default/web: waited 0 s until"):
        await pods(network).wait_for("web", deleted(), timeout=0)
    assert [each.is_watch for each in network.sent] == [False, False]


@pytest.mark.parametrize("name", ["", "a/b", ".."])
async def test_an_invalid_name_is_rejected_before_anything_is_sent(name: str) -> None:
    network = FakeTransport(lambda _: FakeResponse())
    with pytest.raises(NameFormatError):
        await pods(network).wait_for(name, exists(), timeout=PATIENCE)
    assert network.sent == []

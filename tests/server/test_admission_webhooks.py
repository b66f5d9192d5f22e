"""Admission webhooks in a running server: what waits for them, and what does not."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.admission_webhook import LoopWebhook, authority, bundle, running_webhook, server_context

import masthead.server
from masthead import Patch, aio
from masthead.errors import ConfigError, NotFoundError, StatusError
from masthead.server import VirtualClock
from masthead.testing._configurations import config_of
from masthead_server.admission.attributes import Operation
from masthead_server.admission.chain import AdmissionChain
from masthead_server.admission.plugin import AdmissionPlugin, PluginEntry
from masthead_server.admission.webhooks.plugins import MutatingAdmissionWebhook, ValidatingAdmissionWebhook
from masthead_server.webhooks import Webhook, WebhookError, call_webhook

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from masthead.server import Server
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

    Plain = dict[str, Any]

pytestmark = pytest.mark.asyncio

SERVICE = {"metadata": {"name": "hook"}, "spec": {"ports": [{"port": 443}]}}
BY_SERVICE = {"service": {"name": "hook", "namespace": "default"}, "caBundle": bundle()}
LABELS = {"app": "web"}
DEPLOYMENT = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}},
    },
}
PEM = authority().cert_pem.bytes().decode()
PODS = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]


@asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[tuple[Server, aio.Client, LoopWebhook]]:
    async with (
        masthead.server.run(**options) as server,
        aio.Client(config_of(server)) as client,
        running_webhook() as webhook,
    ):
        yield server, client, webhook


async def configure(client: aio.Client, configuration: Plain) -> None:
    """Store a configuration of webhooks."""
    resource = f"{configuration['kind'].lower()}s"
    await client.rest.post(f"/apis/admissionregistration.k8s.io/v1/{resource}", json.dumps(configuration).encode())


def add_label(_request: Plain) -> Plain:
    patch = [{"op": "add", "path": "/metadata/labels/seen", "value": "yes"}]
    return {"allowed": True, "patchType": "JSONPatch", "patch": b64encode(json.dumps(patch).encode()).decode()}


@pytest.mark.slow
async def test_other_writes_do_not_wait_for_a_webhook_that_hangs() -> None:
    async with serving() as (_, client, webhook):
        await configure(client, webhook.configuration())
        webhook.may_answer.clear()
        async with asyncio.TaskGroup() as group:
            slow = group.create_task(client.core_v1.config_maps("default").create({"metadata": {"name": "slow"}}))
            await webhook.arrived.wait()
            for number in range(20):
                await client.core_v1.secrets("default").create({"metadata": {"name": f"quick-{number}"}})
            assert not slow.done()
            webhook.may_answer.set()
        assert (await client.core_v1.config_maps("default").get("slow")).metadata.name == "slow"


async def test_a_client_that_goes_away_ends_the_call_and_stores_nothing() -> None:
    async with serving() as (server, client, webhook):
        await configure(client, webhook.configuration())
        webhook.may_answer.clear()
        async with asyncio.TaskGroup() as group:
            creating = group.create_task(client.core_v1.config_maps("default").create({"metadata": {"name": "a"}}))
            await webhook.arrived.wait()
            creating.cancel()
            await webhook.aborted.wait()
        await server.wait_for_idle()
        with pytest.raises(NotFoundError):
            await client.core_v1.config_maps("default").get("a")


async def test_writes_that_wait_do_not_lose_the_changes_of_others() -> None:
    async with serving() as (_, client, webhook):
        maps = client.core_v1.config_maps("default")
        await maps.create({"metadata": {"name": "a"}})
        await configure(client, webhook.configuration())
        webhook.may_answer.clear()
        async with asyncio.TaskGroup() as group:
            for key in ("one", "two", "three"):
                group.create_task(maps.patch("a", Patch.merge({"data": {key: "x"}})))
            await webhook.arrived.wait()
            webhook.may_answer.set()
        assert (await maps.get("a")).data == {"one": "x", "two": "x", "three": "x"}


async def test_a_service_leads_to_the_port_that_the_test_names(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as (server, client, webhook):
        await configure(client, webhook.configuration(clientConfig=BY_SERVICE))
        maps = client.core_v1.config_maps("default")
        with pytest.raises(StatusError, match='service "hook" not found'):
            await maps.create({"metadata": {"name": "a"}})
        await client.core_v1.services("default").create(SERVICE)
        with pytest.raises(StatusError, match="connect: connection refused"):
            await maps.create({"metadata": {"name": "a"}})
        assert "start masthead serve with --service default/hook=PORT" in caplog.text
        server.listen_on_service("hook", webhook.port)
        await maps.create({"metadata": {"name": "a"}})
        assert [review["name"] for review in webhook.reviews] == ["a"]


@pytest.mark.parametrize(("target", "port"), [(0, 443), (443, 70_000), (("10.0.0.1", 443), 443)], ids=str)
async def test_a_service_leads_to_ports_of_this_machine_alone(target: Any, port: int) -> None:
    async with masthead.server.run() as server:
        with pytest.raises(ValueError, match=r"a port is a number|not this machine"):
            server.listen_on_service("hook", target, port=port)


async def test_pods_of_controllers_are_reviewed() -> None:
    async with serving(workloads=True) as (server, client, webhook):
        webhook.answer = add_label
        await configure(client, webhook.configuration("Mutating", rules=PODS))
        await client.apps_v1.deployments("default").create(DEPLOYMENT)
        await server.wait_for_idle()
        pods = await client.core_v1.pods("default").list()
        assert [pod.metadata.labels["seen"] for pod in pods] == ["yes"]


async def test_a_controller_that_is_denied_tries_again() -> None:
    async with serving(workloads=True, clock=VirtualClock) as (server, client, webhook):
        webhook.answer = lambda _request: {"allowed": False, "status": {"message": "not today"}}
        await configure(client, webhook.configuration(rules=PODS))
        await client.apps_v1.deployments("default").create(DEPLOYMENT)
        await webhook.arrived.wait()
        await server.wait_for_idle()
        [replica_set] = await client.apps_v1.replica_sets("default").list()
        [condition] = replica_set.status.conditions
        assert (condition.type, condition.reason) == ("ReplicaFailure", "FailedCreate")
        assert 'admission webhook "test.example.com" denied the request: not today' in (condition.message or "")
        webhook.answer = lambda _request: {"allowed": True}
        server.advance(60)
        await server.wait_for_idle()
        assert len([pod async for pod in client.core_v1.pods("default").iter()]) == 1


async def test_webhooks_are_called_after_a_restart(tmp_path: Path) -> None:
    data = tmp_path / "data.db"
    async with running_webhook() as webhook:
        async with masthead.server.run(data=data) as server, aio.Client(config_of(server)) as client:
            await configure(client, webhook.configuration())
        async with masthead.server.run(data=data) as server, aio.Client(config_of(server)) as client:
            await client.core_v1.config_maps("default").create({"metadata": {"name": "a"}})
        assert [review["operation"] for review in webhook.reviews] == ["CREATE"]


async def test_a_plugin_that_is_off_calls_no_webhook() -> None:
    async with serving(admission={"ValidatingAdmissionWebhook": False}) as (_, client, webhook):
        await configure(client, webhook.configuration())
        await client.core_v1.config_maps("default").create({"metadata": {"name": "a"}})
        assert webhook.reviews == []


async def test_an_unknown_plugin_is_an_error() -> None:
    with pytest.raises(ConfigError, match="there is no admission plugin"):
        async with masthead.server.run(admission={"NoSuchWebhook": True}):
            pass


async def test_many_webhooks_of_one_request_are_called_at_the_same_time() -> None:
    async with serving() as (_, client, webhook):
        for number in range(5):
            await configure(client, webhook.configuration(name=f"test-{number}"))
        webhook.may_answer.clear()
        async with asyncio.TaskGroup() as group:
            group.create_task(client.core_v1.config_maps("default").create({"metadata": {"name": "a"}}))
            async with asyncio.timeout(30):
                while len(webhook.reviews) < 5:
                    await webhook.arrived.wait()
                    webhook.arrived.clear()
            webhook.may_answer.set()
        assert len({review["uid"] for review in webhook.reviews}) == 5


class Recorder(AdmissionPlugin):
    """Keeps what the plugins before it have left of a request."""

    name = "Recorder"

    def __init__(self) -> None:
        self.seen: list[AdmissionAttributes] = []

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        return (operation, served.table, subresource) == (Operation.CREATE, "configmaps", "")

    async def validate(self, attributes: AdmissionAttributes) -> None:
        self.seen.append(attributes)


async def test_audit_annotations_bear_the_name_of_their_webhook() -> None:
    async with serving() as (server, client, webhook):
        recorder = Recorder()
        cluster = server._cluster
        cluster.admission = AdmissionChain(
            [
                PluginEntry("MutatingAdmissionWebhook", MutatingAdmissionWebhook),
                PluginEntry("ValidatingAdmissionWebhook", ValidatingAdmissionWebhook),
                PluginEntry("Recorder", lambda _: recorder),
            ]
        )
        cluster.admission.observe(cluster)
        webhook.answer = lambda request: {**add_label(request), "auditAnnotations": {"key": "value"}}
        await configure(client, webhook.configuration("Mutating"))
        ignored = {"url": "https://127.0.0.1:1/", "caBundle": bundle()}
        await configure(client, webhook.configuration(clientConfig=ignored, failurePolicy="Ignore"))
        await client.core_v1.config_maps("default").create({"metadata": {"name": "a", "labels": {"a": "b"}}})
        [attributes] = recorder.seen
        annotations = attributes.annotations
        assert annotations["test.example.com/key"] == "value"
        assert json.loads(annotations["mutation.webhook.admission.k8s.io/round_0_index_0"])["mutated"] is True
        assert "JSONPatch" in annotations["patch.webhook.admission.k8s.io/round_0_index_0"]
        assert annotations["failed-open.validating.webhook.admission.k8s.io/round_0_index_0"] == "test.example.com"


async def test_a_webhook_with_side_effects_refuses_dry_runs() -> None:
    async with serving() as (server, client, webhook):
        cluster = server._cluster
        table = "admissionregistration.k8s.io/validatingwebhookconfigurations"
        served = cluster.catalog.stored_in(table)
        assert served is not None
        # Only older servers have stored such configurations.
        cluster.write(served, "test", webhook.configuration(sideEffects="Some"))
        maps = client.core_v1.config_maps("default")
        with pytest.raises(StatusError, match=r'admission webhook "test\.example\.com" does not support dry run'):
            await maps.create({"metadata": {"name": "a"}}, dry_run=True)
        await maps.create({"metadata": {"name": "a"}})
        assert len(webhook.reviews) == 1


async def test_a_response_that_is_too_large_is_not_read() -> None:
    async with running_webhook() as webhook:
        webhook.answer = lambda _request: {"allowed": True, "warnings": ["x" * 10_000]}
        target = Webhook(f"https://127.0.0.1:{webhook.port}/", authority().cert_pem.bytes().decode())
        review = json.dumps({"apiVersion": "v1", "kind": "AdmissionReview", "request": {"uid": "u"}}).encode()
        with pytest.raises(WebhookError, match="response body too large: more than 5000 bytes"):
            await call_webhook(target, review, max_bytes=5_000)
        assert len(await call_webhook(target, review, max_bytes=50_000)) > 10_000


async def test_a_webhook_that_writes_itself_does_not_wait_for_its_own_request() -> None:
    async with serving() as (_, client, webhook):
        await configure(client, webhook.configuration())
        webhook.may_answer.clear()
        async with asyncio.TaskGroup() as group:
            group.create_task(client.core_v1.config_maps("default").create({"metadata": {"name": "a"}}))
            await webhook.arrived.wait()
            await client.core_v1.secrets("default").create({"metadata": {"name": "by-the-webhook"}})
            webhook.may_answer.set()
        assert (await client.core_v1.config_maps("default").get("a")).metadata.name == "a"


@pytest.mark.parametrize(
    "url", ["https://a..b/", f"https://{'a' * 70}/", "https://127.0.0.1:99999/", "https://é℀/"], ids=ascii
)
async def test_a_webhook_that_cannot_be_dialled_fails_as_its_policy_says(url: str) -> None:
    async with serving() as (_, client, webhook):
        maps = client.core_v1.config_maps("default")
        unreachable = {"url": url, "caBundle": bundle()}
        await configure(client, webhook.configuration(clientConfig=unreachable, failurePolicy="Ignore"))
        await maps.create({"metadata": {"name": "ignored"}})
    with pytest.raises(WebhookError):
        await call_webhook(Webhook(url, PEM), b"{}", seconds=10)


@pytest.mark.parametrize(
    "location", ["https://127.0.0.1:99999/", "https://[::1/", "https://a..b/", "https://127.0.0.1:x/"], ids=ascii
)
async def test_a_redirect_to_nowhere_is_an_error_of_the_webhook(location: str) -> None:
    head = f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
    async with responding(head.encode()) as url:
        with pytest.raises(WebhookError, match=r"Location header|no such host"):
            await call_webhook(Webhook(url, PEM), b"{}", seconds=10)


async def test_the_status_of_an_error_may_be_nested_without_end() -> None:
    body = b"[" * 200_000
    head = (
        f"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    async with responding(head.encode() + body) as url:
        with pytest.raises(WebhookError, match="an error on the server"):
            await call_webhook(Webhook(url, PEM), b"{}", seconds=10)


async def test_a_large_response_is_complete_although_its_sender_hangs_up_at_once() -> None:
    body = b"x" * 2_000_000
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
    async with responding(head.encode() + body) as url:
        for _ in range(5):
            assert await call_webhook(Webhook(url, PEM), b"{}", seconds=30) == body


@asynccontextmanager
async def responding(response: bytes) -> AsyncIterator[str]:
    """Serve the same bytes to everyone over TLS, and hang up; yields the URL."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response)
        writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", 0, ssl=server_context())
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

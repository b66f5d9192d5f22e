"""The life of the webhooks of a manager: injection, rotation, development by URL, files."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.unit.webhook.serving import NAMES, POLICY, TlsClient, review

import masthead
from masthead._meta.patch import Patch
from masthead._webhook.configurations import configuration_objects
from masthead._webhook.locations import service_location
from masthead._webhook.rotation import CertificateSet, rotate
from masthead.api.admissionregistration.v1 import ValidatingWebhookConfiguration
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import ArgumentError, ForbiddenError, NotFoundError
from masthead.testing import Environment, in_virtual_time
from masthead.webhook import AdmissionRequest, DeniedError, RotationPolicy

if TYPE_CHECKING:
    from pathlib import Path

HOURLY = RotationPolicy(
    authority_validity=timedelta(hours=2),
    certificate_validity=timedelta(hours=2),
    renew_before=0.5,
    propagation=timedelta(minutes=5),
)


def make_manager(name: str = "hooks", policy: RotationPolicy | None = None) -> masthead.Manager:
    app = masthead.Manager(name, webhook_certificates=policy)

    @app.validate(ConfigMap)
    async def check(_: AdmissionRequest[ConfigMap], config: ConfigMap) -> None:
        if config.metadata.name == "bad":
            raise DeniedError("a bad name")

    return app


async def bundle_of(env: Environment, name: str = "hooks") -> bytes:
    found = await env.client.resource(ValidatingWebhookConfiguration).get(name)
    return found.webhooks[0].client_config.ca_bundle or b""


@in_virtual_time
async def test_a_lost_bundle_is_injected_again() -> None:
    async with Environment(make_manager()) as env:
        before = await bundle_of(env)
        configurations = env.client.resource(ValidatingWebhookConfiguration)
        patch = Patch.json([{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}])
        await configurations.patch("hooks", patch)
        await env.wait_for_idle()
        assert await bundle_of(env) == before
        stored = await configurations.get("hooks")
        owners = {entry.manager for entry in stored.metadata.managed_fields if "caBundle" in str(entry.fields_v1)}
        assert owners == {"masthead-webhooks"}


@in_virtual_time
async def test_a_deleted_secret_is_replaced_and_announced() -> None:
    async with Environment() as env:
        await env.start(make_manager)
        first = await bundle_of(env)
        await env.client.resource(Secret, "default").delete("hooks-webhook")
        await env.start(make_manager)
        await env.wait_for_idle()
        assert await bundle_of(env) != first
        # Both replicas present a certificate of the new authority.
        for replica in env.replicas:
            env.server.listen_on_service("default/hooks-webhook", replica.runtime.webhook_port or 0)
            with pytest.raises(ForbiddenError, match="a bad name"):
                await env.client.resource(ConfigMap, "default").create(ConfigMap.new("bad"))


@pytest.mark.slow
@in_virtual_time
async def test_certificates_rotate_without_a_failed_request() -> None:
    async with Environment(lambda: make_manager(policy=HOURLY), lambda: make_manager(policy=HOURLY)) as env:
        maps = env.client.resource(ConfigMap, "default")
        secrets = env.client.resource(Secret, "default")
        certificates_seen: set[bytes] = set()
        bundles_seen: set[bytes] = set()
        # Two rotations of authority and certificate, with two creates every minute.
        for step in range(150):
            await env.advance(60)
            await maps.create(ConfigMap.new(f"m{step}"))
            with pytest.raises(ForbiddenError, match="a bad name"):
                await maps.create(ConfigMap.new("bad"))
            certificates_seen.add((await secrets.get("hooks-webhook")).data["tls.crt"])
            bundles_seen.add(await bundle_of(env))
        # The bundles: one authority, two, the new one; and again.
        assert (len(certificates_seen), len(bundles_seen)) == (3, 5)


@in_virtual_time
async def test_readiness_waits_for_the_configuration() -> None:
    async with Environment(crds=[]) as env:
        app = make_manager()
        async with app.running(env.client, webhook_bind="127.0.0.1:0", probe_bind="0", metrics_bind="0") as runtime:
            await asyncio.sleep(5)
            [problem] = runtime.pending_work()
            assert problem.startswith("webhooks: ValidatingWebhookConfiguration hooks does not exist")
            webhooks = app.webhooks
            locate = service_location("default", "hooks-webhook")
            await env.client.apply_manifests(list(configuration_objects(webhooks, {"name": "hooks"}, locate)))
            await runtime.wait_for_webhooks()
            assert runtime.pending_work() == []


@in_virtual_time
async def test_a_development_server_is_registered_by_its_url_and_removed() -> None:
    async with Environment() as env:
        app = make_manager("laptop")
        port = 0
        async with app.running(
            env.client, webhook_bind="127.0.0.1:0", probe_bind="0", metrics_bind="0", webhook_url="https://127.0.0.1:1"
        ) as runtime:
            await runtime.wait_for_webhooks()
            port = runtime.webhook_port or 0
        with pytest.raises(NotFoundError):
            await env.client.resource(ValidatingWebhookConfiguration).get("laptop")
        async with make_manager("laptop").running(
            env.client,
            webhook_bind=f"127.0.0.1:{port}",
            probe_bind="0",
            metrics_bind="0",
            webhook_url=f"https://127.0.0.1:{port}",
        ) as runtime:
            await runtime.wait_for_webhooks()
            with pytest.raises(ForbiddenError, match="a bad name"):
                await env.client.resource(ConfigMap, "default").create(ConfigMap.new("bad"))
        await env.client.resource(ConfigMap, "default").create(ConfigMap.new("bad"))


@in_virtual_time
async def test_a_development_server_restores_the_configuration_of_the_cluster() -> None:
    async with Environment(make_manager()) as env:
        before = await env.client.resource(ValidatingWebhookConfiguration).get("hooks")
        async with make_manager().running(
            env.client, webhook_bind="127.0.0.1:0", probe_bind="0", metrics_bind="0", webhook_url="https://127.0.0.1:1"
        ) as runtime:
            await runtime.wait_for_webhooks()
            during = await env.client.resource(ValidatingWebhookConfiguration).get("hooks")
            assert during.webhooks[0].client_config.url == "https://127.0.0.1:1/validate/check.configmaps.core"
        after = await env.client.resource(ValidatingWebhookConfiguration).get("hooks")
        assert after.webhooks[0].client_config.service == before.webhooks[0].client_config.service
        assert after.webhooks[0].client_config.url is None


@in_virtual_time
async def test_certificates_of_files_are_reloaded_for_new_handshakes(tmp_path: Path) -> None:
    one, other = (rotate(CertificateSet(), NAMES, datetime.now(UTC), POLICY) for _ in range(2))

    def write(known: CertificateSet) -> None:
        (tmp_path / "tls.key").write_bytes(known.key)
        (tmp_path / "tls.crt").write_bytes(known.certificate)

    write(one)
    options: masthead.controller.RunOverrides = {
        "webhook_bind": "127.0.0.1:0",
        "probe_bind": "0",
        "metrics_bind": "0",
        "webhook_cert_dir": str(tmp_path),
    }
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    async with Environment() as env, make_manager().running(env.client, **options) as runtime:
        await runtime.wait_for_webhooks()
        port = runtime.webhook_port or 0
        before = await TlsClient.connect(port, one.bundle)
        assert (await before.post("/validate/check.configmaps.core", review(config)))[0] == 200
        write(other)
        await asyncio.sleep(11)
        after = await TlsClient.connect(port, other.bundle)
        for client in (before, after):
            assert (await client.post("/validate/check.configmaps.core", review(config)))[0] == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            await TlsClient.connect(port, one.bundle)

        # A half-written pair stays unused.
        (tmp_path / "tls.key").write_bytes(one.key)
        await asyncio.sleep(11)
        [problem] = runtime.pending_work()
        assert "the key belongs to another certificate" in problem
        again = await TlsClient.connect(port, other.bundle)
        for client in (before, after, again):
            client.close()
        # Nothing is stored or injected: the files have another owner.
        assert [secret.metadata.name for secret in await env.client.resource(Secret, "default").list()] == []


@pytest.mark.parametrize("url", ["http://host", "host:9443", "https://", "https://host:99999", "https://u:p@host"])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ArgumentError, match="webhook_url"):
        masthead.controller.RunOptions(webhook_url=url)

"""Bundles in configurations: whose they are, fights over them, and development runs beside a deployed manager."""

from __future__ import annotations

import asyncio
import base64
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from tests.unit.webhook.serving import certificates

import masthead
from masthead._meta.patch import Patch
from masthead._webhook.configurations import configuration_objects
from masthead._webhook.development import REPLACED_ANNOTATION, DevelopmentRegistration
from masthead._webhook.locations import service_location
from masthead.api.admissionregistration.v1 import ValidatingWebhookConfiguration
from masthead.api.apiextensions.v1 import CustomResourceDefinition
from masthead.api.core.v1 import ConfigMap
from masthead.errors import NotFoundError
from masthead.meta import Struct
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from masthead.webhook import AdmissionRequest

URL = "https://127.0.0.1:1"
CA = certificates().bundle


def make_manager() -> masthead.Manager:
    app = masthead.Manager("hooks")

    @app.validate(ConfigMap, failure_policy="Ignore")
    async def check(_: AdmissionRequest[ConfigMap], _config: ConfigMap) -> None:
        return None

    return app


async def read(env: Environment) -> ValidatingWebhookConfiguration:
    return await env.client.resource(ValidatingWebhookConfiguration).get("hooks")


def develop(env: Environment) -> DevelopmentRegistration:
    """Register a development run; a killed one is simply forgotten."""
    return DevelopmentRegistration(env.client, make_manager().webhooks, "hooks", URL, lambda: datetime.now(UTC))


@in_virtual_time
async def test_the_service_of_another_manager_is_left_alone() -> None:
    async with Environment(crds=[]) as env:
        app = make_manager()
        locate = service_location("sites", "hooks-webhook")
        await env.client.apply_manifests(list(configuration_objects(app.webhooks, {"name": "hooks"}, locate)))
        before = await read(env)
        async with app.running(env.client, webhook_bind="127.0.0.1:0", probe_bind="0", metrics_bind="0") as runtime:
            await asyncio.sleep(5)
            [problem] = runtime.pending_work()
            assert "names the Service sites/hooks-webhook, not default/hooks-webhook of this manager" in problem
            assert "run in the namespace sites, or without webhooks: --webhook-bind 0" in problem
        assert (await read(env)).metadata.resource_version == before.metadata.resource_version


@in_virtual_time
async def test_a_fight_over_a_bundle_slows_down_and_names_the_other_writer(caplog: pytest.LogCaptureFixture) -> None:
    async with Environment(make_manager) as env:
        configurations = env.client.resource(ValidatingWebhookConfiguration)
        ours = (await read(env)).webhooks[0].client_config.ca_bundle
        foreign = base64.b64encode(certificates().bundle).decode()
        patch = Patch.json([{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": foreign}])
        injections = 0
        for _ in range(120):
            if (await read(env)).webhooks[0].client_config.ca_bundle == ours:
                injections += 1
                await configurations.patch("hooks", patch, field_manager="cainjector")
            await env.advance(1)
        # The first is immediate, and the delays double at least.
        assert 4 <= injections <= 9
        warnings = [record.getMessage() for record in caplog.records if "caBundle" in record.getMessage()]
        assert len(warnings) == 1
        assert "the field manager 'cainjector' changes the caBundle" in warnings[0]
        await env.advance(300)
        assert (await read(env)).webhooks[0].client_config.ca_bundle == ours


@in_virtual_time
async def test_a_replica_leaves_the_url_of_a_development_run_and_restores_it_after_a_kill() -> None:
    async with Environment(make_manager) as env:
        before = await read(env)
        development = develop(env)
        await development.update(b"authority")
        for _ in range(5):
            await env.advance(40)
            await development.update(b"authority")
            found = (await read(env)).webhooks[0].client_config
            assert (found.url, found.ca_bundle) == (f"{URL}/validate/check.configmaps.core", b"authority")
        await env.advance(61)
        after = await read(env)
        assert after.webhooks == before.webhooks
        assert REPLACED_ANNOTATION not in after.metadata.annotations


@in_virtual_time
async def test_the_next_development_run_undoes_a_killed_one() -> None:
    async with Environment(make_manager) as env:
        before = await read(env)
        await develop(env).update(b"killed")
        following = develop(env)
        await following.update(b"next")
        assert (await read(env)).webhooks[0].client_config.ca_bundle == b"next"
        await following.close()
        assert (await read(env)).webhooks == before.webhooks


@in_virtual_time
async def test_the_next_development_run_deletes_the_configuration_that_a_killed_one_created() -> None:
    async with Environment() as env:
        await develop(env).update(b"killed")
        following = develop(env)
        await following.update(b"next")
        await following.close()
        with pytest.raises(NotFoundError):
            await read(env)


class PageSpec(Struct):
    title: str


class OldPage(masthead.CustomResource, group="injection.example.com", version="v1beta1", kind="Page", storage=False):
    spec: PageSpec


class Page(masthead.CustomResource, group="injection.example.com", version="v1"):
    spec: PageSpec


def make_converter() -> masthead.Manager:
    app = masthead.Manager("pages")
    app.convert(OldPage, Page)(lambda old: Page.new(spec=old.spec))
    app.convert(Page, OldPage)(lambda page: OldPage.new(spec=page.spec))
    return app


@in_virtual_time
async def test_the_conversion_of_a_definition_is_restored_after_a_killed_development_run() -> None:
    async with Environment(make_converter) as env:
        definitions = env.client.resource(CustomResourceDefinition)
        before = await definitions.get("pages.injection.example.com")
        clock = lambda: datetime.now(UTC)  # noqa: E731 - a clock
        await DevelopmentRegistration(env.client, make_converter().webhooks, "pages", URL, clock).update(CA)
        during = (await definitions.get("pages.injection.example.com")).spec.conversion
        assert during is not None
        assert during.webhook is not None
        assert during.webhook.client_config is not None
        assert during.webhook.client_config.url == f"{URL}/convert"
        await env.advance(61)
        assert (await definitions.get("pages.injection.example.com")).spec.conversion == before.spec.conversion

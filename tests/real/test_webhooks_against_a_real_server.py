"""A real kube-apiserver calls the webhooks of a manager by URL: mutation, validation, conversion, dry run, warnings."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead import webhook
from masthead.api.admissionregistration.v1 import ValidatingWebhookConfiguration
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import ForbiddenError, NotFoundError, StatusError, UnprocessableError
from masthead.meta import Struct
from masthead.webhook import AdmissionRequest, ConversionError, FieldError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.real_server import RealServer

    from masthead.rest import ServerWarning

pytestmark = [pytest.mark.real, pytest.mark.slow]
GROUP = "realhooks.example.com"


class OldSpec(Struct):
    container: str


class OldPage(masthead.CustomResource, group=GROUP, version="v1alpha1", kind="Page", storage=False):
    spec: OldSpec


class PageSpec(Struct):
    image: str
    replicas: int = 1


class Page(masthead.CustomResource, group=GROUP, version="v1"):
    spec: PageSpec


def make_manager() -> masthead.Manager:
    app = masthead.Manager("real-hooks")

    @app.mutate(Page, side_effects="NoneOnDryRun")
    def label(request: AdmissionRequest[Page], page: Page) -> None:
        page.metadata.labels["owner"] = request.user.username
        page.metadata.labels["dry"] = str(request.dry_run).lower()

    @app.validate(Page)
    def check(request: AdmissionRequest[Page], page: Page) -> list[FieldError]:
        if page.spec.replicas > 5:
            request.warn("this is expensive")
        if page.spec.replicas > 9:
            return [webhook.invalid("spec.replicas", page.spec.replicas, "must be less than 10")]
        if request.old is not None and request.old.spec.image != page.spec.image:
            return [webhook.forbidden("spec.image", "cannot be changed")]
        return []

    @app.validate(ConfigMap, operations=["DELETE"], object_selector={"keep": "yes"})
    async def keep(_: AdmissionRequest[ConfigMap], config: ConfigMap) -> None:
        raise webhook.DeniedError(f"{config.metadata.name} is kept")

    @app.validate(ConfigMap, match_conditions={"broken": "object.metadata.name == 'broken'"})
    def breaks(_: AdmissionRequest[ConfigMap], _config: ConfigMap) -> None:
        raise ValueError("a bug")

    @app.convert(OldPage, Page)
    def upgrade(old: OldPage) -> Page:
        if old.spec.container == "broken":
            raise ConversionError("there is no such container")
        return Page.new(spec=PageSpec(image=old.spec.container))

    @app.convert(Page, OldPage)
    def downgrade(page: Page) -> OldPage:
        return OldPage.new(spec=OldSpec(container=page.spec.image))

    return app


@contextlib.asynccontextmanager
async def running(server: RealServer, warnings: list[ServerWarning]) -> AsyncIterator[masthead.aio.Client]:
    config = masthead.Config(server=server.url, token=server.token, ca_data=server.ca_file.read_text("ascii"))
    async with masthead.aio.Client(config, on_warning=warnings.append) as client:
        await client.install_crds(Page, OldPage, force=True)
        port = find_free_port()
        overrides = {"webhook_bind": f"127.0.0.1:{port}", "webhook_url": f"https://127.0.0.1:{port}"}
        async with make_manager().running(client, probe_bind="0", metrics_bind="0", **overrides) as runtime:  # type: ignore[arg-type]
            await runtime.wait_for_webhooks()
            async with asyncio.timeout(30):
                await wait_for_calls(client)
            yield client


async def wait_for_calls(client: masthead.aio.Client) -> None:
    """Wait until the server calls the webhooks: it reads their configurations from a cache."""
    maps = client.resource(ConfigMap, "default")
    try:
        while True:
            await maps.create(ConfigMap.new("broken"), dry_run=True)
    except StatusError:
        return


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def test_the_server_calls_all_webhooks(real_server: RealServer) -> None:
    warnings: list[ServerWarning] = []
    async with running(real_server, warnings) as client:
        pages, old = client.resource(Page, "default"), client.resource(OldPage, "default")

        created = await pages.create(Page.new("a", spec=PageSpec(image="web:1", replicas=6)))
        assert created.metadata.labels == {"owner": "kubernetes-admin", "dry": "false"}
        assert [warning.text for warning in warnings] == ["this is expensive"]
        dry = await pages.create(Page.new("b", spec=PageSpec(image="web:1")), dry_run=True)
        assert dry.metadata.labels["dry"] == "true"

        with pytest.raises(UnprocessableError, match="must be less than 10") as caught:
            await pages.create(Page.new("c", spec=PageSpec(image="web:1", replicas=12)))
        assert caught.value.details is not None
        [cause] = caught.value.details.causes
        assert (cause.field, cause.reason) == ("spec.replicas", "FieldValueInvalid")
        created.spec.image = "web:2"
        with pytest.raises(UnprocessableError, match=r"spec\.image: Forbidden"):
            await pages.update(created)

        older = await old.get("a")
        assert older.spec.container == "web:1"
        assert older.metadata.labels == created.metadata.labels
        await old.create(OldPage.new("d", spec=OldSpec(container="web:3")))
        assert (await pages.get("d")).spec.image == "web:3"
        assert [page.spec.container for page in await old.list()] == ["web:1", "web:3"]
        with pytest.raises(StatusError, match="there is no such container"):
            await old.create(OldPage.new("e", spec=OldSpec(container="broken")))

        maps = client.resource(ConfigMap, "default")
        await maps.create(ConfigMap.new("kept", labels={"keep": "yes"}))
        with pytest.raises(ForbiddenError, match="kept is kept"):
            await maps.delete("kept")
        with pytest.raises(StatusError, match=r"webhook breaks\.configmaps\.core failed: ValueError"):
            await maps.create(ConfigMap.new("broken"))


async def test_the_registration_ends_with_the_manager(real_server: RealServer) -> None:
    async with running(real_server, []) as client:
        pass
    config = client.config
    async with masthead.aio.Client(config) as other:
        with pytest.raises(NotFoundError):
            await other.resource(ValidatingWebhookConfiguration).get("real-hooks")
        assert "real-hooks-webhook" not in [
            secret.metadata.name for secret in await other.resource(Secret, "default").list()
        ]

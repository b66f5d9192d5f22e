"""Webhooks of a manager behind the embedded server, in virtual time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import masthead
from masthead import webhook
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ForbiddenError, StatusError, UnprocessableError
from masthead.meta import Struct
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from masthead.webhook import AdmissionRequest, FieldError


class SiteSpec(Struct):
    image: str
    replicas: int = 1


class Site(masthead.CustomResource, group="webhooks.example.com", version="v1"):
    spec: SiteSpec


def make_manager() -> masthead.Manager:
    app = masthead.Manager("sites")

    @app.validate(Site)
    async def check(request: AdmissionRequest[Site], site: Site) -> list[FieldError]:
        if site.spec.replicas > 5:
            request.warn("this is expensive")
        if request.old is not None and request.old.spec.image != site.spec.image:
            return [webhook.forbidden("spec.image", "cannot be changed")]
        if site.spec.replicas > 9:
            return [webhook.invalid("spec.replicas", site.spec.replicas, "must be less than 10")]
        return []

    @app.mutate(Site)
    def label(request: AdmissionRequest[Site], site: Site) -> None:
        site.metadata.labels["dry"] = str(request.dry_run).lower()

    @app.validate(ConfigMap, operations=["DELETE"], name="keep.configmaps.core")
    def keep(_: AdmissionRequest[ConfigMap], config: ConfigMap) -> None:
        if config.data.get("keep"):
            raise webhook.DeniedError("this is kept")

    return app


@in_virtual_time
async def test_requests_are_mutated_validated_and_refused() -> None:
    async with Environment(make_manager) as env:
        sites = env.client.resource(Site, "default")
        created = await sites.create(Site.new("a", spec=SiteSpec(image="web:1")))
        assert created.metadata.labels == {"dry": "false"}
        dry = await sites.create(Site.new("b", spec=SiteSpec(image="web:1")), dry_run=True)
        assert dry.metadata.labels == {"dry": "true"}

        with pytest.raises(UnprocessableError) as caught:
            await sites.create(Site.new("c", spec=SiteSpec(image="web:1", replicas=12)))
        assert caught.value.details is not None
        [cause] = caught.value.details.causes
        assert (cause.field, cause.reason) == ("spec.replicas", "FieldValueInvalid")
        assert "must be less than 10" in str(caught.value)

        created.spec.image = "web:2"
        with pytest.raises(UnprocessableError, match=r"spec\.image"):
            await sites.update(created)


@in_virtual_time
async def test_deletions_see_the_stored_object() -> None:
    async with Environment(make_manager) as env:
        maps = env.client.resource(ConfigMap, "default")
        await maps.create(ConfigMap.new("a", data={"keep": "yes"}))
        with pytest.raises(ForbiddenError, match="this is kept"):
            await maps.delete("a")
        await maps.create(ConfigMap.new("b"))
        await maps.delete("b")


@in_virtual_time
async def test_a_manager_needs_the_permissions_of_its_manifests_only() -> None:
    async with Environment(make_manager) as env:
        await env.wait_for_idle()
        assert env.missing_permissions == []
    async with Environment(make_manager, rbac=True) as env:
        await env.client.resource(Site, "default").create(Site.new("a", spec=SiteSpec(image="web:1")))
        await env.wait_for_idle()


@in_virtual_time
async def test_a_failing_webhook_follows_its_failure_policy() -> None:
    app = masthead.Manager("failing")

    @app.validate(ConfigMap, failure_policy="Ignore", object_selector={"policy": "ignore"})
    def ignored(_: AdmissionRequest[ConfigMap], _config: ConfigMap) -> None:
        raise ValueError("a bug")

    @app.validate(ConfigMap, object_selector={"policy": "fail"})
    def fails(_: AdmissionRequest[ConfigMap], _config: ConfigMap) -> None:
        raise ValueError("a bug")

    async with Environment(app) as env:
        maps = env.client.resource(ConfigMap, "default")
        await maps.create(ConfigMap.new("a", labels={"policy": "ignore"}))
        with pytest.raises(StatusError, match=r"webhook fails\.configmaps\.core failed: ValueError"):
            await maps.create(ConfigMap.new("b", labels={"policy": "fail"}))
        assert [failure.partition(":")[0] for failure in env.failures] == [
            "webhook ignored.configmaps.core",
            "webhook fails.configmaps.core",
        ]


@pytest.mark.parametrize("year", [2019, 2045])
@in_virtual_time
async def test_certificates_are_valid_in_any_virtual_year_and_expire_in_it(year: int) -> None:
    async with Environment() as env:
        env.shift_clock((datetime(year, 1, 1) - datetime(2026, 1, 1)).total_seconds())  # noqa: DTZ001 - a difference
        await env.start(make_manager)
        sites = env.client.resource(Site, "default")
        await sites.create(Site.new("a", spec=SiteSpec(image="web:1")))

        # The manager looks at its certificate once per hour.
        env.shift_clock(timedelta(days=366).total_seconds())
        with pytest.raises(StatusError, match="certificate has expired"):
            await sites.create(Site.new("b", spec=SiteSpec(image="web:1")))
        await env.advance(3601)
        await sites.create(Site.new("b", spec=SiteSpec(image="web:1")))


@in_virtual_time
async def test_another_replica_serves_after_the_end_of_one() -> None:
    async with Environment() as env:
        first = await env.start(make_manager)
        second = await env.start(make_manager)
        sites = env.client.resource(Site, "default")
        await sites.create(Site.new("a", spec=SiteSpec(image="web:1")))
        await second.crash()
        await sites.create(Site.new("b", spec=SiteSpec(image="web:1")))
        assert first.is_running

"""The custom resource of the examples in docstrings, and what its operator does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import masthead
import masthead.aio
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap
from masthead.meta import Condition, Struct

if TYPE_CHECKING:
    from masthead.api.core.v1 import Secret
    from masthead.testing import Environment

__all__ = [
    "Website",
    "WebsiteSpec",
    "WebsiteStatus",
    "delete_bucket",
    "deployment_for",
    "make_app",
    "reconcile",
    "sites_using_secret",
    "workload",
]


class WebsiteSpec(Struct):
    image: str = "nginx"
    replicas: int = 1


class WebsiteStatus(Struct):
    ready: bool = False
    conditions: list[Condition] = []


class Website(masthead.CustomResource, group="example.com", version="v1"):
    spec: WebsiteSpec
    status: WebsiteStatus


def deployment_for(site: Website) -> Deployment:
    return Deployment.new(site.metadata.name)


def sites_using_secret(secret: Secret) -> list[masthead.controller.Request]:
    return [masthead.controller.Request.of(secret)]


async def delete_bucket(site: Website) -> None:
    print("deleted", site.key)


async def reconcile(ctx: masthead.aio.ReconcileContext[Website], site: Website) -> None:
    await ctx.apply(deployment_for(site))


async def apply_config(ctx: masthead.aio.ReconcileContext[Website], site: Website) -> None:
    await ctx.apply(ConfigMap.new(site.metadata.name, data={"image": site.spec.image}))


def make_app() -> masthead.Manager:
    app = masthead.Manager("website-operator")
    app.controller(Website, owns=[ConfigMap])(apply_config)
    return app


async def workload(env: Environment) -> None:
    await env.client.resource(Website, "default").create(Website.new("blog", spec=WebsiteSpec()))
    await env.wait_for_idle()

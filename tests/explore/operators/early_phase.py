"""A status that reports an installation before its objects exist.

A crash after the status update leaves nothing to do for the next reconcile: the phase is that of a complete
installation, and the Service or Deployment is missing or old for ever.
"""

import masthead
from masthead.aio import ReconcileContext
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import Service
from masthead.meta import Patch, Struct
from masthead.testing import Environment

PATTERN = "crash"
ORACLES = {"end-state"}


class ShopSpec(Struct):
    """The image of a shop."""

    image: str


class ShopStatus(Struct):
    """The installed image."""

    phase: str = ""
    image: str = ""


class Shop(masthead.CustomResource, group="example.com", version="v1"):
    """A shop: a Deployment and a Service."""

    spec: ShopSpec
    status: ShopStatus


CRDS = [Shop]


def deployment_of(shop: Shop) -> Deployment:
    """Return the Deployment of a shop."""
    labels = {"app": shop.metadata.name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "shop", "image": shop.spec.image}]}}
    return Deployment.new(shop.metadata.name, spec={"selector": {"matchLabels": labels}, "template": template})


def service_of(shop: Shop) -> Service:
    """Return the Service of a shop."""
    return Service.new(shop.metadata.name, spec={"selector": {"app": shop.metadata.name}, "ports": [{"port": 80}]})


class BuggyInstaller:
    """Writes the phase first, to keep others from installing the same image."""

    async def reconcile(self, ctx: ReconcileContext[Shop], shop: Shop) -> None:
        """Install an image that is not installed."""
        if shop.status.phase == "Installed" and shop.status.image == shop.spec.image:
            return
        await ctx.update_status({"phase": "Installed", "image": shop.spec.image})
        await ctx.apply(deployment_of(shop))
        await ctx.apply(service_of(shop))


class FixedInstaller:
    """Compares the objects themselves each time, and reports the outcome last."""

    async def reconcile(self, ctx: ReconcileContext[Shop], shop: Shop) -> None:
        """Bring both objects in line with the spec."""
        await ctx.apply(deployment_of(shop))
        await ctx.apply(service_of(shop))
        await ctx.update_status({"phase": "Installed", "image": shop.spec.image})


def make_buggy() -> masthead.Manager:
    """Make the operator with the bug."""
    app = masthead.Manager("shop-operator")
    app.controller(Shop, owns=[Deployment, Service])(BuggyInstaller)
    return app


def make_fixed() -> masthead.Manager:
    """Make the repaired operator."""
    app = masthead.Manager("shop-operator")
    app.controller(Shop, owns=[Deployment, Service])(FixedInstaller)
    return app


async def workload(env: Environment) -> None:
    """Create a shop, and change its image."""
    shops = env.client.resource(Shop, "default")
    await shops.create(Shop.new("books", spec={"image": "shop:1"}))
    await env.wait_for_idle()
    await shops.patch("books", Patch.merge({"spec": {"image": "shop:2"}}))
    await env.wait_for_idle()

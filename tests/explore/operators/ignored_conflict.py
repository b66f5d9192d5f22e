"""A conflict, taken for the success of another client.

The reconcile ends without an error when its update meets a conflict, and nothing that it watches changes again: the new
number of replicas is never written.
"""

import masthead
from masthead import ConflictError, NotFoundError
from masthead.aio import ReconcileContext
from masthead.api.apps.v1 import Deployment
from masthead.controller import Permission
from masthead.meta import Patch, Struct
from masthead.predicates import generation_changed
from masthead.testing import Environment

PATTERN = "conflict"
ORACLES = {"end-state"}


class ScalerSpec(Struct):
    """A Deployment and its size."""

    deployment: str
    replicas: int


class ScalerStatus(Struct):
    """The size that was set."""

    replicas: int = 0


class Scaler(masthead.CustomResource, group="example.com", version="v1"):
    """The size of a Deployment of another owner."""

    spec: ScalerSpec
    status: ScalerStatus


CRDS = [Scaler]


async def scale(ctx: ReconcileContext[Scaler], scaler: Scaler) -> None:
    """Set the size of a Deployment, with the version that was read."""
    deployments = ctx.client.apps_v1.deployments(ctx.request.namespace)
    try:
        deployment = await deployments.get(scaler.spec.deployment)
    except NotFoundError:
        raise masthead.TemporaryError(f"there is no Deployment {scaler.spec.deployment}", delay=1) from None
    if deployment.spec.replicas != scaler.spec.replicas:
        deployment.spec.replicas = scaler.spec.replicas
        await deployments.update(deployment)
    await ctx.update_status({"replicas": scaler.spec.replicas})


async def reconcile_buggy(ctx: ReconcileContext[Scaler], scaler: Scaler) -> None:
    """Scale, and leave conflicts to the next reconcile."""
    try:
        await scale(ctx, scaler)
    except ConflictError:
        ctx.log.info("another client has changed %s; the next event scales it", scaler.spec.deployment)


async def reconcile_fixed(ctx: ReconcileContext[Scaler], scaler: Scaler) -> None:
    """Scale; a conflict is an error, and errors are repeated."""
    await scale(ctx, scaler)


_PERMISSION = Permission(Deployment, "get", "update")


def make_buggy() -> masthead.Manager:
    """Make the operator with the bug."""
    app = masthead.Manager("scaler-operator")
    app.controller(Scaler, predicate=generation_changed, permissions=[_PERMISSION])(reconcile_buggy)
    return app


def make_fixed() -> masthead.Manager:
    """Make the repaired operator."""
    app = masthead.Manager("scaler-operator")
    app.controller(Scaler, predicate=generation_changed, permissions=[_PERMISSION])(reconcile_fixed)
    return app


async def workload(env: Environment) -> None:
    """Create a Deployment with a Scaler, scale it, and annotate the Deployment."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    deployments, scalers = env.client.apps_v1.deployments("default"), env.client.resource(Scaler, "default")
    await deployments.create(Deployment.new("web", spec=spec))
    await scalers.create(Scaler.new("web", spec={"deployment": "web", "replicas": 2}))
    await env.wait_for_idle()
    await scalers.patch("web", Patch.merge({"spec": {"replicas": 3}}))
    await env.wait_for_idle()
    await deployments.patch("web", Patch.merge({"metadata": {"annotations": {"team": "shop"}}}))
    await env.wait_for_idle()

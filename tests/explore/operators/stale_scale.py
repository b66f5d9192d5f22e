"""Claims beyond a cached number of replicas are deleted.

After a restart on an old view, the cache shows the number from before a scale-up: the operator deletes the data of all
members that were added since.
"""

import masthead
from masthead.aio import ReconcileContext
from masthead.api.apps.v1 import StatefulSet
from masthead.api.core.v1 import PersistentVolumeClaim
from masthead.meta import Patch, Struct, is_controlled_by
from masthead.testing import Environment

PATTERN = "stale"
ORACLES = {"loss"}


class RingSpec(Struct):
    """The size of a ring."""

    members: int = 1


class RingStatus(Struct):
    """The present size."""

    members: int = 0


class Ring(masthead.CustomResource, group="example.com", version="v1"):
    """A database whose members have a claim each; members leave in the order of their numbers, the last one first."""

    spec: RingSpec
    status: RingStatus


CRDS = [Ring]


def claim_of(ring: Ring, index: int) -> PersistentVolumeClaim:
    """Return the claim of a member."""
    name = ring.metadata.name
    labels = {"ring": name, "member": str(index)}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return PersistentVolumeClaim.new(f"data-{name}-{index}", labels=labels, spec=spec)


def stateful_set_of(ring: Ring) -> StatefulSet:
    """Return the StatefulSet of a ring."""
    labels = {"ring": ring.metadata.name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "db", "image": "db:1"}]}}
    spec = {
        "replicas": ring.spec.members,
        "serviceName": ring.metadata.name,
        "selector": {"matchLabels": labels},
        "template": template,
    }
    return StatefulSet.new(ring.metadata.name, spec=spec)


async def former_claims(ctx: ReconcileContext[Ring], ring: Ring) -> list[PersistentVolumeClaim]:
    """Return the claims of former members."""
    claims = ctx.client.core_v1.persistent_volume_claims(ctx.request.namespace)
    present = await claims.list(label_selector={"ring": ctx.request.name})
    return [claim for claim in present if int(claim.metadata.labels["member"]) >= ring.spec.members]


async def reconcile_buggy(ctx: ReconcileContext[Ring], ring: Ring) -> None:
    """Bring the ring to its size, and delete the data of former members."""
    claims = ctx.client.core_v1.persistent_volume_claims(ctx.request.namespace)
    for index in range(ring.spec.members):
        await ctx.apply(claim_of(ring, index))
    await ctx.apply(stateful_set_of(ring))
    for claim in await former_claims(ctx, ring):
        await claims.delete(claim.metadata.name)
    await ctx.update_status({"members": ring.spec.members})


async def reconcile_fixed(ctx: ReconcileContext[Ring], ring: Ring) -> None:
    """Do the same, but with the size that the server has, and not with an older one."""
    if not await ctx.confirm():
        return
    for index in range(ring.spec.members):
        await ctx.apply(claim_of(ring, index))
    await ctx.apply(stateful_set_of(ring))
    for claim in await former_claims(ctx, ring):
        if is_controlled_by(claim, ring):
            await ctx.delete(claim)
    await ctx.update_status({"members": ring.spec.members})


def make_buggy() -> masthead.Manager:
    """Make the operator with the bug."""
    app = masthead.Manager("ring-operator")
    app.controller(Ring, owns=[PersistentVolumeClaim, StatefulSet])(reconcile_buggy)
    return app


def make_fixed() -> masthead.Manager:
    """Make the repaired operator."""
    app = masthead.Manager("ring-operator")
    app.controller(Ring, owns=[PersistentVolumeClaim, StatefulSet])(reconcile_fixed)
    return app


async def workload(env: Environment) -> None:
    """Create a ring of one member, scale it to three, and to two."""
    rings = env.client.resource(Ring, "default")
    await rings.create(Ring.new("cass", spec={"members": 1}))
    await env.wait_for_idle()
    for members in (3, 2):
        await rings.patch("cass", Patch.merge({"spec": {"members": members}}))
        await env.wait_for_idle()

"""Claims that are deleted by name, because a cached object is being deleted.

After a restart on an old view, the cache shows the deletion of a predecessor: its successor of the same name loses its
data.
"""

import masthead
from masthead import NotFoundError
from masthead.aio import ReconcileContext
from masthead.api.core.v1 import PersistentVolumeClaim
from masthead.controller import Permission
from masthead.meta import Struct, has_finalizer, is_controlled_by, is_deleting
from masthead.testing import Environment

PATTERN = "stale"
ORACLES = {"loss", "end-state"}
FINALIZER = "example.com/claims"


class EnsembleSpec(Struct):
    """The size of an ensemble."""

    replicas: int = 1


class EnsembleStatus(Struct):
    """How far it is."""

    claims: int = 0


class Ensemble(masthead.CustomResource, group="example.com", version="v1"):
    """A group of servers with a claim each."""

    spec: EnsembleSpec
    status: EnsembleStatus


CRDS = [Ensemble]


def claim_of(ensemble: Ensemble, index: int) -> PersistentVolumeClaim:
    """Return the claim of a server."""
    name = ensemble.metadata.name
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return PersistentVolumeClaim.new(
        f"data-{name}-{index}", namespace=ensemble.metadata.namespace, labels={"ensemble": name}, spec=spec
    )


async def reconcile_buggy(ctx: ReconcileContext[Ensemble], ensemble: Ensemble) -> None:
    """Create the claims, and delete them with their ensemble."""
    ensembles = ctx.client.resource(Ensemble, ctx.request.namespace)
    claims = ctx.client.core_v1.persistent_volume_claims(ctx.request.namespace)
    if is_deleting(ensemble):
        for claim in await claims.list(label_selector={"ensemble": ctx.request.name}):
            await claims.delete(claim.metadata.name)
        released = ensemble.copy()
        released.metadata.finalizers.remove(FINALIZER)
        await ensembles.update(released)
        return
    if not has_finalizer(ensemble, FINALIZER):
        guarded = ensemble.copy()
        guarded.metadata.finalizers.append(FINALIZER)
        await ensembles.update(guarded)
    for index in range(ensemble.spec.replicas):
        claim = claim_of(ensemble, index)
        if await ctx.get(PersistentVolumeClaim, claim.metadata.name) is None:
            await claims.create(claim)
    await ctx.update_status({"claims": ensemble.spec.replicas})


async def reconcile_fixed(ctx: ReconcileContext[Ensemble], ensemble: Ensemble) -> None:
    """Do the same, with claims that have an owner, and a deletion that the server has confirmed."""
    if await ctx.finalize(lambda: delete_claims(ctx, ensemble)):
        return
    for index in range(ensemble.spec.replicas):
        await ctx.apply(claim_of(ensemble, index))
    await ctx.update_status({"claims": ensemble.spec.replicas})


async def delete_claims(ctx: ReconcileContext[Ensemble], ensemble: Ensemble) -> None:
    """Delete the claims of this ensemble, and not those of a successor."""
    claims = ctx.client.core_v1.persistent_volume_claims(ctx.request.namespace)
    for claim in await claims.list(label_selector={"ensemble": ctx.request.name}):
        if is_controlled_by(claim, ensemble):
            try:
                await claims.delete(claim.metadata.name, uid=claim.metadata.uid)
            except NotFoundError:
                ctx.log.debug("%s is deleted already", claim.key)


def ensembles_of(claim: PersistentVolumeClaim) -> str | None:
    """Return the key of the ensemble of a claim."""
    name = claim.metadata.labels.get("ensemble")
    return f"{claim.metadata.namespace}/{name}" if name else None


def make_buggy() -> masthead.Manager:
    """Make the operator with the bug."""
    app = masthead.Manager("ensemble-operator")
    permissions = [Permission(Ensemble, "update"), Permission(PersistentVolumeClaim, "create", "delete")]
    app.controller(Ensemble, watches={PersistentVolumeClaim: ensembles_of}, permissions=permissions)(reconcile_buggy)
    return app


def make_fixed() -> masthead.Manager:
    """Make the repaired operator."""
    app = masthead.Manager("ensemble-operator")
    app.controller(Ensemble, owns=[PersistentVolumeClaim], finalizer=FINALIZER)(reconcile_fixed)
    return app


async def workload(env: Environment) -> None:
    """Create an ensemble, delete it, and create another one of the same name."""
    ensembles = env.client.resource(Ensemble, "default")
    await ensembles.create(Ensemble.new("zk", spec={"replicas": 2}))
    await env.wait_for_idle()
    await ensembles.delete("zk")
    await env.wait_for_idle()
    await ensembles.create(Ensemble.new("zk", spec={"replicas": 1}))
    await env.wait_for_idle()

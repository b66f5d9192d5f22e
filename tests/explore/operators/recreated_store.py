"""Claims that are deleted when the operator notices the deletion of their owner.

If the deletion and the re-creation of the owner are not seen apart, as after a downtime, the new owner gets the claim
and the data of its predecessor.
"""

import masthead
from masthead import NotFoundError
from masthead.aio import ReconcileContext
from masthead.api.core.v1 import PersistentVolumeClaim
from masthead.controller import Permission
from masthead.errors import AlreadyExistsError, ConflictError
from masthead.meta import Struct, is_controlled_by, is_deleting, set_controller
from masthead.testing import Environment

PATTERN = "unobserved"
ORACLES = {"end-state", "loss"}


class StoreSpec(Struct):
    """The size of a store."""

    size: str


class StoreStatus(Struct):
    """Its claim."""

    claim: str = ""


class Store(masthead.CustomResource, group="example.com", version="v1"):
    """A store with one claim."""

    spec: StoreSpec
    status: StoreStatus


CRDS = [Store]


def claim_of(store: Store) -> PersistentVolumeClaim:
    """Return the claim of a store."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": store.spec.size}}}
    name = store.metadata.name
    return PersistentVolumeClaim.new(
        f"store-{name}", namespace=store.metadata.namespace, labels={"store": name}, spec=spec
    )


async def reconcile_buggy(ctx: ReconcileContext[Store], store: Store | None) -> None:
    """Create the claim of a store, or delete that of a deleted store."""
    claims = ctx.client.core_v1.persistent_volume_claims(ctx.request.namespace)
    present = await ctx.get(PersistentVolumeClaim, f"store-{ctx.request.name}")
    if store is None:
        if present is not None and not is_deleting(present):
            await claims.delete(present.metadata.name)
        return
    if present is None:
        present = await claims.create(claim_of(store))
    await ctx.update_status({"claim": present.metadata.name})


async def reconcile_fixed(ctx: ReconcileContext[Store], store: Store) -> None:
    """Create a claim that the garbage collector deletes with its store, once the claim of a predecessor is deleted."""
    claims = ctx.client.core_v1.persistent_volume_claims(ctx.request.namespace)
    try:
        present = await claims.get(f"store-{ctx.request.name}")
    except NotFoundError:
        present = None
    if present is not None and is_controlled_by(present, store):
        await ctx.update_status({"claim": present.metadata.name})
        return
    # After the read of the claim: it belongs to a predecessor, and not to a successor, if this store is alive.
    if not await ctx.confirm():
        return
    if present is not None:
        await delete_claim(ctx, present)
        return
    claim = claim_of(store)
    set_controller(claim, store)
    try:
        await claims.create(claim)
    except AlreadyExistsError:
        raise masthead.TemporaryError(f"{claim.key} was created by somebody else", delay=1) from None
    await ctx.update_status({"claim": claim.metadata.name})


async def delete_claim(ctx: ReconcileContext[Store], claim: PersistentVolumeClaim) -> None:
    """Delete this claim; its end reconciles the store again."""
    if is_deleting(claim):
        return
    claims = ctx.client.core_v1.persistent_volume_claims(ctx.request.namespace)
    try:
        await claims.delete(claim.metadata.name, uid=claim.metadata.uid)
    except (NotFoundError, ConflictError):
        raise masthead.TemporaryError(f"{claim.key} was deleted by somebody else", delay=1) from None


def store_of(claim: PersistentVolumeClaim) -> str | None:
    """Return the key of the store of a claim."""
    name = claim.metadata.labels.get("store")
    return f"{claim.metadata.namespace}/{name}" if name else None


_PERMISSION = Permission(PersistentVolumeClaim, "create", "delete")


def make_buggy() -> masthead.Manager:
    """Make the operator with the bug."""
    app = masthead.Manager("store-operator")
    app.controller(Store, watches={PersistentVolumeClaim: store_of}, permissions=[_PERMISSION])(reconcile_buggy)
    return app


def make_fixed() -> masthead.Manager:
    """Make the repaired operator."""
    app = masthead.Manager("store-operator")
    app.controller(Store, watches={PersistentVolumeClaim: store_of}, permissions=[_PERMISSION])(reconcile_fixed)
    return app


async def workload(env: Environment) -> None:
    """Create a store, delete it, and create a larger one of the same name."""
    stores = env.client.resource(Store, "default")
    await stores.create(Store.new("mail", spec={"size": "1Gi"}))
    await env.wait_for_idle()
    await stores.delete("mail")
    await env.wait_for_idle()
    await stores.create(Store.new("mail", spec={"size": "2Gi"}))
    await env.wait_for_idle()

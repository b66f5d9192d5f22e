"""A bucket of a cloud provider, created before its id is stored.

A crash between the call of the provider and the status update forgets the bucket: the next reconcile buys another one,
and nobody deletes the first.
"""

import masthead
from masthead.aio import ReconcileContext
from masthead.meta import Patch, Struct
from masthead.testing import Environment

PATTERN = "crash"
ORACLES = {"external-state", "repeated-effect"}
FINALIZER = "example.com/bucket"


class BucketSpec(Struct):
    """Region and quota."""

    region: str
    quota: int = 10


class BucketStatus(Struct):
    """The bucket at the provider."""

    id: str = ""
    quota: int = 0


class Bucket(masthead.CustomResource, group="example.com", version="v1"):
    """A bucket at a cloud provider."""

    spec: BucketSpec
    status: BucketStatus


CRDS = [Bucket]


class Cloud:
    """A cloud provider: it chooses the ids of its buckets, and knows the token of each order.

    Attributes:
        buckets: Region, quota and token of each bucket, by id.
    """

    def __init__(self) -> None:
        self.buckets: dict[str, tuple[str, int, str]] = {}
        self._orders = 0

    def create(self, region: str, token: str = "") -> str:
        """Create a bucket; an order with a known token returns the bucket of the first order."""
        for bucket, (_, _, known) in self.buckets.items():
            if token and token == known:
                return bucket
        self._orders += 1
        bucket = f"bucket-{self._orders}"
        self.buckets[bucket] = (region, 0, token)
        return bucket

    def resize(self, bucket: str, quota: int) -> None:
        """Set the quota of a bucket."""
        region, _, token = self.buckets[bucket]
        self.buckets[bucket] = (region, quota, token)

    def delete(self, bucket: str) -> None:
        """Delete a bucket, if it exists."""
        self.buckets.pop(bucket, None)

    def find(self, token: str) -> list[str]:
        """Return the buckets of an order."""
        return [bucket for bucket, (_, _, known) in self.buckets.items() if known == token]


EXTERNAL = Cloud


def make_buggy(cloud: Cloud) -> masthead.Manager:
    """Make the operator with the bug."""
    app = masthead.Manager("bucket-operator")

    @app.controller(Bucket, finalizer=FINALIZER)
    async def reconcile(ctx: ReconcileContext[Bucket], bucket: Bucket) -> None:
        if await ctx.finalize(lambda: cloud.delete(bucket.status.id)):
            return
        identity = bucket.status.id
        if not identity:
            identity = cloud.create(bucket.spec.region)
            await ctx.update_status({"id": identity})
        if bucket.status.quota != bucket.spec.quota:
            cloud.resize(identity, bucket.spec.quota)
            await ctx.update_status({"quota": bucket.spec.quota})

    return app


def make_fixed(cloud: Cloud) -> masthead.Manager:
    """Make the repaired operator: the uid of the object is the token of its order."""
    app = masthead.Manager("bucket-operator")

    @app.controller(Bucket, finalizer=FINALIZER)
    async def reconcile(ctx: ReconcileContext[Bucket], bucket: Bucket) -> None:
        token = bucket.metadata.uid

        def delete() -> None:
            for identity in cloud.find(token):
                cloud.delete(identity)

        if await ctx.finalize(delete):
            return
        if bucket.status.id and bucket.status.quota == bucket.spec.quota:
            return
        # A stale cache may show a bucket that was deleted, or an older quota.
        if not await ctx.confirm():
            return
        identity = cloud.create(bucket.spec.region, token)
        cloud.resize(identity, bucket.spec.quota)
        await ctx.update_status({"id": identity, "quota": bucket.spec.quota})

    return app


async def workload(env: Environment) -> None:
    """Order a bucket, change its quota, and delete it."""
    buckets = env.client.resource(Bucket, "default")
    await buckets.create(Bucket.new("photos", spec={"region": "north"}))
    await env.wait_for_idle()
    await buckets.patch("photos", Patch.merge({"spec": {"quota": 20}}))
    await env.wait_for_idle()
    await buckets.delete("photos")
    await env.wait_for_idle()

"""A Job with a generated name that is created because the cache shows none.

After a restart on an old view, the cache is that from before the Job: the operator migrates the database a second time.
"""

import masthead
from masthead import AlreadyExistsError, ReconcileContext, TemporaryError
from masthead.api.batch.v1 import Job
from masthead.meta import Patch, Struct, is_controlled_by, set_controller
from masthead.testing import Environment

PATTERN = "stale"
ORACLES = {"repeated-effect", "end-state"}


class ReleaseSpec(Struct):
    """Version and size."""

    version: int
    replicas: int = 1


class ReleaseStatus(Struct):
    """The version of the last migration, and the size."""

    migrating: int = 0
    replicas: int = 0


class Release(masthead.CustomResource, group="example.com", version="v1"):
    """A release, whose database is migrated once for each version."""

    spec: ReleaseSpec
    status: ReleaseStatus


CRDS = [Release]


def job_of(release: Release) -> Job:
    """Return the migration of a version, without a name."""
    labels = {"release": release.metadata.name, "version": str(release.spec.version)}
    container = {"name": "migrate", "image": f"migrate:{release.spec.version}"}
    spec = {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    job = Job.new(namespace=release.metadata.namespace, labels=labels, spec=spec)
    set_controller(job, release)
    return job


def reconcile_buggy(ctx: ReconcileContext[Release], release: Release) -> None:
    """Start the migration unless there is one."""
    job = job_of(release)
    if not ctx.list(Job, label_selector=job.metadata.labels):
        job.metadata.generate_name = f"{ctx.request.name}-migrate-"
        ctx.client.batch_v1.jobs(ctx.request.namespace).create(job)
    ctx.update_status({"migrating": release.spec.version, "replicas": release.spec.replicas})


def reconcile_fixed(ctx: ReconcileContext[Release], release: Release) -> None:
    """Start the migration under a name that only it can have."""
    job = job_of(release)
    if not ctx.list(Job, label_selector=job.metadata.labels):
        if not ctx.confirm():
            return
        job.metadata.name = f"{ctx.request.name}-migrate-{release.spec.version}"
        start_once(ctx, release, job)
    ctx.update_status({"migrating": release.spec.version, "replicas": release.spec.replicas})


def start_once(ctx: ReconcileContext[Release], release: Release, job: Job) -> None:
    """Create a Job, unless it exists."""
    jobs = ctx.client.batch_v1.jobs(ctx.request.namespace)
    try:
        jobs.create(job)
    except AlreadyExistsError:
        if not is_controlled_by(jobs.get(job.metadata.name), release):
            raise TemporaryError(f"{job.key} belongs to a deleted release", delay=1) from None


def make_buggy() -> masthead.Manager:
    """Make the operator with the bug."""
    app = masthead.Manager("release-operator")
    app.controller(Release, owns=[Job])(reconcile_buggy)
    return app


def make_fixed() -> masthead.Manager:
    """Make the repaired operator."""
    app = masthead.Manager("release-operator")
    app.controller(Release, owns=[Job])(reconcile_fixed)
    return app


async def workload(env: Environment) -> None:
    """Release a version, and scale it."""
    releases = env.client.resource(Release, "default")
    await releases.create(Release.new("shop", spec={"version": 1}))
    await env.wait_for_idle()
    await releases.patch("shop", Patch.merge({"spec": {"replicas": 2}}))
    await env.wait_for_idle()

"""Two Secrets whose creation is guarded by the existence of the first.

A crash between the two creates leaves the first one alone: the next reconcile finds it, and takes both for done.
"""

import secrets

import masthead
from masthead import AlreadyExistsError, ReconcileContext, TemporaryError
from masthead.api.core.v1 import Secret
from masthead.meta import Patch, Struct, is_controlled_by, set_controller
from masthead.testing import Environment

PATTERN = "crash"
ORACLES = {"end-state"}


class DatabaseSpec(Struct):
    """The version of a database."""

    version: str


class DatabaseStatus(Struct):
    """How far it is."""

    phase: str = ""
    version: str = ""


class Database(masthead.CustomResource, group="example.com", version="v1"):
    """A database with one certificate for its clients and one for its members."""

    spec: DatabaseSpec
    status: DatabaseStatus


CRDS = [Database]


def secret_of(database: Database, suffix: str, authority: str) -> Secret:
    """Return a certificate: a new key, signed by an authority."""
    data = {"ca.crt": authority, "tls.key": secrets.token_hex(8)}
    secret = Secret.new(f"{database.metadata.name}-{suffix}", namespace=database.metadata.namespace, string_data=data)
    set_controller(secret, database)
    return secret


def reconcile_buggy(ctx: ReconcileContext[Database], database: Database) -> None:
    """Create both certificates at the first reconcile."""
    client = ctx.client.core_v1.secrets(ctx.request.namespace)
    if ctx.get(Secret, f"{ctx.request.name}-tls") is None:
        authority = secrets.token_hex(8)
        client.create(secret_of(database, "tls", authority))
        client.create(secret_of(database, "tls-internal", authority))
    ctx.update_status({"phase": "Ready", "version": database.spec.version})


def reconcile_fixed(ctx: ReconcileContext[Database], database: Database) -> None:
    """Create each certificate that is missing; the second one has the authority of the first."""
    public = ensure_secret(ctx, database, "tls", "")
    if public is None:
        return
    authority = public.data["ca.crt"].decode()
    if ensure_secret(ctx, database, "tls-internal", authority) is None:
        return
    ctx.update_status({"phase": "Ready", "version": database.spec.version})


def ensure_secret(ctx: ReconcileContext[Database], database: Database, suffix: str, authority: str) -> Secret | None:
    """Return a certificate, after creating it if necessary; None if the database does not exist any more."""
    client = ctx.client.core_v1.secrets(ctx.request.namespace)
    secret = ctx.get(Secret, f"{ctx.request.name}-{suffix}")
    if secret is None:
        if not ctx.confirm():
            return None
        try:
            secret = client.create(secret_of(database, suffix, authority or secrets.token_hex(8)))
        except AlreadyExistsError:
            # The cache is behind, or the last response was lost.
            secret = client.get(f"{ctx.request.name}-{suffix}")
    if not is_controlled_by(secret, database):
        raise TemporaryError(f"{secret.key} belongs to a deleted database", delay=1)
    return secret


def make_buggy() -> masthead.Manager:
    """Make the operator with the bug."""
    app = masthead.Manager("database-operator")
    app.controller(Database, owns=[Secret])(reconcile_buggy)
    return app


def make_fixed() -> masthead.Manager:
    """Make the repaired operator."""
    app = masthead.Manager("database-operator")
    app.controller(Database, owns=[Secret])(reconcile_fixed)
    return app


async def workload(env: Environment) -> None:
    """Create a database, and change its version."""
    databases = env.client.resource(Database, "default")
    await databases.create(Database.new("orders", spec={"version": "16"}))
    await env.wait_for_idle()
    await databases.patch("orders", Patch.merge({"spec": {"version": "17"}}))
    await env.wait_for_idle()

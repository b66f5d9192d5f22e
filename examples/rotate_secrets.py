"""An operator that gives Secrets a new password every so often, and restarts the Deployments that use them.

It is for Secrets with the label ``rotate=password``; their annotation ``example.com/rotate-hours`` has the interval.
Run it with ``masthead run examples/rotate_secrets.py``, which has the options.
"""

import argparse
import secrets
from datetime import datetime, timedelta

import masthead
from masthead.aio import ReconcileContext
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import Secret
from masthead.controller import CacheReader, Permission
from masthead.meta import Patch

HOURS, ROTATED = "example.com/rotate-hours", "example.com/rotated"

app = masthead.Manager(leader_election="rotate-secrets")


def rotated_at(secret: Secret) -> datetime | None:
    """When it was rotated, if ever."""
    text = secret.metadata.annotations.get(ROTATED)
    return datetime.fromisoformat(text) if text else None


def uses(deployment: Deployment, name: str) -> bool:
    """Whether its pods read a Secret: from a volume or from their environment."""
    pod = deployment.spec.template.spec
    containers = [*pod.init_containers, *pod.containers]
    names = {volume.secret.secret_name for volume in pod.volumes if volume.secret}
    names |= {each.secret_ref.name for one in containers for each in one.env_from if each.secret_ref}
    values = [each.value_from for one in containers for each in one.env if each.value_from]
    names |= {value.secret_key_ref.name for value in values if value.secret_key_ref}
    return name in names


def secrets_of(deployment: Deployment, cache: CacheReader) -> list[Secret]:
    """The Secrets that it uses: if the cache shows a Deployment late, it is restarted late, and not never."""
    found = cache.list(Secret, namespace=deployment.metadata.namespace)
    return [secret for secret in found if uses(deployment, secret.metadata.name)]


@app.controller(
    Secret,
    label_selector="rotate=password",
    watches={Deployment: secrets_of},
    permissions=[Permission(Secret, "patch"), Permission(Deployment, "patch")],
)
async def rotate(ctx: ReconcileContext[Secret], secret: Secret) -> masthead.controller.Result:
    """Rotate a Secret if it is due, restart its users, and return when it is due again."""
    name, namespace = secret.metadata.name, secret.metadata.namespace
    period = timedelta(hours=float(secret.metadata.annotations.get(HOURS, "24")))
    rotated = rotated_at(secret)
    if rotated is None or ctx.now >= rotated + period:
        rotated = ctx.now
        # With its version: two leaders, one of them late, must not rotate it twice.
        stamp = {
            "annotations": {ROTATED: rotated.isoformat()},
            "resourceVersion": secret.metadata.resource_version,
        }
        password = {"password": secrets.token_urlsafe(32)}
        change = Patch.merge({"metadata": stamp, "stringData": password})
        await ctx.client.core_v1.secrets(namespace).patch(name, change)
        ctx.record("Normal", "Rotated", f"the next password is due in {period}")
    annotations = {f"rotated.example.com/{name}": rotated.isoformat()}
    for deployment in await ctx.list(Deployment):
        if uses(deployment, name):  # a new annotation in the pod template restarts it; the same one changes nothing
            spec = {"template": {"metadata": {"annotations": annotations}}}
            wanted = Deployment.new(deployment.metadata.name, spec=spec)
            await ctx.apply(wanted, owned=False, field_manager=f"rotate-{secret.metadata.uid}")
    return masthead.controller.Result(requeue_after=(rotated + period - ctx.now).total_seconds())


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    app.run()

"""Service accounts of managers in test environments, with the roles that ``masthead manifests`` writes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead._config.model import Impersonation
from masthead._controller.rbac_rules import grants_of
from masthead._scaffold.access import access_objects
from masthead._scaffold.settings import Deploy
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._client.client import Client
    from masthead._config.model import Config
    from masthead._controller.manager import Manager
    from masthead._controller.options import RunOptions
    from masthead._controller.rbac_rules import Grant

__all__ = ["create_account", "describe_missing"]

_POLL_SECONDS: Final = 0.05
_MAX_POLLS: Final = 200


async def create_account(client: Client, manager: Manager, options: RunOptions) -> Config:
    """Create the service account of a manager with its roles and bindings; return the configuration to act as it.

    Args:
        client: A client of an administrator, in whose namespace the account is created.
        manager: The manager.
        options: The options of its run.

    Raises:
        ConfigError: If the name of the manager cannot be the name of objects, or if the server ignores its roles.
        MastheadError: If the objects cannot be created: a watched namespace does not exist, say.
    """
    deploy = Deploy(manager, options, target="", image="", namespace=client.namespace)
    await client.apply_manifests(list(access_objects(deploy)), force=True)
    account = Impersonation(user=f"system:serviceaccount:{client.namespace}:{deploy.name}")
    # One permission of each role shows that the server knows the role and its binding.
    for grant in {grant.namespace: grant for grant in grants_of(manager, options, client.namespace)}.values():
        await _wait_for_access(client, account.user, grant)
    return replace(client.config, impersonate=account)


async def _wait_for_access(client: Client, user: str, grant: Grant) -> None:
    """Wait until the server allows something: a real one learns of new roles and bindings a moment later.

    Raises:
        ConfigError: If it does not within ten seconds.
    """
    from masthead.api.authorization.v1 import ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec

    resource, _, subresource = grant.resource.partition("/")
    wanted = ResourceAttributes(
        namespace=grant.namespace,
        verb=grant.verb,
        group=grant.group,
        resource=resource,
        subresource=subresource,
        name=grant.name,
    )
    review = SubjectAccessReview(spec=SubjectAccessReviewSpec(user=user, resource_attributes=wanted))
    for _ in range(_MAX_POLLS):
        answer = await client.authorization_v1.subject_access_reviews.create(review)
        if answer.status.allowed:
            return
        await asyncio.sleep(_POLL_SECONDS)
    raise ConfigError(f"the server does not let {user} {grant.verb} {grant.resource}: does it authorize by RBAC?")


def describe_missing(permissions: Sequence[str]) -> list[str]:
    """Return lines about permissions that a manager lacks; none if it lacks none."""
    if not permissions:
        return []
    return [
        "the service account is not allowed to:",
        *(f"  {permission}" for permission in permissions),
        "  declare the kind (owns=, watches=, reads=) or the finalizer, or add a masthead.controller.Permission",
    ]

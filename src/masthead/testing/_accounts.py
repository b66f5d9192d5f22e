"""Service accounts of managers in test environments, with the roles that ``masthead manifests`` writes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from masthead._config.model import Impersonation
from masthead._scaffold.access import access_objects
from masthead._scaffold.settings import Deploy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._client.client import Client
    from masthead._config.model import Config
    from masthead._controller.manager import Manager
    from masthead._controller.options import RunOptions

__all__ = ["create_account", "describe_missing"]


async def create_account(client: Client, manager: Manager, options: RunOptions) -> Config:
    """Create the service account of a manager with its roles and bindings; return the configuration to act as it.

    Args:
        client: A client of an administrator, in whose namespace the account is created.
        manager: The manager.
        options: The options of its run.

    Raises:
        ConfigError: If the name of the manager cannot be the name of objects.
        MastheadError: If the objects cannot be created: a watched namespace does not exist, say.
    """
    deploy = Deploy(manager, options, target="", image="", namespace=client.namespace)
    await client.apply_manifests(list(access_objects(deploy)), force=True)
    account = Impersonation(user=f"system:serviceaccount:{client.namespace}:{deploy.name}")
    return replace(client.config, impersonate=account)


def describe_missing(permissions: Sequence[str]) -> list[str]:
    """Return lines about permissions that a manager lacks; none if it lacks none."""
    if not permissions:
        return []
    return [
        "the service account is not allowed to:",
        *(f"  {permission}" for permission in permissions),
        "  declare the kind (owns=, watches=, reads=) or the finalizer, or add a masthead.controller.Permission",
    ]

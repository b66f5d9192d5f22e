"""Writers of the objects that informers cache."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.patch import Patch
from masthead._sansio.backoff import Attempts
from masthead.aio import retry_on
from masthead.api.core.v1 import ConfigMap
from masthead.errors import (
    AlreadyExistsError,
    ForbiddenError,
    InternalServerError,
    NotFoundError,
    ServiceUnavailableError,
    TooManyRequestsError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._client.dynamic import DynamicResource
    from masthead._client.resource import ResourceClient
    from masthead.aio import Client

INSISTENT = Attempts(count=1200, first=0.05, factor=1.0, jitter=0.0)
"""Errors of a server that is down or starting, for callers that ignore them."""
PASSING = (
    TransportError,
    NotFoundError,
    ForbiddenError,
    ServiceUnavailableError,
    TooManyRequestsError,
    InternalServerError,
)
"""Errors of a server that is stopping, down or starting."""
GROUP = "informed.example.com"


async def fill(configs: ResourceClient[ConfigMap], names: Iterable[object], *, payload: int = 0, **labels: str) -> None:
    """Make config maps, several at a time.

    Args:
        configs: Where.
        names: What comes behind the ``c-`` of each name, and is its value at first.
        payload: How many bytes each has beside.
        labels: What labels each has.
    """
    left = iter(names)

    async def some() -> None:
        for name in left:
            data = {"n": str(name), "payload": "x" * payload}
            await configs.create(ConfigMap.new(f"c-{name}", labels=labels, data=data))

    async with asyncio.TaskGroup() as group:
        for _ in range(16):
            group.create_task(some())


async def change(configs: ResourceClient[ConfigMap], name: object, value: str) -> ConfigMap:
    """Give a config map another value."""
    return await configs.patch(f"c-{name}", Patch.merge({"data": {"n": value}}))


async def insist(resource: Any, obj: dict[str, Any], number: int) -> None:
    """Make an object, change every second one and delete every third, whether the server is there or not.

    A request without a response is retried; so it may have succeeded, and be rejected the second time.
    """
    name = f"c-{number}"

    async def make() -> None:
        with suppress(AlreadyExistsError):
            await resource.create({**obj, "metadata": {"name": name}})

    async def mark() -> None:
        await resource.patch(name, Patch.merge({"metadata": {"labels": {"is": "marked"}}}))

    async def delete() -> None:
        with suppress(NotFoundError):
            await resource.delete(name)

    for step, every in ((make, 1), (mark, 2), (delete, 3)):
        if number % every == 0:
            await retry_on(step, *PASSING, attempts=INSISTENT)


WIDGET = {"apiVersion": f"{GROUP}/v1", "kind": "Widget"}


def widgets_of(client: Client, namespace: str | None, group: str = GROUP) -> DynamicResource:
    """Objects of a kind of our own."""
    return client.dynamic(GroupVersionResource(group, "v1", "widgets"), namespace=namespace)


async def define(client: Client, group: str = GROUP) -> None:
    """Define our kind, if it is not, and wait until it is served. One that is just being deleted is waited for."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    names = {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    definitions = client.apiextensions_v1.custom_resource_definitions()

    async def serve() -> None:
        with suppress(AlreadyExistsError):
            await definitions.create({"metadata": {"name": f"widgets.{group}"}, "spec": spec})
        found = await definitions.get(f"widgets.{group}")
        if found.metadata.deletion_timestamp is not None:
            raise NotFoundError("the old definition is on its way out")
        await widgets_of(client, None, group).list()

    await retry_on(serve, NotFoundError, attempts=INSISTENT)


async def undefine(client: Client, group: str = GROUP) -> None:
    """Delete our kind with all its objects, and wait until it is not served any more."""
    definitions = client.apiextensions_v1.custom_resource_definitions()
    await definitions.delete(f"widgets.{group}")

    async def is_served() -> None:
        with suppress(NotFoundError):
            await widgets_of(client, None, group).list()
            raise _StillServedError

    await retry_on(is_served, _StillServedError, attempts=INSISTENT)


class _StillServedError(Exception):
    pass

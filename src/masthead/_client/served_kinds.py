"""Wait until a cluster serves a kind.

A definition is established a moment before its kind is served, and discovery knows it later still. So this asks
for the objects themselves.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from masthead._client.conditions import crd_established
from masthead._errors.base import format_seconds
from masthead._meta.gvk import GroupVersionResource
from masthead._sansio.backoff import Backoff
from masthead._sansio.randomness import random
from masthead.errors import DeadlineError, MastheadError, NotFoundError, UnknownKindError

if TYPE_CHECKING:
    from masthead._client.dynamic import DynamicResource
    from masthead._discovery.model import ServedResource
    from masthead._meta.gvk import GroupVersionKind

__all__ = ["wait_for_kind"]

_DEFINITIONS: Final = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")


class _Mapper(Protocol):
    async def kind(self, gvk: GroupVersionKind) -> ServedResource: ...


class _Client(Protocol):
    @property
    def mapper(self) -> _Mapper: ...

    def dynamic(self, what: GroupVersionResource, *, namespace: str | None = None) -> DynamicResource: ...


async def wait_for_kind(client: _Client, gvk: GroupVersionKind, *, timeout: float) -> ServedResource:
    """Wait until a cluster serves a kind, and return its resource.

    Raises:
        DeadlineError: If it does not in time; the message names the missing conditions of its definition.
        MastheadError: As for a list, for failures other than 404.
    """
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return await _poll_discovery(client, gvk)
    except TimeoutError:
        # A TimeoutError of a request inside is not ours.
        if not limit.expired():
            raise
    raise DeadlineError(
        f"waited {format_seconds(timeout)} s until {gvk} is served; now: {await _state_of(client, gvk)}",
        verb="GET",
    )


async def _poll_discovery(client: _Client, gvk: GroupVersionKind) -> ServedResource:
    backoff = Backoff(first=0.02, cap=1.0)
    while True:
        try:
            found = await client.mapper.kind(gvk)
            # Discovery may announce a kind before its handler is ready, so a request has to succeed, too.
            await client.dynamic(found.gvr).list(limit=1)
        except (UnknownKindError, NotFoundError):
            await asyncio.sleep(backoff.next(0.0, random))
        else:
            return found


async def _state_of(client: _Client, gvk: GroupVersionKind) -> str:
    """The state of a kind's definition."""
    try:
        definitions = await client.dynamic(_DEFINITIONS).list()
    except MastheadError as error:
        # The message of a timeout must not fail for want of a permission.
        return f"definitions cannot be read: {error}"
    for definition in definitions:
        if definition.get("spec", "group") != gvk.group or definition.get("spec", "names", "kind") != gvk.kind:
            continue
        served = [version["name"] for version in definition["spec"]["versions"] if version.get("served")]
        if gvk.version not in served:
            return f"{definition.metadata.name} serves {', '.join(served) or 'no version'}, not {gvk.version}"
        return f"{definition.metadata.name}: {crd_established().says(definition)}"
    return f"there is no definition of the kind {gvk.kind} in the group {gvk.group or 'core'}"

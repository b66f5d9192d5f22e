"""Informers of ConfigMaps through either façade, and what to do with them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.integration.facades import informer_of

from masthead._meta.patch import Patch
from masthead._sansio.backoff import Backoff
from masthead.api.core.v1 import ConfigMap
from masthead.errors import AlreadyExistsError

if TYPE_CHECKING:
    from tests.integration.conftest import Cluster

    from masthead.server import Server

QUICK = partial(Backoff, first=0.005, cap=0.02)


def quick(source: Any, **options: Any) -> Any:
    """An informer that does not wait for long after failures."""
    return informer_of(source, **{"backoff": QUICK, **options})


def embedded(cluster: Cluster) -> Server:
    assert cluster.embedded is not None
    return cluster.embedded


async def put(maps: Any, name: str, value: str = "1", **labels: str) -> str:
    """Create an object, or change it; returns the version."""
    try:
        made = await maps.create(ConfigMap.new(name, labels=labels, data={"value": value}))
    except AlreadyExistsError:
        made = await maps.patch(name, Patch.merge({"data": {"value": value}}))
    version: str = made.metadata.resource_version
    return version


async def state(maps: Any) -> dict[str, str]:
    """The objects of the server by name, without those that a cluster creates by itself."""
    found = (await maps.list()).items
    return {each.metadata.name: each.data.get("value", "") for each in found if "value" in each.data}


def copy_of(informer: Any) -> dict[str, str]:
    """The objects in an informer's store, by name."""
    found = informer.indexer.list()
    return {each.metadata.name: each.data.get("value", "") for each in found if "value" in each.data}

"""Fixtures: clusters and sources of informers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.cache.clusters import Cluster, EmbeddedCluster, FakeCluster
from tests.unit.cache.fake_list_watch import FakeListWatch

import masthead.aio
import masthead.server
from masthead.config import from_kubeconfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
def source() -> FakeListWatch:
    return FakeListWatch()


@pytest.fixture
async def embedded() -> AsyncIterator[EmbeddedCluster]:
    """The embedded server in its own thread, and a client with the event loop to itself."""
    with masthead.server.run(controllers=False, bootstrap=False) as server:
        async with masthead.aio.Client(from_kubeconfig(server.kubeconfig())) as client:
            yield EmbeddedCluster(server, client)


@pytest.fixture(params=["scripted", "embedded"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """Each cluster in turn: the guarantees hold for every source that can be listed and watched."""
    if request.param == "scripted":
        return FakeCluster()
    found: EmbeddedCluster = request.getfixturevalue("embedded")
    return found

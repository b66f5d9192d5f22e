"""Every test here runs through both façades, against the embedded server and, where it is, a real one."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.facades import AsyncView
from tests.real_server import ASSETS, missing_programs, real_server_in

import masthead
import masthead.aio
import masthead.server
from masthead.config import Config, from_kubeconfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from masthead.server import Server


@dataclass(frozen=True)
class Cluster:
    """A server to test against.

    Attributes:
        config: Where it is.
        embedded: The embedded server, for faults and virtual time; None for a real one.
    """

    config: Config
    embedded: Server | None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test against every server that it is for, through every façade."""
    if "cluster" in metafunc.fixturenames:
        only = {mark.name for mark in metafunc.definition.iter_markers()} & {"embedded_only", "real_only"}
        servers: list[Any] = []
        if "real_only" not in only:
            servers.append("embedded")
        if "embedded_only" not in only:
            servers.append(pytest.param("real", marks=[pytest.mark.real, pytest.mark.xdist_group("real")]))
        metafunc.parametrize("cluster", servers, indirect=True, scope="session")
    if "facade" in metafunc.fixturenames:
        metafunc.parametrize("facade", ["aio", "sync"])


@pytest.fixture(scope="session")
def embedded_cluster() -> Iterator[Cluster]:
    with masthead.server.run(bootstrap=False) as server:
        yield Cluster(from_kubeconfig(server.kubeconfig()), server)


@pytest.fixture(scope="session")
def real_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if missing := missing_programs():
        pytest.skip(f"there is no {' and no '.join(missing)} in {ASSETS}")
    with real_server_in(tmp_path_factory.mktemp("real-server")) as server:
        yield Cluster(Config(server=server.url, token=server.token, ca_file=server.ca_file), None)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """A server that the tests of a run share; each has a namespace of its own."""
    found: Cluster = request.getfixturevalue(f"{request.param}_cluster")
    return found


@pytest.fixture
async def client(cluster: Cluster, facade: str) -> AsyncIterator[Any]:
    """A client of the cluster. Typed as anything, because the blocking one only pretends to be async."""
    if cluster.embedded is not None:
        cluster.embedded.faults.clear()
    async with connected(cluster.config, facade) as made:
        yield made
    if cluster.embedded is not None:
        cluster.embedded.faults.clear()


def connected(config: Config, facade: str, **options: Any) -> Any:
    """A client through one of the façades, to be used as an async one."""
    if facade == "aio":
        return masthead.aio.Client(config, **options)
    return AsyncView(masthead.Client(config, **options))


@pytest.fixture
async def namespace(client: Any, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """A namespace of the test's own, named after it."""
    slug = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")
    made = await client.core_v1.namespaces().create({"metadata": {"generateName": f"{slug[:50]}-"}})
    yield made.metadata.name
    await client.core_v1.namespaces().delete(made.metadata.name)


async def eventually(happened: asyncio.Event, *, within: float = 30.0) -> None:
    """Wait for something that another task will see."""
    async with asyncio.timeout(within):
        await happened.wait()

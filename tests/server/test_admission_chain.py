"""The admission chain in the write pipeline: plugins that change, refuse and wait."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

import masthead.server
from masthead import Patch, aio
from masthead.errors import ConflictError, ForbiddenError
from masthead.testing._configurations import config_of
from masthead_server.admission.attributes import Operation
from masthead_server.admission.chain import AdmissionChain
from masthead_server.admission.plugin import AdmissionPlugin, PluginEntry
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead.server import Server
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

pytestmark = pytest.mark.asyncio

LABELS = {"app": "web"}
REPLICA_SET = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}},
    },
}


class Waiting(AdmissionPlugin):
    """Lets requests about one table and operation through when it is told to."""

    name = "Waiting"

    def __init__(self, table: str, operation: Operation, subresource: str = "") -> None:
        self.place = (table, operation, subresource)
        self.seen: list[AdmissionAttributes] = []
        self.names: list[str] = []
        self.go_on = asyncio.Event()
        self.arrived = asyncio.Event()

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        return (served.table, operation, subresource) == self.place

    async def admit(self, attributes: AdmissionAttributes) -> None:
        self.seen.append(attributes)
        self.arrived.set()
        await self.go_on.wait()
        if attributes.object is not None:
            attributes.object["metadata"].setdefault("labels", {})["admitted"] = "yes"


class Refusing(Waiting):
    """Refuses whatever it is asked about, after validation."""

    name = "Refusing"

    async def admit(self, attributes: AdmissionAttributes) -> None:
        self.seen.append(attributes)
        self.names.append(attributes.name)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        self.names.append(attributes.name)
        raise StatusFailure(403, "Forbidden", f"no {attributes.name}")


@asynccontextmanager
async def serving(plugin: AdmissionPlugin, *, workloads: bool = False) -> AsyncIterator[tuple[Server, aio.Client]]:
    async with masthead.server.run(workloads=workloads) as server, aio.Client(config_of(server)) as client:
        server._cluster.admission = AdmissionChain([PluginEntry(plugin.name, lambda _: plugin)])
        server._cluster.admission.observe(server._cluster)
        yield server, client


async def test_a_plugin_that_waits_delays_only_its_own_request() -> None:
    plugin = Waiting("configmaps", Operation.CREATE)
    async with serving(plugin) as (_, client):
        async with asyncio.TaskGroup() as group:
            create = client.core_v1.config_maps("default").create({"metadata": {"name": "slow"}})
            creating = group.create_task(create)
            await plugin.arrived.wait()
            await client.core_v1.secrets("default").create({"metadata": {"name": "quick"}})
            assert not creating.done()
            plugin.go_on.set()
        assert creating.result().metadata.labels == {"admitted": "yes"}


async def test_a_controller_waits_for_admission_and_creates_each_pod_once() -> None:
    plugin = Waiting("pods", Operation.CREATE)
    async with serving(plugin, workloads=True) as (server, client):
        await client.apps_v1.replica_sets("default").create(REPLICA_SET)
        await plugin.arrived.wait()
        # A change of the ReplicaSet in the meantime is another reason to reconcile it, but not at the same time.
        await client.apps_v1.replica_sets("default").patch(
            "web", Patch.merge({"metadata": {"labels": {"touched": "yes"}}})
        )
        assert any("reconcile" in work for work in server.pending_work())
        plugin.go_on.set()
        await server.wait_for_idle()
        pods = await client.core_v1.pods("default").list()
        assert [pod.metadata.labels for pod in pods] == [{**LABELS, "admitted": "yes"}] * 2
        assert {attributes.user.name for attributes in plugin.seen} == {"system:kube-controller-manager"}


async def test_a_stopped_server_forgets_reconciles_that_wait() -> None:
    plugin = Waiting("pods", Operation.CREATE)
    async with serving(plugin, workloads=True) as (_, client):
        await client.apps_v1.replica_sets("default").create(REPLICA_SET)
        await plugin.arrived.wait()


async def test_a_write_of_the_kubelet_that_waits_ends_in_the_background() -> None:
    plugin = Waiting("pods", Operation.UPDATE, "status")
    async with serving(plugin) as (server, client):
        pods = client.core_v1.pods("default")
        await pods.create({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}})
        server.kubelet.start("web")
        assert (await pods.get("web")).status.phase == "Pending"
        plugin.go_on.set()
        await server.wait_for_idle()
        assert (await pods.get("web")).status.phase == "Running"


async def test_an_update_that_was_overtaken_while_it_waited_is_admitted_again() -> None:
    plugin = Waiting("configmaps", Operation.UPDATE)
    async with serving(plugin) as (_, client):
        maps = client.core_v1.config_maps("default")
        await maps.create({"metadata": {"name": "m"}, "data": {"n": "0"}})
        async with asyncio.TaskGroup() as group:
            group.create_task(maps.patch("m", Patch.merge({"data": {"slow": "1"}})))
            group.create_task(maps.patch("m", Patch.merge({"data": {"quick": "1"}})))
            await plugin.arrived.wait()
            plugin.go_on.set()
        assert (await maps.get("m")).data == {"n": "0", "slow": "1", "quick": "1"}


async def test_a_deletion_that_was_overtaken_while_it_waited_is_admitted_again() -> None:
    plugin = Waiting("configmaps", Operation.DELETE)
    async with serving(plugin) as (_, client):
        maps = client.core_v1.config_maps("default")
        await maps.create({"metadata": {"name": "m"}})
        async with asyncio.TaskGroup() as group:
            group.create_task(maps.delete("m"))
            await plugin.arrived.wait()
            await maps.patch("m", Patch.merge({"data": {"a": "1"}}))
            plugin.go_on.set()
        assert [attributes.old and attributes.old.get("data") for attributes in plugin.seen] == [None, {"a": "1"}]


async def test_a_refused_request_stores_nothing() -> None:
    plugin = Refusing("configmaps", Operation.CREATE)
    async with serving(plugin) as (server, client):
        revision = server.revision
        with pytest.raises(ForbiddenError, match="no m"):
            await client.core_v1.config_maps("default").create({"metadata": {"name": "m"}})
        assert server.revision == revision


async def test_only_validating_admission_sees_a_generated_name() -> None:
    plugin = Refusing("configmaps", Operation.CREATE)
    async with serving(plugin) as (_, client):
        with pytest.raises(ForbiddenError):
            await client.core_v1.config_maps("default").create({"metadata": {"generateName": "m-"}})
        before, after = plugin.names
        assert not before
        assert after.startswith("m-")


async def test_a_conflict_comes_after_mutating_admission() -> None:
    plugin = Refusing("configmaps", Operation.UPDATE)
    async with serving(plugin) as (_, client):
        maps = client.core_v1.config_maps("default")
        await maps.create({"metadata": {"name": "m"}})
        with pytest.raises(ConflictError):
            await maps.update({"metadata": {"name": "m", "resourceVersion": "1"}})
        assert len(plugin.seen) == 1


async def test_an_eviction_is_admitted_once_as_an_eviction() -> None:
    plugin = Refusing("pods", Operation.CREATE, "eviction")
    async with serving(plugin) as (_, client):
        with pytest.raises(ForbiddenError):
            await client.core_v1.pods("default").evict("web")
        assert [(attributes.operation, attributes.subresource, attributes.kind.kind) for attributes in plugin.seen] == [
            (Operation.CREATE, "eviction", "Eviction")
        ]

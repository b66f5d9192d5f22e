"""Records an incident: a site gets an image that does not exist, two wrong remedies, and the right one.

python -m examples.incident.record_incident incident.mhr    # takes a minute and a half, on a server of its own
"""

import asyncio
import sys

from examples.website.website import Website, app

import masthead
import masthead.aio
import masthead.server
from masthead.api.core.v1 import Namespace
from masthead.config import Config
from masthead.meta import Patch

IMAGES = "registry.example.com"
OFF = "0"


async def main(path: str) -> None:
    """Play the incident, and record it as the operator sees it."""
    async with masthead.server.run(workloads=True, kubelet=True, seed=7) as server:
        server.kubelet.fail_pull(f"{IMAGES}/shop:2.1")
        config = masthead.config.from_kubeconfig(server.kubeconfig())
        async with masthead.aio.Client(config) as client:
            await client.core_v1.namespaces.create(Namespace.new("shop"))
            await client.install_crds(Website)
        async with app.running(config, record=path, metrics_bind=OFF, probe_bind=OFF, webhook_bind=OFF) as runtime:
            # What the operator itself does not watch.
            factory = runtime.factory
            for kind in (factory.core_v1.pods, factory.core_v1.events, factory.apps_v1.replica_sets):
                await kind.informer.wait_for_cache_sync(10)
            await play(config)


async def play(config: Config) -> None:
    """What a pipeline and a person do, each with a name of its own in managedFields."""
    async with (
        masthead.aio.Client(config, field_manager="deploy-pipeline") as pipeline,
        masthead.aio.Client(config, field_manager="kubectl-edit") as person,
    ):
        for name, replicas in (("shop", 3), ("blog", 2), ("docs", 1)):
            spec = {"image": f"{IMAGES}/{name}:2.0", "replicas": replicas}
            await pipeline.resource(Website, "shop").create(Website.new(name, spec=spec))
            await asyncio.sleep(3)
        await asyncio.sleep(10)
        await change(pipeline, {"image": f"{IMAGES}/shop:2.1"})
        await asyncio.sleep(20)
        # A pod is deleted in the hope that it helps, and comes back as it was.
        pods = person.core_v1.pods("shop")
        pending = [pod for pod in await pods.list() if pod.status.phase == "Pending"]
        await pods.delete(pending[0].metadata.name)
        await asyncio.sleep(10)
        # More of the same.
        await change(person, {"replicas": 6})
        await asyncio.sleep(15)
        await change(person, {"image": f"{IMAGES}/shop:2.0", "replicas": 3})
        await asyncio.sleep(15)


async def change(client: masthead.aio.Client, spec: dict[str, object]) -> None:
    """Change the spec of the site."""
    await client.resource(Website, "shop").patch("shop", Patch.merge({"spec": spec}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

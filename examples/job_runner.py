"""Run the Jobs of a folder one after the other, each once, such as the migrations of a database.

Run it in as many replicas as you like: a lease lets one of them work. If that one dies, another continues where it
stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import masthead
from masthead.api.batch.v1 import Job

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead import aio


async def run_jobs(client: aio.Client, jobs: Sequence[Job], leadership: aio.leaderelection.Leadership) -> None:
    """Run the jobs that have not run yet, in their order.

    Raises:
        ObjectFailedError: If one fails; those after it are not started.
        LeadershipLostError: If another replica has taken over.
    """
    for job in jobs:
        leadership.check()  # right before what two must not do
        with contextlib.suppress(masthead.AlreadyExistsError):  # it has run, or an earlier leader has started it
            await client.batch_v1.jobs(client.namespace).create(job)
        await client.wait_for_manifests([job], timeout=math.inf)
        print(f"{job.metadata.name} is complete", flush=True)


async def lead(client: aio.Client, folder: Path, identity: str | None = None) -> None:
    """Wait until no other replica leads, and run the remaining jobs."""
    jobs = [manifest for manifest in masthead.load_manifests(folder) if isinstance(manifest, Job)]
    elector = masthead.aio.LeaderElector(
        client,
        "job-runner",
        identity=identity,
        on_new_leader=lambda leader: print(f"{leader} leads", flush=True),
    )
    await elector.run(partial(run_jobs, client, jobs))


async def main(folder: Path, namespace: str | None) -> None:
    """Run the jobs with the cluster that kubectl uses."""
    async with masthead.aio.Client(namespace=namespace) as client:
        await lead(client, folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="with the manifests, in the order of their names")
    parser.add_argument("-n", "--namespace", help="the current one by default")
    arguments = parser.parse_args()
    try:
        asyncio.run(main(arguments.folder, arguments.namespace))
    except masthead.MastheadError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass

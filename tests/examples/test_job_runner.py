"""job_runner.py, on the embedded server and in virtual time."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from examples.job_runner import lead

import masthead
from masthead import conditions
from masthead.meta import Patch
from masthead.testing import LoopClock, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from masthead import aio

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: {0}}}
spec:
  template: {{spec: {{restartPolicy: Never, containers: [{{name: {0}, image: busybox}}]}}}}
"""


COMPLETE = ("SuccessCriteriaMet", "Complete")
FAILED = ("FailureTarget", "Failed")
TIME = "2026-01-01T00:00:00Z"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, name in enumerate(("schema", "data")):
        (tmp_path / f"{number}-{name}.yaml").write_text(JOB.format(name), "utf-8")
    return tmp_path


@asynccontextmanager
async def cluster() -> AsyncIterator[aio.Client]:
    async with (
        masthead.server.run(clock=LoopClock()) as server,
        masthead.aio.Client(kubeconfig=server.kubeconfig()) as client,
    ):
        yield client


async def report(client: aio.Client, name: str, *ends: str) -> None:
    """Wait until a job is there, and report its end as the job controller does."""
    jobs = client.batch_v1.jobs("default")
    await jobs.wait_for(name, conditions.exists(), timeout=60)
    found = [{"type": end, "status": "True", "lastTransitionTime": TIME} for end in ends]
    status: dict[str, object] = {"startTime": TIME, "conditions": found}
    if "Complete" in ends:
        status |= {"completionTime": TIME, "succeeded": 1}
    await jobs.patch_status(name, Patch.merge({"status": status}))


async def names(client: aio.Client) -> set[str]:
    return {each.metadata.name for each in await client.batch_v1.jobs("default").list()}


@in_virtual_time
async def test_jobs_run_one_after_the_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with cluster() as client, asyncio.TaskGroup() as group:
        group.create_task(lead(client, folder, "one"))
        await client.batch_v1.jobs("default").wait_for("schema", conditions.exists(), timeout=60)
        await asyncio.sleep(60)
        assert await names(client) == {"schema"}
        await report(client, "schema", *COMPLETE)
        await report(client, "data", *COMPLETE)
    assert capsys.readouterr().out == "one leads\nschema is complete\ndata is complete\n"


@in_virtual_time
async def test_another_replica_continues_where_one_has_died(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with cluster() as client, asyncio.TaskGroup() as group:
        async with masthead.aio.Client(client.config) as mortal:
            first = group.create_task(lead(mortal, folder, "one"))
            await report(client, "schema", *COMPLETE)
            await client.batch_v1.jobs("default").wait_for("data", conditions.exists(), timeout=60)
            first.cancel()  # and its client is closed before it can release the lease
        group.create_task(lead(client, folder, "two"))
        await report(client, "data", *COMPLETE)
    assert capsys.readouterr().out.splitlines() == [
        "one leads",
        "schema is complete",
        "one leads",  # as the other one believes, until the lease has expired
        "two leads",
        "schema is complete",
        "data is complete",
    ]


@in_virtual_time
async def test_nothing_is_started_after_a_failure(folder: Path) -> None:
    async with cluster() as client, asyncio.TaskGroup() as group:
        failing = group.create_task(expect_failure(client, folder))
        await report(client, "schema", *FAILED)
        await failing
        assert await names(client) == {"schema"}


async def expect_failure(client: aio.Client, folder: Path) -> None:
    with pytest.raises(masthead.errors.ObjectFailedError, match="schema"):
        await lead(client, folder)

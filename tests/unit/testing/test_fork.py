"""A virtual loop that is forked goes on in both processes, with server, clients and replicas."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.testing import Environment, in_virtual_time
from masthead.testing.virtual_time import VirtualLoop, run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def copies() -> masthead.Manager:
    app = masthead.Manager("copies", leader_election="copies")

    @app.controller(Secret, owns=[ConfigMap])
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        await ctx.apply(ConfigMap.new(secret.metadata.name, data={"size": str(len(secret.data))}))
        ctx.record("Normal", "Copied", f"{secret.metadata.name} is copied")

    @app.validate(ConfigMap)
    async def check(_request: object, config_map: ConfigMap) -> None:
        assert config_map.metadata.name

    return app


async def create(env: Environment) -> None:
    await env.client.core_v1.secrets("default").create(Secret.new("b"))


async def change(env: Environment) -> None:
    patch = masthead.Patch.merge({"data": {"key": "dGV4dA=="}})
    await env.client.core_v1.secrets("default").patch("a", patch)
    await env.advance(60)


async def replace(env: Environment) -> None:
    await env.client.core_v1.secrets("default").delete("a")
    await env.replicas[0].crash()
    await env.start(copies)


BRANCHES = {"create": create, "change": change, "replace": replace}


def read(env: Environment) -> str:
    """Everything that happened on the server, and the time."""
    requests = [(repr(request), {**request.headers, "host": ""}, request.body) for request in env.server.requests]
    tables = env.server._cluster.storage.tables()
    contents = [(name, record.revision, record.value) for name, table in tables for record in table.log]
    return repr((env.now, env.writes, env.events, requests, contents))


async def go_on(env: Environment, branch: Callable[[Environment], Awaitable[None]]) -> str:
    await branch(env)
    await env.wait_for_idle()
    return read(env)


def fork_with_pipe(loop: VirtualLoop) -> tuple[int, int]:
    """Return the child and the end of a pipe from which to read its report; in the child, 0 and the other end."""
    reading, writing = os.pipe()
    pid = loop.fork()
    if pid:
        os.close(writing)
        return pid, reading
    os.close(reading)
    return 0, writing


def write_all(pipe: int, text: str) -> None:
    with os.fdopen(pipe, "w") as file:
        file.write(text)


def read_all(pid: int, pipe: int) -> str:
    with os.fdopen(pipe) as file:
        text = file.read()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return text


async def run_prefix(env: Environment) -> None:
    await env.client.core_v1.secrets("default").create(Secret.new("a"))
    await env.wait_for_idle()
    await env.advance(30)


def run_straight(branch: str) -> str:
    reports: list[str] = []

    @in_virtual_time
    async def test() -> None:
        async with Environment(copies, seed=26) as env:
            await run_prefix(env)
            reports.append(await go_on(env, BRANCHES[branch]))

    test()
    return reports[0]


def run_forked() -> dict[str, str]:
    """Run every branch in a child that is forked after the common prefix."""
    reports: dict[str, str] = {}

    @in_virtual_time
    async def test() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        async with Environment(copies, seed=26) as env:
            await run_prefix(env)
            children: dict[str, tuple[int, int]] = {}
            for name, branch in BRANCHES.items():
                pid, pipe = fork_with_pipe(loop)
                if not pid:
                    write_all(pipe, await go_on(env, branch))
                    os._exit(0)
                children[name] = pid, pipe
            # The parent goes on at the same time.
            reports["parent"] = await go_on(env, change)
            reports.update({name: read_all(*child) for name, child in children.items()})

    test()
    return reports


def main() -> None:
    """Compare the branches with runs that were never forked."""
    straight = {branch: run_straight(branch) for branch in BRANCHES}
    assert len(set(straight.values())) == len(BRANCHES)
    forked = run_forked()
    assert forked.pop("parent") == straight["change"]
    assert forked == straight


@pytest.mark.slow
def test_children_go_on_from_a_common_prefix_as_if_each_had_run_it() -> None:
    # A new process, because other tests leave threads behind, which no child has.
    command = [sys.executable, "-W", "error", "-c", f"from {__name__} import main; main()"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_a_loop_with_a_working_thread_cannot_be_forked() -> None:
    async def fork() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.hold()
        try:
            loop.fork()
        finally:
            loop.release()

    with pytest.raises(RuntimeError, match="while a thread works"):
        run(fork())

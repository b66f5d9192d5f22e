"""Portals at the end of a process, and in one that was forked off; each in an interpreter of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.kube_server(bootstrap=False)

PRELUDE = """
import asyncio, os, sys, threading
from masthead.errors import ClosedError
from masthead._sync import portal as portals

if not {uvloop}:
    portals.new_loop = asyncio.new_event_loop

async def double(number):
    await asyncio.sleep(0)
    return 2 * number

portal = portals.Portal()
"""


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def uvloop(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def run(script: str, *, uvloop: bool) -> str:
    """Run a script and return its output; fail if it prints an error or does not exit."""
    code = PRELUDE.format(uvloop=uvloop) + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


def test_a_process_exits_while_a_client_is_open(uvloop: bool) -> None:
    assert run("print(portal.call(double(1)))", uvloop=uvloop) == "2\n"


def test_open_clients_are_closed_when_the_process_exits(uvloop: bool) -> None:
    script = """
        async def close():
            print("closed", flush=True)

        portal.at_close(close)
        portal.call(double(1))
    """

    assert run(script, uvloop=uvloop) == "closed\n"


def test_a_call_after_a_fork_raises_with_advice_and_the_parent_continues(uvloop: bool) -> None:
    script = """
        portal.call(double(1))
        child = os.fork()
        if child == 0:
            try:
                portal.call(double(2))
            except ClosedError as error:
                print("child:", error, flush=True)
            portal.close()
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print("parent:", portal.call(double(3)))
        portal.close()
        assert threading.enumerate() == [threading.main_thread()]
    """

    assert run(script, uvloop=uvloop) == (
        "child: the client was used before the process was forked, and cannot be used after it; make a new one here\n"
        "parent: 6\n"
    )


def test_a_client_that_was_not_used_before_a_fork_works_after_it(uvloop: bool) -> None:
    script = """
        child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0
        print(portal.call(double(4)), flush=True)
        portal.close()
    """

    assert run(script, uvloop=uvloop) == "8\n8\n"


@pytest.mark.slow
def test_a_child_process_creates_its_own_client(uvloop: bool) -> None:
    script = """
        portal.call(double(1))
        child = os.fork()
        if child == 0:
            portal = portals.Portal()
            print(portal.call(double(5)), flush=True)
            portal.close()
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(portal.call(double(6)))
        portal.close()
    """

    assert run(script, uvloop=uvloop) == "10\n12\n"


@pytest.mark.slow
def test_a_child_process_that_drops_its_client_does_not_disturb_the_parent(uvloop: bool, kubeconfig_file: Path) -> None:
    script = f"""
        import gc
        from masthead.api.core.v1 import ConfigMap
        from masthead._sync.client import Client

        client = Client(kubeconfig={str(kubeconfig_file)!r})
        maps = client.core_v1.config_maps("default")
        maps.create(ConfigMap.new("before"))
        watch = maps.watch()
        assert next(watch).object.metadata.name == "before"
        child = os.fork()
        if child == 0:
            del client, maps, watch
            gc.collect()
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        maps.create(ConfigMap.new("after"))
        names = (each.object.metadata.name for each in watch if each.type == "ADDED")
        print(next(names))
        client.close()
    """

    assert run(script, uvloop=uvloop) == "after\n"

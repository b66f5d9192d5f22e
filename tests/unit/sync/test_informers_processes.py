"""Informers at the end of a process, and in one that was forked off; each in an interpreter of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PRELUDE = """
import os, sys, threading
import masthead
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ClosedError, InformerStateError

client = masthead.Client(kubeconfig={kubeconfig!r})
informer = masthead.SharedInformer(client.core_v1.namespaces())
"""


def run(script: str, kubeconfig: Path) -> tuple[str, str]:
    """Run a script and return its output and errors; fail if it does not exit cleanly."""
    code = PRELUDE.format(kubeconfig=str(kubeconfig)) + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["informer.start()", "factory.start()"])
def test_a_process_exits_while_an_informer_runs(kubeconfig_file: Path, ends: str) -> None:
    script = f"""
        factory = masthead.SharedInformerFactory(client)
        handler = factory.core_v1.namespaces.informer.add_event_handler(on_add=lambda _: None)
        handle = informer.add_event_handler(on_add=lambda _: None)
        {ends}
        ({"handle" if "informer" in ends else "handler"}).wait_for_cache_sync(30)
        print("the end")
    """

    assert run(script, kubeconfig_file) == ("the end\n", "")


@pytest.mark.slow
def test_a_process_exits_while_a_handler_hangs(kubeconfig_file: Path) -> None:
    script = """
        inside = threading.Event()

        def hang(_):
            inside.set()
            threading.Event().wait()

        informer.add_event_handler(on_add=hang, name="hanging")
        informer.start()
        assert inside.wait(30)
        print("the end")
    """

    out, complaints = run(script, kubeconfig_file)

    assert out == "the end\n"
    assert complaints in {"", "handler hanging did not return within 1 s; its thread is left\n"}


@pytest.mark.slow
def test_a_process_exits_while_a_thread_waits_for_a_hanging_handler(kubeconfig_file: Path) -> None:
    script = """
        inside = threading.Event()

        def hang(_):
            inside.set()
            threading.Event().wait()

        handle = informer.add_event_handler(on_add=hang, name="hanging")
        informer.start()
        assert inside.wait(30)
        threading.Thread(target=handle.remove, daemon=True).start()
        print("the end")
    """

    out, _ = run(script, kubeconfig_file)

    assert out == "the end\n"


@pytest.mark.slow
def test_after_a_fork_an_informer_says_that_it_belongs_to_another_process(kubeconfig_file: Path) -> None:
    script = """
        handle = informer.add_event_handler(on_add=lambda _: None)
        informer.start()
        informer.wait_for_cache_sync(30, handlers=True)
        child = os.fork()
        if child == 0:
            lister, indexer = informer.lister, informer.indexer
            for read in (
                lister.list,
                lambda: lister.get("default"),
                indexer.list_keys,
                lambda: len(indexer),
                lambda: "default" in indexer,
                lambda: informer.last_sync_resource_version,
            ):
                try:
                    print("lies:", read())
                except InformerStateError as error:
                    assert "namespaces belongs to another process" in str(error), error
            health = informer.health
            assert (health.state, health.is_synced, health.is_connected, health.is_healthy) == ("forked", *[False] * 3)
            assert "belongs to another process" in health.last_error
            assert not informer.has_synced
            assert "another process" in repr(informer) and "another process" in repr(lister)
            for call in (
                lambda: informer.add_event_handler(on_add=print),
                lambda: informer.add_indexers({"a": lambda _: []}),
                lambda: informer.wait_for_cache_sync(30),
            ):
                try:
                    call()
                except ClosedError as error:
                    print("child:", str(error).partition(",")[0], flush=True)
            handle.remove()
            informer.stop()
            client.close()
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        maps = client.core_v1.config_maps("default")
        informer.wait_for_cache_sync(30)
        assert not informer.is_stopped
        client.close()
        print("parent:", informer.is_stopped)
    """

    assert run(script, kubeconfig_file) == (
        "child: the client was used before the process was forked\n" * 3 + "parent: True\n",
        "",
    )


@pytest.mark.slow
def test_the_store_of_an_informer_that_was_stopped_before_a_fork_can_be_read_after_it(
    kubeconfig_file: Path,
) -> None:
    script = """
        with informer:
            informer.wait_for_cache_sync(30)
        child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0
        print(informer.lister.get("default").metadata.name, informer.health.state, flush=True)
        if child:
            client.close()
    """

    assert run(script, kubeconfig_file) == ("default stopped\ndefault stopped\n", "")


def test_an_informer_that_was_not_started_before_a_fork_works_after_it(kubeconfig_file: Path) -> None:
    script = """
        child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0
        with client, informer:
            informer.wait_for_cache_sync(30)
            print(informer.lister.get("default").metadata.name, flush=True)
    """

    assert run(script, kubeconfig_file) == ("default\ndefault\n", "")


@pytest.mark.slow
def test_a_signal_may_stop_an_informer_while_something_is_added(kubeconfig_file: Path) -> None:
    script = """
        import signal

        def interrupting(_):
            os.kill(os.getpid(), signal.SIGTERM)
            return ["x"]

        signal.signal(signal.SIGTERM, lambda *_: informer.stop())
        informer.start()
        informer.wait_for_cache_sync(30)
        informer.add_indexers({"slow": interrupting})
        print("came through", informer.is_stopped)
        client.close()
    """

    assert run(script, kubeconfig_file) == ("came through True\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_stopping_in_a_forked_process_has_no_effect(kubeconfig_file: Path) -> None:
    script = """
        inside, go_on = threading.Event(), threading.Event()

        def slow(_):
            inside.set()
            go_on.wait(30)
            return []

        informer.add_indexers({"slow": slow})
        informer.start()
        assert inside.wait(30)  # the loop holds what stopping the informer needs
        pid = os.fork()
        if pid == 0:
            informer.stop()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        go_on.set()
        informer.wait_for_cache_sync(30)
        client.close()
    """

    assert run(script, kubeconfig_file) == ("", "")

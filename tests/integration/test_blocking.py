"""The blocking client in threads, notebooks, forked processes, and programs that are interrupted."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.server
from masthead.api.core.v1 import ConfigMap
from masthead.config import from_kubeconfig
from masthead.errors import ClosedError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.config import Config
    from masthead.server import Server

PATIENCE = 60


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with masthead.server.run() as running:
        yield running


@pytest.fixture
def config(server: Server) -> Config:
    return from_kubeconfig(server.kubeconfig())


@pytest.fixture
def client(config: Config) -> Iterator[masthead.Client]:
    with masthead.Client(config) as made:
        yield made


def client_threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "masthead-client"]


def connections_to(server: Server) -> int:
    """The number of this process's sockets connected to the server, without the server's own ends."""
    port = int(server.url.rpartition(":")[2])
    found = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError), socket.socket(fileno=os.dup(int(descriptor.name))) as copy:
            # An event loop has a pair of Unix sockets, whose peers have no port.
            found += copy.family != socket.AF_UNIX and copy.getpeername()[1] == port
    return found


def test_many_threads_share_one_client_and_one_loop(client: masthead.Client) -> None:
    client.core_v1.config_maps("default").create(ConfigMap.new("shared", data={"a": "b"}))

    def read(_: int) -> set[str]:
        maps = client.core_v1.config_maps("default")
        return {maps.get("shared").data["a"] for _ in range(50)}

    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(read, range(16))) == [{"b"}] * 16

    assert len(client_threads()) == 1


def test_each_thread_gets_its_own_errors(client: masthead.Client) -> None:
    def read(number: int) -> str:
        with pytest.raises(NotFoundError) as caught:
            client.core_v1.config_maps("default").get(f"absent-{number}")
        return caught.value.name

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(read, range(40))) == [f"absent-{number}" for number in range(40)]


async def test_it_works_inside_a_running_event_loop(client: masthead.Client) -> None:
    """As in a notebook, whose cells run in a loop."""
    assert client.core_v1.namespaces().get("default").metadata.name == "default"
    assert "default" in [each.metadata.name for each in client.core_v1.namespaces().iter(page_size=1)]
    with client.core_v1.namespaces().watch() as events:
        assert next(events).type == "ADDED"


def test_a_client_starts_its_thread_on_first_use_and_leaves_none(server: Server, config: Config) -> None:
    client = masthead.Client(config)
    assert client_threads() == []

    with client:
        watches = [client.core_v1.namespaces().watch() for _ in range(3)]
        for watch in watches:
            next(watch)
        client.core_v1.namespaces().list()
        assert len(client_threads()) == 1
        assert connections_to(server) == 4

    assert client_threads() == []
    assert connections_to(server) == 0


def test_closing_twice_is_fine_and_using_it_after_is_not(config: Config) -> None:
    client = masthead.Client(config)
    namespaces = client.core_v1.namespaces()
    watch = namespaces.watch()
    next(watch)
    client.close()
    client.close()

    for use in (lambda: namespaces.get("default"), namespaces.list, lambda: list(namespaces.iter())):
        with pytest.raises(ClosedError, match="make a new one"):
            use()
    with pytest.raises(ClosedError):
        list(watch)
    watch.close()


def test_a_client_that_was_never_used_can_be_closed(config: Config) -> None:
    masthead.Client(config).close()
    with masthead.Client(config):
        pass

    assert client_threads() == []


@pytest.mark.slow
def test_an_unclosed_client_warns_and_stops_its_thread(server: Server, config: Config) -> None:
    clients = [masthead.Client(config)]
    clients[0].core_v1.namespaces().list()
    (thread,) = client_threads()

    with pytest.warns(ResourceWarning, match="unclosed client; use it in a with block"):
        clients.clear()
    gc.collect()

    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert connections_to(server) == 0


def test_a_watch_is_closed_from_another_thread(client: masthead.Client) -> None:
    watch = client.core_v1.namespaces().watch(bookmarks=True)
    began, seen = threading.Event(), list[str]()

    def read() -> None:
        for event in watch:
            seen.append(event.type)
            if event.type == "BOOKMARK":  # the initial events are over; nothing follows
                began.set()

    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(read)
        assert began.wait(PATIENCE)
        watch.close()
        reading.result(PATIENCE)

    assert "ADDED" in seen


def test_a_watch_ends_with_its_client(config: Config) -> None:
    client = masthead.Client(config)
    began = threading.Event()

    def read() -> None:
        for _ in client.core_v1.namespaces().watch():
            began.set()

    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(read)
        assert began.wait(PATIENCE)
        client.close()
        with pytest.raises(ClosedError, match="its client is closed"):
            reading.result(PATIENCE)


@pytest.mark.slow
def test_leaving_a_loop_early_releases_its_connection(server: Server, config: Config) -> None:
    with masthead.Client(config) as client:
        for _ in client.core_v1.namespaces().watch():
            break
        gc.collect()
        for _ in client.core_v1.namespaces().iter(page_size=1):
            break
        gc.collect()
        client.core_v1.namespaces().list()
        client.core_v1.namespaces().list()

        assert connections_to(server) == 1


def test_a_call_from_the_clients_own_loop_is_refused_instead_of_waiting_for_itself(
    config: Config,
) -> None:
    problems: list[BaseException] = []

    def call_back(_: object) -> None:
        try:
            caller.core_v1.namespaces().list()
        except RuntimeError as error:
            problems.append(error)

    with masthead.Client(config, on_warning=call_back, field_validation="Warn") as caller:
        caller.core_v1.config_maps("default").create({"metadata": {"name": "warned"}, "unheard": "of"})

    (problem,) = problems
    assert "would wait for itself" in str(problem)


def test_repr_and_messages_hide_the_token(server: Server, config: Config) -> None:
    assert server.token
    with masthead.Client(config) as client:
        text = f"{client!r} {client} {client.core_v1!r} {client.core_v1.pods('x')!r} {client.rest!r} {config!r}"

    assert server.token not in text
    assert server.url.partition("://")[2] in text


def run(script: str, *, url: str) -> str:
    """Run a program of its own, with every warning an error; returns what it printed."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, url],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    return ended.stdout


FORKED = """
import os, sys, warnings
import masthead
from masthead.config import Config
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons rightly warn about fork
used, fresh = masthead.Client(Config(server=sys.argv[1])), masthead.Client(Config(server=sys.argv[1]))
used.core_v1.namespaces().get("default")
child = os.fork()
if child == 0:
    try:
        used.core_v1.namespaces().get("default")
    except masthead.MastheadError as error:
        print(type(error).__name__, error)
    with fresh:
        print("fresh", fresh.core_v1.namespaces().get("default").metadata.name)
    used.close()
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("parent", used.core_v1.namespaces().get("default").metadata.name)
used.close()
fresh.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_must_make_its_own_client() -> None:
    with masthead.server.run(token=None) as server:
        lines = run(FORKED, url=server.url).splitlines()

    assert lines == [
        "ClosedError the client was used before the process was forked, and cannot be used after it; make a new one here",  # noqa: E501
        "fresh default",
        "parent default",
    ]


INTERRUPTED = """
import signal, sys, threading
import masthead
from masthead.config import Config

# A parent that ignores interrupts, such as nohup, would pass that on.
signal.signal(signal.SIGINT, signal.default_int_handler)

with masthead.Client(Config(server=sys.argv[1])) as client:
    namespaces = client.core_v1.namespaces()

    def interrupt(began):
        began.wait()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def watch(began):
        for _ in namespaces.watch():
            began.set()

    def wait(began):
        never = masthead.conditions.WaitCondition(lambda found: began.set(), "never")
        namespaces.wait_for("default", never, timeout=50)

    for block in (watch, wait):
        began = threading.Event()
        other = threading.Thread(target=interrupt, args=[began])
        other.start()
        try:
            block(began)
        except KeyboardInterrupt:
            print(block.__name__)
        other.join()
    print(namespaces.get("default").metadata.name)
print([each.name for each in threading.enumerate()])
"""


def test_an_interrupt_ends_a_waiting_call_and_leaves_the_client_usable() -> None:
    with masthead.server.run(token=None) as server:
        lines = run(INTERRUPTED, url=server.url).splitlines()

    assert lines == ["watch", "wait", "default", "['MainThread']"]


LEFT_OPEN = """
import sys, warnings
import masthead
from masthead.config import Config
client = masthead.Client(Config(server=sys.argv[1]))
watch = client.core_v1.namespaces().watch()
print(next(watch).type)
"""


def test_a_program_that_never_closes_its_client_still_exits() -> None:
    with masthead.server.run(token=None) as server:
        assert run(LEFT_OPEN, url=server.url) == "ADDED\n"

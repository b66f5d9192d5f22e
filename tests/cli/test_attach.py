"""``masthead attach``: the process of a container, at a terminal and at pipes."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import Ran, running_shop
from tests.cli.terminal import COMMAND, PATIENCE, Terminal, run

import masthead
from masthead.api.core.v1 import Container, Pod, Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead.server import ExecProcess, Server

    Cli = Callable[..., Ran]

SAID = (
    "All commands and output from this session will be recorded in container logs, including credentials and sensitive "
    "information passed through the command prompt.\nIf you don't see a command prompt, try pressing enter.\n"
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with a pod that has a terminal, one with two containers, and one that has ended."""
    with running_shop() as running, masthead.Client(kubeconfig=running.kubeconfig()) as client:
        pods = client.core_v1.pods("shop")
        shell = Container(name="main", image="busybox", stdin=True, tty=True)
        two = [Container(name="main", image="a"), Container(name="side", image="b")]
        pods.create(Pod.new("shell", spec={"containers": [shell]}))
        pods.create(Pod.new("two", labels={"app": "two"}, spec={"containers": two}))
        pods.create(Pod.new("ended", spec={"containers": two[:1], "restartPolicy": "Never"}))
        selector = {"selector": {"app": "two"}, "ports": [{"port": 80}]}
        client.core_v1.services("shop").create(Service.new("two", spec=selector))
        for name in ("web-1", "shell", "two", "ended"):
            running.kubelet.start(f"shop/{name}")
        running.kubelet.succeed("shop/ended")
        running.kubelet.attach("shop/*")(answer)
        yield running


async def answer(process: ExecProcess) -> int:
    """Says what it is attached to, repeats its input in capital letters up to a q, and ends with 3."""
    await process.stdout.write(f"{process.container} is here\n".encode())
    if not process.is_tty:
        await process.stderr.write(b"an error\n")
    while data := await process.stdin.read(100):
        await process.stdout.write(data.upper())
        if b"q" in data:
            break
    return 3


def test_what_a_process_prints_is_passed_on(environ: dict[str, str]) -> None:
    done = run(["attach", "web-1", "-n", "shop"], environ)

    assert (done.returncode, done.stdout, done.stderr) == (3, "main is here\n", f"{SAID}an error\n")


def test_quietly_only_the_process_is_heard(environ: dict[str, str]) -> None:
    done = run(["attach", "web-1", "-n", "shop", "-iq"], environ, stdin="hello\n")

    assert (done.returncode, done.stdout, done.stderr) == (3, "main is here\nHELLO\n", "an error\n")


def test_the_container_is_the_first_or_the_named_one(environ: dict[str, str]) -> None:
    done = run(["attach", "two", "-n", "shop"], environ)
    assert done.stdout == "main is here\n"
    assert done.stderr.startswith('Defaulted container "main" out of: main, side\n')

    done = run(["attach", "svc/two", "-n", "shop", "-c", "side", "-q"], environ)
    assert (done.stdout, done.stderr) == ("side is here\n", "an error\n")
    assert run(["attach", "svc", "two", "-n", "shop", "-c", "side", "-q"], environ).stdout == "side is here\n"


def test_a_terminal_that_the_container_has_not_is_no_error(environ: dict[str, str]) -> None:
    done = run(["attach", "web-1", "-n", "shop", "-it"], environ)

    assert done.returncode == 3
    assert done.stderr.startswith("error: Unable to use a TTY - container main did not allocate one\n")


@pytest.mark.slow
def test_a_terminal_talks_to_the_process(environ: dict[str, str]) -> None:
    with Terminal(["attach", "shell", "-n", "shop", "-it"], environ) as screen:
        screen.expect("main is here")
        screen.press("hallo")
        screen.expect("HALLO")
        screen.press("q")
        assert screen.finish() == 3
        assert "resume using 'masthead attach shell -c main -n shop -i -t' command" in screen.output
        assert screen.is_as_before


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("attach", 2, "name one pod"),
        ("attach a b c", 2, "name one pod"),
        ("attach web-1 --pod-running-timeout=0s", 2, "--pod-running-timeout is above zero"),
        ("attach web1 -n shop", 4, "did you mean web-"),
        ("attach svc/nope -n shop", 4, "not found"),
        ("attach cm/settings -n shop", 2, "does not select pods"),
        ("attach web-1 -c nope -n shop", 4, "its containers are main"),
        ("attach ended -n shop", 1, "cannot attach a container in a completed pod; current phase is Succeeded"),
        ("attach web-2 -n shop --pod-running-timeout=1s", 124, "pod/web-2 does not run after 1 s"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(line: str, code: int, said: str, cli: Cli) -> None:
    ran = cli(line)

    assert ran.code == code
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_a_pod_that_starts_is_waited_for(environ: dict[str, str], server: Server, client: masthead.Client) -> None:
    pods = client.core_v1.pods("shop")
    pods.create(Pod.new("late", spec={"containers": [Container(name="main", image="a")]}))
    try:
        # Whichever comes first, its look or the start: it attaches.
        process = subprocess.Popen(
            [*COMMAND, "attach", "late", "-n", "shop", "-q"], env=environ, stdout=subprocess.PIPE, text=True
        )
        server.kubelet.start("shop/late")
        assert process.communicate(timeout=PATIENCE)[0] == "main is here\n"
    finally:
        pods.delete("late", grace_period_seconds=0)

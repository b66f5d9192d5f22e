"""``masthead run NAME --image=IMAGE``: the pod of kubectl's command; an operator runs without ``--image``."""

from __future__ import annotations

import shlex
import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("termios")

from tests.cli.terminal import PATIENCE, Terminal, run

import masthead
from masthead._cli.catalog import CATALOG

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from tests.cli.conftest import Ran
    from tests.server.kubectl import Kubectl

    from masthead.server import ExecProcess, Server

    Cli = Callable[..., Ran]

GENERATED = [
    "x --image=nginx",
    "x --image=nginx -n shop",
    "x --image=nginx --port=80 --env=A=b --env=B= --env=C=d=e",
    "x --image=example.com:5000/a/b_c:1.2 --labels=b=c,a= --annotations=b=c=d",
    "x --image=nginx --restart=Never date now",
    "x --image=nginx --restart=OnFailure --command -- sh -c 'date; sleep 1' --image",
    "x --image=nginx --image-pull-policy=Always --privileged",
    "x --image=nginx -i -t --no-attach",
    "x --image=nginx -i --leave-stdin-open --attach=false",
    "x --image=nginx --expose --port=80 -l a=b",
    "x --image=nginx --expose --port=80 --save-config",
    """x --image=nginx --overrides='{"apiVersion": "v1", "spec": {"dnsPolicy": null, "nodeName": "a"}}'""",
    """x --image=a --override-type=strategic --overrides='{"spec": {"containers": [{"name": "x", "tty": true}]}}'""",
]


@pytest.mark.parametrize("line", GENERATED)
@pytest.mark.parametrize("form", ["yaml", "name"])
def test_the_pod_is_that_of_kubectl(line: str, form: str, cli: Cli, kubectl: Kubectl) -> None:
    head, dashes, tail = line.partition(" -- ")
    words = [*shlex.split(head), "--dry-run=client", "-o", form, *(["--", *shlex.split(tail)] if dashes else [])]
    theirs = [word.replace("--no-attach", "--attach=false") for word in words]
    command = [*kubectl.command, "run", *theirs]
    ours = [word.replace("--attach=false", "--no-attach") for word in words]

    expected = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # kubectl has an empty document between the two.
    expected = expected.replace("---\n---\n", "---\n")

    assert cli("run", *ours).out == expected


def test_a_pod_is_created(cli: Cli, client: masthead.Client) -> None:
    assert cli("run made -n shop --image=nginx --dry-run=server").out == "pod/made created (server dry run)\n"
    assert cli("-n shop run made --image nginx --expose --port=80").out == "service/made created\npod/made created\n"

    pod = client.core_v1.pods("shop").get("made")
    assert (pod.spec.containers[0].image, pod.metadata.labels) == ("nginx", {"run": "made"})
    assert client.core_v1.services("shop").get("made").spec.selector == {"run": "made"}
    assert cli("run made -n shop --image=nginx").code == 1
    client.core_v1.pods("shop").delete("made", grace_period_seconds=0)
    client.core_v1.services("shop").delete("made")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--image=a", "Missing argument 'NAME'"),
        ("x --image=A", "'A' is not the name of an image"),
        ("x --image=", "'' is not the name of an image"),
        ("x --image=a -t", "-t needs -i"),
        ("x --image=a -it", "-t needs a terminal"),
        ("x --image=a --rm", "--rm needs -i or --attach"),
        ("x --image=a -i --dry-run=server", "--dry-run excludes -i and --attach"),
        ("x --image=a --expose", "--expose needs --port"),
        ("x --image=a --env=b", "'b' is not NAME=VALUE"),
        ("x --image=a --labels=b", "'b' is not KEY=VALUE"),
        ("x --image=a --annotations=b", "'b' is not KEY=VALUE"),
        ("x --image=a --overrides={", "neither JSON nor YAML"),
        ("x --image=a --overrides=[]", "an object with fields of the pod"),
        ("x --image=a --overrides={kind:\\ Job}", "kind is Pod, not Job"),
        ("x --image=a --restart=Sometimes", "Invalid value for '--restart'"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_sent(line: str, said: str, cli: Cli) -> None:
    ran = cli("run", *shlex.split(line))

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_the_operator_is_run_without_an_image(environ: dict[str, str]) -> None:
    entry = CATALOG["run"]

    assert entry.is_program(["app.py"])
    assert entry.is_program(["app.py", "--", "--image"])
    assert not entry.is_program(["x", "--image", "nginx"])
    assert not entry.is_program(["x", "--image=nginx"])
    # In a process of its own, since it sets up logging.
    assert "there is no module 'missing_of_nobody'" in run(["run", "missing_of_nobody"], environ).stderr


@contextmanager
def started(server: Server, name: str) -> Generator[None]:
    """Start a pod as soon as it exists; it answers its input, and fails at the end of it."""

    @server.kubelet.main(f"shop/{name}")
    async def main(process: ExecProcess) -> int:
        if process.is_tty:
            # The first client tells its size.
            await anext(process.resizes())
            await process.stdout.write("ready\n")
        async for line in process.stdin:
            await process.stdout.write(b"got " + line)
            if line.startswith(b"bye"):
                break
        return 7

    def start() -> None:
        with masthead.Client(kubeconfig=server.kubeconfig()) as client:
            client.core_v1.pods("shop").wait_for(name, masthead.conditions.exists(), timeout=PATIENCE)
        server.kubelet.start(f"shop/{name}")

    thread = threading.Thread(target=start)
    thread.start()
    yield
    thread.join()


def test_an_attached_pod_ends_the_command_with_its_code(
    client: masthead.Client, server: Server, environ: dict[str, str]
) -> None:
    with started(server, "echo"):
        words = ["run", "echo", "-n", "shop", "--image=nginx", "--restart=Never", "-i", "--rm"]
        ran = run(words, environ, stdin="one\ntwo\n")

    assert (ran.returncode, ran.stdout) == (7, 'got one\ngot two\npod "echo" deleted from shop namespace\n')
    assert ran.stderr == "pod shop/echo terminated (Error)\n"
    left = client.core_v1.pods("shop").list(field_selector={"metadata.name": "echo"})
    assert all(pod.metadata.deletion_timestamp for pod in left.items)


def test_a_terminal_is_attached(server: Server, environ: dict[str, str]) -> None:
    words = ["run", "shell", "-n", "shop", "--image=nginx", "--restart=Never", "-it", "--rm", "--quiet"]
    with started(server, "shell"), Terminal(words, environ) as screen:
        screen.expect("ready")
        screen.press("bye\n")
        screen.expect("got bye")
        assert screen.finish() == 7
    assert "deleted" not in screen.output

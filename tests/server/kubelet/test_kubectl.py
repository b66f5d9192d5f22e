"""kubectl, unchanged, talks to pods of the embedded server; skipped without kubectl.

Over TLS, because Go's WebSockets take no password in an address, which is how kubectl sends the token without TLS.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.server.kubectl import KUBECTL, PATIENCE, Kubectl

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from masthead.server import ExecProcess

pytestmark = pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")
SPDY = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false"}


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    with masthead.server.run(bootstrap=False, tls=True, kubelet=True) as server:
        made = Kubectl(server, tmp_path)
        made("run web --image=nginx")
        made("wait --for=condition=Ready pod/web")
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("env", [{}, SPDY], ids=["websocket", "spdy"])
def test_exec_has_outputs_stdin_and_the_exit_code(kubectl: Kubectl, env: dict[str, str]) -> None:
    done = kubectl.run("exec -i web -- cat - /no", stdin="hello\n", env=env)
    assert (done.stdout, done.returncode) == ("hello\n", 1)
    assert "cat: /no: No such file or directory" in done.stderr
    assert "command terminated with exit code 1" in done.stderr


@pytest.mark.slow
def test_exec_of_a_command_that_does_not_exist_says_so(kubectl: Kubectl) -> None:
    done = kubectl.run("exec web -- psql")

    assert 'exec: "psql": executable file not found in $PATH' in done.stderr
    assert done.returncode == 1


@pytest.mark.slow
def test_a_handler_serves_exec(kubectl: Kubectl) -> None:
    @kubectl.server.kubelet.exec("web", command="psql")
    async def psql(process: ExecProcess) -> int:
        await process.stdout.write(f"{' '.join(process.argv)}\n")
        return 3

    done = kubectl.run("exec web -- psql -l")

    assert (done.stdout, done.returncode) == ("psql -l\n", 3)


@pytest.mark.slow
def test_logs_are_followed_to_their_end(kubectl: Kubectl) -> None:
    log = kubectl.server.kubelet.log("web")
    log.print("one")
    following = kubectl.start("logs -f web")
    assert following.stdout is not None
    assert following.stdout.readline() == "one\n"
    log.print("two")
    assert following.stdout.readline() == "two\n"
    kubectl.server.kubelet.succeed("web")
    assert following.communicate(timeout=PATIENCE)[0] == ""
    assert kubectl("logs web --tail=1") == "two\n"


def test_attach_reads_what_is_printed(kubectl: Kubectl) -> None:
    attached = kubectl.start("attach web -q")
    while not any(request.info.subresource == "attach" and request.code for request in kubectl.server.requests):
        pass
    kubectl.server.kubelet.log("web").print("news")
    assert attached.stdout is not None
    assert attached.stdout.readline() == "news\n"
    kubectl.server.kubelet.succeed("web")
    attached.communicate(timeout=PATIENCE)
    assert attached.returncode == 0


@pytest.mark.slow
def test_cp_goes_both_ways(kubectl: Kubectl, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "a b").write_bytes(bytes(range(256)) * 4000)
    (source / "empty").touch()

    kubectl(f"cp {source} web:/tmp/copied")
    kubectl(f"cp web:/tmp/copied {tmp_path / 'back'}")

    assert (tmp_path / "back" / "sub" / "a b").read_bytes() == bytes(range(256)) * 4000
    assert (tmp_path / "back" / "empty").read_bytes() == b""


def test_debug_and_run_attach_to_new_containers(kubectl: Kubectl) -> None:
    assert "in web\n" in kubectl("debug -i web --image=busybox -q", stdin="echo in $HOSTNAME\nexit\n")
    assert "ran: x\n" in kubectl(
        "run once -i --rm -q --image=busybox --restart=Never --command -- head -n 1", stdin="ran: x\n"
    )


@pytest.mark.slow
def test_a_terminal_works_with_kubectl(kubectl: Kubectl) -> None:
    import os
    import pty

    controller, terminal = pty.openpty()
    running = subprocess.Popen(
        [*kubectl.command, "exec", "-it", "web", "--", "sh"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    shown = b""
    while b"# " not in shown:
        shown += os.read(controller, 1000)
    os.write(controller, b"echo $HOSTNAME; exit 6\r")
    assert running.wait(PATIENCE) == 6
    shown += os.read(controller, 1000)
    os.close(controller)
    assert b"\r\nweb\r\n" in shown


def test_the_password_in_an_address_without_tls_works_for_logs(tmp_path: Path) -> None:
    with masthead.server.run(bootstrap=False, kubelet=True) as server:
        kubectl = Kubectl(server, tmp_path)
        kubectl("run web --image=nginx")
        kubectl("wait --for=condition=Ready pod/web")
        server.kubelet.log("web").print("hello")
        assert kubectl("logs web") == "hello\n"

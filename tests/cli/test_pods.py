"""``logs``, ``exec``, ``port-forward`` and ``cp``: in pods that run."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.terminal import COMMAND, PATIENCE, Terminal, run
from tests.cli.test_processes import CTRL_C, following

from masthead.api.core.v1 import Service

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran

    import masthead
    from masthead.server import Server

    Cli = Callable[..., Ran]


@pytest.fixture(scope="module", autouse=True)
def _running(server: Server) -> None:
    """Both pods run, and have printed something."""
    for name in ("web-1", "web-2"):
        server.kubelet.start(f"shop/{name}")
        for number in range(3):
            server.kubelet.log(f"shop/{name}").print(f"{name} says {number}")


def test_the_log_of_a_pod_is_printed_as_it_is(cli: Cli) -> None:
    assert cli("logs web-1 -n shop").out == "web-1 says 0\nweb-1 says 1\nweb-1 says 2\n"
    assert cli("logs pod/web-1 -n shop --tail 1").out == "web-1 says 2\n"
    assert cli("logs web-1 -n shop --tail 1 --prefix -c main").out == "[web-1/main] web-1 says 2\n"
    assert cli("logs web-1 -n shop --tail 1 --timestamps").out.split(" ", 1)[1] == "web-1 says 2\n"
    assert cli("logs web-1 -n shop --since 1h").out.count("\n") == 3


def test_the_logs_of_many_pods_say_whose_they_are(cli: Cli) -> None:
    lines = cli("logs -l app=web -n shop").out.splitlines()

    assert min(lines) == "[web-1/main] web-1 says 0"
    assert len(lines) == 6
    assert "[shop/web-2/main] web-2 says 2" in cli("logs -l app=web -A --tail 1").out.splitlines()
    assert cli("logs -l app=web -n shop --no-prefix --tail 1").out.count("web-1") == 1
    timed = cli("logs -l app=web -n shop --tail 1 --timestamps").out.splitlines()[0]
    assert timed.split()[1].endswith("Z")


def test_what_selects_pods_stands_for_them(cli: Cli, client: masthead.Client) -> None:
    made = Service.new("web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]})
    client.core_v1.services("shop").create(made)
    try:
        assert cli("logs svc/web -n shop --tail 1").out.count("\n") == 2
        assert cli("logs svc/wbe -n shop").code == 4
    finally:
        client.core_v1.services("shop").delete("web")
    assert "does not select pods" in cli("logs cm/settings -n shop").err


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("logs web1 -n shop", 4, "did you mean web-"),
        ("logs", 2, "name a pod"),
        ("logs web-1 -l app=web", 2, "name a pod"),
        ("logs web-1 --since 0.5s", 2, "--since"),
        ("logs web-1 -c nope -n shop", 1, "container nope is not valid"),
        ("logs -l a=( -n shop", 2, "selector"),
        ("exec web1 -n shop -- ls", 4, "did you mean web-"),
        ("exec cm/settings -n shop -- ls", 2, "does not select pods"),
        ("exec svc/wbe -n shop -- ls", 4, "not found"),
        ("exec web-1 -n shop", 2, "COMMAND"),
        ("exec web-1 -n shop ls", 2, "put -- before the command"),
        ("exec web-1 sh -c ls", 2, "put -- before the command"),
        ("exec web-1 ls -l", 2, "put -- before the command"),
        ("exec web-1 -t -n shop -- sh", 2, "-t needs a terminal"),
        ("port-forward web1 80 -n shop", 4, "did you mean web-"),
        ("port-forward web-1 http-alt -n shop", 1, "http-alt"),
        ("port-forward web-1 -n shop", 2, "PORT"),
        ("cp a b", 2, "either the source or the target"),
        ("cp web1:/etc/motd x -n shop", 4, "did you mean web-"),
        ("cp web-1:/nope x -n shop", 1, "/nope"),
        ("cp a/b/c:/x y", 2, "is not [NAMESPACE/]POD:PATH"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(line: str, code: int, said: str, cli: Cli) -> None:
    ran = cli(line)

    assert ran.code == code
    assert said in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.slow
def test_logs_are_followed_across_lost_connections_with_a_colour_for_each_pod(
    environ: dict[str, str], server: Server
) -> None:
    server.faults.drop_stream(after=60, subresource="log")
    with Terminal(["logs", "-l", "app=web", "-n", "shop", "-f", "--tail", "1"], environ) as screen:
        screen.expect("web-1 says 2")
        screen.expect("web-2 says 2")
        for number in range(20):
            server.kubelet.log("shop/web-1").print(f"more {number}")
        assert "[web-1/main] more 3" in screen.expect("more 19")
        assert "[web-1/main]\x1b[0m" in screen.output
        screen.press(CTRL_C)
        assert screen.finish() == 130
        assert screen.is_as_before


def test_one_log_is_followed_without_a_terminal(environ: dict[str, str], server: Server) -> None:
    with following(environ, "logs", "web-2", "-n", "shop", "-f", "--tail", "1") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "web-2 says 2\n"
        server.kubelet.log("shop/web-2").print("next")
        assert process.stdout.readline() == "next\n"


def test_a_command_has_its_streams_and_its_exit_code(environ: dict[str, str]) -> None:
    ran = run(["exec", "web-1", "-n", "shop", "--", "sh", "-c", "echo out; echo err >&2; exit 3"], environ)
    fed = run(["exec", "-i", "web-1", "-n", "shop", "--", "cat"], environ, stdin="a\nb\n")

    assert (ran.returncode, ran.stdout, ran.stderr) == (3, "out\n", "err\n")
    assert (fed.returncode, fed.stdout) == (0, "a\nb\n")


@pytest.mark.parametrize(
    ("stream", "script"),
    [("stdout", "while true; do echo x; done"), ("stderr", "while true; do echo x >&2; done")],
)
def test_a_command_whose_reader_goes_away_is_left_whichever_stream_it_prints_to(
    stream: str, script: str, environ: dict[str, str]
) -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [*COMMAND, "exec", "web-1", "-n", "shop", "--", "sh", "-c", script],
        env=environ,
        stdout=writing if stream == "stdout" else subprocess.DEVNULL,
        stderr=writing if stream == "stderr" else subprocess.DEVNULL,
    )
    try:
        os.close(writing)
        with os.fdopen(reading, "rb") as reader:
            assert reader.readline() == b"x\n"
        assert process.wait(PATIENCE) == 141
    finally:
        process.kill()
        process.wait()


def test_a_standard_input_that_cannot_be_read_ends_the_command(environ: dict[str, str]) -> None:
    with Path(os.devnull).open("w") as unreadable:
        ran = subprocess.run(
            [*COMMAND, "exec", "-i", "web-1", "-n", "shop", "--", "cat"],
            env=environ,
            stdin=unreadable,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    assert (ran.returncode, ran.stderr) == (1, "masthead exec: Bad file descriptor\n")


def test_a_command_runs_in_a_pod_of_a_service_or_workload(cli: Cli, client: masthead.Client) -> None:
    made = Service.new("web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]})
    client.core_v1.services("shop").create(made)
    idle = Service.new("idle", spec={"selector": {"app": "idle"}, "ports": [{"port": 80}]})
    client.core_v1.services("shop").create(idle)
    try:
        ran = cli("exec svc/web -n shop -- hostname")
        none = cli("exec svc/idle -n shop -- hostname")
    finally:
        client.core_v1.services("shop").delete("web")
        client.core_v1.services("shop").delete("idle")

    assert ran.out in {"web-1\n", "web-2\n"}
    assert (none.code, none.err) == (
        1,
        "masthead exec: service/idle: it has no pods\nhint: wait until one runs\n",
    )


def test_a_shell_runs_at_the_terminal(environ: dict[str, str]) -> None:
    with Terminal(["exec", "-it", "web-1", "-n", "shop", "--", "sh"], environ) as screen:
        screen.expect("# ")
        screen.press("echo from-a-$0; exit 4\r")
        screen.expect("from-a-sh")
        assert screen.finish() == 4
        assert screen.is_as_before


def test_files_are_copied_both_ways(cli: Cli, tmp_path: Path, server: Server) -> None:
    (tmp_path / "a.txt").write_text("hello", "utf-8")

    assert cli(f"cp {tmp_path / 'a.txt'} web-1:/tmp/b.txt -n shop").code == 0
    assert server.kubelet.files("shop/web-1")["/tmp/b.txt"] == b"hello"
    assert cli(f"cp shop/web-1:/tmp/b.txt {tmp_path / 'c.txt'}").code == 0
    assert (tmp_path / "c.txt").read_text("utf-8") == "hello"


def test_ports_are_forwarded_until_they_are_not(environ: dict[str, str], server: Server) -> None:
    process = subprocess.Popen(
        [*COMMAND, "port-forward", "web-1", ":80", "-n", "shop", "--address", "127.0.0.1"],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        local, arrow, pod = process.stdout.readline().split()
        assert (arrow, pod) == ("->", "shop/web-1:80")
        assert process.stderr.readline() == "forwarding; Ctrl-C ends\n"
        host, _, port = local.rpartition(":")
        with socket.create_connection((host, int(port)), PATIENCE) as connection:
            connection.settimeout(PATIENCE)
            assert connection.recv(1) == b""  # nothing listens on that port of the pod
        assert "the connection is closed" in process.stderr.readline()
        server.kubelet.succeed("shop/web-1")
        assert process.wait(PATIENCE) == 1
        assert "web-1" in process.stderr.read()
    finally:
        process.kill()
        process.communicate()
        server.kubelet.restart("shop/web-1")


def test_a_port_forward_ends_when_nobody_reads_why_connections_fail(environ: dict[str, str]) -> None:
    process = subprocess.Popen(
        [*COMMAND, "port-forward", "web-2", ":80", "-n", "shop", "--address", "127.0.0.1"],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        host, _, port = process.stdout.readline().split()[0].rpartition(":")
        assert process.stderr.readline() == "forwarding; Ctrl-C ends\n"
        process.stderr.close()
        with socket.create_connection((host, int(port)), PATIENCE) as connection:
            connection.settimeout(PATIENCE)
            assert connection.recv(1) == b""  # nothing listens on that port of the pod
        assert process.wait(PATIENCE) == 141
    finally:
        process.kill()
        process.communicate()

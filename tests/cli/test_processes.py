"""The commands as processes: at a terminal, at pipes, interrupted, and without what they need."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import pod

from masthead.api.core.v1 import ConfigMap
from masthead.meta import Patch

termios = pytest.importorskip("termios")

from tests.cli.terminal import COMMAND, PATIENCE, Terminal, plain, run  # noqa: E402 - needs terminals

if TYPE_CHECKING:
    from collections.abc import Iterator

    import masthead
    from masthead.server import Server

CTRL_C = "\x03"


@pytest.mark.slow
def test_a_live_table_follows_changes_until_it_is_interrupted(environ: dict[str, str], client: masthead.Client) -> None:
    pods = client.core_v1.pods("shop")
    with Terminal(["watch", "pods", "-n", "shop"], environ) as screen:
        screen.expect("watching pods in shop (2 objects, 0 changes)")
        pods.create(pod("live"))
        assert "+  live" in screen.expect("3 objects")
        screen.forget()
        pods.delete("live", grace_period_seconds=0)
        assert "-  live" in screen.expect("(2 objects")
        screen.press(CTRL_C)
        assert screen.finish() == 130
        assert screen.is_as_before


@pytest.mark.slow
def test_a_live_table_says_that_the_connection_is_lost_and_goes_on(
    environ: dict[str, str], client: masthead.Client, server: Server
) -> None:
    maps = client.core_v1.config_maps("shop")
    server.faults.drop_watch(after=3, resource="configmaps")
    with Terminal(["watch", "cm/settings", "-n", "shop"], environ) as screen:
        screen.expect("watching configmaps in shop (1 object, 0 changes)")
        server.faults.fail(503, verb="watch", resource="configmaps", times=None)
        server.faults.fail(503, verb="list", resource="configmaps", times=None)
        for size in range(4):  # one of which is one too many for the watch
            maps.patch("settings", Patch.merge({"data": {"size": str(size)}}))
        screen.expect("reconnecting configmaps in shop")
        server.faults.clear()
        screen.forget()
        screen.expect("watching configmaps in shop (1 object")
        screen.press(CTRL_C)
        assert screen.finish() == 130


def test_a_narrow_and_low_terminal_shows_what_fits(environ: dict[str, str]) -> None:
    with Terminal(["watch", "ns", "--show-labels"], environ, rows=6, columns=30) as screen:
        shown = screen.expect("... and ").replace("\r", "\n")
        assert max(map(len, shown.split("\n"))) <= 30
        assert "   NAME             STATUS\n" in shown  # there is no room for the age
        screen.press(CTRL_C)
        assert screen.finish() == 130


@contextmanager
def following(environ: dict[str, str], *arguments: str, code: int = 130) -> Iterator[subprocess.Popen[str]]:
    """A command at pipes that goes on until it is interrupted, and ends with a code then."""
    process = subprocess.Popen(
        [*COMMAND, *arguments], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == code
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("command", [["watch", "pods"], ["get", "pods", "-w"]])
def test_without_a_terminal_every_change_is_a_line(
    command: list[str], environ: dict[str, str], client: masthead.Client, server: Server
) -> None:
    pods = client.core_v1.pods("shop")
    server.faults.drop_watch(after=4, resource="pods")  # two pods, their end, and what comes then
    with following(environ, *command, "-n", "shop") as process:
        assert process.stdout is not None
        head = [process.stdout.readline() for _ in range(3)]
        assert head[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
        pods.create(pod("line"))
        assert process.stdout.readline().startswith("line    0/1     Pending   0          ")
        pods.delete("line", grace_period_seconds=0)
        assert process.stdout.readline().startswith("line ")


def test_rows_of_a_kind_whose_columns_are_unknown_are_asked_of_the_server(
    environ: dict[str, str], client: masthead.Client, server: Server
) -> None:
    server.faults.fail(403, verb="get", resource="customresourcedefinitions", times=None)
    widgets = client.dynamic("example.com/v1", "widgets", namespace="shop")
    with following(environ, "watch", "widgets", "-n", "shop") as process:
        assert process.stdout is not None
        assert [process.stdout.readline().split() for _ in range(2)] == [["NAME", "SIZE"], ["small", "3"]]
        widgets.patch("small", Patch.merge({"spec": {"size": 4}}))
        assert process.stdout.readline().split() == ["small", "4"]
        widgets.patch("small", Patch.merge({"spec": {"size": 3}}))
        assert process.stdout.readline().split() == ["small", "3"]


@pytest.mark.slow
def test_colours_are_for_terminals_that_have_them(environ: dict[str, str]) -> None:
    shown: dict[str, str] = {}
    for name, more in {"color": {}, "no": {"NO_COLOR": "1"}, "dumb": {"TERM": "dumb"}}.items():
        with Terminal(["get", "pods", "-n", "shop"], {**environ, **more}) as screen:
            assert screen.finish() == 0
            shown[name] = screen.output
    piped = run(["get", "pods", "-n", "shop"], environ).stdout

    assert "\x1b[33mPending\x1b[0m" in shown["color"]
    assert "\x1b" not in shown["no"] + shown["dumb"] + piped


def test_a_bar_leaves_only_lines_behind(environ: dict[str, str]) -> None:
    with Terminal(["wait", "ns/shop", "cm/settings", "-n", "shop"], environ) as screen:
        assert screen.finish() == 0
        assert "namespace/shop condition met" in plain(screen.output)
        assert screen.is_as_before


def test_deleting_manifests_shows_progress_and_leaves_only_lines_behind(
    environ: dict[str, str], client: masthead.Client, tmp_path: Path
) -> None:
    names = ("gone-1", "gone-2")
    maps = [ConfigMap.new(name, namespace="shop") for name in names]
    client.apply_manifests(maps, field_manager="test")
    manifests = "---\n".join(json.dumps(each.to_dict()) + "\n" for each in maps)
    (tmp_path / "maps.yaml").write_text(manifests, "utf-8")
    with Terminal(["delete", "-f", str(tmp_path / "maps.yaml")], environ) as screen:
        assert screen.finish() == 0
        assert screen.is_as_before
    shown = plain(screen.output)
    assert "deleting" in shown
    for name in names:
        assert f'configmap "{name}" deleted from shop namespace\n' in shown


def test_a_long_detail_is_cut_and_leaves_room_for_the_bar(environ: dict[str, str]) -> None:
    condition = "--for=jsonpath={.data.color}=a-color-that-nobody-has-ever-seen"
    with Terminal(["wait", "cm/settings", "-n", "shop", condition], environ, columns=80) as screen:
        shown = screen.expect("configmap/settings: .da")
        assert re.search(r"waiting ━+ 0/1 0:00:0\d configmap/settings: .*\.\.\.", shown)
        screen.press(CTRL_C)
        assert screen.finish() == 130


@pytest.mark.slow
def test_a_wait_says_that_the_connection_is_lost(environ: dict[str, str], server: Server) -> None:
    server.faults.fail(503, verb="list", resource="configmaps", times=None)
    server.faults.fail(503, verb="watch", resource="configmaps", times=None)
    line = ["wait", "cm/settings", "-n", "shop", "--for=jsonpath={.data.color}=blue"]
    with following(environ, *line) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("reconnecting: ")
    with Terminal(line, environ) as screen:
        screen.expect("reconnecting: ")
        screen.press(CTRL_C)
        assert screen.finish() == 130
        assert screen.is_as_before


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_streams_of_something_else(closed: str, environ: dict[str, str]) -> None:
    ran = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, "get", "nothing"],
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert ran.returncode == 4
    assert "Traceback" not in ran.stdout + ran.stderr


def test_an_error_that_cannot_be_said_keeps_its_code(environ: dict[str, str]) -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run([*COMMAND, "get", "nothing"], env=environ, stderr=full, timeout=PATIENCE, check=False)

    assert ran.returncode == 4


def test_a_wait_is_interrupted_at_once(environ: dict[str, str]) -> None:
    with Terminal(["wait", "pods", "--all", "-n", "shop", "--timeout=-1"], environ) as screen:
        screen.expect("waiting")
        screen.press(CTRL_C)
        assert screen.finish() == 130
        assert screen.is_as_before
        assert "Traceback" not in screen.output


def test_a_reader_that_goes_away_is_no_error_to_talk_about(environ: dict[str, str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [*COMMAND, "get", "crd", "-o", "yaml"],
        env=environ,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    os.close(writing)

    assert (process.returncode, process.stderr) == (141, "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["get", "pods"], "no cluster was found: KUBECONFIG is not set"),
        (["--kubeconfig", "/no/such/file", "get", "pods"], "/no/such/file: does not exist"),
        (["--server", "http://127.0.0.1:1", "get", "pods"], "127.0.0.1:1 refused the connection"),
    ],
)
def test_no_cluster_is_said_in_one_line_with_a_hint(arguments: list[str], said: str, environ: dict[str, str]) -> None:
    ran = run(arguments, {key: value for key, value in environ.items() if key != "KUBECONFIG"})

    assert ran.returncode == 3
    line, hint = ran.stderr.splitlines()
    assert said in line
    assert hint.startswith("hint: ")


def test_a_slow_server_is_not_waited_for_longer_than_said(environ: dict[str, str], server: Server) -> None:
    slow = server.faults.delay(600, verb="list", resource="secrets", times=None)
    try:
        ran = run(["get", "secrets", "--request-timeout=300ms"], environ)
    finally:
        slow.remove()

    assert ran.returncode == 3
    assert "--request-timeout" in ran.stderr


WITHOUT_EXTRA = """
import sys
sys.modules["click"] = sys.modules["rich"] = None
from masthead._cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("arguments", "code", "out", "err"),
    [
        (
            ["get", "pods"],
            1,
            "",
            "masthead: this command needs click; install it with pip install 'masthead-k8s[cli]'\n",
        ),
        (["--version"], 0, "masthead ", ""),
        (["--help"], 0, "usage: masthead", ""),
        (["serve", "--help"], 0, "usage: masthead serve", ""),
        (["new", "--help"], 0, "usage: masthead new", ""),
    ],
)
def test_without_the_extra_it_is_named_and_the_rest_works(arguments: list[str], code: int, out: str, err: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRA, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (code, err)
    assert ran.stdout.startswith(out)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("masthead wa", {"watch", "wait"}),
        ("masthead get conf", {"configmaps"}),
        ("masthead get -n shop pods web-", {"web-1", "web-2"}),
        ("masthead get -n shop pods/", {"pods/web-1", "pods/web-2"}),
        ("masthead watch -n sh", {"shop"}),
        ("masthead --kubeconfig /no/such/file get po", set()),
        ("masthead get -o js", {"json", "jsonpath=", "jsonpath-file=", "jsonpath-as-json="}),
        ("masthead wait --for cr", {"create"}),
        ("masthead wait --for = cr", {"create"}),
        ("masthead wait --for =", {"ready", "delete", "create", "condition=", "jsonpath="}),
        ("masthead wait --for=cr", {"--for=create"}),  # without = in COMP_WORDBREAKS
        ("masthead get --namespace = sh", {"shop"}),
        ("masthead get --output = js", {"json", "jsonpath=", "jsonpath-file=", "jsonpath-as-json="}),
        ("masthead label cm -n = shop set", {"settings"}),
        ("masthead rollout re", {"restart", "resume"}),
        ("masthead rollout status d", {"daemonsets", "deployments"}),
        ("masthead top pods -n shop web-", {"web-1", "web-2"}),
    ],
)
def test_words_are_completed(words: str, expected: set[str], environ: dict[str, str]) -> None:
    asked = {
        "_MASTHEAD_COMPLETE": "bash_complete",
        "COMP_WORDS": words.replace(" ", "\n"),
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    ran = run([], {**environ, **asked})

    assert ran.stderr == ""
    assert {line.rpartition(",")[2] for line in ran.stdout.split()} == expected
    assert "_MASTHEAD_COMPLETE" in run(["completion", "bash"], environ).stdout


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_replace_the_option_with_its_value(shell: str, environ: dict[str, str]) -> None:
    at = {"zsh": "2", "fish": "--for=cr"}[shell]
    asked = {"_MASTHEAD_COMPLETE": f"{shell}_complete", "COMP_WORDS": "masthead wait --for=cr", "COMP_CWORD": at}

    assert "--for=create" in run([], {**environ, **asked}).stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_values_behind_an_equals_sign_are_completed_in_bash(environ: dict[str, str], tmp_path: Path) -> None:
    program = tmp_path / "masthead"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n', "utf-8")
    program.chmod(0o755)
    path = f"{tmp_path}:{environ['PATH']}"
    bash = ["/usr/bin/env", "bash", "--noprofile", "--norc", "-i"]
    with Terminal([], {**environ, "PATH": path, "PS1": "at> ", "INPUTRC": "/dev/null"}, program=bash) as shell:
        shell.press("source <(masthead completion bash); echo loaded-$?\n")
        shell.expect("loaded-0")
        shell.press("masthead get pods --namespace=sh\t--for=x")
        shell.expect("--namespace=shop --for=x")
        shell.press("\x15masthead wait --for=cond\tReady")
        shell.expect("--for=condition=Ready")
        shell.press("\x15masthead wait --for=re\t-n sh\tpods/web-\t")
        shell.expect("--for=ready -n shop pods/web-")
        shell.press("\x15exit\n")
        shell.finish()


def test_kinds_that_are_known_are_completed_without_a_request(environ: dict[str, str], server: Server) -> None:
    asked = {"_MASTHEAD_COMPLETE": "bash_complete", "COMP_WORDS": "masthead\nget\nconf", "COMP_CWORD": "2"}
    assert run(["get", "pods"], environ).returncode == 0
    before = len(server.requests)

    assert run([], {**environ, **asked}).stdout == "plain,configmaps\n"
    assert len(server.requests) == before

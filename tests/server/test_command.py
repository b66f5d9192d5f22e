"""The server as a command: output, rejected arguments, and shutdown."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import yaml
from tests.server.calls import MAPS, Caller, config_map
from tests.server.recordings import Recorder
from tests.server.recordings import config_map as recorded_map

from masthead_server.command import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMAND = [sys.executable, "-m", "masthead.server"]
PATIENCE = 30
NODES = "/api/v1/nodes"
NODE_EVENTS = "/api/v1/namespaces/default/events"
CORDONED = {"metadata": {"name": "worker"}, "spec": {"unschedulable": True}}


@contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command until the end of the block; gives the process and the address that it printed."""
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("Serving on http"), process.communicate(timeout=PATIENCE)
            yield process, line.split()[-1]
        finally:
            process.kill()


def ended_by(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    """End a process; returns its exit code and its stderr."""
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, errors


def status_by_host(url: str, host: str) -> int:
    """The status of a request that names a host."""
    caller = Caller(url)
    connection = caller.connect()
    connection.putrequest("GET", MAPS, skip_host=True)
    connection.putheader("Host", host)
    connection.endheaders()
    code = connection.getresponse().status
    connection.close()
    caller.close()
    return code


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_shuts_it_down_gracefully_and_writes_are_kept(tmp_path: Path, number: signal.Signals) -> None:
    data = tmp_path / "data"
    for expected in (404, 200):
        with running("--data", str(data), "--no-auth", "--no-bootstrap") as (process, url):
            caller = Caller(url)
            assert caller.call("GET", f"{MAPS}/a").code == expected
            caller.call("POST", MAPS, config_map("a"))
            with caller.watching(f"{MAPS}?watch=1") as stream:
                assert stream.readline()
                assert ended_by(process, number) == (0, "")
                assert stream.readline() == b""
            caller.close()
    # A file that was closed needs no log beside it to be read.
    assert [each.name for each in tmp_path.iterdir()] == ["data"]


def test_it_prints_the_token_of_clients() -> None:
    with running() as (process, url):
        assert process.stdout is not None
        token = process.stdout.readline().split()[-1]
        caller = Caller(url, token)
        assert caller.call("GET", MAPS).code == 200
        caller.close()


@pytest.mark.slow
def test_token_seed_history_and_bookmarks_can_be_chosen() -> None:
    chosen = ("--token", "chosen", "--seed", "7", "--history", "1", "--bookmark-every", "0.05")
    uids: set[str] = set()
    for _ in range(2):
        with running(*chosen) as (_, url):
            caller = Caller(url, "chosen")
            first = caller.call("POST", MAPS, config_map("a")).json["metadata"]
            for name in "bcd":
                caller.call("POST", MAPS, config_map(name))
            uids.add(first["uid"])
            [old] = caller.events(f"{MAPS}?watch=1&resourceVersion={first['resourceVersion']}", 1)
            assert old["object"]["code"] == 410
            events = caller.events(f"{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion=0", 7)
            assert [event["type"] for event in events][-2:] == ["BOOKMARK"] * 2
            caller.close()
    assert len(uids) == 1


def test_a_kubeconfig_replaces_the_token(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    with running("--kubeconfig-out", str(path), "--tls") as (process, url):
        assert process.stdout is not None
        assert process.stdout.readline() == f"kubectl --kubeconfig {path} get namespaces\n"
        assert process.stdout.readline() == f"masthead.Client(kubeconfig={str(path)!r})\n"
        found = yaml.safe_load(path.read_text())
        code, errors = ended_by(process, signal.SIGTERM)

    assert found["clusters"][0]["cluster"]["server"] == url
    assert url.startswith("https://")
    assert found["users"][0]["user"]["token"]
    assert (code, errors) == (0, "")


def test_with_verbose_each_request_is_a_line_on_stderr() -> None:
    with running("--verbose", "--no-auth") as (process, url):
        caller = Caller(url)
        caller.call("GET", f"{MAPS}?limit=5", headers={"User-Agent": "test/1 \x9b31m"})
        caller.call("POST", MAPS, config_map("a"))
        caller.call("GET", "/%zz")
        with caller.watching(f"{MAPS}?watch=1") as stream:
            assert stream.readline()
        caller.close()
        code, errors = ended_by(process, signal.SIGTERM)

    lines = [re.sub(r"^\d\d:\d\d:\d\d | \d+\.\dms", "", line) for line in errors.splitlines()]
    assert code == 0
    assert lines == [
        f'GET {MAPS}?limit=5 200 "test/1 \\udc9b31m"',
        f'POST {MAPS} 201 "-"',
        'GET /%zz 400 "-"',
        f'GET {MAPS}?watch=1 200 "-"',
    ]


@pytest.mark.slow
def test_by_default_only_start_and_stop_are_printed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running("--no-auth", "--data", str(data)) as (process, url):
        caller = Caller(url)
        caller.call("GET", MAPS)
        caller.close()
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        output = process.stdout.read()
        assert process.stderr is not None
        assert process.stderr.read() == ""

    assert output.splitlines() == [
        f"Objects are kept in {data}",
        "For a kubeconfig, for kubectl and for masthead.Client(kubeconfig=...), add --kubeconfig-out FILE",
        "Stopped",
    ]


def test_it_shuts_down_gracefully_when_its_output_is_closed() -> None:
    with running("--no-auth") as (process, _):
        assert process.stdout is not None
        assert process.stdout.readline().startswith("For a kubeconfig")
        process.stdout.close()
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait(PATIENCE)) == ("", 0)


def test_further_hosts_can_be_allowed() -> None:
    with running("--no-auth", "--allow-host", "a.example", "--allow-host", "b.example") as (_, url):
        for host, code in (("a.example", 200), ("b.example:80", 200), ("c.example", 403)):
            response = status_by_host(url, host)
            assert response == code


def test_the_port_and_no_authentication_can_be_chosen() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with running("--port", str(port), "--no-auth", "--no-controllers") as (_, url):
        assert url == f"http://127.0.0.1:{port}"
        caller = Caller(url)
        caller.call("POST", "/api/v1/namespaces", {"metadata": {"name": "x"}})
        caller.call("DELETE", "/api/v1/namespaces/x")
        assert caller.call("GET", "/api/v1/namespaces/x").json["status"]["phase"] == "Terminating"
        caller.close()


def test_authorization_can_be_chosen() -> None:
    with running("--token", "t", "--authorization", "rbac") as (_, url):
        caller = Caller(url, token="t")
        assert caller.call("GET", MAPS).code == 200
        assert caller.call("GET", MAPS, headers={"Impersonate-User": "jane"}).code == 403
        caller.close()


def test_users_and_anonymous_access_can_be_chosen(tmp_path: Path) -> None:
    users = tmp_path / "tokens.csv"
    users.write_text("secret,jane,\n")
    with running("--token-auth-file", str(users), "--no-anonymous-auth") as (_, url):
        caller = Caller(url, token="secret")
        review = caller.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}).json
        assert review["status"]["userInfo"]["username"] == "jane"
        assert caller.call("GET", "/version", headers={"Authorization": ""}).code == 401
        caller.close()


def test_it_rejects_impossible_settings_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    (tmp_path / "text").write_text("this is no database, but it is long enough to look like a file of its own")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        cases = {
            ("--port", str(taken.getsockname()[1])): "cannot listen on",
            ("--port", "70000"): "there is no port 70000",
            ("--allow-host", ""): "--allow-host) is empty",
            ("--service", "A_/hook=9443"): "--service A_/hook: 'A_' is no name of a Service or namespace: it may",
            ("--host", "", "--allow-remote"): "host is empty",
            ("--event-ttl", "1e30"): "event_ttl is a time in seconds, and must be at most",
            ("--load", str(tmp_path / ("x" * 300))): "File name too long",
            ("--load", str(tmp_path / "bytes")): "not YAML",
            (
                "--node-template",
                str(tmp_path / "pod.yaml"),
            ): "pod.yaml: nodes: a manifest of a node has the kind v1 Node, not v1 Pod",
            ("--host", "0.0.0.0"): "--allow-remote",
            ("--token", ""): "the token is empty",
            ("--token-auth-file", str(tmp_path / "none.csv")): "cannot read the token file",
            ("--token-auth-file", str(tmp_path / "text")): "must have at least 3 columns",
            ("--authorization", "rbca"): "there is no authorization mode 'rbca'",
            ("--like", "minikube"): "there is no profile 'minikube'; there are kind",
            ("--like", "kind", "--no-kubelet"): "a cluster like kind cannot start with kubelet=False (--no-kubelet)",
            ("--like", "kind", "--no-controllers"): "cannot start with controllers=False (--no-controllers)",
            ("--history", "0"): "history is a number of changes",
            ("--history-bytes", "0"): "history_bytes is a number of bytes",
            ("--bookmark-every", "0"): "bookmark_every is a time",
            ("--host", "no.such.host.invalid", "--allow-remote"): "cannot listen on",
            ("--data", str(tmp_path / "no" / "folder")): "folder",
            ("--data", str(tmp_path / "text")): "no data file",
            ("--kubeconfig-out", str(tmp_path / "no" / "folder")): "cannot write a kubeconfig",
        }
        for arguments, message in cases.items():
            assert main(arguments, name="masthead serve") == 2
            printed = capsys.readouterr()
            assert message in printed.err
            assert printed.err.count("\n") == 1
            assert printed.err.startswith("masthead serve: ")
            assert printed.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "many"], "invalid int value"),
        (["--nonsense"], "unrecognized arguments"),
        (["--absent-image", " "], "argument --absent-image: it is empty: name an image"),
        (["--enable-admission-plugins", ","], "it is empty: name a plugin"),
        (["--token", "x", "--no-auth"], "not allowed with argument"),
    ],
)
def test_invalid_arguments_are_explained(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_webhook_behind_a_service_is_reached() -> None:
    review = {
        "name": "hook.example.com",
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "clientConfig": {"service": {"namespace": "default", "name": "hook"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    with socket.create_server(("127.0.0.1", 0)) as webhook:
        webhook.settimeout(PATIENCE)
        port = webhook.getsockname()[1]
        with running("--no-auth", "--service", f"default/hook={port}") as (_, url):
            caller = Caller(url)
            service = {"metadata": {"name": "hook"}, "spec": {"ports": [{"port": 443}]}}
            assert caller.call("POST", "/api/v1/namespaces/default/services", service).code == 201
            configuration = {"metadata": {"name": "hook"}, "webhooks": [review]}
            assert caller.call("POST", configurations, configuration).code == 201
            with ThreadPoolExecutor() as pool:
                refused = pool.submit(caller.call, "POST", MAPS, config_map("a"))
                webhook.accept()[0].close()  # no TLS: the call fails, but it was made
                assert refused.result(PATIENCE).code == 500
            caller.close()


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param(
            "hook=9443", "'hook=9443' is not a Service and a port, such as default/hook=9443", id="no namespace"
        ),
        pytest.param("default/hook", "'default/hook' is not a Service and a port", id="no port"),
        pytest.param("default/hook=x", "'default/hook=x' is not a Service and a port", id="no number"),
        pytest.param("default/hook=70000", "a port is a number from 1 to 65535, not 70000", id="no such port"),
        pytest.param(
            "default/hook:0=9443", "a port is a number from 1 to 65535, not 0", id="no such port of a Service"
        ),
    ],
)
def test_services_need_a_name_and_ports(value: str, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code: object = main(["--service", value])
    except SystemExit as exit_:
        code = exit_.code
    assert code == 2
    assert problem in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "hints"),
    [
        pytest.param(["--no-auth", "--no-bootstrap"], [], id="no roles"),
        pytest.param(["--authorization", "rbac"], [], id="roles"),
        pytest.param(["--authorization", "rbac", "--no-auth"], ["With --no-auth, everyone"], id="no credentials"),
        pytest.param(["--authorization", "node,rbac", "--no-bootstrap"], ["With --no-bootstrap, there"], id="empty"),
    ],
)
def test_settings_that_defeat_roles_are_explained(arguments: list[str], hints: list[str]) -> None:
    with running(*arguments) as (process, _):
        code, errors = ended_by(process, signal.SIGTERM)
    assert code == 0
    assert [line[: len(hint)] for line, hint in zip(errors.splitlines(), hints, strict=True)] == hints


def test_nodes_of_a_template_file_are_registered(tmp_path: Path) -> None:
    file = tmp_path / "nodes.json"
    file.write_text('{"name": "worker", "labels": {"pool": "a"}}')
    with running("--no-auth", "--nodes", "2", "--node-template", str(file)) as (process, url):
        caller = Caller(url)
        nodes = caller.call("GET", "/api/v1/nodes").json["items"]
        caller.close()
        ended_by(process, signal.SIGTERM)

    assert [node["metadata"]["name"] for node in nodes] == ["worker", "worker-2"]
    assert {node["metadata"]["labels"]["pool"] for node in nodes} == {"a"}


def test_pods_wait_for_images_that_are_absent() -> None:
    pods = "/api/v1/namespaces/default/pods"
    pod = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "shop:nonexistent"}]}}
    with running("--no-auth", "--absent-image", "*:nonexistent", "--absent-image", "other") as (_, url):
        caller = Caller(url)
        assert caller.call("POST", pods, pod).code == 201
        with caller.watching(f"{pods}?watch=1&resourceVersion=0") as stream:
            while not (statuses := json.loads(stream.readline())["object"]["status"].get("containerStatuses")):
                pass
        caller.close()

    assert statuses[0]["state"]["waiting"]["reason"] == "ErrImagePull"


@pytest.mark.parametrize("count", ["1", "2"])
def test_nodes_without_a_kubelet_are_refused(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--nodes", count, "--no-kubelet"]) == 2

    assert "nodes need the kubelet: leave out kubelet=False (--no-kubelet), or nodes" in capsys.readouterr().err


def test_nodes_without_controllers_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--nodes", "3", "--no-controllers"]) == 2

    assert "controllers=False (--no-controllers) is kube-apiserver alone" in capsys.readouterr().err


def test_nodes_have_their_lifecycle_with_workloads_and_no_kubelet() -> None:
    with running("--no-auth", "--no-kubelet") as (_, url):
        caller = Caller(url)
        assert caller.call("POST", NODES, CORDONED).code == 201
        [event] = caller.events(f"{NODE_EVENTS}?watch=1&resourceVersion=0", 1)
        changes = caller.events(f"{NODES}?watch=1&resourceVersion=1", 2)
        caller.close()

    assert event["object"]["reason"] == "RegisteredNode"
    [taint] = changes[-1]["object"]["spec"]["taints"]
    assert taint["key"] == "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize("option", ["--load", "--no-workloads"])
def test_nodes_stay_as_they_were_created_if_nothing_writes_heartbeats(tmp_path: Path, option: str) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}')
    with running("--no-auth", "--no-kubelet", option, *([str(dump)] if option == "--load" else [])) as (_, url):
        caller = Caller(url)
        created = caller.call("POST", NODES, CORDONED).json
        # Controllers look at changes in their order: when they have made the account, they have seen the node.
        caller.call("POST", "/api/v1/namespaces", {"metadata": {"name": "later"}})
        caller.events("/api/v1/namespaces/later/serviceaccounts?watch=1&resourceVersion=0", 1)
        found = caller.call("GET", f"{NODES}/worker").json
        events = caller.call("GET", NODE_EVENTS).json["items"]
        caller.close()

    assert found == created
    assert not events


def test_a_recording_is_played_from_a_moment(tmp_path: Path) -> None:
    file = tmp_path / "incident.mhr"
    with Recorder(file) as recorder:
        recorder.write("configmaps", "STATE", recorded_map("a", 10))
        recorder.write("configmaps", "ADDED", recorded_map("b", 20))
        recorder.write("configmaps", "ADDED", recorded_map("c", 30))
    with running("--from", str(file), "--at", "20", "--no-auth") as (process, url):
        assert process.stdout is not None
        lines = [process.stdout.readline(), process.stdout.readline()]
        assert f"Showing {file} at 2026-03-01T00:00:02Z, version 20\n" in lines
        caller = Caller(url)
        assert [item["metadata"]["name"] for item in caller.call("GET", MAPS).json["items"]] == ["a", "b"]
        caller.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "none.mhr"], "the recording none.mhr does not exist\n"),
        (["--at", "5"], "at=... (--at) is for a replay: give recording=... (--from FILE), too\n"),
        (["--from", "x", "--load", "y"], "leave out load=... (--load), or recording=... (--from)\n"),
        (["--from", "x", "--speed", "fast"], "'fast' is no speed: give a factor, such as 10, or max\n"),
    ],
)
def test_wrong_options_of_a_replay_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(arguments)
    except SystemExit as error:
        code = int(error.code or 0)
    assert code == 2
    assert message in capsys.readouterr().err

"""``masthead debug``: ephemeral containers, copies of pods, and pods on nodes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.terminal import Terminal, run
from tests.server.kubectl import Kubectl, needs_current_kubectl

import masthead
import masthead.server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Ran

    from masthead.server import ExecProcess, Server

    Cli = Callable[..., Ran]

PODS = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}, annotations: {note: x}}
spec:
  initContainers: [{name: setup, image: busybox}]
  containers:
  - name: main
    image: nginx
    args: [serve]
    livenessProbe: {exec: {command: [check]}}
    readinessProbe: {exec: {command: [check]}}
    startupProbe: {exec: {command: [check]}}
    securityContext: {capabilities: {add: [CHOWN]}}
  - {name: side, image: envoy}
---
apiVersion: v1
kind: Pod
metadata: {name: user}
spec: {securityContext: {runAsUser: 1000}, containers: [{name: main, image: nginx}]}
"""
PROFILES = ("general", "baseline", "restricted", "netadmin", "sysadmin", "legacy")
NODE = "node/masthead-node"
SAME = [
    "debug web --image=busybox",
    "debug web --image=busybox -c dbg --target=main --env=A=1 --env=B=2,C=3 -- sh -c x",
    "debug web --image=busybox --arguments-only --image-pull-policy=Never -- x",
    "debug pod/web --image=busybox -it --attach=false",
    "debug web --image=reg.example.com:5000/tools/debug:1.2@sha256:" + "a" * 64 + " -q",
    *(f"debug web --image=busybox -c dbg --profile={profile}" for profile in PROFILES),
    *(f"debug web --copy-to=copy --image=busybox -c dbg --profile={profile}" for profile in PROFILES),
    *(f"debug {NODE} --image=busybox --profile={profile}" for profile in PROFILES),
    f"debug {NODE} --image=busybox -c mine --env=A=1 -- sleep 1",
    "debug web --copy-to=copy --set-image=*=busybox",
    "debug web --copy-to=copy --set-image=main=a:1,side=b:2 --same-node",
    "debug web --copy-to=copy -c main --profile=sysadmin --env=X=y -- sh",
    "debug web --copy-to=copy --image=busybox --share-processes=false",
    "debug web --copy-to=copy --image=busybox --replace",
    "debug web --copy-to=copy --image=busybox --keep-labels --keep-annotations",
    "debug web --copy-to=copy --image=busybox --keep-liveness --keep-readiness --keep-startup",
    "debug web --copy-to=copy --image=busybox --keep-init-containers=false",
    "debug user --image=busybox",
    "debug user --copy-to=copy --image=busybox --profile=restricted",
]
REFUSED = [
    ("debug --image=busybox", 2, "name objects"),
    ("debug web", 2, "--image names the image"),
    ("debug web --image=busybox -t", 2, "-t goes with -i"),
    ("debug web --image=busybox --replace", 2, "--replace goes with --copy-to"),
    ("debug web --image=busybox --same-node", 2, "--same-node goes with --copy-to"),
    ("debug web --image=busybox --set-image=a=b", 2, "--set-image goes with --copy-to"),
    ("debug web --copy-to=copy", 2, "--copy-to goes with"),
    ("debug web --copy-to=copy -- sh", 2, "which container gets the command?"),
    ("debug web --copy-to=copy --image=busybox --target=main", 2, "--target excludes --copy-to"),
    ("debug web --copy-to=copy -c nope -- sh", 2, "a new container needs --image"),
    ("debug web --attach", 2, "--attach needs a container"),
    ("debug web --image=UPPER", 2, "'UPPER' is not the name of an image"),
    ("debug web --copy-to=copy --set-image=main=a:b:c", 2, "'a:b:c' is not the name of an image"),
    ("debug web --image=busybox --env=X", 2, "'X' is not NAME=VALUE"),
    ("debug web --image=busybox --profile=nope", 2, "'nope' is not one of"),
    ("debug deploy/web --image=busybox", 2, "deployments.apps are not debugged"),
    ("debug nope --image=busybox", 4, 'pods "nope" not found'),
    ("debug node/nope --image=busybox", 4, 'nodes "nope" not found'),
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with two nodes, whose pods run."""
    with masthead.server.run(workloads=True, nodes=2) as running:
        running.kubelet.attach("*")(answer)
        yield running


async def answer(process: ExecProcess) -> int:
    """Says where it is, and repeats its input in capital letters up to a q."""
    await process.stdout.write(b"welcome\n")
    while data := await process.stdin.read(100):
        await process.stdout.write(data.upper())
        if b"q" in data:
            break
    return 0


@pytest.fixture(autouse=True)
def _pods(client: masthead.Client) -> None:
    renew(client)


def renew(client: masthead.Client) -> None:
    """Two pods run, and no others exist."""
    pods = client.core_v1.pods("default")
    for pod in pods.list():
        pods.delete(pod.metadata.name, grace_period_seconds=0)
    client.apply_manifests(PODS, field_manager="test")
    for name in ("web", "user"):
        pods.wait_for(name, masthead.conditions.pod_running(), timeout=60)


def pods_of(client: masthead.Client, *, keeps_node: bool) -> dict[str, Any]:
    """What the pods are made of, by name; generated names are masked."""
    pods = [pod.to_dict() for pod in client.dynamic("v1", "pods", namespace="default").list()]
    for pod in pods:
        pod["metadata"] = {key: pod["metadata"].get(key) for key in ("name", "labels", "annotations")}
        del pod["status"]
        # Labels of the node that the scheduler has chosen.
        labels = pod["metadata"]["labels"] or {}
        pod["metadata"]["labels"] = {key: value for key, value in labels.items() if not key.startswith("topology.")}
        # kubectl's variables come in any order.
        for key in ("containers", "ephemeralContainers"):
            for container in pod["spec"].get(key, []):
                container.get("env", []).sort(key=lambda variable: variable["name"])
        # The scheduler's choice.
        if not keeps_node:
            pod["spec"].pop("nodeName", None)
    found = json.loads(masked(json.dumps(pods)))
    return {pod["metadata"]["name"]: pod for pod in found}


def masked(text: str) -> str:
    return re.sub(r"\b(debugger-|node-debugger-[\w-]*-|kube-api-access-)[a-z0-9]{5}\b", r"\1*", text)


@pytest.mark.slow
@needs_current_kubectl
@pytest.mark.parametrize("line", SAME)
def test_it_makes_what_kubectl_makes(
    line: str, cli: Cli, client: masthead.Client, server: Server, tmp_path: Path
) -> None:
    keeps_node = "--same-node" in line or NODE in line
    theirs = Kubectl(server, tmp_path).run(line)
    expected = pods_of(client, keeps_node=keeps_node and "--copy-to" not in line)
    renew(client)

    ours = cli(line)

    assert pods_of(client, keeps_node=keeps_node and "--copy-to" not in line) == expected
    assert (masked(ours.out), ours.code) == (masked(theirs.stdout), theirs.returncode)


@pytest.mark.parametrize(("line", "code", "said"), REFUSED)
def test_what_is_wrong_is_said_before_anything_is_changed(
    line: str, code: int, said: str, cli: Cli, client: masthead.Client
) -> None:
    ran = cli(line)

    assert ran.code == code
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert sorted(pod.metadata.name for pod in client.core_v1.pods("default").list()) == ["user", "web"]


def ephemeral(client: masthead.Client) -> dict[str, Any]:
    spec = client.core_v1.pods("default").get("web").to_dict()["spec"]
    return {container["name"]: container for container in spec.get("ephemeralContainers", [])}


def test_a_pod_gets_an_ephemeral_container(cli: Cli, client: masthead.Client) -> None:
    ran = cli("debug web --image=busybox --target=main -- sh")

    assert ran.code == 0
    said, named = ran.out.splitlines()
    assert said.startswith('Targeting container "main".')
    ((name, made),) = ephemeral(client).items()
    assert named == f"Defaulting debug container name to {name}."
    assert (made["image"], made["command"], made["targetContainerName"]) == ("busybox", ["sh"], "main")
    assert made["securityContext"] == {"capabilities": {"add": ["SYS_PTRACE"]}}


def test_several_debuggers_may_be_in_a_pod(cli: Cli, client: masthead.Client) -> None:
    assert cli("debug web --image=busybox -c one").code == 0
    assert cli("debug web --image=busybox -c two").code == 0
    assert list(ephemeral(client)) == ["one", "two"]


def test_a_manifest_names_the_pod(cli: Cli, client: masthead.Client, tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("{apiVersion: v1, kind: Pod, metadata: {name: web}}", "utf-8")

    assert cli(f"debug -f {tmp_path / 'web.yaml'} --image=busybox -c dbg -- sh -x").code == 0
    assert ephemeral(client)["dbg"]["command"] == ["sh", "-x"]


def test_rights_that_will_not_work_are_pointed_out(cli: Cli) -> None:
    assert cli("debug user --image=busybox").err.startswith("Warning: Non-root user is configured")
    assert cli("debug user --image=busybox --profile=baseline").err == ""


def test_a_copy_is_not_part_of_the_workload(cli: Cli, client: masthead.Client) -> None:
    assert cli("debug web --copy-to=copy --set-image=main=nginx:debug --image=busybox -c dbg").code == 0

    copied = client.core_v1.pods("default").get("copy")
    assert ("app" in copied.metadata.labels, copied.spec.share_process_namespace) == (False, True)
    assert [(container.name, container.image) for container in copied.spec.containers] == [
        ("main", "nginx:debug"),
        ("side", "envoy"),
        ("dbg", "busybox"),
    ]
    assert all(container.liveness_probe is None for container in copied.spec.containers)


def test_a_replaced_pod_is_deleted(cli: Cli, client: masthead.Client) -> None:
    assert cli("debug web --copy-to=copy --image=busybox --replace").code == 0
    assert sorted(pod.metadata.name for pod in client.core_v1.pods("default").list()) == ["copy", "user"]


def test_a_node_gets_a_pod_with_its_file_system(cli: Cli, client: masthead.Client) -> None:
    ran = cli(f"debug {NODE} --image=busybox")

    (made,) = [pod for pod in client.core_v1.pods("default").list() if pod.metadata.name.startswith("node-debugger-")]
    assert ran.out == (f"Creating debugging pod {made.metadata.name} with container debugger on node masthead-node.\n")
    assert (made.spec.node_name, made.spec.host_network, made.spec.restart_policy) == ("masthead-node", True, "Never")
    assert "/host" in [mount.mount_path for mount in made.spec.containers[0].volume_mounts]


def test_the_user_is_attached_to_the_container(environ: dict[str, str]) -> None:
    done = run(["debug", "web", "--image=busybox", "-c", "dbg", "-qi"], environ, stdin="hello\n")

    assert (done.returncode, done.stdout, done.stderr) == (0, "welcome\nHELLO\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("target", [["web"], ["web", "--copy-to=copy"], [NODE]])
def test_a_terminal_talks_to_the_container(target: list[str], environ: dict[str, str]) -> None:
    with Terminal(["debug", *target, "--image=busybox", "-it", "--", "sh"], environ) as screen:
        screen.expect("welcome")
        screen.press("hallo")
        screen.expect("HALLO")
        screen.press("q")
        assert screen.finish() == 0
        assert "Session ended" in screen.output
        assert screen.is_as_before

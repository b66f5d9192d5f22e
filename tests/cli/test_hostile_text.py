"""No text of a cluster or a kubeconfig controls the terminal of who reads it: all commands, at pipes and at a
terminal."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.cli.conftest import Ran, pod

import masthead
import masthead.server
from masthead._cli.catalog import CATALOG
from masthead._meta.yaml import load_one
from masthead.api.core.v1 import Event, Namespace, ObjectReference

termios = pytest.importorskip("termios")

from tests.cli.terminal import Terminal  # noqa: E402 - needs terminals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from masthead.server import Server

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\x08\x7f\x00\x85\u202eevil\u2066"
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
OWN = re.compile(r"\x1b\[(?:(?:[0-2]|3[1-6]|90|[12];[0-9;]+)m|[0-9]*[AK]|\?25[lh])|\r")
"""Colours of the commands, and how rich moves the cursor."""
GADGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, description: SAYS, x-kubernetes-preserve-unknown-fields: true}}
    additionalPrinterColumns:
    - {name: Says, type: string, jsonPath: .spec.says}
"""
SAYS = json.dumps(HOSTILE).replace("\x7f", r"\x7f")
"""In quotes of YAML."""
GADGET = {
    "apiVersion": "example.com/v1",
    "kind": "Gadget",
    "metadata": {
        "name": "odd",
        "namespace": "shop",
        "annotations": {"note": HOSTILE},
        "labels": {"app": "x"},
    },
    "spec": {"says": HOSTILE, HOSTILE: [HOSTILE]},
    "status": {
        "phase": HOSTILE,
        "conditions": [{"type": "Ready", "status": "False", "reason": HOSTILE, "message": HOSTILE}],
    },
}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "odd", "namespace": "shop", "labels": {"app": "x"}},
    "spec": {
        "selector": {"matchLabels": {"app": "x"}},
        "template": {
            "metadata": {"labels": {"app": "x"}, "annotations": {"note": HOSTILE}},
            "spec": {"containers": [{"name": "main", "image": "nginx", "args": [HOSTILE]}]},
        },
    },
}
LOCAL = {"completion", "config", "plugin"}
"""Commands that need no server."""
SHOWN = [
    "get gadgets -n shop",
    "get gadgets -n shop -o wide --show-labels -L app",
    "get gadgets -n shop -o custom-columns=S:.spec.says,N:.metadata.name",
    "get gadgets -n shop -o yaml",
    "get gadgets -n shop -o json",
    "get gadgets -n shop -o name",
    "get gadgets -n shop --server-print=false -L app",
    "get pods -n shop -o wide",
    "get events -n shop",
    "describe gadget/odd -n shop",
    "describe pod/odd -n shop",
    "tree pod/odd -n shop",
    "events -n shop",
    "wait gadget/odd -n shop --for=condition=Ready --timeout 0.1",
    "wait pod/odd -n shop --for=ready --timeout 0.1",
    "wait gadget/odd -n shop --for=jsonpath={.spec.says}=x --timeout 0.1",
    "diff -n shop -f MANIFEST",
    "rollout history deploy/odd -n shop",
    "rollout history deploy/odd -n shop --revision=1",
    "explain gadgets",
    "explain gadgets --recursive",
]
"""Commands that show objects."""
REFUSED = {
    "get": "get pods",
    "watch": "watch pods",
    "describe": "describe pod/odd",
    "tree": "tree pod/odd",
    "events": "events",
    "logs": "logs odd",
    "create": "create -f MANIFEST",
    "apply": "apply -f MANIFEST",
    "edit": "edit pod/odd",
    "patch": "patch pod/odd -p {}",
    "label": "label pod/odd a=b",
    "annotate": "annotate pod/odd a=b",
    "scale": "scale pod/odd --replicas=1",
    "diff": "diff -f MANIFEST",
    "delete": "delete pod/odd",
    "wait": "wait pod/odd --timeout 0.1",
    "exec": "exec odd -- true",
    "attach": "attach odd",
    "debug": "debug odd --image=busybox",
    "port-forward": "port-forward odd 0:80",
    "cp": "cp odd:/file .",
    "doctor": "doctor",
    "stats": "stats",
    "record": "record pods -o MANIFEST.mhr",
    "ui": "ui --no-browser",
    "bench": "bench",
    "rollout": "rollout status deploy/odd",
    "top": "top pods",
    "explain": "explain pods",
    "version": "version",
    "api-resources": "api-resources",
    "api-versions": "api-versions",
    "auth": "auth whoami",
}
"""A line for each command that talks to a cluster."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server whose objects say hostile things wherever they may."""
    with masthead.server.run() as running, masthead.Client(kubeconfig=running.kubeconfig()) as client:
        client.core_v1.namespaces().create(Namespace.new("shop"))
        definition = cast("dict[str, Any]", load_one(GADGETS.replace("SAYS", SAYS)))
        # An apply is parsed as YAML, which allows fewer characters than JSON.
        client.dynamic("customresourcedefinitions").create(definition)
        client.dynamic("gadgets.example.com", namespace="shop").create(GADGET)
        made = client.core_v1.pods("shop").create(pod("odd"))
        deployment = client.dynamic("apps/v1", "Deployment", namespace="shop").create(DEPLOYMENT)
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "odd", "uid": deployment.metadata.uid}
        revision = {
            **DEPLOYMENT,
            "kind": "ReplicaSet",
            "metadata": {
                **DEPLOYMENT["metadata"],
                "annotations": {"deployment.kubernetes.io/revision": "1", "kubernetes.io/change-cause": HOSTILE},
                "ownerReferences": [{**owner, "controller": True}],
            },
        }
        client.dynamic("apps/v1", "ReplicaSet", namespace="shop").create(revision)
        running.kubelet.start("shop/odd")
        running.kubelet.log("shop/odd").print(HOSTILE)
        running.kubelet.fail("shop/odd", reason=HOSTILE)
        client.core_v1.events("shop").create(
            Event.new(
                "odd",
                involved_object=ObjectReference(kind="Pod", name="odd", namespace="shop", uid=made.metadata.uid),
                reason=HOSTILE,
                message=HOSTILE,
                type="Warning",
            )
        )
        yield running


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({**GADGET, "metadata": {"name": "odd"}, "spec": {"says": "again"}, "status": {}}))
    return str(path)


@pytest.mark.parametrize("line", SHOWN)
def test_no_object_controls_the_terminal_of_a_command(line: str, cli: Callable[..., Ran], manifest: str) -> None:
    ran = cli(line.replace("MANIFEST", manifest))

    assert ran.out or ran.err
    assert not CONTROLS.search(ran.out + ran.err), repr(ran)


def test_every_command_that_talks_to_a_cluster_is_tried() -> None:
    assert set(REFUSED) == {name for name, entry in CATALOG.items() if not entry.program and name not in LOCAL}


@pytest.mark.parametrize("name", REFUSED)
def test_no_error_of_a_server_controls_the_terminal_of_a_command(
    name: str, cli: Callable[..., Ran], server: Server, manifest: str
) -> None:
    server.faults.fail(403, reason=HOSTILE, message=HOSTILE, times=None)

    ran = cli(REFUSED[name].replace("MANIFEST", manifest))

    assert ran.code
    assert "evil" in ran.out + ran.err
    assert not CONTROLS.search(ran.out + ran.err), repr(ran)


def test_the_reason_of_a_closed_stream_is_escaped(cli: Callable[..., Ran], server: Server) -> None:
    server.faults.close_stream(1011, reason=HOSTILE, subresource="exec")

    ran = cli("exec odd -n shop -- true")

    assert "code 1011: ^[]0;owned^G^[[2J\\x9b31m" in ran.err
    assert not CONTROLS.search(ran.out + ran.err)


@pytest.mark.parametrize("command", ["get pods", "doctor"])
def test_no_kubeconfig_controls_the_terminal(
    command: str, cli: Callable[..., Ran], tmp_path: Path, server: Server
) -> None:
    config = cast("dict[str, Any]", load_one(server.kubeconfig()))
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": HOSTILE.replace("\x00", "")}
    config["users"][0]["user"] = {"exec": {**plugin, "interactiveMode": "Never", "installHint": HOSTILE}}
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(config))

    ran = cli(f"{command} --kubeconfig {path}")

    assert ran.code
    assert "evil" in ran.out + ran.err
    assert not CONTROLS.search(ran.out + ran.err), repr(ran)


def test_tracebacks_are_escaped_as_well(cli: Callable[..., Ran], server: Server) -> None:
    server.faults.fail(403, message=HOSTILE, times=None)

    ran = cli("get pods --debug")

    assert "Traceback" in ran.err
    assert not CONTROLS.search(ran.err)


def test_programs_get_data_as_it_is(cli: Callable[..., Ran]) -> None:
    assert cli("get gadget/odd -n shop -o jsonpath={.spec.says}").out == HOSTILE
    assert cli("logs odd -n shop").out == f"{HOSTILE}\n"
    assert json.loads(cli("get gadget/odd -n shop -o json").out)["spec"]["says"] == HOSTILE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "last"),
    [
        ("get gadgets -n shop", "evil"),
        ("get gadget/odd -n shop -o jsonpath={.spec.says}", "evil"),
        ("logs odd -n shop", "evil"),
        ("wait gadget/odd -n shop --for=condition=Ready --timeout 1", "hint:"),
        ("watch gadgets -n shop", "watching gadgets"),
        ("get gadgets -n shop -w", "evil"),
        ("diff -n shop -f MANIFEST", "again"),
    ],
)
def test_nothing_hostile_reaches_a_terminal(line: str, last: str, environ: dict[str, str], manifest: str) -> None:
    with Terminal(line.replace("MANIFEST", manifest).split(), environ, columns=200) as screen:
        screen.expect(last)
        assert not CONTROLS.search(OWN.sub("", screen.output)), repr(screen.output)
        assert "owned" in screen.output

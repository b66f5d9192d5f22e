"""The forms of ``get`` beside kubectl: the same output, and an error where kubectl has one."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import Ran, running_shop
from tests.server.kubectl import PATIENCE, Kubectl, needs_current_kubectl

import masthead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from masthead.server import Server

    Cli = Callable[..., Ran]

pytestmark = needs_current_kubectl

WORKLOADS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: front}}
spec:
  replicas: 2
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}}
    spec: {containers: [{name: main, image: nginx, ports: [{containerPort: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: front}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: shop}
stringData: {user: admin, note: "two\\nlines"}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: tricky
  namespace: shop
  annotations:
    note: "a text that is longer than eighty characters, so that it is wrapped where YAML is written by kubectl"
data: {number: "1", "yes": "yes", empty: "", script: "a\\nb\\n", star: "*", date: "2026-01-01"}
"""
FILES = {
    "pod.json": '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-2", "namespace": "shop"}}',
    "all/one.yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop}
""",
    "all/more/two.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: web-2, namespace: shop}}",
    "gone.yaml": """
apiVersion: v1
kind: Pod
metadata: {name: gone, namespace: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web-2, namespace: shop}
""",
    "names.jsonpath": '{range .items[*]}{.metadata.name}{"\\n"}{end}',
    "names.template": "{{range .items}}{{.metadata.name}} {{end}}",
    "columns.txt": "NAME  IMAGE\n.metadata.name {spec.containers[*].image}\n",
}

SAME = [
    # Tables.
    "get pods -n shop",
    "get pods -n shop web-1 web-2 -o wide",
    "get po,cm -n shop",
    "get pod/web-1 configmap/settings -n shop",
    "get pods -A --show-labels",
    "get pods -n shop -L app,tier",
    "get pods -n shop -l app=web --no-headers",
    "get pods -n shop -l 'app in (web,front)'",
    "get pods --field-selector=metadata.name=web-2 -n shop",
    "get wd -n shop",
    "get ns",
    "get crd",
    "get all -n shop",
    "get all,cm -A",
    "get pods -n shop --show-kind --no-headers",
    "get cm -n shop --sort-by=.metadata.name",
    "get pods -n shop --chunk-size=1",
    "get po,svc -n shop --server-print=false",
    "get deploy web -n shop --subresource=scale",
    "get secrets -n shop -l no=match",
    # Other forms.
    "get po,cm,svc -n shop -o name",
    "get widgets.v1.example.com -n shop -o name",
    "get deploy web -n shop --subresource=scale -o name",
    "get pods web-1 -n shop -o json",
    "get pods,svc -n shop -o json",
    "get deploy/web svc/web -n shop -o yaml",
    "get cm tricky -n shop -o yaml",
    "get cm settings -n shop -o yaml --show-managed-fields",
    "get secrets -n shop -l no=match -o yaml",
    "get pods -n shop -o jsonpath={.items[*].metadata.name}",
    "get deploy web -n shop -o jsonpath={.spec.template}",
    "get pods -n shop -o jsonpath-as-json={.items[*].metadata.labels}",
    "get pods -n shop -o jsonpath-file=names.jsonpath",
    "get pods -n shop -o custom-columns=NAME:.metadata.name,LABELS:.metadata.labels,PORTS:.spec.containers[*].ports",
    "get pods -n shop -o custom-columns=NAME:metadata.name --no-headers",
    "get pods -n shop -o custom-columns-file=columns.txt",
    "get pods -n shop -o go-template-file=names.template",
    """get po -n shop -o go-template='{{range .items}}{{.metadata.name}}{{"\\t"}}{{.status.phase}}{{"\\n"}}{{end}}'""",
    "get pods -n shop --template='{{len .items}} {{.nope}}'",
    """get secret login -n shop -o go-template='{{range $k, $v := .data}}{{$k}}={{$v | base64decode}} {{end}}'""",
    # Files, and what does not exist.
    "get -f pod.json",
    "get -f pod.json -o json",
    "get -f all -R",
    "get -f all -o name",
    "get -f gone.yaml",
    "get -f gone.yaml --ignore-not-found -o json",
    "get pods nope web-1 -n shop",
    "get pods nope -n shop --ignore-not-found -o json",
    "get nothing",
    "get podz --ignore-not-found",
    "get --raw /version",
    "get --raw '/api/v1/namespaces/shop/configmaps?limit=1'",
    "get --raw /nope",
    # Wrong arguments.
    "get",
    "get pods -o xml",
    "get pods -n shop --show-labels -o name",
    "get pods -n shop --output-watch-events",
    "get deploy -n shop --subresource=scale",
    "get --raw /version pods",
    "get -f pod.json pods",
    "get pods -n shop -o go-template='{{.x'",
    "get pods -n shop -o go-template",
    "get pods/web-1 web-2 -n shop",
    "get pods web-1 -A",
]
DIFFERENT = {
    "get all -n nowhere": "kubectl says that a namespace is empty that does not exist",
    "get cm -n shop --sort-by=.metadata.nope": "kubectl prints nothing; objects without the field come first",
    "get pods web-2 web-1 -n shop --sort-by=.metadata.name": "kubectl fails to sort objects that are named",
    "get pods -n shop -o go-template='{{index .items 99}}'": "kubectl prints all data; an error is a line",
    "get pods -n shop --sort-by='{.metadata.name'": "kubectl prints nothing for a path that is not closed",
    "get pods -n shop -o go-template='{{1i}}'": "there are no complex numbers in JSON",
}
AGE = re.compile(r"\b(?:\d+m)?\d+s\b *")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with workloads."""
    with running_shop(workloads=True) as running, masthead.Client(kubeconfig=running.kubeconfig()) as client:
        client.apply_manifests(WORKLOADS, field_manager="test")
        client.apps_v1.deployments("shop").wait_for(
            "web", masthead.conditions.field_is("status.replicas", 2), timeout=60
        )
        yield running


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder has the files."""
    for name, content in FILES.items():
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    monkeypatch.chdir(tmp_path / "files")


def run_kubectl(server: Server, folder: Path, line: str) -> Ran:
    done = subprocess.run(
        [*Kubectl(server, folder).command, *shlex.split(line)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def outcome(ran: Ran) -> tuple[str, bool]:
    """The output without ages, and whether it has failed."""
    return AGE.sub("", ran.out), ran.code != 0


@pytest.mark.parametrize("line", SAME)
def test_it_prints_what_kubectl_prints(line: str, cli: Cli, server: Server, tmp_path: Path) -> None:
    expected = run_kubectl(server, tmp_path, line)

    ran = cli("", *shlex.split(line))

    assert outcome(ran) == outcome(expected)
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("line", DIFFERENT)
def test_it_differs_where_there_is_a_reason(line: str, cli: Cli, server: Server, tmp_path: Path) -> None:
    expected = run_kubectl(server, tmp_path, line)

    assert outcome(cli("", *shlex.split(line))) != outcome(expected)

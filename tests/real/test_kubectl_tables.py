"""What ``kubectl get`` prints of the embedded server, beside what it prints of a real one, and what masthead prints
itself."""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.conformance.cases.minimal import EVERYTHING, Minimal
from tests.server.kubectl import KUBECTL

import masthead
import masthead.server
from masthead.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real_server import RealServer

pytestmark = [
    pytest.mark.real,
    pytest.mark.xdist_group("real"),
    pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here"),
]

NAMESPACE = "printed"
LABELS = {"here": "yes"}
EVENT = {
    "metadata": {"name": "a.1", "labels": LABELS},
    "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "a", "namespace": NAMESPACE},
    "type": "Warning",
    "reason": "Unhealthy",
    "message": "Readiness probe failed",
    "count": 3,
    "firstTimestamp": "2001-02-03T04:05:06Z",
    "lastTimestamp": "2001-02-03T04:06:07Z",
    "source": {"component": "kubelet", "host": "node-1"},
}
PATIENCE = 60
AGE = re.compile(r"\b(?:\d+[dhms]){1,2}\b *")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ADDRESS = re.compile(r"10\.\d+\.\d+\.\d+ *")
# The server itself takes notice of these, or gives them names and contents of its own.
STORED = [each for each in EVERYTHING if not each.without_name and not each.dry]


def normalised(text: str) -> list[str]:
    """Lines without what differs from run to run."""
    for pattern, word in ((UID, "<uid>"), (AGE, "<age> "), (ADDRESS, "<address> "), (TIME, "<time>")):
        text = pattern.sub(word, text)
    return [line.rstrip() for line in text.splitlines()]


@dataclass(frozen=True)
class Printed:
    """A server with one object of every kind, and kubectl for it.

    Attributes:
        config: How to reach it.
        token: What lets an administrator in.
        command: kubectl and its first arguments.
    """

    config: Config
    token: str
    command: tuple[str, ...]

    def kubectl(self, line: str) -> str:
        """Run kubectl; returns what it prints."""
        done = subprocess.run(
            [*self.command, *line.split()], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, line: str) -> subprocess.Popen[str]:
        """Start kubectl, and do not wait for its end."""
        return subprocess.Popen([*self.command, *line.split()], stdout=subprocess.PIPE, text=True)

    def create(self, path: str, body: object) -> None:
        """Create an object by a plain request."""
        trust = ssl.create_default_context(cafile=self.config.ca_file) if self.config.ca_file else None
        handlers = [urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)]
        request = urllib.request.Request(
            f"{self.config.server}{path}",
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.build_opener(*handlers).open(request, timeout=PATIENCE) as response:
            response.read()


def fill(printed: Printed) -> None:
    """Create one object of every kind."""
    printed.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for each in STORED:
        if each in preferred():
            printed.create(path_of(each), body_of(each))
    printed.create(f"/api/v1/namespaces/{NAMESPACE}/events", EVENT)


def preferred() -> list[Minimal]:
    """One version of each resource."""
    return list({(each.api_version.rpartition("/")[0], each.resource): each for each in reversed(STORED)}.values())


def path_of(minimal: Minimal) -> str:
    root = "/apis/" if "/" in minimal.api_version else "/api/"
    within = "" if minimal.in_cluster else f"/namespaces/{NAMESPACE}"
    return f"{root}{minimal.api_version}{within}/{minimal.resource}"


def body_of(minimal: Minimal) -> dict[str, object]:
    metadata = {"name": minimal.name.replace("*", NAMESPACE), "labels": LABELS}
    return {"apiVersion": minimal.api_version, "kind": minimal.kind, "metadata": metadata, **minimal.fields}


@pytest.fixture(scope="module")
def real(real_server: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Printed:
    cache = tmp_path_factory.mktemp("cache")
    command = (
        *(str(KUBECTL), "--server", real_server.url, "--token", real_server.token),
        *("--certificate-authority", str(real_server.ca_file), "--cache-dir", str(cache)),
    )
    config = Config(server=real_server.url, token=real_server.token, ca_file=real_server.ca_file)
    made = Printed(config, real_server.token, command)
    fill(made)
    return made


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Printed]:
    folder: Path = tmp_path_factory.mktemp("embedded")
    # No controllers: the real server has none beside it either.
    with masthead.server.run(controllers=False) as server:
        kubeconfig = server.write_kubeconfig(folder / "kubeconfig")
        token = server.token or ""
        made = Printed(
            Config(server=server.url, token=token),
            token,
            (str(KUBECTL), "--kubeconfig", str(kubeconfig), "--cache-dir", str(folder / "cache")),
        )
        fill(made)
        yield made


def names(*, in_cluster: bool) -> list[str]:
    """The resources, with their versions and groups."""
    found: list[str] = []
    for each in preferred():
        group, _, version = each.api_version.rpartition("/")
        if each.in_cluster is in_cluster:
            found.append(f"{each.resource}.{version}.{group}" if group else each.resource)
    return sorted(found)


@pytest.mark.parametrize("options", ["", "-o wide", "--show-labels", "--no-headers"])
@pytest.mark.parametrize("in_cluster", [False, True], ids=["namespaced", "cluster-scoped"])
def test_kubectl_prints_every_kind_as_with_a_real_server(
    embedded: Printed, real: Printed, options: str, in_cluster: bool
) -> None:
    line = f"get {','.join(names(in_cluster=in_cluster))} -l here=yes -n {NAMESPACE} {options}"
    ours, theirs = normalised(embedded.kubectl(line)), normalised(real.kubectl(line))
    assert len(theirs) > 30 or options == "--no-headers"
    assert ours == theirs


@pytest.mark.parametrize(
    "line",
    [
        f"get pods -n {NAMESPACE}",
        "get pods -A -l here=yes",
        "get pods -A -l here=yes -o wide",
        f"get pod a -n {NAMESPACE}",
        f"get deployment a -n {NAMESPACE} --subresource=scale",
        f"get deployment a -n {NAMESPACE} --subresource=status",
        f"get namespace {NAMESPACE}",
        f"get configmaps,secrets -n {NAMESPACE} -l here=yes",
        f"get pods -n {NAMESPACE} --sort-by=.metadata.name",
        f"get pods -n {NAMESPACE} -L here",
        f"get pods -n {NAMESPACE} --show-kind",
        f"get pods -n {NAMESPACE} --chunk-size=1",
        f"get pods -n {NAMESPACE} --server-print=false",
        # By label: the real server records Events of its own, such as those of its repair loop for cluster IPs.
        f"get events -n {NAMESPACE} -l here=yes",
        f"get events -n {NAMESPACE} -l here=yes -o wide",
        f"get events.v1.events.k8s.io -n {NAMESPACE} -l here=yes",
        f"get events -n {NAMESPACE} -l here=no",
        f"get nothing -n {NAMESPACE} --ignore-not-found",
    ],
)
def test_kubectl_prints_the_same(embedded: Printed, real: Printed, line: str) -> None:
    def run(printed: Printed) -> list[str]:
        done = subprocess.run(
            [*printed.command, *line.split()], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        return [str(done.returncode), *normalised(done.stdout), *normalised(done.stderr)]

    assert run(embedded) == run(real)


COLUMNS = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
    {"name": "Ratio", "type": "number", "jsonPath": ".spec.ratio", "priority": 1},
    {"name": "Since", "type": "date", "jsonPath": ".spec.since"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]
WIDGETS = [
    {
        "spec": {"size": 3, "ratio": 12345678.5, "since": "2001-02-03T04:05:06Z"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    },
    {"spec": {"size": "large", "ratio": 2, "since": "yesterday"}, "status": {"conditions": []}},
    {},
]


def test_kubectl_prints_custom_resources_by_their_columns(embedded: Printed, real: Printed) -> None:
    def run(printed: Printed) -> list[str]:
        group = "printed.example.com"
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            "additionalPrinterColumns": COLUMNS,
        }
        names = {"plural": "widgets", "kind": "Widget", "shortNames": ["pwd"]}
        spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
        printed.create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            {"metadata": {"name": f"widgets.{group}", "labels": LABELS}, "spec": spec},
        )
        printed.kubectl(f"wait --for=condition=Established --timeout=60s crd/widgets.{group}")
        # Discovery lists it a moment later.
        while subprocess.run(
            [*printed.command, "get", f"widgets.{group}"], capture_output=True, timeout=PATIENCE, check=False
        ).returncode:
            continue
        for number, fields in enumerate(WIDGETS):
            metadata = {"name": f"widget-{number}"}
            printed.create(
                f"/apis/{group}/v1/namespaces/{NAMESPACE}/widgets",
                {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": metadata, **fields},
            )
        lines = [
            f"get pwd -n {NAMESPACE}",
            f"get pwd -n {NAMESPACE} -o wide",
            "get pwd -A",
            "get crd -l here=yes",
        ]
        return [line for command in lines for line in normalised(printed.kubectl(command))]

    ours, theirs = run(embedded), run(real)
    assert len(theirs) == 14
    assert ours == theirs


@pytest.mark.parametrize("options", ["", "-o wide", "--output-watch-events"])
def test_kubectl_prints_the_same_rows_of_a_watch(embedded: Printed, real: Printed, options: str) -> None:
    def watch(printed: Printed) -> list[str]:
        name = f"watched{options.strip('-').replace(' ', '')}"
        printed.create("/api/v1/namespaces", {"metadata": {"name": name}})
        pods = f"/api/v1/namespaces/{name}/pods"
        spec = {"containers": [{"name": "main", "image": "image"}]}
        printed.create(pods, {"metadata": {"name": "first"}, "spec": spec})
        process = printed.start(f"get pods -n {name} -w {options}")
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline() for _ in range(2)]
            printed.create(pods, {"metadata": {"name": "second-with-a-longer-name"}, "spec": spec})
            lines.append(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(PATIENCE)
            process.stdout.close()
        return normalised("".join(lines))

    ours, theirs = watch(embedded), watch(real)
    assert len(theirs) == 3
    assert ours == theirs


@pytest.mark.parametrize("server", ["embedded", "real"])
@pytest.mark.parametrize("is_wide", [False, True], ids=["narrow", "wide"])
def test_tables_have_the_text_that_kubectl_prints(request: pytest.FixtureRequest, server: str, is_wide: bool) -> None:
    printed: Printed = request.getfixturevalue(server)
    wide = "-o wide" if is_wide else ""
    with masthead.Client(printed.config) as client:
        for each in preferred():
            resource = client.dynamic(each.api_version, each.resource, namespace=None if each.in_cluster else NAMESPACE)
            group, _, version = each.api_version.rpartition("/")
            name = f"{each.resource}.{version}.{group}" if group else each.resource
            table = resource.table(label_selector=LABELS, wide=is_wide)
            made = masthead.printers.table(resource.list(label_selector=LABELS), wide=is_wide)
            assert normalised(str(made)) == normalised(str(table)), name
            if each.resource in {
                "pods",
                "deployments",
                "nodes",
                "ipaddresses",
                "roles",
                "events",
                "csidrivers",
            }:
                shown = printed.kubectl(f"get {name} -l here=yes -n {NAMESPACE} {wide}")
                assert normalised(str(table)) == normalised(shown), name

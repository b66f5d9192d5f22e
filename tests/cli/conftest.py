"""A cluster for commands, and commands run in this process."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.server.kubectl import Kubectl, is_current

import masthead
import masthead.server
from masthead._cli.main import main
from masthead.api.core.v1 import ConfigMap, Container, Namespace, Pod

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from masthead.server import Server

WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: small, namespace: shop}
spec: {size: 3}
"""


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str


def pod(name: str) -> Pod:
    return Pod.new(name, labels={"app": "web"}, spec={"containers": [Container(name="main", image="nginx")]})


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with a namespace ``shop``, two pods, a config map, and a kind of its own."""
    with running_shop() as running:
        yield running


@contextmanager
def running_shop(*, workloads: bool = False) -> Generator[Server]:
    """Run the server of these tests until the end of the block."""
    with (
        masthead.server.run(workloads=workloads) as running,
        masthead.Client(kubeconfig=running.kubeconfig()) as client,
    ):
        client.core_v1.namespaces().create(Namespace.new("shop"))
        for name in ("web-1", "web-2"):
            client.core_v1.pods("shop").create(pod(name))
        client.core_v1.config_maps("shop").create(ConfigMap.new("settings", data={"color": "red"}))
        client.apply_manifests(WIDGETS, field_manager="test")
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[masthead.Client]:
    with masthead.Client(kubeconfig=server.kubeconfig()) as made:
        yield made


@pytest.fixture(autouse=True)
def _no_faults_are_left(server: Server) -> Iterator[None]:
    yield
    server.faults.clear()


@pytest.fixture
def environ(server: Server, tmp_path: Path) -> dict[str, str]:
    """The environment of a command that is a process of its own."""
    config = server.write_kubeconfig(tmp_path / "kubeconfig")
    kept = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS", "LINES"}}
    return {**kept, "KUBECONFIG": str(config), "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}


@pytest.fixture
def kubectl(server: Server, tmp_path: Path) -> Kubectl:
    if not is_current():
        pytest.skip("kubectl 1.36 is not here")
    return Kubectl(server, tmp_path)


@pytest.fixture
def cli(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Runs a command in this process: ``cli("get pods -n shop")``."""
    for key in ("KUBECONFIG", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(key, environ[key])

    def call(line: str, *more: str) -> Ran:
        capsys.readouterr()
        code = main([*line.split(), *more])
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    return call

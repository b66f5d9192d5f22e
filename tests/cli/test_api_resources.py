"""``masthead api-resources`` and ``api-versions``: what kubectl prints, even if a group is down."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import WIDGETS
from tests.server.kubectl import Kubectl, needs_current_kubectl

from masthead._meta.yaml import load_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Ran

    import masthead
    from masthead.server import Server

    Cli = Callable[..., Ran]

SAME = [
    "api-resources",
    "api-resources -o wide",
    "api-resources -o name",
    "api-resources --no-headers",
    "api-resources --api-group=apps",
    "api-resources --api-group=nothing",
    "api-resources --api-group= -o name",
    "api-resources --namespaced -o name",
    "api-resources --namespaced=false -o name",
    "api-resources --verbs=create,deletecollection --verbs=watch",
    "api-resources --verbs=dance -o name",
    "api-resources --categories=all",
    "api-resources --sort-by=name",
    "api-resources --sort-by=kind -o wide",
    "api-versions",
]


@needs_current_kubectl
@pytest.mark.parametrize("line", SAME)
def test_it_prints_what_kubectl_prints(line: str, cli: Cli, server: Server, tmp_path: Path) -> None:
    assert cli(line).out == Kubectl(server, tmp_path)(line)


@needs_current_kubectl
@pytest.mark.parametrize("options", ["", "--verbs=dance"])
def test_the_data_is_that_of_kubectl(options: str, cli: Cli, server: Server, tmp_path: Path) -> None:
    line = f"api-resources {options}"

    assert json.loads(cli(f"{line} -o json").out) == Kubectl(server, tmp_path).json(line)
    assert load_one(cli(f"{line} -o yaml").out) == load_one(Kubectl(server, tmp_path)(f"{line} -o yaml"))


def test_resources_are_listed_with_their_short_names(cli: Cli) -> None:
    lines = cli("api-resources --api-group=example.com").out.splitlines()

    assert [line.split() for line in lines] == [
        ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"],
        ["widgets", "wd", "example.com/v1", "true", "Widget"],
    ]
    assert cli("api-resources --cached --verbs=list --api-group=apps -o name").out.split()[0] == (
        "controllerrevisions.apps"
    )


def test_a_new_kind_is_listed_at_once(cli: Cli, client: masthead.Client) -> None:
    assert "gears" not in cli("api-resources -o name").out
    definition = WIDGETS.partition("---")[0].replace("widget", "gear").replace("Widget", "Gear").replace("[wd]", "[]")

    client.apply_manifests(definition, field_manager="test")

    assert "gears.example.com\n" in cli("api-resources -o name").out
    assert cli("delete crd gears.example.com").code == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("api-resources pods", "unexpected extra argument"),
        ("api-resources --sort-by=age", "Invalid value for '--sort-by'"),
        ("api-resources -o table", "Invalid value for '-o'"),
        ("api-resources --namespaced=maybe", "Invalid value for '--namespaced'"),
        ("api-versions v1", "unexpected extra argument"),
    ],
)
def test_wrong_arguments_are_refused(line: str, said: str, cli: Cli) -> None:
    ran = cli(line)

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


GROUPS = {
    "kind": "APIGroupDiscoveryList",
    "apiVersion": "apidiscovery.k8s.io/v2",
    "items": [
        {
            "metadata": {"name": "example.com"},
            "versions": [
                {
                    "version": "v1",
                    "freshness": "Current",
                    "resources": [
                        {
                            "resource": "widgets",
                            "responseKind": {"group": "example.com", "version": "v1", "kind": "Widget"},
                            "scope": "Cluster",
                            "singularResource": "widget",
                            "verbs": ["get"],
                        }
                    ],
                }
            ],
        },
        {
            "metadata": {"name": "metrics.example.com"},
            "versions": [{"version": "v1beta1", "freshness": "Stale", "resources": []}],
        },
    ],
}
"""A group, and one whose backend is down."""


class _HalfBroken(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        items = GROUPS["items"] if self.path.startswith("/apis") else []
        body = json.dumps({**GROUPS, "items": items}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
        """Say nothing."""


@pytest.fixture
def half_broken() -> Iterator[str]:
    """The address of a server of which one group cannot be discovered."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _HalfBroken) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def test_a_group_that_is_down_is_reported_behind_the_others(cli: Cli, half_broken: str) -> None:
    ran = cli(f"api-resources --server {half_broken} -o name")

    assert (ran.code, ran.out) == (1, "widgets.example.com\n")
    assert ran.err.startswith(
        "masthead api-resources: unable to retrieve the complete list of server APIs: metrics.example.com/v1beta1: "
    )
    assert ran.err.splitlines()[1:] == ["hint: masthead get apiservices shows which backends are unavailable"]
    assert cli(f"api-versions --server {half_broken}").out == "example.com/v1\n"


@needs_current_kubectl
@pytest.mark.parametrize("line", ["api-resources", "api-resources --verbs=get -o wide", "api-versions"])
def test_of_a_server_with_a_broken_group_it_prints_what_kubectl_prints(
    line: str, cli: Cli, server: Server, half_broken: str, tmp_path: Path
) -> None:
    # Of a stale group, kubectl says nothing; a missing one has no other explanation.
    assert cli(f"{line} --server {half_broken}").out == Kubectl(server, tmp_path)(f"{line} --server {half_broken}")

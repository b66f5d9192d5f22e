"""``masthead top``: the usage that the API metrics.k8s.io reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest
from tests.cli.conftest import pod
from tests.server.kubectl import Kubectl, needs_current_kubectl

import masthead
import masthead.server
from masthead._cli.commands.top import nodes
from masthead._cli.completion import complete_nodes
from masthead.api.core.v1 import Container, Namespace, Pod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Ran

    from masthead.server import Server

    Cli = Callable[..., Ran]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with two nodes and some running pods, of which two have a usage."""
    with (
        masthead.server.run(workloads=True, kubelet=True, nodes=2) as running,
        masthead.Client(kubeconfig=running.kubeconfig()) as client,
    ):
        for namespace in ("shop", "empty"):
            client.core_v1.namespaces().create(Namespace.new(namespace))
        pods = client.core_v1.pods("shop")
        pods.create(pod("small"))
        containers = [Container(name="main", image="nginx"), Container(name="aside", image="nginx")]
        pods.create(Pod.new("large", labels={"app": "db"}, spec={"containers": containers}))
        pods.create(Pod.new("unknown", labels={"app": "unknown"}, spec={"containers": containers[:1]}))
        running.block_until_idle()
        yield running


@pytest.fixture(autouse=True)
def _usage(server: Server) -> None:
    server.metrics.clear()
    server.metrics.set_pod("small", namespace="shop", cpu="1500m", memory="64Mi")
    server.metrics.set_pod("large", namespace="shop", cpu="200u", memory="2Gi")
    server.metrics.set_pod("large", namespace="shop", cpu="20m", memory="1Mi", container="aside")


@needs_current_kubectl
@pytest.mark.parametrize(
    "line",
    [
        "top pods -n shop",
        "top pod -n shop --sort-by=cpu",
        "top po -n shop --sort-by memory --no-headers",
        "top pods -n shop --containers",
        "top pods -A --containers --sort-by=cpu --sum",
        "top pods -n shop --sum",
        "top pods large -n shop --containers=true",
        "top pods -n shop -l app=db",
        "top pods -n shop -l app=none",
        "top pods -n shop -l app=unknown",
        "top pods -n empty",
        "top nodes",
        "top node --sort-by=cpu",
        "top no --show-capacity --no-headers",
        "top nodes -l none=such",
    ],
)
def test_it_prints_what_kubectl_prints(line: str, cli: Cli, server: Server, tmp_path: Path) -> None:
    expected = Kubectl(server, tmp_path).run(line)
    ran = cli(line)

    assert (ran.out, ran.code) == (expected.stdout, expected.returncode)
    assert all(error.removeprefix("error: ") in ran.err for error in expected.stderr.splitlines())


def test_the_usage_of_pods_is_a_table(cli: Cli) -> None:
    assert cli("top pods -n shop --sum").out == (
        "NAME    CPU(cores)   MEMORY(bytes)   \n"
        "large   21m          2049Mi          \n"
        "small   1500m        64Mi            \n"
        "        ________     ________        \n"
        "        1521m        2113Mi          \n"
    )


def test_the_usage_of_nodes_has_percentages(cli: Cli) -> None:
    heading, *rows = [line.split() for line in cli("top nodes --sort-by=cpu").out.splitlines()]

    assert heading == ["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"]
    # Which of the nodes has which pod is the scheduler's choice.
    assert sum(int(row[1].removesuffix("m")) for row in rows) == 1521
    assert sum(int(row[3].removesuffix("Mi")) for row in rows) == 2113
    assert cli("top nodes masthead-node --no-headers").out.split() in rows


def test_sums_stand_below_their_columns_without_a_heading(cli: Cli) -> None:
    *_, rule, sums = cli("top pods -A --no-headers --sum").out.splitlines()

    # kubectl puts them one column further left.
    assert rule.index("________") == sums.index("1521m") == len("shop   large   ")


def test_a_field_selector_is_sent(cli: Cli, server: Server) -> None:
    assert cli("top pods -n shop --field-selector=spec.nodeName=masthead-node").code == 0
    (query,) = [request.query for request in server.requests if "metrics.k8s.io" in request.path][-1:]
    assert "fieldSelector=spec.nodeName%3Dmasthead-node" in query


@pytest.mark.usefixtures("cli")
def test_names_of_nodes_are_completed() -> None:
    assert complete_nodes(click.Context(nodes), nodes.params[0], "masthead-node-") == ["masthead-node-2"]


@pytest.mark.parametrize("line", ["top pods -n shop", "top pod small -n shop", "top nodes", "top nodes masthead-node"])
def test_without_the_metrics_api_the_next_step_is_named(line: str, cli: Cli, server: Server) -> None:
    server.metrics.clear()

    ran = cli(line)

    assert (ran.code, ran.out) == (1, "")
    said, hint = ran.err.splitlines()
    assert said == f"masthead {' '.join(line.split()[:2])}: Metrics API not available"
    assert hint.startswith("hint: install metrics-server")


def test_a_broken_metrics_server_is_named(cli: Cli, server: Server) -> None:
    # The filters of faults do not know the group.
    server.faults.fail(503, verb="list", times=None)

    ran = cli("top pods -n shop")

    assert ran.code == 1
    assert "masthead describe apiservice v1beta1.metrics.k8s.io" in ran.err


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("top pods unknown -n shop", 1, "metrics not available yet"),
        ("top pods smal -n shop", 4, "did you mean small?"),
        ("top pods small", 4, "there is one in namespace shop"),
        ("top nodes masthead-nod", 4, "did you mean masthead-node"),
        ("top pods -n shp", 4, 'namespace "shp" does not exist'),
        ("top pods small -A", 2, "a pod cannot be named in all namespaces"),
        ("top pods small -l app=web", 2, "a selector and a name exclude each other"),
        ("top pods small --field-selector a=b", 2, "a selector and a name exclude each other"),
        ("top nodes masthead-node -l a=b", 2, "a selector and a name exclude each other"),
        ("top pods small large", 2, "unexpected extra argument"),
        ("top pods --sort-by=swap", 2, "Invalid value for '--sort-by'"),
        ("top pods -l a=(", 2, "label selector 'a=('"),
        ("top nodes --containers", 2, "there is no option '--containers'"),
        ("top deploy", 2, "there is no command 'deploy'"),
        ("top nodes -A", 2, "there is no option '-A'"),
    ],
)
def test_wrong_arguments_are_refused(line: str, code: int, said: str, cli: Cli) -> None:
    ran = cli(line)

    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "Traceback" not in ran.err

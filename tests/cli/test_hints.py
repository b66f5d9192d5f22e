"""What is said about objects that do not exist where they are looked for."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import pod

from masthead._cli.kubectl_commands import ALTERNATIVES
from masthead.api.core.v1 import ConfigMap, Namespace, Node

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran

    import masthead
    from masthead.server import Server

    Cli = Callable[..., Ran]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("logs deploy/nope -n shop", "masthead get deployments -n shop lists them"),
        ("-n shop describe cm zzz", "masthead get configmaps -n shop lists them"),
        ("tree cm zzz -n shop", "masthead get configmaps -n shop lists them"),
        ("watch cm zzz -n shop", "masthead get configmaps -n shop lists them"),
        ("logs zzz -n shop", "masthead get pods -n shop lists them"),
        ("cp shop/zzz:/etc/motd .", "masthead get pods -n shop lists them"),
        ("get cm zzz", "masthead get configmaps lists them"),
        ("get nodes zzz -n shop", "masthead get nodes lists them"),
    ],
)
def test_a_command_in_a_hint_means_the_same_namespace(line: str, hint: str, cli: Cli) -> None:
    ran = cli(line)

    assert ran.code == 4
    assert ran.err.splitlines()[-1] == f"hint: {hint}"


@pytest.mark.parametrize("line", ["logs web-1", "get pod web-1", "tree pod/web-1", "wait pod/web-1"])
def test_an_object_in_another_namespace_is_found(line: str, cli: Cli) -> None:
    ran = cli(line)

    assert ran.code == 4
    assert ran.err.splitlines()[-1] == "hint: there is one in namespace shop"


def test_a_few_of_many_namespaces_are_named(cli: Cli, client: masthead.Client) -> None:
    for name in ("team-a", "team-b", "team-c", "team-d", "team-e"):
        client.core_v1.namespaces().create(Namespace.new(name))
        client.core_v1.config_maps(name).create(ConfigMap.new("shared"))
        if name == "team-b":
            assert cli("get cm shared").err.endswith("hint: there are some in namespaces team-a, team-b\n")

    ran = cli("get cm shared")
    assert ran.err.endswith("hint: there are some in namespaces team-a, team-b, team-c and others\n")


def test_what_may_not_be_listed_is_not_hinted_at(cli: Cli, server: Server) -> None:
    server.faults.fail(403, verb="list", resource="pods", times=None)
    assert cli("logs web-1").err.endswith("hint: masthead get pods lists them\n")

    server.faults.fail(403, verb="list", resource="namespaces", times=None)
    ran = cli("get pod web-1 -n shp")
    assert (ran.code, ran.err) == (
        4,
        'masthead get: namespace "shp" does not exist\nhint: masthead get namespaces lists them\n',
    )


@pytest.mark.parametrize("command", sorted(ALTERNATIVES))
def test_a_command_of_kubectl_is_not_taken_for_a_similar_name(command: str, cli: Cli) -> None:
    for line in (command, f"-n shop {command}"):
        ran = cli(f"{line} x")
        assert ran.code == 2
        assert ran.err == (
            f"masthead: there is no command {command!r}, unlike in kubectl\nhint: {ALTERNATIVES[command]}\n"
        )


def test_the_page_lists_the_missing_commands() -> None:
    page = Path(__file__).parents[2].joinpath("docs/cli.md").read_text("utf-8")
    rows = page.partition("## Commands of kubectl that are missing")[2].partition("\n## ")[0]
    first = " ".join(row.split("|")[1] for row in rows.splitlines() if row.startswith("| `"))

    assert sorted(re.findall(r"`([a-z-]+)`", first)) == sorted(ALTERNATIVES)


@pytest.mark.parametrize(
    ("command", "line", "said"),
    [
        ("cordon", """patch node/NAME -p '{"spec":{"unschedulable":true}}'""", "node/one patched"),
        ("uncordon", """patch node/NAME -p '{"spec":{"unschedulable":false}}'""", "node/one patched"),
        (
            "taint",
            """patch node/NAME -p '{"spec":{"taints":[{"key":"KEY","value":"VALUE","effect":"NoSchedule"}]}}'""",
            "node/one patched",
        ),
        (
            "set",
            (
                "patch deploy/NAME "
                """-p '{"spec":{"template":{"spec":{"containers":[{"name":"CONTAINER","image":"IMAGE"}]}}}}'"""
            ),
            "deployment.apps/one patched",
        ),
        ("expose", "create service clusterip NAME --tcp=80:8080", "service/one created"),
        ("autoscale", "explain hpa.spec", "KIND:       HorizontalPodAutoscaler"),
        (
            "certificate",
            (
                "patch csr/NAME --subresource=approval --type=merge "
                """-p '{"status":{"conditions":[{"type":"Approved","status":"True","reason":"Me"}]}}'"""
            ),
            'certificatesigningrequests.certificates.k8s.io "one" not found',
        ),
        ("proxy", "get --raw PATH", "ok"),
        ("cluster-info", "config view --minify", "current-context: "),
        ("options", "--help", "usage: masthead"),
    ],
)
def test_what_replaces_a_command_of_kubectl_works(
    command: str, line: str, said: str, client: masthead.Client, cli: Cli
) -> None:
    assert f"masthead {line}" in ALTERNATIVES[command]
    if "node/" in line:
        client.core_v1.nodes().create_or_get(Node.new("one"))
    if command == "set":
        cli("create deployment one --image=nginx")
    names = {"NAME": "one", "CONTAINER": "nginx", "IMAGE": "nginx:2", "PATH": "/livez"}
    for name, value in names.items():
        line = line.replace(name, value)

    ran = cli("", *shlex.split(line))

    assert said in ran.out + ran.err


def test_the_pods_of_a_node_are_deleted_in_a_pipe(
    client: masthead.Client, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_pods, delete = "get pods -A --field-selector=spec.nodeName=NAME -o yaml", "delete -f -"
    assert f"masthead {list_pods} | masthead {delete}; " in ALTERNATIVES["drain"]
    bound = pod("bound")
    bound.spec.node_name = "one"
    client.core_v1.pods("shop").create(bound)

    monkeypatch.setattr("sys.stdin", io.StringIO(cli(list_pods.replace("NAME", "one")).out))

    assert cli(f"{delete} --force").out == 'pod "bound" force deleted from shop namespace\n'

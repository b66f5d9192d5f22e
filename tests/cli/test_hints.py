"""What is said about objects that do not exist where they are looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from masthead.api.core.v1 import ConfigMap, Namespace

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

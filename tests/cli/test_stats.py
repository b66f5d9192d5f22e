"""``masthead stats``: objects, bytes and changes of all kinds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.terminal import Terminal
from tests.cli.test_processes import CTRL_C

from masthead.meta import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran

    import masthead
    from masthead.server import Server

    Cli = Callable[..., Ran]


def kinds(ran: Ran) -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in json.loads(ran.out)["kinds"]}


def test_objects_and_bytes_are_counted(cli: Cli, client: masthead.Client) -> None:
    found = kinds(cli("stats --seconds 0 -n shop -o json"))
    listed = client.dynamic("v1", "pods", namespace="shop").list()

    assert found["pods"]["objects"] == 2
    assert found["widgets.example.com"]["objects"] == 1
    assert found["pods"]["bytes"] >= sum(len(each.to_json()) for each in listed) - 200
    assert "namespaces" not in found
    assert kinds(cli("stats --seconds 0 -o json"))["namespaces"]["objects"] >= 5


def test_what_may_not_be_listed_is_noted(cli: Cli, server: Server) -> None:
    server.faults.fail(403, verb="list", resource="secrets", times=None)
    ran = cli("stats --seconds 0 -n shop")

    assert ran.code == 0
    assert "Forbidden" in next(line for line in ran.out.splitlines() if line.startswith("secrets"))
    assert "pods" in ran.out


def test_a_user_who_may_list_nothing_is_told_so_in_a_line(cli: Cli, server: Server) -> None:
    server.faults.fail(403, verb="list", times=None)
    ran = cli("stats --seconds 0 -n shop")

    assert (ran.code, ran.out) == (5, "")
    assert ran.err.startswith("masthead stats: none of ")
    assert " kinds could be counted: " in ran.err.splitlines()[0]


@pytest.mark.parametrize("line", ["stats --seconds -1", "stats --seconds soon", "stats --sort age"])
def test_wrong_arguments_are_said_in_a_line(line: str, cli: Cli) -> None:
    assert cli(line).code == 2


@pytest.mark.slow
def test_changes_are_counted_live_across_lost_connections(
    environ: dict[str, str], client: masthead.Client, server: Server
) -> None:
    maps = client.core_v1.config_maps("shop")
    server.faults.drop_watch(after=2, resource="configmaps")
    with Terminal(["stats", "-n", "shop", "--seconds", "600"], environ) as screen:
        screen.expect("counting changes (")
        down = server.faults.fail(503, verb="watch", resource="configmaps", times=None)
        for size in range(4):
            maps.patch("settings", Patch.merge({"data": {"size": f"{size}"}}))
        screen.expect("reconnecting (")
        down.remove()
        screen.forget()
        screen.expect("counting changes (")
        screen.press(CTRL_C)
        assert screen.finish() == 130
        assert screen.is_as_before
        assert "Traceback" not in screen.output


@pytest.mark.slow
def test_a_terminal_is_left_with_the_table(environ: dict[str, str]) -> None:
    with Terminal(["stats", "-n", "shop", "--seconds", "1"], environ, rows=8, columns=60) as screen:
        assert screen.finish() == 0
        assert "... and " in screen.output
        assert "kinds" in screen.output.splitlines()[-1]

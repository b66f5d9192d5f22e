"""``masthead get``: what kubectl prints, and the nearest for what does not exist."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran

    from masthead.server import Server

    Cli = Callable[..., Ran]


def test_yaml_is_that_of_the_object(cli: Cli) -> None:
    printed = cli("get cm settings -n shop -o yaml").out

    assert printed.startswith("apiVersion: v1\ndata:\n  color: red\nkind: ConfigMap\nmetadata:\n")
    assert "managedFields" not in printed
    assert "managedFields" in cli("get cm settings -n shop -o yaml --show-managed-fields").out


def test_shared_options_stand_before_or_after_the_command(cli: Cli) -> None:
    assert cli("-n shop get pods -o name").out == cli("get pods -o name --namespace=shop").out != ""
    assert cli("-A get pods -o name").out == cli("get -A pods -o name").out
    assert cli("--context nope get pods").code == 3


def test_several_kinds_name_the_kind_of_each_object(cli: Cli) -> None:
    assert "\n\nNAME" in cli("get po,cm -n shop").out
    assert "configmap/settings" in cli("get po,cm -n shop").out


@pytest.mark.parametrize(
    ("line", "said", "hint"),
    [
        ("get podz", 'the server has no resource "podz"', "did you mean pods?"),
        ("get pods web1 -n shop", 'pods "web1" not found in namespace shop', "web-1"),
        ("get pods -n shp", 'namespace "shp" does not exist', "did you mean shop?"),
        ("get pods web-1 -n shp", 'namespace "shp" does not exist', "did you mean shop?"),
    ],
)
def test_what_does_not_exist_has_a_nearest(line: str, said: str, hint: str, cli: Cli) -> None:
    ran = cli(line)

    assert ran.code == 4
    assert ran.out == ""
    first, second = ran.err.splitlines()
    assert first == f"masthead get: {said}"
    assert second.startswith("hint: ")
    assert hint in second


def test_what_exists_is_printed_beside_what_does_not(cli: Cli) -> None:
    ran = cli("get pods web-1 nothing-alike -n shop -o name")

    assert (ran.code, ran.out) == (4, "pod/web-1\n")
    assert 'pods "nothing-alike" not found' in ran.err


def test_nothing_is_no_error(cli: Cli) -> None:
    ran = cli("get secrets -n shop")

    assert (ran.code, ran.out, ran.err) == (0, "", "No resources found in shop namespace.\n")
    empty = cli("get secrets -n shop -o json")
    assert json.loads(empty.out)["items"] == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("get", "name a kind"),
        ("get pods -o xml", "-o has no form 'xml'"),
        ("get pods -l a=(", "selector"),
        ("get pods web-1 -l app=web -n shop", "a selector and names exclude each other"),
        ("get pods web-1 -A", "cannot be named in all namespaces"),
        ("get pods --frobnicate", "there is no option '--frobnicate'"),
        ("get pods --request-timeout soon", "'soon' is not a duration"),
        ("get pods,cm -w -n shop", "-w follows one kind"),
        ("-A apply -f x", "-A is not for this command"),
    ],
)
def test_wrong_arguments_are_said_in_a_line(line: str, said: str, cli: Cli) -> None:
    ran = cli(line)

    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_who_may_not_is_told_so(cli: Cli, server: Server) -> None:
    ran = cli(f"--server {server.url} --token wrong get pods")

    assert ran.code == 5
    assert ran.err.startswith("masthead get: Unauthorized (401 Unauthorized)\nhint: ")


def test_a_named_server_does_not_get_the_credentials_of_the_kubeconfig(cli: Cli, server: Server) -> None:
    assert cli(f"--server {server.url} get ns").code == 5
    assert cli(f"--server {server.url} --token {server.token} get ns").code == 0


def test_debug_shows_where(cli: Cli) -> None:
    assert "Traceback" in cli("--debug get podz").err
    assert "Traceback" not in cli("get podz").err


def test_a_list_whose_version_expires_between_pages_is_fetched_at_once(cli: Cli, server: Server) -> None:
    server.faults.fail(410, reason="Expired", verb="list", resource="pods", skip=1, times=1)

    assert cli("get pods -n shop --chunk-size=1 -o wide").out.count("web-") == 2
    assert not server.faults.unhit()

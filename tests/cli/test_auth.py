"""``masthead auth``: the answers, warnings and exit codes of kubectl."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import WIDGETS, Ran
from tests.server.kubectl import Kubectl, needs_current_kubectl

import masthead
import masthead.server
from masthead._cli.access_rules import merge_rules
from masthead._cli.commands.auth_can_i import denial_line
from masthead._cli.commands.auth_whoami import user_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from masthead.server import Server

    Cli = Callable[..., Ran]

RIGHTS = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: seller, namespace: shop}
rules:
- {apiGroups: [""], resources: [pods, pods/log], verbs: [get, list]}
- {apiGroups: [""], resources: [pods], verbs: [watch, list]}
- {apiGroups: [apps], resources: [deployments], verbs: [get], resourceNames: [web, api]}
- {apiGroups: [example.com], resources: [widgets, later], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: seller, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: seller}
subjects: [{kind: User, name: bob, apiGroup: rbac.authorization.k8s.io}]
"""
SAME = [
    "get pods -n shop",
    "get pods -n default",
    "get pods -A",
    "get pods/web -n shop --subresource=log",
    "get pods/web -n shop --subresource=exec",
    "get deploy/web -n shop",
    "get deployments.apps/other -n shop",
    "get deployments.v1.apps/api -n shop",
    "delete wd -n shop",
    "list nodes",
    "list nodes -A",
    "impersonate users",
    "dance pods -n shop",
    "get nothing -n shop",
    "get /healthz",
    "get /secret",
    "dance /healthz",
    "* *",
    "get pods -n shop -q",
    "get pods -n default -q",
    "--list -n shop",
    "--list -n default --no-headers",
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with RBAC, where bob may do some things in one namespace."""
    with (
        masthead.server.run(authorization="RBAC") as running,
        masthead.Client(kubeconfig=running.kubeconfig()) as client,
    ):
        client.apply_manifests(RIGHTS, field_manager="test")
        client.apply_manifests(WIDGETS, field_manager="test")
        yield running


@needs_current_kubectl
@pytest.mark.parametrize("line", SAME)
def test_it_answers_as_kubectl_does(line: str, cli: Cli, server: Server, tmp_path: Path) -> None:
    ran, expected = cli(f"auth can-i {line} --as=bob"), Kubectl(server, tmp_path).run(f"auth can-i {line} --as=bob")

    assert (ran.code, ran.out) == (expected.returncode, expected.stdout)
    # kubectl prints an empty line behind each warning.
    assert ran.err.splitlines() == [said for said in expected.stderr.splitlines() if said]


def test_the_answer_is_a_word_and_an_exit_code(cli: Cli) -> None:
    assert cli("auth can-i list pods -n shop --as=bob") == Ran(0, "yes\n", "")
    assert cli("auth can-i delete pods -n shop --as=bob") == Ran(1, "no\n", "")
    assert cli("auth can-i delete pods -n shop --as=bob -q") == Ran(1, "", "")
    assert cli("auth can-i delete pods -n shop") == Ran(0, "yes\n", "")


def test_an_unknown_resource_is_asked_about_in_its_group(cli: Cli) -> None:
    ran = cli("auth can-i get later.example.com -n shop --as=bob")

    assert ran == Ran(0, "yes\n", "Warning: the server doesn't have a resource type 'later' in group 'example.com'\n")


def test_a_resource_without_namespaces_is_warned_of(cli: Cli) -> None:
    assert cli("auth can-i get nodes --as=bob").err == "Warning: resource 'nodes' is not namespace scoped\n"
    assert cli("auth can-i get crd --as=bob").err == (
        "Warning: resource 'customresourcedefinitions' is not namespace scoped in group 'apiextensions.k8s.io'\n"
    )


def test_rules_are_merged_by_resource_and_name(cli: Cli) -> None:
    lines = [line.split() for line in cli("auth can-i --list -n shop --as=bob --no-headers").out.splitlines()]

    assert ["pods", "[]", "[]", "[get", "list", "watch]"] in lines
    assert ["pods/log", "[]", "[]", "[get", "list]"] in lines
    assert ["deployments.apps", "[]", "[web]", "[get]"] in lines
    assert ["deployments.apps", "[]", "[api]", "[get]"] in lines


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("can-i", "masthead auth can-i: you must specify two arguments"),
        ("can-i list", "you must specify two arguments"),
        ("can-i list pods web", "unexpected extra argument"),
        ("can-i --list get", "--list takes no arguments"),
        ("can-i --list -q", "--list excludes -q, -A and --subresource"),
        ("can-i --list -A", "--list excludes -q, -A and --subresource"),
        ("can-i get pods --no-headers", "--no-headers is for --list"),
        ("can-i get /x --subresource=log", "--subresource is for resources"),
        ("whoami me", "unexpected extra argument"),
        ("whoami -o wide", "-o wide is for tables"),
        ("reconcile", "masthead auth: there is no command 'reconcile'"),
        ("--nothing", "masthead auth: there is no option '--nothing'"),
        ("whoame", "did you mean whoami?"),
    ],
)
def test_wrong_arguments_are_refused(line: str, said: str, cli: Cli) -> None:
    ran = cli(f"auth {line}")

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_without_a_command_the_help_is_shown(cli: Cli) -> None:
    ran = cli("auth")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("usage: masthead auth COMMAND")
    assert "  can-i " in ran.out


def test_shared_options_may_stand_before_each_word(cli: Cli) -> None:
    for line in ("--as=bob auth whoami", "auth --as=bob whoami", "auth whoami --as=bob"):
        assert "Username    bob\n" in cli(line).out


@needs_current_kubectl
def test_the_user_is_shown_as_by_kubectl(cli: Cli, server: Server, tmp_path: Path) -> None:
    kubectl = Kubectl(server, tmp_path)

    assert cli("auth whoami").out == kubectl("auth whoami")
    assert cli("auth whoami --as=bob").out == kubectl("auth whoami --as=bob")
    printed, expected = json.loads(cli("auth whoami -o json").out), kubectl.json("auth whoami")
    for review in (printed, expected):
        del review["metadata"]["creationTimestamp"]
    assert printed == expected


def test_the_user_is_data_too(cli: Cli) -> None:
    assert cli("auth whoami --as=bob -o jsonpath={.status.userInfo.username}").out == "bob"


def test_it_says_that_the_server_does_not_tell(cli: Cli, server: Server) -> None:
    server.faults.fail(404, resource="selfsubjectreviews", times=None)
    assert cli("auth whoami") == Ran(
        4, "", "masthead auth whoami: the selfsubjectreviews API is not enabled in the cluster\n"
    )

    server.faults.clear()
    server.faults.fail(403, message="not for you", resource="selfsubjectreviews", times=None)
    ran = cli("auth whoami")
    assert ran.code == 5
    assert "or you do not have permission to call it: not for you" in ran.err


def test_extra_fields_of_a_user_are_sorted() -> None:
    user = {"username": "bob", "uid": "7", "groups": ["a", "b"], "extra": {"z": ["1", "2"], "a": []}}

    assert user_lines(user) == [
        ("ATTRIBUTE", "VALUE"),
        ("Username", "bob"),
        ("UID", "7"),
        ("Groups", "[a b]"),
        ("Extra: a", "[]"),
        ("Extra: z", "[1 2]"),
    ]


def test_a_denial_has_the_reasons_of_the_server() -> None:
    assert denial_line({}) == "no\n"
    assert denial_line({"reason": "why", "evaluationError": "broken"}) == "no - why - broken\n"


def test_rules_of_any_shape_are_read() -> None:
    assert merge_rules({"resourceRules": [{"verbs": ["get"]}, None], "nonResourceRules": "x"}) == []

"""``masthead create role``, ``clusterrole``, ``rolebinding`` and ``clusterrolebinding``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from masthead._cli.creating import creation_options, make_metadata, print_generated, refuse, split_list
from masthead._cli.framework import cluster_command
from masthead._cli.policy_rules import (
    check_resource_verbs,
    check_urls,
    find_resources,
    make_rules,
    parse_resources,
    unique_verbs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from masthead._cli.creating import CreationArguments
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["clusterrole", "clusterrolebinding", "role", "rolebinding"]

F = TypeVar("F", bound="Callable[..., Any]")

_GROUP: Final = "rbac.authorization.k8s.io"


def _rule_options(function: F) -> F:
    for option in (
        click.option(
            "--resource-name",
            "names",
            multiple=True,
            metavar="NAME",
            help="only objects of this name (can be repeated)",
        ),
        click.option(
            "--resource",
            "resources",
            multiple=True,
            callback=split_list,
            metavar="RESOURCE[.GROUP][/SUBRESOURCE]",
            help="what it is about, or * for everything (can be repeated)",
        ),
        click.option(
            "--verb",
            "verbs",
            multiple=True,
            callback=split_list,
            metavar="VERB",
            help="what is allowed: get, list, watch, create, update, patch, delete ..., or * (can be repeated)",
        ),
    ):
        function = option(function)
    return function


@cluster_command("role")
@click.argument("name")
@_rule_options
@creation_options
@click.pass_obj
def role(
    state: State,
    /,
    name: str,
    verbs: tuple[str, ...],
    resources: tuple[str, ...],
    names: tuple[str, ...],
    **options: Unpack[CreationArguments],
) -> int:
    """Create a Role with one rule for each group of resources.

    \b
    masthead create role reader --verb=get,list,watch --resource=pods,deployments.apps
    masthead create role logs --verb=get --resource=pods/log --resource-name=web
    """
    allowed = unique_verbs(verbs)
    parsed = parse_resources(resources)
    if not allowed:
        raise refuse("name a --verb")
    if not parsed:
        raise refuse("name a --resource")
    check_resource_verbs(allowed)
    found = find_resources(state, parsed, allowed, is_local=options["dry_run"] == "client")
    obj: Plain = {
        "kind": "Role",
        "apiVersion": f"{_GROUP}/v1",
        "metadata": make_metadata(name, state.namespace),
        "rules": make_rules(allowed, found, names),
    }
    return print_generated(state, obj, options)


@cluster_command("clusterrole")
@click.argument("name")
@_rule_options
@click.option(
    "--non-resource-url",
    "urls",
    multiple=True,
    callback=split_list,
    metavar="PATH",
    help="a path of the server that is no resource; * at its end for all below it (can be repeated)",
)
@click.option(
    "--aggregation-rule",
    "aggregation",
    multiple=True,
    callback=split_list,
    metavar="KEY=VALUE",
    help="the rules of all ClusterRoles with these labels, instead of its own (can be repeated)",
)
@creation_options
@click.pass_obj
def clusterrole(
    state: State,
    /,
    name: str,
    verbs: tuple[str, ...],
    resources: tuple[str, ...],
    names: tuple[str, ...],
    urls: tuple[str, ...],
    aggregation: tuple[str, ...],
    **options: Unpack[CreationArguments],
) -> int:
    """Create a ClusterRole with one rule for each group of resources.

    \b
    masthead create clusterrole reader --verb=get,list,watch --resource=nodes
    masthead create clusterrole health --verb=get --non-resource-url='/healthz*'
    masthead create clusterrole monitoring --aggregation-rule=example.com/monitoring=true
    """
    obj: Plain = {"kind": "ClusterRole", "apiVersion": f"{_GROUP}/v1", "metadata": make_metadata(name)}
    if aggregation:
        if verbs or resources or names or urls:
            raise refuse("--aggregation-rule excludes rules")
        labels = _parse_labels(aggregation)
        obj |= {"rules": None, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": labels}]}}
        return print_generated(state, obj, options)
    allowed = unique_verbs(verbs)
    parsed = parse_resources(resources)
    if not allowed:
        raise refuse("name a --verb")
    if not parsed and not urls:
        raise refuse("name a --resource or a --non-resource-url")
    check_urls(urls, allowed)
    if parsed:
        check_resource_verbs(allowed)
    found = find_resources(state, parsed, allowed, is_local=options["dry_run"] == "client")
    obj["rules"] = make_rules(allowed, found, names, urls)
    return print_generated(state, obj, options)


def _parse_labels(texts: Sequence[str]) -> dict[str, str]:
    for text in texts:
        if "=" not in text:
            raise refuse(f"--aggregation-rule: {text!r} is not KEY=VALUE")
    parts = (text.partition("=") for text in texts)
    return dict(sorted((key.strip(), value.strip()) for key, _, value in parts))


def _subject_options(function: F) -> F:
    for option in (
        click.option(
            "--serviceaccount",
            "accounts",
            multiple=True,
            metavar="NAMESPACE:NAME",
            help="a service account that gets it (can be repeated)",
        ),
        click.option("--group", "groups", multiple=True, metavar="NAME", help="a group that gets it (can be repeated)"),
        click.option("--user", "users", multiple=True, metavar="NAME", help="a user who gets it (can be repeated)"),
    ):
        function = option(function)
    return function


@cluster_command("rolebinding")
@click.argument("name")
@click.option("--clusterrole", default="", metavar="NAME", help="the ClusterRole to bind, within the namespace")
@click.option("--role", "role_name", default="", metavar="NAME", help="the Role to bind")
@_subject_options
@creation_options
@click.pass_obj
def rolebinding(
    state: State,
    /,
    name: str,
    clusterrole: str,
    role_name: str,
    users: tuple[str, ...],
    groups: tuple[str, ...],
    accounts: tuple[str, ...],
    **options: Unpack[CreationArguments],
) -> int:
    """Give a Role or ClusterRole to users, groups and service accounts, within a namespace.

    \b
    masthead create rolebinding readers --role=reader --user=ann --group=shop
    masthead create rolebinding operators --clusterrole=edit --serviceaccount=shop:operator
    """
    if bool(clusterrole) == bool(role_name):
        raise refuse("name --role or --clusterrole")
    kind = "Role" if role_name else "ClusterRole"
    obj: Plain = {
        "kind": "RoleBinding",
        "apiVersion": f"{_GROUP}/v1",
        "metadata": make_metadata(name, state.namespace),
        **_make_subjects(users, groups, accounts),
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": role_name or clusterrole},
    }
    return print_generated(state, obj, options)


@cluster_command("clusterrolebinding")
@click.argument("name")
@click.option("--clusterrole", required=True, metavar="NAME", help="the ClusterRole to bind")
@_subject_options
@creation_options
@click.pass_obj
def clusterrolebinding(
    state: State,
    /,
    name: str,
    clusterrole: str,
    users: tuple[str, ...],
    groups: tuple[str, ...],
    accounts: tuple[str, ...],
    **options: Unpack[CreationArguments],
) -> int:
    """Give a ClusterRole to users, groups and service accounts, in the whole cluster.

    \b
    masthead create clusterrolebinding admins --clusterrole=cluster-admin --user=ann
    """
    obj: Plain = {
        "kind": "ClusterRoleBinding",
        "apiVersion": f"{_GROUP}/v1",
        "metadata": make_metadata(name),
        **_make_subjects(users, groups, accounts),
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": clusterrole},
    }
    return print_generated(state, obj, options)


def _make_subjects(users: Sequence[str], groups: Sequence[str], accounts: Sequence[str]) -> Plain:
    subjects = [
        {"kind": kind, "apiGroup": _GROUP, "name": name}
        for kind, names in (("User", users), ("Group", groups))
        for name in names
    ]
    for account in accounts:
        namespace, _, name = account.partition(":")
        if not namespace or not name or ":" in name:
            raise refuse(f"--serviceaccount: {account!r} is not NAMESPACE:NAME")
        subjects.append({"kind": "ServiceAccount", "name": name, "namespace": namespace})
    return {"subjects": subjects} if subjects else {}

"""``masthead create ingress``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import click

from masthead._cli.creating import creation_options, make_metadata, print_generated, refuse
from masthead._cli.framework import cluster_command

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from masthead._cli.creating import CreationArguments
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["ingress"]

_RULE: Final = re.compile(r"[\w*.-]*/.*=[\w-]+:[\w-]+(,tls(=?[\w-]+)?)?", re.ASCII)


@cluster_command("ingress")
@click.argument("name")
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="RULE",
    help="[HOST]/PATH[*]=SERVICE:PORT[,tls[=SECRET]]; * for all paths that begin so (can be repeated)",
)
@click.option("--class", "class_name", default="", metavar="NAME", help="the class of the Ingress")
@click.option("--default-backend", "backend", default="", metavar="SERVICE:PORT", help="what gets all other requests")
@click.option("--annotation", "annotations", multiple=True, metavar="KEY=VALUE", help="an annotation (can be repeated)")
@creation_options
@click.pass_obj
def ingress(
    state: State,
    /,
    name: str,
    rules: tuple[str, ...],
    class_name: str,
    backend: str,
    annotations: tuple[str, ...],
    **options: Unpack[CreationArguments],
) -> int:
    """Create an Ingress.

    \b
    masthead create ingress web --class=nginx --rule='shop.example.com/*=web:80,tls=shop-cert'
    masthead create ingress all --default-backend=web:http
    """
    _check(rules, backend, annotations)
    found = dict(annotation.split("=", 1) for annotation in annotations)
    spec: Plain = {
        "ingressClassName": class_name,
        "defaultBackend": _make_backend(backend) if backend else None,
        "tls": _make_tls(rules),
        "rules": _make_rules(rules),
    }
    obj: Plain = {
        "kind": "Ingress",
        "apiVersion": "networking.k8s.io/v1",
        "metadata": make_metadata(name, state.namespace, annotations=dict(sorted(found.items()))),
        "spec": {field: value for field, value in spec.items() if value},
        "status": {"loadBalancer": {}},
    }
    return print_generated(state, obj, options)


def _check(rules: Sequence[str], backend: str, annotations: Sequence[str]) -> None:
    if not rules and not backend:
        raise refuse("name a --rule, or a --default-backend for all requests")
    for rule in rules:
        if not _RULE.match(rule):
            raise refuse(f"--rule: {rule!r} is not [HOST]/PATH=SERVICE:PORT[,tls[=SECRET]]")
    for annotation in annotations:
        if "=" not in annotation:
            raise refuse(f"--annotation: {annotation!r} is not KEY=VALUE")
    if backend and backend.count(":") != 1:
        raise refuse(f"--default-backend: {backend!r} is not SERVICE:PORT")


def _make_tls(rules: Sequence[str]) -> list[Plain]:
    """The hosts of each Secret; a host belongs to the first Secret of its rules."""
    found: list[Plain] = []
    hosts: set[str] = set()
    for rule in rules:
        parts = rule.split(",")
        host = rule.partition("/")[0]
        # A host has one certificate.
        if len(parts) != 2 or host in hosts:
            continue
        hosts.add(host)
        words = parts[1].split("=")
        secret = words[1] if len(words) > 1 else ""
        same = next((entry for entry in found if entry.get("secretName", "") == secret), None)
        if same is not None:
            same.setdefault("hosts", []).append(host)
            continue
        entry = {**({"hosts": [host]} if host else {}), **({"secretName": secret} if secret else {})}
        if entry:
            found.append(entry)
    return found


def _make_rules(rules: Sequence[str]) -> list[Plain]:
    """The paths of each host, in the order of the options."""
    paths: dict[str, list[Plain]] = {}
    for rule in rules:
        host, _, rest = rule.split(",")[0].partition("/")
        path, service = rest.split("=")[:2]
        # The star is no part of the path.
        is_prefix = path.endswith("*")
        paths.setdefault(host, []).append(
            {
                "path": f"/{path[:-1] if is_prefix else path}",
                "pathType": "Prefix" if is_prefix else "Exact",
                "backend": _make_backend(service),
            }
        )
    return [{**({"host": host} if host else {}), "http": {"paths": found}} for host, found in paths.items()]


def _make_backend(service: str) -> Plain:
    from masthead._meta.intstr import parse_int_or_string

    name, port = service.split(":")[:2]
    value = parse_int_or_string(port)
    if isinstance(value, int):
        return {"service": {"name": name, "port": {"number": value} if value else {}}}
    return {"service": {"name": name, "port": {"name": value}}}

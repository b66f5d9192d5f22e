"""``masthead create service``: of each type."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from masthead._cli.creating import creation_options, make_metadata, print_generated, refuse, split_list
from masthead._cli.framework import cluster_command
from masthead._cli.generator_groups import generator_group

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Unpack

    from masthead._cli.creating import CreationArguments
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["make_service", "service"]

F = TypeVar("F", bound="Callable[..., Any]")

_MAX_PORT: Final = 65535
_MAX_PORT_NAME: Final = 15
_PORT_NAME: Final = re.compile(r"(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_HEADLESS: Final = "None"


def _tcp_option(function: F) -> F:
    return click.option(
        "--tcp",
        multiple=True,
        callback=split_list,
        metavar="PORT[:TARGET]",
        help="a port, and that of the pods, a number or a name (can be repeated)",
    )(function)


def make_service(
    name: str, namespace: str | None, kind: str, tcp: Sequence[str], fields: Mapping[str, object], node_port: int = 0
) -> Plain:
    """The Service of pods with the label ``app``.

    Args:
        name: Its name.
        namespace: Its namespace; None for that of the context.
        kind: Its type.
        tcp: The ports, ``PORT[:TARGET]``.
        fields: Further fields of its spec; empty ones are left out.
        node_port: The port of the nodes; 0 for any.

    Raises:
        CommandError: If a port is invalid.
    """
    ports = [_parse_port(text, node_port) for text in tcp]
    found = {field: value for field, value in fields.items() if value}
    spec: Plain = {
        **({"ports": ports} if ports else {}),
        "selector": {"app": name},
        **{field: value for field, value in found.items() if field == "clusterIP"},
        "type": kind,
        **{field: value for field, value in found.items() if field != "clusterIP"},
    }
    return {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": make_metadata(name, namespace, {"app": name}),
        "spec": spec,
        "status": {"loadBalancer": {}},
    }


def _parse_port(text: str, node_port: int) -> Plain:
    number, *further = text.split(":")
    if not number.isdecimal() or int(number) > _MAX_PORT:
        raise refuse(f"--tcp: {number!r} is no port")
    # By default, pods listen at the port of the Service.
    target: int | str = int(number)
    if further:
        target = _parse_target(further[0])
    port = {"name": text.replace(":", "-"), "protocol": "TCP", "port": int(number), "targetPort": target}
    return port | ({"nodePort": node_port} if node_port else {})


def _parse_target(text: str) -> int | str:
    if re.fullmatch(r"[-+]?[0-9]+", text):
        if not 1 <= int(text) <= _MAX_PORT:
            raise refuse(f"--tcp: {text!r} is no port")
        return int(text)
    if len(text) > _MAX_PORT_NAME or not _PORT_NAME.fullmatch(text):
        raise refuse(f"--tcp: {text!r} is neither a port nor the name of one")
    return text


def _create(
    state: State,
    name: str,
    kind: str,
    tcp: Sequence[str],
    options: CreationArguments,
    fields: Mapping[str, object] | None = None,
    node_port: int = 0,
) -> int:
    # Names need no ports, and clients of headless Services look up pods.
    if not tcp and kind != "ExternalName" and (fields or {}).get("clusterIP") != _HEADLESS:
        raise refuse("name a port with --tcp")
    return print_generated(state, make_service(name, state.namespace, kind, tcp, fields or {}, node_port), options)


@cluster_command("clusterip")
@click.argument("name")
@_tcp_option
@click.option("--clusterip", "address", default="", metavar="ADDRESS", help="its address; None for a headless Service")
@creation_options
@click.pass_obj
def _cluster_ip(
    state: State, /, name: str, tcp: tuple[str, ...], address: str, **options: Unpack[CreationArguments]
) -> int:
    """Create a Service with an address within the cluster.

    \b
    masthead create service clusterip web --tcp=80:8080
    masthead create service clusterip web --clusterip=None
    """
    return _create(state, name, "ClusterIP", tcp, options, {"clusterIP": address})


@cluster_command("nodeport")
@click.argument("name")
@_tcp_option
@click.option("--node-port", type=int, default=0, metavar="PORT", help="the port of the nodes (any)")
@creation_options
@click.pass_obj
def _node_port(
    state: State, /, name: str, tcp: tuple[str, ...], node_port: int, **options: Unpack[CreationArguments]
) -> int:
    """Create a Service with a port of each node.

    \b
    masthead create service nodeport web --tcp=80:8080 --node-port=30080
    """
    return _create(state, name, "NodePort", tcp, options, node_port=node_port)


@cluster_command("loadbalancer")
@click.argument("name")
@_tcp_option
@creation_options
@click.pass_obj
def _load_balancer(state: State, /, name: str, tcp: tuple[str, ...], **options: Unpack[CreationArguments]) -> int:
    """Create a Service with a load balancer.

    \b
    masthead create service loadbalancer web --tcp=80:8080
    """
    return _create(state, name, "LoadBalancer", tcp, options)


@cluster_command("externalname")
@click.argument("name")
@_tcp_option
@click.option("--external-name", required=True, metavar="NAME", help="the DNS name")
@creation_options
@click.pass_obj
def _external_name(
    state: State, /, name: str, tcp: tuple[str, ...], external_name: str, **options: Unpack[CreationArguments]
) -> int:
    """Create an alias of a DNS name outside of the cluster.

    \b
    masthead create service externalname database --external-name=db.example.com
    """
    from masthead._meta.names import problem_with_dns1123_subdomain, quote

    if problem := problem_with_dns1123_subdomain(external_name):
        raise refuse(f"--external-name: {quote(external_name)} {problem}")
    return _create(state, name, "ExternalName", tcp, options, {"externalName": external_name})


service = generator_group(
    "service",
    (_cluster_ip, _external_name, _load_balancer, _node_port),
    help_="""Create a Service that selects the pods with the label app=NAME.

    \b
    masthead create service clusterip web --tcp=80:8080
    masthead create service externalname database --external-name=db.example.com
    """,
)

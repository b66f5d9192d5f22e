"""Connect: what happens to a request for a connection to a pod, a service or a node before it is made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from masthead._meta.gvk import GroupVersionKind
from masthead_server.admission.attributes import AdmissionAttributes, Operation
from masthead_server.verbs.routing import find_resource
from masthead_server.wire.options import read_flag
from masthead_server.wire.plain import text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.cluster import ClusterState
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.request import ApiRequest
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["admit_connect"]

_KINDS: Final[Mapping[tuple[str, str], str]] = {
    ("pods", "exec"): "PodExecOptions",
    ("pods", "attach"): "PodAttachOptions",
    ("pods", "portforward"): "PodPortForwardOptions",
    ("pods", "proxy"): "PodProxyOptions",
    ("services", "proxy"): "ServiceProxyOptions",
    ("nodes", "proxy"): "NodeProxyOptions",
}
"""The kinds that admission sees; a log is read, and no connection."""
_FLAGS: Final = ("stdin", "stdout", "stderr", "tty")
_PARAMETERS: Final = (*_FLAGS, "container", "command", "ports")
"""The parameters of a query that are options."""


async def admit_connect(
    cluster: ClusterState, request: ApiRequest, info: RequestInfo
) -> tuple[ApiRequest, RequestInfo]:
    """Have admission decide about a connection; returns the request to go on with.

    Raises:
        StatusFailure: If a plugin refuses it.
    """
    kind = _KINDS.get((info.resource, info.subresource))
    served = find_resource(cluster.catalog, info)
    if kind is None or served is None:
        return request, info
    if not cluster.admission.decides(Operation.CONNECT, served, info.subresource):
        return request, info
    options = _read_options(request, info)
    attributes = AdmissionAttributes(
        Operation.CONNECT,
        served,
        GroupVersionKind("", "v1", kind),
        info.namespace,
        info.name,
        request.user,
        info.subresource,
        options,
    )
    await cluster.admission.admit(attributes)
    await cluster.admission.validate(attributes)
    changed = attributes.object
    return (request, info) if changed is None or changed == options else _write_options(request, info, changed)


def _read_options(request: ApiRequest, info: RequestInfo) -> Plain:
    if info.subresource == "proxy":
        return {"path": f"/{'/'.join(info.tail)}"} if info.tail else {}
    if info.subresource == "portforward":
        ports = [int(port) for port in request.query.get("ports", ()) if port.isascii() and port.isdigit()]
        return {"ports": ports} if ports else {}
    options: Plain = {name: True for name in _FLAGS if read_flag(request, name)}
    if container := request.first("container"):
        options["container"] = container
    if info.subresource == "exec" and (command := request.query.get("command")):
        options["command"] = list(command)
    return options


def _write_options(request: ApiRequest, info: RequestInfo, options: Plain) -> tuple[ApiRequest, RequestInfo]:
    """Return the request with the options that a plugin has changed."""
    if info.subresource == "proxy":
        return request, replace(info, tail=tuple(text(options, "path").removeprefix("/").split("/")))
    query = {name: values for name, values in request.query.items() if name not in _PARAMETERS}
    for name in _PARAMETERS:
        value = options.get(name)
        if isinstance(value, list):
            query[name] = [str(item) for item in cast("list[object]", value)]
        elif value:
            query[name] = ["true" if value is True else str(value)]
    return replace(request, query=query), info

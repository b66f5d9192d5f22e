"""A Kubernetes API server in pure Python, for tests, demos and work without a cluster.

::

    import masthead.server

    with masthead.server.run() as server:            # or: async with
        print(server.url, server.token)
        server.write_kubeconfig("kubeconfig.yaml")   # kubectl --kubeconfig kubeconfig.yaml get namespaces

`run` starts a server, in a thread of its own or in the running event loop. `Server` has its address and
controls: `Server.faults` injects faults, `Server.history` and `Server.requests` record writes and requests,
`Server.quiesce` waits until the server is idle, and with a `VirtualClock`, `Server.advance` moves time. `Server.kubelet`
has what runs in pods: their logs, commands and phases.
``python -m masthead.server`` runs one from the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._lazy import exports

if TYPE_CHECKING:
    from masthead._server.clock import Clock, SystemClock, Timer, VirtualClock
    from masthead._server.fault_filters import RequestFilter
    from masthead._server.faults import Effect, Fault, Faults
    from masthead._server.kubelet.container_files import ContainerFiles
    from masthead._server.kubelet.container_log import ContainerLog
    from masthead._server.kubelet.kubelet import Kubelet
    from masthead._server.kubelet.ports import PortHandler, PortListener, PortTarget
    from masthead._server.kubelet.process import (
        BlockingExecProcess,
        BlockingOutput,
        BlockingStdin,
        ExecProcess,
    )
    from masthead._server.kubelet.stdio import OutputStream, TerminalSize
    from masthead._server.request_recorder import RecordedRequest
    from masthead._server.runner import ServerRunner, run
    from masthead._server.server import Change, Server
    from masthead._server.settings import Token
    from masthead._server.wire.request_info import RequestInfo

__all__ = [
    "BlockingExecProcess",
    "BlockingOutput",
    "BlockingStdin",
    "Change",
    "Clock",
    "ContainerFiles",
    "ContainerLog",
    "Effect",
    "ExecProcess",
    "Fault",
    "Faults",
    "Kubelet",
    "PortHandler",
    "PortListener",
    "PortTarget",
    "OutputStream",
    "ServerRunner",
    "RecordedRequest",
    "RequestInfo",
    "Server",
    "SystemClock",
    "TerminalSize",
    "Timer",
    "Token",
    "VirtualClock",
    "RequestFilter",
    "run",
]

_HOMES = {
    "Clock": "masthead._server.clock",
    "SystemClock": "masthead._server.clock",
    "Timer": "masthead._server.clock",
    "VirtualClock": "masthead._server.clock",
    "Effect": "masthead._server.faults",
    "Fault": "masthead._server.faults",
    "Faults": "masthead._server.faults",
    "RequestFilter": "masthead._server.fault_filters",
    "ContainerFiles": "masthead._server.kubelet.container_files",
    "ContainerLog": "masthead._server.kubelet.container_log",
    "Kubelet": "masthead._server.kubelet.kubelet",
    "PortHandler": "masthead._server.kubelet.ports",
    "PortListener": "masthead._server.kubelet.ports",
    "PortTarget": "masthead._server.kubelet.ports",
    "BlockingExecProcess": "masthead._server.kubelet.process",
    "BlockingOutput": "masthead._server.kubelet.process",
    "BlockingStdin": "masthead._server.kubelet.process",
    "ExecProcess": "masthead._server.kubelet.process",
    "OutputStream": "masthead._server.kubelet.stdio",
    "TerminalSize": "masthead._server.kubelet.stdio",
    "ServerRunner": "masthead._server.runner",
    "run": "masthead._server.runner",
    "RecordedRequest": "masthead._server.request_recorder",
    "Change": "masthead._server.server",
    "Server": "masthead._server.server",
    "Token": "masthead._server.settings",
    "RequestInfo": "masthead._server.wire.request_info",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)

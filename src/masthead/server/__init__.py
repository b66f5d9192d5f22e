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

import importlib.util
from typing import TYPE_CHECKING

from masthead._lazy import exports

if importlib.util.find_spec("masthead_server") is None:
    raise ModuleNotFoundError(
        "masthead.server needs the embedded server, which is not installed: pip install 'masthead-k8s[server]'",
        name="masthead_server",
    )

if TYPE_CHECKING:
    from masthead_server.clock import Clock, SystemClock, Timer, VirtualClock
    from masthead_server.fault_filters import RequestFilter
    from masthead_server.faults import Effect, Fault, Faults
    from masthead_server.kubelet.container_files import ContainerFiles
    from masthead_server.kubelet.container_log import ContainerLog
    from masthead_server.kubelet.kubelet import Kubelet
    from masthead_server.kubelet.ports import PortHandler, PortListener, PortTarget
    from masthead_server.kubelet.process import (
        BlockingExecProcess,
        BlockingOutput,
        BlockingStdin,
        ExecProcess,
    )
    from masthead_server.kubelet.stdio import OutputStream, TerminalSize
    from masthead_server.request_recorder import RecordedRequest
    from masthead_server.runner import ServerRunner, run
    from masthead_server.server import Change, Server
    from masthead_server.settings import Token
    from masthead_server.wire.request_info import RequestInfo

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
    "Clock": "masthead_server.clock",
    "SystemClock": "masthead_server.clock",
    "Timer": "masthead_server.clock",
    "VirtualClock": "masthead_server.clock",
    "Effect": "masthead_server.faults",
    "Fault": "masthead_server.faults",
    "Faults": "masthead_server.faults",
    "RequestFilter": "masthead_server.fault_filters",
    "ContainerFiles": "masthead_server.kubelet.container_files",
    "ContainerLog": "masthead_server.kubelet.container_log",
    "Kubelet": "masthead_server.kubelet.kubelet",
    "PortHandler": "masthead_server.kubelet.ports",
    "PortListener": "masthead_server.kubelet.ports",
    "PortTarget": "masthead_server.kubelet.ports",
    "BlockingExecProcess": "masthead_server.kubelet.process",
    "BlockingOutput": "masthead_server.kubelet.process",
    "BlockingStdin": "masthead_server.kubelet.process",
    "ExecProcess": "masthead_server.kubelet.process",
    "OutputStream": "masthead_server.kubelet.stdio",
    "TerminalSize": "masthead_server.kubelet.stdio",
    "ServerRunner": "masthead_server.runner",
    "run": "masthead_server.runner",
    "RecordedRequest": "masthead_server.request_recorder",
    "Change": "masthead_server.server",
    "Server": "masthead_server.server",
    "Token": "masthead_server.settings",
    "RequestInfo": "masthead_server.wire.request_info",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)

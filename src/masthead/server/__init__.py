"""A Kubernetes API server in pure Python, for tests, demos and work without a cluster.

::

    import masthead.server

    with masthead.server.run() as server:            # or: async with
        print(server.url, server.token)
        server.write_kubeconfig("kubeconfig.yaml")   # kubectl --kubeconfig kubeconfig.yaml get namespaces

`run` starts a server, in a thread of its own or in the running event loop. `Server` says where it is, and steers it:
`Server.faults` makes things go wrong, `Server.history` and `Server.requests` tell what happened, `Server.quiesce`
waits until all is told, and with a `VirtualClock`, `Server.advance` moves time. ``python -m masthead.server`` runs one
from the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._lazy import exports

if TYPE_CHECKING:
    from masthead._server.clock import Clock, SystemClock, Timer, VirtualClock
    from masthead._server.faults import Call, Effect, Fault, Faults, Where
    from masthead._server.running import Running, run
    from masthead._server.seen import Seen
    from masthead._server.server import Change, Server
    from masthead._server.settings import Token

__all__ = [
    "Call",
    "Change",
    "Clock",
    "Effect",
    "Fault",
    "Faults",
    "Running",
    "Seen",
    "Server",
    "SystemClock",
    "Timer",
    "Token",
    "VirtualClock",
    "Where",
    "run",
]

_HOMES = {
    "Clock": "masthead._server.clock",
    "SystemClock": "masthead._server.clock",
    "Timer": "masthead._server.clock",
    "VirtualClock": "masthead._server.clock",
    "Call": "masthead._server.faults",
    "Effect": "masthead._server.faults",
    "Fault": "masthead._server.faults",
    "Faults": "masthead._server.faults",
    "Where": "masthead._server.faults",
    "Running": "masthead._server.running",
    "run": "masthead._server.running",
    "Seen": "masthead._server.seen",
    "Change": "masthead._server.server",
    "Server": "masthead._server.server",
    "Token": "masthead._server.settings",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)

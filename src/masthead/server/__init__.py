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

from masthead.lazy import exports

if TYPE_CHECKING:
    from masthead.server.clock import Clock, SystemClock, Timer, VirtualClock
    from masthead.server.faults import Call, Effect, Fault, Faults, Where
    from masthead.server.running import Running, run
    from masthead.server.seen import Seen
    from masthead.server.server import Change, Server
    from masthead.server.settings import Token

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
    "Clock": "masthead.server.clock",
    "SystemClock": "masthead.server.clock",
    "Timer": "masthead.server.clock",
    "VirtualClock": "masthead.server.clock",
    "Call": "masthead.server.faults",
    "Effect": "masthead.server.faults",
    "Fault": "masthead.server.faults",
    "Faults": "masthead.server.faults",
    "Where": "masthead.server.faults",
    "Running": "masthead.server.running",
    "run": "masthead.server.running",
    "Seen": "masthead.server.seen",
    "Change": "masthead.server.server",
    "Server": "masthead.server.server",
    "Token": "masthead.server.settings",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)

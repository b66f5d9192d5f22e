"""A cluster that misbehaves: the embedded API server, with faults that strike by themselves."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

import masthead

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from masthead._server.faults import Fault, Faults, RequestFilter
    from masthead._server.server import Server

_BOOKMARK_EVERY: Final = 0.4
"""Seconds; a real server takes a minute. So a watch that falls silent is noticed soon."""

_Troubles: TypeAlias = Mapping[str, Callable[["Faults"], "Fault"]]
"""What goes wrong, in words, and how that is asked for."""

# A fault of a stream strikes the next watch that is opened; so each of these meets the watch that the one before it broke.
_FIRST_HALF: Final[_Troubles] = {
    "429 for a watch of pods: come back in a second": lambda faults: faults.throttle(
        retry_after=1, verb="watch", resource="pods"
    ),
    "a watch of pods that breaks off": lambda faults: faults.drop_watch(after=20, resource="pods"),
    "503 for a list of pods": lambda faults: faults.fail(503, verb="list", resource="pods"),
    "a watch of pods that breaks in the middle of a line": lambda faults: faults.cut_watch(
        after=6, resource="pods"
    ),
    "a watch of deployments that ends with 410: its version is forgotten": lambda faults: faults.expire_watch(
        after=12, resource="deployments"
    ),
}
_SECOND_HALF: Final[_Troubles] = {
    "a watch of pods that falls silent": lambda faults: faults.silence_watch(after=6, resource="pods"),
    "a watch of pods that ends with 410": lambda faults: faults.expire_watch(after=4, resource="pods"),
    "500 for a list of deployments": lambda faults: faults.fail(500, verb="list", resource="deployments"),
    "a watch of deployments that breaks off": lambda faults: faults.drop_watch(
        after=6, resource="deployments"
    ),
}
_RESOURCES: Final = ("pods", "deployments")
_RESTART: Final = "a restart of the server"


class Cluster:
    """An API server that can be restarted: at the same address, with the data that it had.

    Args:
        folder: RequestFilter to keep the data.

    Attributes:
        server: The server that runs now.
    """

    def __init__(self, folder: Path) -> None:
        self._data = folder / "cluster.db"
        self._token = secrets.token_urlsafe()
        self._running = ExitStack()
        self._survived: list[str] = []
        self._told: set[str] = set()
        self.server = self._start()
        self._armed = self._arm(_FIRST_HALF)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._running.close()

    def restart(self) -> None:
        """Stop the server, which ends every watch, and start it again with other faults."""
        self._survived = [*self.survived(), _RESTART]
        port = urlsplit(self.server.url).port or 0
        self._running.close()
        self.server = self._start(port)
        self._armed = self._arm(_SECOND_HALF)

    def news(self) -> list[str]:
        """Which faults have met a request since this was asked last. A watch that has met one is sound for a while."""
        struck = [name for name, fault in self._armed.items() if fault.hits and name not in self._told]
        self._told.update(struck)
        return struck

    def behave(self) -> None:
        """Let nothing more go wrong, but for what is under way."""
        self.server.faults.clear()

    def is_still_failing(self) -> bool:
        """Whether a watch has met a fault, and has yet to break or to be opened again."""
        return bool(self._under_way())

    def survived(self) -> list[str]:
        """What has gone wrong and is over."""
        over = [name for name, fault in self._armed.items() if fault.hits and fault not in self._under_way()]
        return [*self._survived, *over]

    def _under_way(self) -> list[Fault]:
        return [fault for resource in _RESOURCES for fault in self._under_way_for(resource)]

    def _under_way_for(self, resource: str) -> list[Fault]:
        # Each fault takes one watch, in this order: the last one is over when a sound watch was opened behind it.
        calls = [seen.info for seen in self.server.requests]
        watches = sum(call.verb == "watch" and call.resource == resource for call in calls)
        where: RequestFilter = {"verb": "watch", "resource": resource}
        met = [fault for fault in self._armed.values() if fault.hits and fault.where == where]
        return met[-1:] if len(met) >= watches else []

    def _start(self, port: int = 0) -> Server:
        run = masthead.server.run(
            data=self._data, port=port, token=self._token, bookmark_every=_BOOKMARK_EVERY
        )
        return self._running.enter_context(run)

    def _arm(self, troubles: _Troubles) -> dict[str, Fault]:
        return {name: add(self.server.faults) for name, add in troubles.items()}

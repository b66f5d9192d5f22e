"""The requests of replicas as control points: a hook sees each request before it is sent and after its response."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from masthead._module import set_module
from masthead.testing._writes import read_write

if TYPE_CHECKING:
    from masthead._controller.logs import ReconcileFields
    from masthead._transport.contract import TransportRequest, TransportResponse
    from masthead.testing._replica import Replica
    from masthead.testing._writes import Write

__all__ = ["Exchange", "RequestHook", "stay_forever"]


@set_module("masthead.testing")
class Exchange:
    """A request of a replica, and its response.

    Attributes:
        replica: The sending replica.
        request: The request. A hook may replace it before it is sent.
        reconcile: The reconcile that sends the request; None for informers, leases, Events and other code.
        response: The response; None before it. A hook that sets it keeps the request from being sent.
    """

    def __init__(self, replica: Replica, request: TransportRequest, reconcile: ReconcileFields | None) -> None:
        self.replica: Replica = replica
        self.request: TransportRequest = request
        self.reconcile: ReconcileFields | None = reconcile
        self.response: TransportResponse | None = None

    @property
    def is_write(self) -> bool:
        """Whether the request is a write."""
        return self.request.method not in {"GET", "HEAD"}

    @property
    def is_watch(self) -> bool:
        """Whether the request opens a watch."""
        return not self.is_write and "watch=" in self.request.target

    @property
    def write(self) -> Write:
        """The description of a write; before its response, with the code 0."""
        code = 0 if self.response is None else self.response.status
        return read_write(self.request, code, self.replica.name, self.reconcile)


@set_module("masthead.testing")
class RequestHook(Protocol):
    """Controls the requests of a replica. Either method may wait, raise an error of the transport, or kill the replica.

    After `Replica.kill`, a hook must not return: see `stay_forever`.
    """

    async def before(self, exchange: Exchange) -> None:
        """Run before a request is sent."""
        ...

    async def after(self, exchange: Exchange) -> None:
        """Run when the head of the response has arrived, before the caller gets it."""
        ...


async def stay_forever() -> None:
    """Wait until the task is cancelled: the process of the caller is dead."""
    await asyncio.get_running_loop().create_future()

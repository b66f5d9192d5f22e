"""The seam between HTTP and what connects a client to a pod.

kube-apiserver's word for it is ``Connecter``: a subresource that takes over the connection. A connecter checks the
request, and returns a handler, which responds: it upgrades the connection, or streams a body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.web.request import Request
    from masthead_server.wire.request import ApiRequest, ApiResponse
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["ConnectHandler", "Connecter"]


class ConnectHandler(Protocol):
    """Responds to one request that was found to be valid."""

    async def serve(self, incoming: Request, on_response: Callable[[int], None]) -> None:
        """Respond, and return when the stream has ended. Cancelled when the client disconnects or the server stops.

        Args:
            incoming: The request.
            on_response: To be called with the status code, right before the response begins.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        ...


class Connecter(Protocol):
    """A subresource that connects a client to a pod, a service or a node."""

    def connect(self, request: ApiRequest, info: RequestInfo) -> ConnectHandler | ApiResponse:
        """Check a request, whose path and verb are valid; return what responds to it, or the response.

        Raises:
            StatusFailure: If it is refused.
        """
        ...

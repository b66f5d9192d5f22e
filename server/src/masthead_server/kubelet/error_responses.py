"""Responses to refused requests: kube-apiserver's Status as JSON, and the kubelet's plain text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead_server.web.response import Response
from masthead_server.wire.request import status_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.web.request import Request
    from masthead_server.wire.failures import StatusFailure

__all__ = ["build_status_response", "build_text_response", "send_error"]

_NO_CACHE: Final = ("Cache-Control", "no-cache, private")


def build_status_response(failure: StatusFailure) -> Response:
    """Return the response to a failure, with a Status."""
    outcome = status_response(failure)
    return Response(outcome.code, outcome.body, [("Content-Type", outcome.content_type), _NO_CACHE])


def build_text_response(code: int, text: str) -> Response:
    """Return a line of text, as Go's ``http.Error`` writes it."""
    return Response.of_text(code, f"{text}\n", [_NO_CACHE, ("X-Content-Type-Options", "nosniff")])


async def send_error(incoming: Request, response: Response, on_response: Callable[[int], None]) -> None:
    """Send a response without waiting for the rest of the request's body.

    Raises:
        ConnectionError: If the client has disconnected.
    """
    on_response(response.code)
    # The rest of a body that is still arriving would be taken for the next request.
    await incoming.send(replace(response, close=not incoming.body.is_complete))

"""Refusals by a handler: the responses of kube-apiserver's JSON, and of the kubelet's plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp.web_response import Response

from masthead_server.wire.request import status_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp.web_request import BaseRequest

    from masthead_server.wire.failures import StatusFailure

__all__ = ["refusal", "send", "text_refusal"]


def refusal(failure: StatusFailure) -> Response:
    """Return the response of a failure."""
    found = status_response(failure)
    response = Response(status=found.code, body=found.body)
    response.headers["Content-Type"] = found.content_type
    response.headers["Cache-Control"] = "no-cache, private"
    return response


def text_refusal(code: int, text: str) -> Response:
    """Return a line of text, as Go's ``http.Error`` writes it."""
    response = Response(status=code, text=f"{text}\n")
    response.headers["Cache-Control"] = "no-cache, private"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


async def send(incoming: BaseRequest, response: Response, on_response: Callable[[int], None]) -> Response:
    """Send a response; a body that the client is still sending is not waited for.

    Raises:
        ConnectionError: If the client is gone.
    """
    if not incoming.content.is_eof():
        response.force_close()
    on_response(response.status)
    await response.prepare(incoming)
    await response.write_eof()
    return response

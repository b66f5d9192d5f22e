"""Upgrades to SPDY/3.1: negotiation of the protocol on the streams, and the responses of a kubelet to unknown ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.error_responses import build_text_response

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead_server.web.response import Response
    from masthead_server.wire.request import ApiRequest

__all__ = ["SPDY", "is_spdy", "negotiate", "upgrade_headers"]

SPDY: Final = "SPDY/3.1"
_VERSION: Final = "X-Stream-Protocol-Version"
_ACCEPTED: Final = "X-Accepted-Stream-Protocol-Versions"


def is_spdy(request: ApiRequest) -> bool:
    """Tell whether a client asks for SPDY."""
    connection, upgrade = (request.headers.get(name, "").lower() for name in ("connection", "upgrade"))
    return "upgrade" in connection and SPDY.lower() in upgrade


def negotiate(wanted: Iterable[str], accepted: Sequence[str]) -> str | Response:
    """Choose the first protocol of the client that the server knows, or return the refusal.

    Args:
        wanted: The client's header lines, each with one protocol or several.
        accepted: What the server knows, the best first.
    """
    lines = list(wanted)
    if not lines:
        return _refuse(400, f"header {_VERSION} does not exist in request")
    names = [name for line in lines for field in line.split(",") if (name := field.strip())]
    if not names:
        return _refuse(400, f"header {_VERSION} contains [{' '.join(lines)}], but no valid protocols")
    if (chosen := next((name for name in names if name in accepted), None)) is not None:
        return chosen
    problem = f"client supports [{' '.join(names)}], server accepts [{' '.join(accepted)}]"
    response = _refuse(403, f"unable to negotiate protocol: {problem}")
    return replace(response, headers=[*response.headers, *((_ACCEPTED, name) for name in accepted)])


def upgrade_headers(protocol: str) -> list[tuple[str, str]]:
    """Return the headers of the response that switches to SPDY."""
    return [("Upgrade", SPDY), (_VERSION, protocol)]


def _refuse(code: int, problem: str) -> Response:
    return build_text_response(code, f"unable to upgrade: {problem}")

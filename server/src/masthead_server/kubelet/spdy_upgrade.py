"""Upgrades to SPDY/3.1: which protocol is spoken on the streams, and the responses of a kubelet that knows none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.refusal import text_refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from aiohttp.web_response import Response

    from masthead_server.wire.request import ApiRequest

__all__ = ["SPDY", "is_spdy", "negotiate", "upgrade_headers"]

SPDY: Final = "SPDY/3.1"
_VERSION: Final = "X-Stream-Protocol-Version"


def is_spdy(request: ApiRequest) -> bool:
    """Tell whether a client asks for SPDY."""
    connection, upgrade = (request.headers.get(name, "").lower() for name in ("connection", "upgrade"))
    return "upgrade" in connection and SPDY.lower() in upgrade


def negotiate(wanted: Iterable[str], accepted: Sequence[str]) -> str | Response:
    """Choose the first protocol that the client wants and the server knows; if there is none, return the refusal.

    Args:
        wanted: The client's header lines, each with one protocol or several.
        accepted: What the server knows, the best first.
    """
    lines = list(wanted)
    if not lines:
        return _refused(400, f"header {_VERSION} does not exist in request")
    names = [name for line in lines for each in line.split(",") if (name := each.strip())]
    if not names:
        return _refused(400, f"header {_VERSION} contains [{' '.join(lines)}], but no valid protocols")
    if (chosen := next((each for each in names if each in accepted), None)) is not None:
        return chosen
    problem = f"client supports [{' '.join(names)}], server accepts [{' '.join(accepted)}]"
    refused = _refused(403, f"unable to negotiate protocol: {problem}")
    for name in accepted:
        refused.headers.add("X-Accepted-Stream-Protocol-Versions", name)
    return refused


def upgrade_headers(protocol: str) -> list[tuple[str, str]]:
    """Return the headers of the response that switches to SPDY."""
    return [("Upgrade", SPDY), (_VERSION, protocol)]


def _refused(code: int, problem: str) -> Response:
    return text_refusal(code, f"unable to upgrade: {problem}")

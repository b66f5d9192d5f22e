"""The static files of the page, and the headers of all responses."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Final

from masthead._endpoint.http_requests import EndpointResponse

__all__ = ["HEADERS", "static_file"]

_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
HEADERS: Final = (
    ("Content-Security-Policy", _POLICY),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("X-Frame-Options", "DENY"),
)
"""The headers of every response; the server itself adds ``nosniff`` and ``no-store``."""
_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_NAMES: Final = frozenset(
    {
        "index.html",
        "style.css",
        "icon.svg",
        "api.js",
        "app.js",
        "axis.js",
        "details.js",
        "difference.js",
        "dom.js",
        "rows.js",
        "state.js",
        "table.js",
        "tree.js",
    }
)
"""By name, so that no path reaches anything else."""


def static_file(path: str) -> EndpointResponse | None:
    """Return a file of the page; None for any other path."""
    # No path is joined to a folder: a name is in the set, or there is no such file.
    name = "index.html" if path == "/" else path.removeprefix("/")
    if name not in _NAMES:
        return None
    return EndpointResponse(HTTPStatus.OK, _content(name), _TYPES[name.rpartition(".")[2]], HEADERS)


@cache
def _content(name: str) -> bytes:
    return (files("masthead._ui") / "static" / name).read_bytes()

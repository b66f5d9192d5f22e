"""The paths below ``/openapi``: which document a request is for, in which form, and how long it may be kept."""

from __future__ import annotations

from datetime import timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Final

from masthead._server.wire.request import JSON_TYPE, ApiResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._server.clock import Clock
    from masthead._server.openapi.service import OpenApiDocument, OpenApiService
    from masthead._server.resources.catalog import Catalog
    from masthead._server.wire.request import ApiRequest

__all__ = ["OpenApiHandler", "is_openapi"]

_V3: Final = "/openapi/v3"
_MOST_CLAUSES: Final = 1_000
"""How many clauses of an Accept header are read."""
_YEAR: Final = timedelta(days=365)


def is_openapi(path: str) -> bool:
    """Tell whether a path is one of OpenAPI's."""
    return path == _V3 or path.startswith(f"{_V3}/")


class OpenApiHandler:
    """Responds to requests for OpenAPI documents.

    Args:
        catalog: What the server serves.
        clock: Says when documents expire.
    """

    def __init__(self, catalog: Catalog, clock: Clock) -> None:
        self._catalog = catalog
        self._clock = clock
        self._made: OpenApiService | None = None

    @property
    def _service(self) -> OpenApiService:
        # Late, because most servers are never asked for a document.
        if self._made is None:
            from masthead._server.openapi.service import OpenApiService

            self._made = OpenApiService(self._catalog)
        return self._made

    def preparation(self, request: ApiRequest) -> Callable[[], object] | None:
        """Return what a request needs that takes long, to be called in a thread; None if it is at hand."""
        if not is_openapi(request.path) or (self._made is not None and self._made.has_index):
            return None
        return self._make_index

    def _make_index(self) -> None:
        # All of it in the thread: even the modules that make documents take a while to import.
        self._service.index()

    def respond(self, request: ApiRequest) -> ApiResponse:
        """Respond to a request for the index or for a document, whatever its method."""
        if request.path == _V3:
            # kube-apiserver sends JSON, and does not say so.
            return ApiResponse(200, self._service.index().body, "text/plain; charset=utf-8")
        name = request.path.removeprefix(f"{_V3}/")
        found = self._service.get(name)
        if found is None:
            return ApiResponse(404, b"", "")
        return self._negotiated(request, name, found)

    def _negotiated(self, request: ApiRequest, name: str, document: OpenApiDocument) -> ApiResponse:
        headers = [("Vary", "Accept")]
        if not _accepts_json(request.headers.get("accept", "")):
            return ApiResponse(406, b"", "", tuple(headers))
        headers.append(("ETag", f'"{document.hash}"'))
        if wanted := request.first("hash"):
            if wanted != document.hash:
                headers.append(("Location", f"{_V3}/{name}?hash={document.hash}"))
                return ApiResponse(301, b"", JSON_TYPE, tuple(headers))
            expires = format_datetime(self._clock.now() + _YEAR, usegmt=True).replace("GMT", "UTC")
            headers += [("Cache-Control", "public, immutable"), ("Expires", expires)]
        if _matches(request.headers.get("if-none-match", ""), document.hash):
            return ApiResponse(304, b"", JSON_TYPE, tuple(headers))
        return ApiResponse(200, document.body, JSON_TYPE, tuple(headers))


def _accepts_json(accept: str) -> bool:
    clauses = (accept or "*/*").split(",", _MOST_CLAUSES)[:_MOST_CLAUSES]
    return any(each.partition(";")[0].strip() in _JSON_RANGES for each in clauses)


_JSON_RANGES: Final = frozenset({JSON_TYPE, "application/*", "*/*", "*/json"})


def _matches(condition: str, digest: str) -> bool:
    """Tell whether an ``If-None-Match`` header names a document; weak tags compare like strong ones."""
    tags = {each.strip().removeprefix("W/") for each in condition.split(",", _MOST_CLAUSES)}
    return bool(tags & {"*", f'"{digest}"'})

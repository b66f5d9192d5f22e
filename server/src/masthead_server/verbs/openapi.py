"""The paths below ``/openapi``: the requested document, its format, and its caching headers."""

from __future__ import annotations

from datetime import timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Final

from masthead_server.threads import compute_in_thread
from masthead_server.wire.request import JSON_TYPE, ApiResponse

if TYPE_CHECKING:
    from masthead_server.clock import Clock
    from masthead_server.openapi.service import OpenApiDocument, OpenApiService
    from masthead_server.resources.catalog import Catalog
    from masthead_server.wire.request import ApiRequest

__all__ = ["OpenApiHandler", "is_openapi"]

_V2: Final = "/openapi/v2"
_V3: Final = "/openapi/v3"
_PROTOBUF_V2: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_PROTOBUF_NAMES: Final = frozenset({_PROTOBUF_V2, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"})
"""What clients call the protobuf of version 2; the second name is deprecated, because it is no media type."""
_JSON_RANGES: Final = frozenset({JSON_TYPE, "application/*", "*/*", "*/json"})
_MAX_CLAUSES: Final = 1_000
"""How many clauses of a header are read."""
_YEAR: Final = timedelta(days=365)


def is_openapi(path: str) -> bool:
    """Tell whether a path is one of OpenAPI's."""
    return path in {_V2, _V3} or path.startswith(f"{_V3}/")


class OpenApiHandler:
    """Responds to requests for OpenAPI documents, whatever their method.

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
            from masthead_server.openapi.service import OpenApiService

            self._made = OpenApiService(self._catalog)
        return self._made

    async def respond(self, request: ApiRequest) -> ApiResponse:
        """Respond to a request; a thread builds a missing document, and imports the modules for that."""
        if self._made is not None and self._is_at_hand(request, self._made):
            return self._respond(request)
        return await compute_in_thread(self._respond, request)

    @staticmethod
    def _is_at_hand(request: ApiRequest, service: OpenApiService) -> bool:
        if request.path == _V3:
            return service.has_index
        if request.path == _V2:
            form = _swagger_form(request)
            return form is None or service.has_swagger(is_protobuf=form, is_gzip=_takes_gzip(request))
        return service.has(request.path.removeprefix(f"{_V3}/"))

    def _respond(self, request: ApiRequest) -> ApiResponse:
        if request.path == _V2:
            return self._swagger(request)
        if request.path == _V3:
            # kube-apiserver sends JSON, and does not say so.
            return ApiResponse(200, self._service.index().body, "text/plain; charset=utf-8")
        name = request.path.removeprefix(f"{_V3}/")
        found = self._service.get(name)
        return ApiResponse(404, b"", "") if found is None else self._document(request, name, found)

    def _document(self, request: ApiRequest, name: str, document: OpenApiDocument) -> ApiResponse:
        headers = [("Vary", "Accept")]
        if _JSON_RANGES.isdisjoint(_media_types(request)):
            return ApiResponse(406, b"", "", tuple(headers))
        headers.append(("ETag", f'"{document.hash}"'))
        if wanted := request.first("hash"):
            if wanted != document.hash:
                headers.append(("Location", f"{_V3}/{name}?hash={document.hash}"))
                return ApiResponse(301, b"", JSON_TYPE, tuple(headers))
            expires = format_datetime(self._clock.now() + _YEAR, usegmt=True).replace("GMT", "UTC")
            headers += [("Cache-Control", "public, immutable"), ("Expires", expires)]
        return _send(request, document, JSON_TYPE, headers)

    def _swagger(self, request: ApiRequest) -> ApiResponse:
        headers = [("Vary", "Accept-Encoding"), ("Vary", "Accept")]
        is_protobuf = _swagger_form(request)
        if is_protobuf is None:
            return ApiResponse(406, b"", "", tuple(headers))
        is_gzip = _takes_gzip(request)
        document = self._service.swagger(is_protobuf=is_protobuf, is_gzip=is_gzip)
        headers.append(("ETag", f'"{document.hash}"'))
        if is_gzip:
            headers.append(("Content-Encoding", "gzip"))
        return _send(request, document, _PROTOBUF_V2 if is_protobuf else JSON_TYPE, headers)


def _send(
    request: ApiRequest, document: OpenApiDocument, content_type: str, headers: list[tuple[str, str]]
) -> ApiResponse:
    if _matches(request.headers.get("if-none-match", ""), document.hash):
        kept = tuple(header for header in headers if header[0] != "Content-Encoding")
        return ApiResponse(304, b"", content_type, kept)
    return ApiResponse(200, document.body, content_type, tuple(headers))


def _swagger_form(request: ApiRequest) -> bool | None:
    """Tell whether version 2 is sent as protobuf; None if the client takes neither that nor JSON."""
    for media_type_ in _media_types(request):
        if media_type_ in _JSON_RANGES:
            return False
        if media_type_ in _PROTOBUF_NAMES:
            return True
    return None


def _media_types(request: ApiRequest) -> list[str]:
    """Return what a client takes, the preferred first."""
    accept = request.headers.get("accept", "") or "*/*"
    clauses = [clause_text.partition(";") for clause_text in accept.split(",", _MAX_CLAUSES)[:_MAX_CLAUSES]]
    weighted = sorted(clauses, key=lambda each: -_weight(each[2]))
    return [media_type.strip() for media_type, _, _ in weighted]


def _weight(parameters: str) -> float:
    """Return the weight of a clause, which is 1 unless it states another."""
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 1.0
    return 1.0


def _takes_gzip(request: ApiRequest) -> bool:
    codings = request.headers.get("accept-encoding", "").split(",", _MAX_CLAUSES)
    return any(
        coding.strip().lower() == "gzip" and _weight(rest) > 0
        for coding, _, rest in (clause.partition(";") for clause in codings)
    )


def _matches(condition: str, digest: str) -> bool:
    """Tell whether an ``If-None-Match`` header names a document; weak tags compare like strong ones."""
    tags = {clause_text.strip().removeprefix("W/") for clause_text in condition.split(",", _MAX_CLAUSES)}
    return bool(tags & {"*", f'"{digest}"'})

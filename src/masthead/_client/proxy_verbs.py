"""The verb of proxies: HTTP requests to what runs in pods, behind services, and on nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar, Unpack
from urllib.parse import parse_qsl

import msgspec

from masthead._client.base import BaseResource
from masthead._client.proxy_names import (
    checked_body,
    checked_headers,
    checked_name,
    checked_query,
    checked_text,
    escaped_path,
)
from masthead._client.proxy_stream import ProxyStream
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._rest.options import RequestOptions, RequestParameters
from masthead._rest.proxied import ProxyResponse  # noqa: TC001 - help() and inspect read the annotations

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead._rest.call import Call
    from masthead._rest.client import RestClient

__all__ = ["ProxyVerbs", "ResourceProxy"]

OCTETS: Final = "application/octet-stream"
"""The content type of bytes that may be anything."""

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.clientset")
class ResourceProxy:
    """HTTP requests through the API server to a port of a pod, of a service or of a node.

    A response is returned whatever its status: `ProxyResponse.raise_for_status` makes errors of error statuses. What
    the API server itself refuses is raised as a `StatusError`: no such pod, no permission, no endpoint, or nothing that
    listens. It is recognised by the Status in its body, so that a backend's own response is raised, too, if it is a
    Status of an API server.

    Redirects are returned, not followed. The API server takes an ``Authorization`` header for the client's credential,
    and removes it: the backend never gets one.
    """

    def __init__(self, rest: RestClient, base: Callable[[], Awaitable[Call]]) -> None:
        self._rest = rest
        self._base = base

    async def get(self, path: str = "/", **options: Unpack[RequestOptions]) -> ProxyResponse:
        """GET a path. The options are ``query``, ``headers`` and ``timeout``; see `RequestOptions`.

        Raises:
            MastheadError: As `request`.
        """
        return await self.request("GET", path, **options)

    async def head(self, path: str = "/", **options: Unpack[RequestOptions]) -> ProxyResponse:
        """HEAD a path. The options are ``query``, ``headers`` and ``timeout``; see `RequestOptions`.

        Raises:
            MastheadError: As `request`.
        """
        return await self.request("HEAD", path, **options)

    async def delete(self, path: str = "/", **options: Unpack[RequestOptions]) -> ProxyResponse:
        """DELETE a path. The options are ``query``, ``headers`` and ``timeout``; see `RequestOptions`.

        Raises:
            MastheadError: As `request`.
        """
        return await self.request("DELETE", path, **options)

    async def post(
        self, path: str = "/", body: bytes = b"", *, content_type: str = OCTETS, **options: Unpack[RequestOptions]
    ) -> ProxyResponse:
        """POST a body to a path. The options are ``query``, ``headers`` and ``timeout``; see `RequestOptions`.

        Raises:
            MastheadError: As `request`.
        """
        return await self.request("POST", path, body=body, content_type=content_type, **options)

    async def put(
        self, path: str = "/", body: bytes = b"", *, content_type: str = OCTETS, **options: Unpack[RequestOptions]
    ) -> ProxyResponse:
        """PUT a body to a path. The options are ``query``, ``headers`` and ``timeout``; see `RequestOptions`.

        Raises:
            MastheadError: As `request`.
        """
        return await self.request("PUT", path, body=body, content_type=content_type, **options)

    async def patch(
        self, path: str = "/", body: bytes = b"", *, content_type: str = OCTETS, **options: Unpack[RequestOptions]
    ) -> ProxyResponse:
        """PATCH a path. The options are ``query``, ``headers`` and ``timeout``; see `RequestOptions`.

        Raises:
            MastheadError: As `request`.
        """
        return await self.request("PATCH", path, body=body, content_type=content_type, **options)

    async def request(
        self,
        method: str,
        path: str = "/",
        *,
        body: bytes | None = None,
        content_type: str = OCTETS,
        **options: Unpack[RequestOptions],
    ) -> ProxyResponse:
        """Send a request, and read the response to its end, up to the client's ``max_response_bytes``.

        Args:
            method: The HTTP method.
            path: The path, perhaps with a query. Characters that need it are escaped; existing escapes stay.
            body: The body.
            content_type: The ``Content-Type`` of the body.
            options: ``query``, ``headers`` and ``timeout``; see `RequestOptions`.

        Raises:
            StatusError: If the API server itself refuses, or cannot reach the backend.
            TransportError: If no usable response arrives.
            ArgumentError: If the path has a ``..`` in it, a header cannot be sent, or an argument is of another type.
            NameFormatError: If the name has another form than ``name``, ``name:port`` or ``scheme:name:port``.
            MastheadError: As all calls.
        """
        base = await self._base()
        call = _proxy_call(base, method, path, body, content_type, **options)
        return await self._rest.exchange(call)

    def stream(
        self,
        method: str,
        path: str = "/",
        *,
        body: bytes | None = None,
        content_type: str = OCTETS,
        read_timeout: float | None = None,
        **options: Unpack[RequestOptions],
    ) -> ProxyStream:
        """Send a request whose response is read as it arrives, in constant memory.

        ::

            async with pods.proxy("web:8080").stream("GET", "/dump") as response:
                async for chunk in response.chunks():
                    print(len(chunk))

        Args:
            method: The HTTP method.
            path: The path, as for `request`.
            body: The body.
            content_type: The ``Content-Type`` of the body.
            read_timeout: Seconds without a byte after which the response is considered dead; None for the client's
                default.
            options: ``query``, ``headers`` and ``timeout``; see `RequestOptions`.
        """

        async def make() -> Call:
            base = await self._base()
            made = _proxy_call(base, method, path, body, content_type, **options)
            return msgspec.structs.replace(made, read_timeout=read_timeout)

        return ProxyStream(self._rest, make)


@set_module("masthead.aio.clientset")
class ProxyVerbs(BaseResource[T], Generic[T]):
    """For resources with a proxy subresource: pods, services and nodes."""

    def proxy(self, name: str) -> ResourceProxy:
        """Send HTTP requests to what runs in a pod, behind a service, or on a node.

        ::

            response = await pods.proxy("web:8080").get("/healthz")
            print(response.status, response.text)

        Args:
            name: The object's name; with a port, ``web:8080``, which may be a port's name of a service; with ``https``
                to the backend, ``https:web:443``.

        Raises:
            NameFormatError: If it has another form.
        """
        checked = checked_name(name)

        async def build_call() -> Call:
            return self._build_call(await self._target(), "get", name=checked, subresource="proxy")

        return ResourceProxy(self._context.rest, build_call)


def _proxy_call(
    base: Call,
    method: str,
    path: str,
    body: bytes | None,
    content_type: str,
    **options: Unpack[RequestOptions],
) -> Call:
    """The call of a request to a backend.

    Raises:
        ArgumentError: If the path leads elsewhere, a header is not for the backend, or something is of another type.
    """
    parameters = RequestParameters(**options)
    path, _, written = checked_text("path", path).partition("?")
    own = parse_qsl(written, keep_blank_values=True)
    method = checked_text("method", method).upper()
    return msgspec.structs.replace(
        base,
        method=method,
        path=base.path + escaped_path(path),
        subject=msgspec.structs.replace(base.subject, verb=method.lower()),
        query=(*own, *checked_query(parameters.query).items()),
        body=checked_body(body),
        content_type=checked_text("content_type", content_type),
        accept="*/*",
        headers=tuple(checked_headers(parameters.headers).items()),
        timeout=parameters.timeout,
        is_proxied=True,
    )

"""The HTTPS server of webhooks: routes, limits and metrics."""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Protocol

from masthead import metrics as names
from masthead._endpoint.http_limits import ServerLimits
from masthead._endpoint.http_requests import EndpointResponse, text_response
from masthead._endpoint.http_server import EndpointServer
from masthead._meta.go_duration import parse_duration
from masthead._webhook.function_calls import CallTimeoutError, TooManyCallsError
from masthead._webhook.reviews import ReviewError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

    from masthead._endpoint.bind_address import BindAddress
    from masthead._endpoint.http_requests import EndpointRequest
    from masthead.metrics import Metrics

__all__ = ["WebhookHandler", "make_server"]

_log: Final = logging.getLogger("masthead.webhook")

LIMITS: Final = ServerLimits(
    methods=("POST",),
    few_connections=512,
    max_connections=1024,
    # Two objects of the 3 MiB that an API server accepts, or a page of 500 objects to convert.
    max_body=32 * 1024 * 1024,
    max_buffered=96 * 1024 * 1024,
    # Longer than the 90 s after which an API server closes an idle connection itself.
    idle_timeout=120.0,
    handler_timeout=35.0,
    close_timeout=10.0,
)
_JSON: Final = "application/json"
_NANOSECONDS: Final = 1e9


class WebhookHandler(Protocol):
    """Answers reviews."""

    @property
    def name(self) -> str:
        """The name in metrics and logs."""
        ...

    @property
    def timeout(self) -> float:
        """Seconds until the API server gives up a call."""
        ...

    async def respond(self, body: bytes, limit: float) -> bytes:
        """Answer a review within a time limit."""
        ...


def make_server(
    handlers: Mapping[str, WebhookHandler],
    bind: BindAddress,
    tls: Callable[[], ssl.SSLContext],
    *,
    metrics: Metrics,
    report: Callable[[str, BaseException | None], None],
) -> EndpointServer:
    """Create the server of webhooks.

    Args:
        handlers: The handlers by path.
        bind: The address to listen on.
        tls: Returns the TLS context of the next handshake.
        metrics: The metrics registry.
        report: Called with the name of a webhook and the unexpected error of its function; None after a success.
    """
    routes = {path: _Route(handler, metrics, report) for path, handler in handlers.items()}

    async def respond(request: EndpointRequest) -> EndpointResponse:
        route = routes.get(request.path)
        if route is None:
            return text_response("there is no webhook at this path\n", HTTPStatus.NOT_FOUND)
        return await route.respond(request)

    return EndpointServer(respond, bind, "webhooks", limits=LIMITS, tls=tls)


class _Route:
    """One webhook: checks the request, and counts it."""

    def __init__(
        self, handler: WebhookHandler, metrics: Metrics, report: Callable[[str, BaseException | None], None]
    ) -> None:
        self._handler = handler
        self._metrics = metrics
        self._report = report
        self._in_flight = 0
        self._gauge = metrics.gauge(names.WEBHOOK_IN_FLIGHT, webhook=handler.name)
        self._latency = metrics.histogram(names.WEBHOOK_LATENCY, webhook=handler.name)

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._count(1)
        response = text_response("the call was cancelled\n", HTTPStatus.SERVICE_UNAVAILABLE)
        try:
            response = await self._answer(request)
        finally:
            self._count(-1)
            self._latency.observe(loop.time() - began)
            code = str(response.status.value)
            self._metrics.counter(names.WEBHOOK_REQUESTS, webhook=self._handler.name, code=code).inc()
        return response

    def _count(self, change: int) -> None:
        self._in_flight += change
        self._gauge.set(self._in_flight)

    async def _answer(self, request: EndpointRequest) -> EndpointResponse:
        handler = self._handler
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type != _JSON:
            return text_response(f"the body must be {_JSON}\n", HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        try:
            body = await handler.respond(request.body, _time_limit(request, handler.timeout))
        except ReviewError as error:
            _log.warning("webhook %s refused a review: %s", handler.name, error)
            return text_response(f"{error}\n", HTTPStatus.BAD_REQUEST)
        except TooManyCallsError as error:
            _log.warning("webhook %s is busy: %s", handler.name, error)
            return text_response(f"{error}\n", HTTPStatus.SERVICE_UNAVAILABLE)
        except CallTimeoutError as error:
            self._report(handler.name, error)
            return text_response(f"{error}\n", HTTPStatus.GATEWAY_TIMEOUT)
        except Exception as error:  # noqa: BLE001 - the function is the user's
            self._report(handler.name, error)
            # The text reaches the client of the API server; the log has the details.
            return text_response(
                f"webhook {handler.name} failed: {type(error).__name__}\n", HTTPStatus.INTERNAL_SERVER_ERROR
            )
        self._report(handler.name, None)
        return EndpointResponse(HTTPStatus.OK, body, _JSON)


def _time_limit(request: EndpointRequest, declared: float) -> float:
    """Return the time limit: the API server sends its own as the parameter ``timeout``."""
    nanoseconds = parse_duration(request.query.get("timeout", [""])[0])
    return declared if nanoseconds is None or nanoseconds <= 0 else min(declared, nanoseconds / _NANOSECONDS)

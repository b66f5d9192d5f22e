"""The HTTP endpoints of a manager: probes, metrics and debugging, on one address or several."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._controller.bind_address import parse_bind_address
from masthead._controller.checks import CheckGroup, CheckResult
from masthead._controller.debug_pages import DebugPages
from masthead._controller.http_requests import text_response
from masthead._controller.http_server import EndpointServer
from masthead._controller.metrics_page import MetricsPage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import TracebackType
    from typing import Self

    from prometheus_client import CollectorRegistry

    from masthead._controller.bind_address import BindAddress
    from masthead._controller.checks import Check
    from masthead._controller.http_requests import EndpointRequest, EndpointResponse

    _Handler: TypeAlias = Callable[[EndpointRequest], Awaitable[EndpointResponse]]

__all__ = ["ProbeServer"]

_log: Final = logging.getLogger("masthead.controller")
_LOOPBACK: Final = ("127.", "localhost", "::1")


class ProbeServer:
    """Serves ``/healthz``, ``/livez``, ``/readyz``, ``/metrics`` and ``/debug`` while it is entered.

    ::

        async with ProbeServer({"ping": lambda: None}, {"synced": check_synced}, probe_bind="127.0.0.1:0") as probes:
            print(probes.probe_port)

    A check is a function or coroutine function that raises if something is wrong; one that takes longer than a second counts
    as failed. A plain function runs in a thread, a coroutine function on the event loop. Endpoints whose addresses are equal
    share one listener.

    Guarantees:
        A check that raises or hangs affects no other, and no check runs twice at the same time. Slow, hostile or many clients
        do not hold the event loop, and clients that wait are closed in favour of those that send.

    Args:
        checks_health: The checks of ``/healthz`` and ``/livez`` by name; those that are added later are run too.
        checks_ready: The checks of ``/readyz`` by name.
        metrics_registry: What ``/metrics`` shows; None if no metrics are recorded.
        debug: Returns the sections of ``/debug`` as plain data by name; None for none. It is called on the event loop.
        probe_bind: The address of probes, such as ``:8081``; ``0`` for off, ``:0`` for any free port.
        metrics_bind: The address of ``/metrics``.
        debug_bind: The address of ``/debug``.

    Raises:
        InvalidValueError: If an address is invalid.
    """

    def __init__(
        self,
        checks_health: Mapping[str, Check],
        checks_ready: Mapping[str, Check],
        *,
        metrics_registry: CollectorRegistry | None = None,
        debug: Callable[[], Mapping[str, object]] | None = None,
        probe_bind: str = ":8081",
        metrics_bind: str = "0",
        debug_bind: str = "0",
    ) -> None:
        self._health = CheckGroup(checks_health)
        self._ready = CheckGroup(checks_ready)
        self._routes: dict[BindAddress, dict[str, _Handler]] = {}
        self._servers: dict[BindAddress, EndpointServer] = {}
        self._stack = AsyncExitStack()
        self._probes = self._add(
            parse_bind_address(probe_bind, "probe_bind"),
            {"healthz": self._respond_health, "livez": self._respond_health, "readyz": self._respond_ready},
        )
        self._metrics = self._add(
            parse_bind_address(metrics_bind, "metrics_bind"),
            {"metrics": MetricsPage(metrics_registry).respond},
        )
        self._debug = debug_address = parse_bind_address(debug_bind, "debug_bind")
        if debug is not None and debug_address is not None:
            is_local = debug_address.host.startswith(_LOOPBACK)
            self._add(debug_address, {"debug": DebugPages(debug, is_local=is_local).respond})

    @property
    def probe_port(self) -> int | None:
        """The port of probes; None if they are off."""
        return self._port(self._probes)

    @property
    def metrics_port(self) -> int | None:
        """The port of ``/metrics``; None if it is off."""
        return self._port(self._metrics)

    @property
    def debug_port(self) -> int | None:
        """The port of ``/debug``; None if it is off."""
        return self._port(self._debug)

    async def __aenter__(self) -> Self:
        """Begin to listen.

        Raises:
            ConfigError: If it cannot listen on an address.
        """
        async with AsyncExitStack() as stack:
            stack.callback(self._health.close)
            stack.callback(self._ready.close)
            for address, routes in self._routes.items():
                what = " and ".join(f"/{each}" for each in routes)
                server = EndpointServer(_Router(routes).respond, address, what)
                self._servers[address] = await stack.enter_async_context(server)
                _log.info("%s on port %d", what, server.port)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop listening; responses have two seconds to finish."""
        await self._stack.aclose()

    def _add(self, address: BindAddress | None, routes: dict[str, _Handler]) -> BindAddress | None:
        if address is not None:
            self._routes.setdefault(address, {}).update(routes)
        return address

    def _port(self, address: BindAddress | None) -> int | None:
        server = None if address is None else self._servers.get(address)
        return None if server is None else server.port

    async def _respond_health(self, request: EndpointRequest) -> EndpointResponse:
        return await _respond_checks(self._health, request)

    async def _respond_ready(self, request: EndpointRequest) -> EndpointResponse:
        return await _respond_checks(self._ready, request)


class _Router:
    """Finds the handler of a request by the first part of its path."""

    def __init__(self, routes: Mapping[str, _Handler]) -> None:
        self._routes = routes

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        first = request.path.removeprefix("/").partition("/")[0]
        handler = self._routes.get(first)
        if handler is not None:
            return await handler(request)
        status = HTTPStatus.OK if request.path == "/" else HTTPStatus.NOT_FOUND
        return text_response("".join(f"/{each}\n" for each in self._routes), status)


async def _respond_checks(checks: CheckGroup, request: EndpointRequest) -> EndpointResponse:
    """Answer a probe of all checks, or of one: ``/readyz`` or ``/readyz/NAME``, as Kubernetes' own components do."""
    endpoint, _, name = request.path.strip("/").partition("/")
    names = checks.names()
    if name:
        if name not in names:
            known = ", ".join(names) or "none"
            return text_response(f"there is no check {name!r}; there are: {known}\n", HTTPStatus.NOT_FOUND)
        [only] = await checks.run([name])
        if only.problem:
            return text_response(f"{only.problem}\n", HTTPStatus.INTERNAL_SERVER_ERROR)
        return text_response("ok")
    excluded = set(request.query.get("exclude", ()))
    results = await checks.run(each for each in names if each not in excluded)
    has_failed = any(each.problem for each in results)
    # The reasons are shown in any case if something is wrong.
    if not has_failed and "verbose" not in request.query:
        return text_response("ok")
    results += [CheckResult(each, is_excluded=True) for each in names if each in excluded]
    lines = [_format_result(each) for each in sorted(results, key=lambda each: each.name)]
    if unknown := excluded.difference(names):
        quoted = ", ".join(f'"{each}"' for each in sorted(unknown))
        lines.append(f"warn: there is nothing to exclude under the name of {quoted}")
    lines.append(f"{endpoint} check {'failed' if has_failed else 'passed'}")
    status = HTTPStatus.INTERNAL_SERVER_ERROR if has_failed else HTTPStatus.OK
    return text_response("".join(f"{line}\n" for line in lines), status)


def _format_result(result: CheckResult) -> str:
    if result.is_excluded:
        return f"[+]{result.name} excluded: ok"
    return f"[-]{result.name} failed: {result.problem}" if result.problem else f"[+]{result.name} ok"

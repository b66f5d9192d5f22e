"""The HTTP endpoints of a manager: probes, metrics and debugging, on one address or several."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._controller.checks import CheckGroup, CheckResult
from masthead._controller.debug_pages import DebugPages
from masthead._controller.metrics_page import MetricsPage
from masthead._endpoint.bind_address import parse_bind_address
from masthead._endpoint.http_requests import READ_METHODS, text_response
from masthead._endpoint.http_server import EndpointServer
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Self

    from prometheus_client import CollectorRegistry

    from masthead._controller.checks import Check
    from masthead._controller.manager_page import ManagerPage
    from masthead._endpoint.bind_address import BindAddress
    from masthead._endpoint.http_requests import EndpointRequest, EndpointResponse

    _Handler: TypeAlias = Callable[[EndpointRequest], Awaitable[EndpointResponse]]

__all__ = ["ProbeServer", "respond_checks", "show_page"]

_log: Final = logging.getLogger("masthead.controller")
_WITHHELD: Final = "reason withheld"
"""The message for clients on other machines, instead of the text of an exception."""


@set_module("masthead.controller")
class ProbeServer:
    """Serves ``/healthz``, ``/livez``, ``/readyz``, ``/metrics`` and ``/debug`` during a block.

    ::

        async with ProbeServer({"ping": lambda: None}, {"synced": check_synced}, probe_bind="127.0.0.1:0") as probes:
            print(probes.probe_port)

    A check is a function or coroutine function that raises if it fails; after a second it counts as failed. A plain
    function runs in a thread, a coroutine function on the event loop. The reason of a failure is logged, and included
    in responses with ``?verbose`` to clients on this machine. Endpoints with equal addresses share one listener.

    Guarantees:
        A check that raises or hangs does not affect other checks, and no check runs concurrently with itself. Slow,
        hostile or numerous clients do not block the event loop, and idle clients are disconnected in favour of active
        ones.

    Args:
        checks_health: The checks of ``/healthz`` and ``/livez`` by name; checks may be added later.
        checks_ready: The checks of ``/readyz`` by name.
        metrics_registry: The registry of ``/metrics``; None if no metrics are recorded.
        debug: Returns the sections of ``/debug`` as plain data by name; None for none. It is called on the event loop.
        probe_bind: The address of probes, such as ``:8081``; ``0`` for off, ``:0`` for any free port.
        metrics_bind: The address of ``/metrics``.
        debug_bind: The address of ``/debug``.

    Raises:
        ArgumentError: If an address is invalid.
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
        self._page: ManagerPage | None = None
        self._stack = AsyncExitStack()
        self._probes = self._add(
            parse_bind_address(probe_bind, "probe_bind"),
            {"healthz": self._respond_health, "livez": self._respond_health, "readyz": self._respond_ready},
        )
        metrics = MetricsPage(metrics_registry)
        self._metrics = self._add(
            parse_bind_address(metrics_bind, "metrics_bind"),
            {"metrics": metrics.respond},
        )
        self._metrics_problem = metrics.problem
        self._debug = debug_address = parse_bind_address(debug_bind, "debug_bind")
        if debug is not None and debug_address is not None:
            self._add(debug_address, {"debug": DebugPages(debug).respond})

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
        """Start to listen.

        Raises:
            ConfigError: If an address is unavailable.
        """
        async with AsyncExitStack() as stack:
            # Registered first, so that checks are cancelled after the servers have closed.
            stack.callback(self._health.close)
            stack.callback(self._ready.close)
            for address, routes in self._routes.items():
                what = _join_paths(routes)
                page = self._page if address == self._debug else None
                limits = None if page is None else page.limits
                server = EndpointServer(_Router(routes, page).respond, address, what, limits=limits)
                self._servers[address] = await stack.enter_async_context(server)
                self._log_listening(routes, server.port)
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

    def _log_listening(self, routes: Mapping[str, _Handler], port: int) -> None:
        problem = self._metrics_problem
        if served := [name for name in routes if name != "metrics" or not problem]:
            _log.info("%s on port %d", _join_paths(served), port)
        if "metrics" in routes and problem:
            _log.info("/metrics on port %d answers 404: %s", port, problem)

    def _add(self, address: BindAddress | None, routes: dict[str, _Handler]) -> BindAddress | None:
        # Equal addresses share one listener.
        if address is not None:
            self._routes.setdefault(address, {}).update(routes)
        return address

    def _port(self, address: BindAddress | None) -> int | None:
        server = None if address is None else self._servers.get(address)
        return None if server is None else server.port

    async def _respond_health(self, request: EndpointRequest) -> EndpointResponse:
        return await respond_checks(self._health, request)

    async def _respond_ready(self, request: EndpointRequest) -> EndpointResponse:
        return await respond_checks(self._ready, request)


def show_page(server: ProbeServer, page: ManagerPage) -> None:
    """Serve the page of a manager at the address of ``/debug``; before the start of the server."""
    server._page = page  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def _join_paths(names: Iterable[str]) -> str:
    return " and ".join(f"/{name}" for name in names)


class _Router:
    """Finds the handler of a request by the first segment of its path; a page has all other paths."""

    def __init__(self, routes: Mapping[str, _Handler], page: ManagerPage | None) -> None:
        self._routes = routes
        self._page = page

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        first = request.path.removeprefix("/").partition("/")[0]
        handler = self._routes.get(first)
        if handler is not None:
            # The page takes one more method, for itself alone.
            if request.method not in READ_METHODS:
                return text_response("only GET and HEAD are served here\n", HTTPStatus.METHOD_NOT_ALLOWED)
            return await handler(request)
        if self._page is not None:
            return await self._page.respond(request)
        # The root lists the endpoints, as a hint for people.
        status = HTTPStatus.OK if request.path == "/" else HTTPStatus.NOT_FOUND
        return text_response("".join(f"/{route}\n" for route in self._routes), status)


async def respond_checks(checks: CheckGroup, request: EndpointRequest) -> EndpointResponse:
    """Answer a probe of all checks, ``/readyz``, or of one, ``/readyz/NAME``, in Kubernetes' format."""
    endpoint, _, name = request.path.strip("/").partition("/")
    is_verbose = "verbose" in request.query
    # Exceptions contain names and addresses, and probes are open to the whole network.
    shows_reasons = is_verbose and request.is_from_loopback and request.names_loopback
    names = checks.names()
    if name:
        if name not in names:
            known = ", ".join(names) or "none"
            return text_response(f"there is no check {name!r}; there are: {known}\n", HTTPStatus.NOT_FOUND)
        [only] = await checks.run([name])
        if only.problem:
            reason = only.problem if shows_reasons else _WITHHELD
            return text_response(f"{reason}\n", HTTPStatus.INTERNAL_SERVER_ERROR)
        return text_response("ok")
    excluded = set(request.query.get("exclude", ()))
    results = await checks.run(name for name in names if name not in excluded)
    has_failed = any(result.problem for result in results)
    # The short response of kube-apiserver for a healthy endpoint.
    if not has_failed and not is_verbose:
        return text_response("ok")
    results += [CheckResult(name, is_excluded=True) for name in names if name in excluded]
    results.sort(key=lambda result: result.name)
    lines = [_format_result(result, shows_reason=shows_reasons) for result in results]
    if unknown := excluded.difference(names):
        quoted = ", ".join(f'"{name}"' for name in sorted(unknown))
        lines.append(f"warn: there is nothing to exclude under the name of {quoted}")
    lines.append(f"{endpoint} check {'failed' if has_failed else 'passed'}")
    status = HTTPStatus.INTERNAL_SERVER_ERROR if has_failed else HTTPStatus.OK
    return text_response("".join(f"{line}\n" for line in lines), status)


def _format_result(result: CheckResult, *, shows_reason: bool) -> str:
    if result.is_excluded:
        return f"[+]{result.name} excluded: ok"
    if not result.problem:
        return f"[+]{result.name} ok"
    return f"[-]{result.name} failed: {result.problem if shows_reason else _WITHHELD}"

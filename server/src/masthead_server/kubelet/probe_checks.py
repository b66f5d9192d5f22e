"""Runs of probes: a handler of the test, a command in the container, or a request to a listener."""

from __future__ import annotations

import asyncio
import re
import ssl
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from masthead._meta.quoting import quoted
from masthead_server.kubelet.container_command import (
    CommandFailure,
    depends_on_files,
    is_answerable,
    is_handled,
    needs_task,
    run_command,
)
from masthead_server.kubelet.container_probe import ContainerProbe, invoke_probe, line_of
from masthead_server.kubelet.containers import ContainerRef
from masthead_server.kubelet.phases import format_duration
from masthead_server.kubelet.pods import container_of
from masthead_server.kubelet.ports import PortAddress
from masthead_server.kubelet.probe_rules import ProbeOutcome, ProbeTiming, probe_of
from masthead_server.kubelet.probe_run import ProbeCheck, ProbeRun
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.kubelet.probe_rules import ProbeKind
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.process_activity import ProcessObserver
    from masthead_server.wire.plain import Plain

__all__ = ["ProbeChecks"]

_CONSTANT: Final = ProbeOutcome(is_success=True, rests=True)
_MAX_OUTPUT: Final = 10 * 1024
_HTTP_TIMEOUT: Final = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})")


class ProbeChecks:
    """Runs probes.

    Args:
        runtime: The pods, their handlers and ports.
    """

    def __init__(self, runtime: PodRuntime) -> None:
        self._runtime = runtime
        self._tasks: set[asyncio.Future[None]] = set()
        self._refusing: set[PortAddress] = set()
        """Ports that had a listener: once it is closed, connections are refused."""

    def is_constant(self, pod: Plain, name: str, kind: ProbeKind) -> bool:
        """Tell whether nothing in this server can make a probe fail."""
        return self._find(pod, name, kind) is None

    def start(
        self, pod: Plain, name: str, kind: ProbeKind, report: Callable[[ProbeOutcome], None]
    ) -> Callable[[], object]:
        """Run a probe, and report its outcome; return a function that cancels the run."""
        check = self._find(pod, name, kind)
        if check is None:
            report(_CONSTANT)
            return _do_nothing
        meta = metadata(pod)
        ref = ContainerRef(text(meta, "namespace"), text(meta, "name"), name)
        observer = self._runtime.observer(f"the {kind} probe", ref)
        run = ProbeRun(self._runtime.cluster, check(observer), observer, report)
        running = run.start(_timing_of(pod, name, kind).timeout)
        if running is not None:
            self._tasks.add(running)
            running.add_done_callback(self._tasks.discard)
        return run.cancel

    def close(self) -> None:
        """Cancel all runs."""
        for task in tuple(self._tasks):
            task.cancel()

    def _probe(self, pod: Plain, name: str, kind: ProbeKind) -> ContainerProbe:
        meta = metadata(pod)
        return ContainerProbe(text(meta, "namespace"), text(meta, "name"), name, kind)

    def _find(self, pod: Plain, name: str, kind: ProbeKind) -> Callable[[ProcessObserver], ProbeCheck] | None:
        """Return a function that makes the check of a probe; None if the probe always succeeds."""
        probe, runtime = self._probe(pod, name, kind), self._runtime
        if (handler := runtime.probe_handlers.find(line_of(probe))) is not None:
            execute = partial(invoke_probe, handler, probe, runtime.threads)
            timeout = f"{_timing_of(pod, name, kind).timeout:g}s"
            return lambda _: ProbeCheck(execute, f"command timed out after {timeout}", is_eager=True)
        spec = probe_of(container_of(pod, name) or {}, kind)
        if "exec" in spec:
            is_known = is_answerable(runtime, pod, name, _command(pod, name, kind))
            return partial(self._make_command, pod, name, kind) if is_known else None
        action = part(spec, "httpGet") or part(spec, "tcpSocket")
        if not action:
            return None
        address = PortAddress(probe.namespace, probe.pod, _port_of(pod, name, action))
        if runtime.ports.find(address) is not None:
            self._refusing.add(address)
        elif address not in self._refusing:
            return None
        return lambda _: self._make_connection(pod, action, address, is_http="httpGet" in spec)

    def _make_command(self, pod: Plain, name: str, kind: ProbeKind, observer: ProcessObserver) -> ProbeCheck:
        command = _command(pod, name, kind)
        timeout = format_duration(_timing_of(pod, name, kind).timeout)
        return ProbeCheck(
            partial(self._execute, pod, name, command, observer),
            f"command timed out: {quoted(' '.join(command))} timed out after {timeout}",
            is_script=not is_handled(self._runtime, pod, name, command),
            is_eager=not needs_task(command),
        )

    def _make_connection(self, pod: Plain, action: Plain, address: PortAddress, *, is_http: bool) -> ProbeCheck:
        request = _ProbeRequest.of(pod, action, address)
        problem = _HTTP_TIMEOUT if is_http else "i/o timeout"
        return ProbeCheck(
            partial(self._connect, action, address, request, is_http=is_http),
            f'Get "{request.url}": {problem}' if is_http else f"dial tcp {request.host}: {problem}",
        )

    async def _execute(
        self, pod: Plain, name: str, command: tuple[str, ...], observer: ProcessObserver
    ) -> ProbeOutcome:
        rests = depends_on_files(self._runtime, pod, name, command)
        try:
            code, output = await run_command(self._runtime, pod, name, command, observer, max_output=_MAX_OUTPUT)
        except CommandFailure as error:
            return ProbeOutcome(is_success=False, output=str(error))
        return ProbeOutcome(is_success=code == 0, output=output, rests=rests)

    async def _connect(
        self, action: Plain, address: PortAddress, request: _ProbeRequest, *, is_http: bool
    ) -> ProbeOutcome:
        dial = f"dial tcp {request.host}: connect: connection refused"
        refusal = ProbeOutcome(is_success=False, output=f'Get "{request.url}": {dial}' if is_http else dial)
        listener = self._runtime.ports.find(address)
        if listener is None:
            return refusal
        sent = _format_request(action, request) if is_http else b""
        tls = _tls_context() if is_http and request.url.startswith("https:") else None
        try:
            exchange = await listener.connect(lambda: _Exchange(sent), tls)
            try:
                status = await exchange.answer if is_http else 0
            finally:
                exchange.close()
        except OSError:
            return refusal
        if not is_http or 200 <= status < 400:
            return ProbeOutcome(is_success=True)
        problem = f"HTTP probe failed with statuscode: {status}" if status else f'Get "{request.url}": EOF'
        return ProbeOutcome(is_success=False, output=problem)


class _ProbeRequest(NamedTuple):
    """The target of a probe: host with port, path and URL."""

    host: str
    path: str
    url: str

    @classmethod
    def of(cls, pod: Plain, action: Plain, address: PortAddress) -> _ProbeRequest:
        """Read the action of a probe."""
        host = f"{text(action, 'host') or text(part(pod, 'status'), 'podIP')}:{address.port}"
        scheme, path = text(action, "scheme") or "HTTP", text(action, "path") or "/"
        return cls(host, path, f"{scheme.lower()}://{host}{path}")


class _Exchange(asyncio.Protocol):
    """Sends a request, and waits for the status of the response; 0 without one."""

    def __init__(self, request: bytes) -> None:
        self.answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._request = request
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # No isinstance check: the transports of uvloop derive from other classes.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._received = (self._received + data)[:_MAX_OUTPUT]
        if b"\r\n" in self._received or len(self._received) == _MAX_OUTPUT:
            self._finish()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the signature of asyncio
        self._finish()

    def _finish(self) -> None:
        if not self.answer.done():
            found = _STATUS_LINE.match(self._received)
            self.answer.set_result(int(found[1]) if found else 0)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _format_request(action: Plain, request: _ProbeRequest) -> bytes:
    headers = {"Host": request.host, "User-Agent": "kube-probe/1.36", "Accept": "*/*", "Connection": "close"}
    headers |= {text(header, "name"): text(header, "value") for header in items(action, "httpHeaders")}
    lines = [f"GET {request.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode()


def _tls_context() -> ssl.SSLContext:
    # A kubelet does not verify the certificates of probes either.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _timing_of(pod: Plain, name: str, kind: ProbeKind) -> ProbeTiming:
    return ProbeTiming.of(probe_of(container_of(pod, name) or {}, kind))


def _command(pod: Plain, name: str, kind: ProbeKind) -> tuple[str, ...]:
    return tuple(part(probe_of(container_of(pod, name) or {}, kind), "exec").get("command") or ())


def _port_of(pod: Plain, name: str, action: Plain) -> int:
    port = action.get("port")
    if isinstance(port, int):
        return port
    ports = items(container_of(pod, name) or {}, "ports")
    return next((int(found["containerPort"]) for found in ports if text(found, "name") == port), 0)


def _do_nothing() -> None:
    pass

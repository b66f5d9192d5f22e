"""Runs of probes: a handler of the test, a command in the container, or a request to a listener."""

from __future__ import annotations

import asyncio
import re
import ssl
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from masthead_server import eager
from masthead_server.clock import VirtualClock
from masthead_server.kubelet.container_command import CommandFailure, depends_on_files, is_answerable, run_command
from masthead_server.kubelet.container_probe import ContainerProbe, invoke_probe, line_of
from masthead_server.kubelet.pods import container_of
from masthead_server.kubelet.ports import PortAddress
from masthead_server.kubelet.probe_rules import ProbeOutcome, ProbeTiming, probe_of
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from masthead_server.kubelet.probe_rules import ProbeKind
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.wire.plain import Plain

    Check: TypeAlias = Callable[[], Coroutine[object, object, ProbeOutcome]]

__all__ = ["ProbeChecks"]

_CONSTANT: Final = ProbeOutcome(is_success=True, rests=True)
_MAX_OUTPUT: Final = 10 * 1024
_PATIENCE: Final = 1.0
"""The real seconds that a run has after its timeout in virtual time."""
_MAX_STEPS: Final = 1000
"""The number of pauses of a check that runs without a task; a longer check continues in a task."""
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})")
_CONCURRENT: Final = re.compile(r"(?<!\|)\|(?!\|)|(?<!&)&(?!&)")
"""Pipes and background jobs, which need a task."""


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
        timing = ProbeTiming.of(probe_of(container_of(pod, name) or {}, kind))
        return self._run(check, timing.timeout, report, is_eager=self._is_eager(pod, name, kind))

    def close(self) -> None:
        """Cancel all runs."""
        for task in tuple(self._tasks):
            task.cancel()

    def _run(
        self,
        check: Check,
        timeout: float,
        report: Callable[[ProbeOutcome], None],
        *,
        is_eager: bool,
    ) -> Callable[[], object]:
        loop, clock = asyncio.get_running_loop(), self._runtime.cluster.clock
        has_timed_out = False

        async def run() -> None:
            report(await check())

        def give_up() -> None:
            nonlocal has_timed_out
            has_timed_out = True
            running.cancel()

        def end(ended: asyncio.Future[None]) -> None:
            timer.cancel()
            self._tasks.discard(ended)
            # Here rather than in the coroutine, which a task that is cancelled before its first step does not enter.
            if has_timed_out and ended.cancelled():
                report(ProbeOutcome(is_success=False, output=f"command timed out after {timeout:g}s"))

        running = eager.start(run(), pauses=_MAX_STEPS) if is_eager else loop.create_task(run())
        if running.done():
            running.result()
            return _do_nothing
        # While virtual time advances, neither threads nor connections get anything done.
        is_virtual = isinstance(clock, VirtualClock)
        timer = clock.call_later(timeout, partial(loop.call_later, _PATIENCE, give_up) if is_virtual else give_up)
        self._tasks.add(running)
        running.add_done_callback(end)
        return running.cancel

    def _is_eager(self, pod: Plain, name: str, kind: ProbeKind) -> bool:
        """Whether a check may run without a task."""
        probe = self._probe(pod, name, kind)
        if self._runtime.probe_handlers.find(line_of(probe)) is not None:
            return True
        command = _command(pod, name, kind)
        return bool(command) and not any(map(_CONCURRENT.search, command))

    def _probe(self, pod: Plain, name: str, kind: ProbeKind) -> ContainerProbe:
        meta = metadata(pod)
        return ContainerProbe(text(meta, "namespace"), text(meta, "name"), name, kind)

    def _find(
        self, pod: Plain, name: str, kind: ProbeKind
    ) -> Callable[[], Coroutine[object, object, ProbeOutcome]] | None:
        """Return a coroutine function for a probe; None if the probe always succeeds."""
        probe, runtime = self._probe(pod, name, kind), self._runtime
        if (handler := runtime.probe_handlers.find(line_of(probe))) is not None:
            return partial(invoke_probe, handler, probe, runtime.threads)
        spec = probe_of(container_of(pod, name) or {}, kind)
        if "exec" in spec:
            is_known = is_answerable(runtime, pod, name, _command(pod, name, kind))
            return partial(self._execute, pod, name, kind) if is_known else None
        action = part(spec, "httpGet") or part(spec, "tcpSocket")
        if not action:
            return None
        address = PortAddress(probe.namespace, probe.pod, _port_of(pod, name, action))
        if runtime.ports.find(address) is not None:
            self._refusing.add(address)
        elif address not in self._refusing:
            return None
        return partial(self._connect, pod, action, address, is_http="httpGet" in spec)

    async def _execute(self, pod: Plain, name: str, kind: ProbeKind) -> ProbeOutcome:
        command = _command(pod, name, kind)
        rests = depends_on_files(self._runtime, pod, name, command)
        try:
            code, output = await run_command(self._runtime, pod, name, command, max_output=_MAX_OUTPUT)
        except CommandFailure as error:
            return ProbeOutcome(is_success=False, output=str(error))
        return ProbeOutcome(is_success=code == 0, output=output, rests=rests)

    async def _connect(self, pod: Plain, action: Plain, address: PortAddress, *, is_http: bool) -> ProbeOutcome:
        ip = text(action, "host") or text(part(pod, "status"), "podIP")
        dial = f"dial tcp {ip}:{address.port}: connect: connection refused"
        scheme, path = text(action, "scheme") or "HTTP", text(action, "path") or "/"
        url = f"{scheme.lower()}://{ip}:{address.port}{path}"
        refusal = ProbeOutcome(is_success=False, output=f'Get "{url}": {dial}' if is_http else dial)
        listener = self._runtime.ports.find(address)
        if listener is None:
            return refusal
        request = _request(action, f"{ip}:{address.port}", path) if is_http else b""
        tls = _tls_context() if is_http and scheme == "HTTPS" else None
        try:
            exchange = await listener.connect(lambda: _Exchange(request), tls)
            try:
                status = await exchange.answer if is_http else 0
            finally:
                exchange.close()
        except OSError:
            return refusal
        if not is_http or 200 <= status < 400:
            return ProbeOutcome(is_success=True)
        problem = f"HTTP probe failed with statuscode: {status}" if status else f'Get "{url}": EOF'
        return ProbeOutcome(is_success=False, output=problem)


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


def _request(action: Plain, host: str, path: str) -> bytes:
    headers = {"Host": host, "User-Agent": "kube-probe/1.36", "Accept": "*/*", "Connection": "close"}
    headers |= {text(header, "name"): text(header, "value") for header in items(action, "httpHeaders")}
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode()


def _tls_context() -> ssl.SSLContext:
    # A kubelet does not verify the certificates of probes either.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


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

"""The webhooks of a running manager: certificate, server and registration."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final

from masthead import metrics as names
from masthead._errors.base import printable
from masthead._sansio.backoff import Backoff
from masthead._sansio.randomness import random
from masthead._webhook.admission import AdmissionHandler
from masthead._webhook.certificates import tls_context
from masthead._webhook.conversion_handler import CONVERT_PATH, ConversionHandler
from masthead._webhook.conversions import Converters
from masthead._webhook.function_calls import FunctionCalls
from masthead._webhook.server import make_server
from masthead.errors import ConfigError, ManagerStateError, MastheadError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from typing import Self

    from masthead._client.client import Client
    from masthead._endpoint.bind_address import BindAddress
    from masthead._endpoint.http_server import EndpointServer
    from masthead._webhook.certificate_sources import CertificateSource, ServingCertificate
    from masthead._webhook.configurations import Webhooks
    from masthead._webhook.function_calls import PlainRunner
    from masthead._webhook.injection import WebhookRegistration
    from masthead._webhook.server import WebhookHandler
    from masthead.metrics import Metrics

__all__ = ["WebhookRuntime"]

_log: Final = logging.getLogger("masthead.webhook")


class WebhookRuntime:
    """Serves webhooks during a block, in every replica, with or without leadership.

    Args:
        webhooks: The declared webhooks.
        client: The client for functions that take one.
        name: The name of the manager, for metrics.
        bind: The address to listen on.
        source: Supplies the certificate.
        registration: Tells API servers about it.
        threads: Runs plain functions.
        metrics: The metrics registry.
        report: Called with the name of a webhook and the unexpected error of its function; None after a success.

    Raises:
        ConfigError: If a version of a custom resource cannot be converted.
    """

    def __init__(  # noqa: PLR0913 - composes the parts
        self,
        webhooks: Webhooks,
        client: Client,
        *,
        name: str,
        bind: BindAddress,
        source: CertificateSource,
        registration: WebhookRegistration,
        threads: PlainRunner,
        metrics: Metrics,
        report: Callable[[str, BaseException | None], None],
    ) -> None:
        calls = FunctionCalls(client, threads)
        handlers: dict[str, WebhookHandler] = {
            webhook.path: AdmissionHandler(webhook, calls) for webhook in webhooks.admission
        }
        if webhooks.conversions:
            handlers[CONVERT_PATH] = ConversionHandler(Converters(webhooks.conversions), calls)
        self._server: EndpointServer = make_server(
            handlers, bind, self._current_context, metrics=metrics, report=report
        )
        self._source = source
        self._registration = registration
        self._expiry = metrics.gauge(names.WEBHOOK_CERTIFICATE_EXPIRY, name=name)
        self._stack = contextlib.AsyncExitStack()
        self._changed = asyncio.Event()
        self._ready = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._certificate: ServingCertificate | None = None
        self._context: ssl.SSLContext | None = None
        self._problem = "there is no certificate yet"

    @property
    def port(self) -> int | None:
        """The port; None before the server listens."""
        return self._server.port if self._context is not None else None

    async def __aenter__(self) -> Self:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="masthead webhooks")
        return self

    async def __aexit__(self, *exc: object) -> None:
        """End the registration, stop listening, and let running calls finish."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        try:
            await self._registration.close()
        except MastheadError as error:
            _log.error("the webhooks could not be unregistered; delete their configurations: %s", error)
        finally:
            await self._stack.aclose()

    def notice_change(self) -> None:
        """Check certificate and registration again, because an object has changed."""
        self._changed.set()

    async def wait_for_ready(self) -> None:
        """Wait until the server listens, and API servers trust its certificate."""
        await self._ready.wait()

    async def check_ready(self) -> None:
        """Check that the server listens, and API servers trust its certificate.

        Later problems do not count: the certificate of the moment is valid for months, and a replica that is not
        ready gets no calls.

        Raises:
            ManagerStateError: If not.
        """
        if not self._ready.is_set():
            raise ManagerStateError(f"webhooks: {self._problem}")

    def pending_work(self) -> list[str]:
        """Describe the reasons why the webhooks are not ready."""
        return [f"webhooks: {self._problem}"] if self._problem else []

    def _current_context(self) -> ssl.SSLContext:
        assert self._context is not None  # the server starts later
        return self._context

    async def _run(self) -> None:
        backoff = Backoff(first=1.0, cap=60.0)
        while True:
            self._changed.clear()
            try:
                problems = await self._update()
            except (MastheadError, OSError) as error:
                delay = backoff.next(asyncio.get_running_loop().time(), random)
                self._note(printable(str(error)))
            except Exception:  # noqa: BLE001 - a defect must not end the webhooks
                _log.exception("the webhooks could not be set up")
                delay = backoff.next(asyncio.get_running_loop().time(), random)
                self._note("an internal error; the log says more")
            else:
                backoff.reset()
                self._note("; ".join(problems))
                delay = min(self._source.seconds_to_next(), self._registration.seconds_to_next())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._changed.wait()

    async def _update(self) -> list[str]:
        """Load the certificate, present it, and announce its authorities; return the remaining problems."""
        certificate = await self._source.load()
        previous = self._certificate
        bundle = certificate.bundle
        # API servers must trust the authority of a new certificate before it is presented. A first one cannot wait.
        problems = await self._registration.update(bundle) if previous is not None else []
        if previous is None or (certificate.certificate, certificate.key) != (previous.certificate, previous.key):
            self._present(certificate)
        self._certificate = certificate
        if previous is None:
            await self._listen()
            problems = await self._registration.update(bundle)
        return problems

    def _present(self, certificate: ServingCertificate) -> None:
        """Use a certificate for new handshakes. Open connections keep theirs."""
        context = tls_context(certificate.certificate, certificate.key)
        self._context = context
        expires = _expiry_of(certificate.certificate)
        if expires is not None:
            self._expiry.set(expires)
        _log.info("the webhook server presents a new certificate")

    async def _listen(self) -> None:
        try:
            await self._stack.enter_async_context(self._server)
        except ConfigError:
            # Without the port there is nothing to register; the next attempt starts from the beginning.
            self._certificate = self._context = None
            raise
        _log.info("webhooks on port %d", self._server.port)

    def _note(self, problem: str) -> None:
        if problem != self._problem and problem:
            _log.warning("the webhooks are not ready: %s", problem)
        elif problem != self._problem:
            _log.info("the webhooks are ready")
        self._problem = problem
        if not problem:
            self._ready.set()


def _expiry_of(certificate: bytes) -> float | None:
    """Return the end of a certificate's validity as Unix time; None if cryptography is not installed."""
    try:
        from cryptography import x509
    except ImportError:
        return None
    try:
        return x509.load_pem_x509_certificate(certificate).not_valid_after_utc.timestamp()
    except ValueError:
        return None

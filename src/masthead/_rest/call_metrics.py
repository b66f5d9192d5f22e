"""What a REST client counts, under client-go's names."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from masthead.metrics import REST_CLIENT_REQUEST_DURATION, REST_CLIENT_REQUESTS

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from masthead._transport.contract import TransportResponse
    from masthead.metrics import Counter, Histogram, Metrics

__all__ = ["CallMetrics"]

_log: Final = logging.getLogger("masthead.rest")
_NO_RESPONSE: Final = "<error>"


class CallMetrics:
    """Counts the requests of one client.

    Args:
        metrics: Where to count.
        host: The server's ``host:port``.
    """

    def __init__(self, metrics: Metrics, host: str) -> None:
        self._metrics = metrics
        self._host = host
        self._requests: dict[tuple[str, str], Counter] = {}
        self._durations: dict[str, Histogram] = {}
        self._is_broken = False

    async def measure(self, method: str, sending: Awaitable[TransportResponse]) -> TransportResponse:
        """Send a request, and count it, unless it is cancelled."""
        now = asyncio.get_running_loop().time
        start = now()
        try:
            response = await sending
        # Not BaseException: a cancelled request says nothing about the server.
        except Exception:
            self._count(method, _NO_RESPONSE, now() - start)
            raise
        self._count(method, str(response.status), now() - start)
        return response

    def _count(self, method: str, code: str, seconds: float) -> None:
        """Metrics that fail must not cost a call."""
        try:
            requests = self._requests.get((method, code))
            if requests is None:
                requests = self._requests[method, code] = self._metrics.counter(
                    REST_CLIENT_REQUESTS, code=code, method=method, host=self._host
                )
            duration = self._durations.get(method)
            if duration is None:
                duration = self._durations[method] = self._metrics.histogram(
                    REST_CLIENT_REQUEST_DURATION, verb=method, host=self._host
                )
            requests.inc()
            duration.observe(seconds)
        except Exception:  # noqa: BLE001 - whatever it is, it is not about the call
            if not self._is_broken:
                _log.exception("metrics of calls to %s failed; further failures are not logged", self._host)
            self._is_broken = True

"""``/metrics``: the exposition of a registry of prometheus-client."""

from __future__ import annotations

import gzip
from functools import partial
from http import HTTPStatus
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from masthead._controller.daemon_threads import BusyError, ThreadSlot
from masthead._endpoint.http_requests import EndpointResponse, text_response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prometheus_client import CollectorRegistry

    from masthead._endpoint.http_requests import EndpointRequest

__all__ = ["MetricsPage"]

_WORTH_COMPRESSING: Final = 1024
_FAST: Final = 1
"""The compression level. It shrinks metrics to a tenth; higher levels take several times longer and gain little."""


class MetricsPage:
    """Answers scrapes in Prometheus' text format, or in OpenMetrics if the client asks for it.

    A thread renders the exposition, because thousands of time series would block the event loop.

    Args:
        registry: The registry; None if no metrics are recorded.

    Attributes:
        problem: The reason why there are no metrics, with a remedy; empty if there are metrics.
    """

    def __init__(self, registry: CollectorRegistry | None) -> None:
        self._registry = registry
        self._thread = ThreadSlot()
        self.problem: Final = "" if registry is not None else _why_not()

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        """Answer a scrape; the parameter ``name[]`` selects metrics."""
        if self._registry is None:
            return text_response(f"{self.problem}\n", HTTPStatus.NOT_FOUND)
        accepted = request.headers.get("accept", "")
        names = request.query.get("name[]", ())
        try:
            body, content_type = await self._thread.run(partial(_expose, self._registry, accepted, names))
            if len(body) < _WORTH_COMPRESSING or not _accepts_gzip(request):
                return EndpointResponse(HTTPStatus.OK, body, content_type)
            compressed = await self._thread.run(partial(gzip.compress, body, _FAST, mtime=0))
        except BusyError:
            return text_response("too many scrapes, or an earlier one has not ended\n", HTTPStatus.SERVICE_UNAVAILABLE)
        headers = (("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
        return EndpointResponse(HTTPStatus.OK, compressed, content_type, headers)


def _expose(registry: CollectorRegistry, accepted: str, names: Sequence[str]) -> tuple[bytes, str]:
    from prometheus_client import exposition

    encode, content_type = exposition.choose_encoder(accepted)
    return encode(registry.restricted_registry(names) if names else registry), content_type


def _accepts_gzip(request: EndpointRequest) -> bool:
    for element in request.headers.get("accept-encoding", "").split(","):
        # A weight of 0 means that the client does not accept the coding.
        coding, _, weight = element.partition(";")
        if coding.strip().lower() == "gzip":
            return weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


def _why_not() -> str:
    if find_spec("prometheus_client") is None:
        return "metrics need prometheus-client: pip install 'masthead-k8s[metrics]'"
    return "no metrics are recorded: give the manager metrics=masthead.metrics.PrometheusMetrics()"

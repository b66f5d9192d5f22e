"""``/metrics``: what the server counts, in Prometheus' text format and under kube-apiserver's names."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from masthead_server.storage import Storage
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["CONTENT_TYPE", "RequestMetrics"]

Labels: TypeAlias = "tuple[tuple[str, str], ...]"
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_MAX_SERIES: Final = 5_000
"""Limit of label combinations; further requests count as requests for an unknown resource."""
_VERBS: Final = {"create": "POST", "update": "PUT"}
"""The verbs that kube-apiserver shows under the name of their method; the others are in upper case."""


_CONNECTS: Final = frozenset({"attach", "exec", "log", "portforward", "proxy"})
"""The subresources that connect a client to a pod, for which every verb is ``CONNECT``."""


class RequestMetrics:
    """Counts requests, and renders them with the server's gauges.

    Args:
        storage: The stored objects, which are counted, too.
        started: When the server started, in seconds since the epoch.
        build: The content of ``/version``.
    """

    def __init__(self, storage: Storage, started: float, build: Mapping[str, str]) -> None:
        self._storage = storage
        self._started = started
        self._build = build
        self._requests: Counter[Labels] = Counter()

    def count(self, info: RequestInfo, code: int, *, is_apply: bool = False) -> None:
        """Count a request whose response begins; apply counts as a separate verb."""
        verb = "APPLY" if is_apply else _VERBS.get(info.verb, info.verb.upper())
        labels = _labels_of(info, code, "CONNECT" if info.subresource in _CONNECTS else verb)
        # Paths come from clients, so that their number has no other limit.
        if labels not in self._requests and len(self._requests) >= _MAX_SERIES:
            labels = (("code", str(code)), ("resource", "other"))
        self._requests[labels] += 1

    def render(self, watches: Iterable[RequestInfo]) -> bytes:
        """Write all metrics.

        Args:
            watches: The open watches.
        """
        open_watches: Counter[Labels] = Counter(
            (
                ("group", watch.group),
                ("resource", watch.resource),
                ("verb", "WATCH"),
                ("version", watch.version),
            )
            for watch in watches
        )
        objects = {_table_labels(name): table.count for name, table in self._storage.tables()}
        lines = [
            *_family("apiserver_request_total", "counter", "Requests by response code.", self._requests),
            *_family("apiserver_longrunning_requests", "gauge", "Open watches.", open_watches),
            *_family("apiserver_resource_objects", "gauge", "Stored objects.", objects),
            *_family("kubernetes_build_info", "gauge", "The served API.", {tuple(self._build.items()): 1}),
            *_family("masthead_build_info", "gauge", "This server.", {(("version", __version__),): 1}),
            *_family("process_start_time_seconds", "gauge", "Seconds since the epoch.", {(): self._started}),
            *_family(
                "process_cpu_seconds_total",
                "counter",
                "CPU time of the process.",
                {(): time.process_time()},
            ),
        ]
        return "".join(f"{line}\n" for line in lines).encode()


def _labels_of(info: RequestInfo, code: int, verb: str) -> Labels:
    return (
        ("code", str(code)),
        ("group", info.group),
        ("resource", info.resource),
        ("scope", _scope(info)),
        ("subresource", info.subresource),
        ("verb", verb),
        ("version", info.version),
    )


def _scope(info: RequestInfo) -> str:
    if not info.resource:
        return ""
    if info.name:
        return "resource"
    return "namespace" if info.namespace else "cluster"


def _table_labels(table: str) -> Labels:
    group, _, resource = table.rpartition("/")
    return (("group", group), ("resource", resource))


def _family(name: str, kind: str, text: str, series: Mapping[Labels, float]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in sorted(series.items()):
        shown = ",".join(f'{key}="{_escaped(each)}"' for key, each in labels)
        yield f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

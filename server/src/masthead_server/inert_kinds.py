"""Kinds whose objects are stored without any effect: one log line for each kind, and a warning for clients."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead_server.wire.request import warning_header

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record
    from masthead_server.wire.request import ApiResponse
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["InertKinds"]

_log: Final = logging.getLogger("masthead.server")
_CREATED: Final = 201
_LACKING: Final[Mapping[str, str]] = {
    "limitranges": "pods get no defaults from it, and none is refused for its limits",
    "resourcequotas": "nothing is counted or refused, and its status stays empty",
}
"""What the server does not do, by the table of the kind."""
_NOT_RUN: Final[Mapping[str, str]] = {
    "batch/jobs": "it gets no pods, and never completes",
    "batch/cronjobs": "it creates no Jobs",
    "apps/daemonsets": "it gets no pods",
    "autoscaling/horizontalpodautoscalers": "nothing is scaled",
}
"""The same of a server that runs other workloads, so that one waits for these in vain."""
_ADVICE: Final = "For that, start it with controllers=False (--no-controllers), and kube-controller-manager beside it."


class InertKinds:
    """Warns of objects that have no effect here: in the log of the first of each kind, and in the response to each.

    Args:
        runs_workloads: Whether the server runs some workloads.
    """

    def __init__(self, *, runs_workloads: bool) -> None:
        self._not_run = _NOT_RUN if runs_workloads else {}
        self._lacking = {**_LACKING, **self._not_run}
        self._warned: set[str] = set()

    def observe(self, served: ServedResource, _record: Record) -> None:
        """Look at a write."""
        lacking = self._lacking.get(served.table)
        if lacking is not None and served.table not in self._warned:
            self._warned.add(served.table)
            _log.warning("A %s is stored, but has no effect on this server: %s.", served.kind, lacking)

    def warn(self, info: RequestInfo, response: ApiResponse) -> ApiResponse:
        """Add a warning to the response for a new object that one would wait for in vain."""
        if response.code != _CREATED or info.subresource:
            return response
        lacking = self._not_run.get(f"{info.group}/{info.resource}")
        if lacking is None:
            return response
        text = f"{info.resource} have no effect on this server: {lacking}. {_ADVICE}"
        return replace(response, headers=(*response.headers, warning_header(text)))

"""Refused pods: workloads report the refusal, and retry after a backoff."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from masthead_server.storage import JournalError
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import items

if TYPE_CHECKING:
    from collections.abc import Hashable

    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.wire.plain import Plain

__all__ = ["CreationBackoff", "create_pod", "is_namespace_ending"]

MAX_PODS: Final = 250_000
"""The pods of a server beyond which workloads get none: a Job may ask for two thousand million."""
_PODS: Final = "pods"
_FIRST_SECONDS: Final = 1.0
_MAX_SECONDS: Final = 60.0


class CreationBackoff:
    """Delays between attempts to create the pods of a workload."""

    def __init__(self) -> None:
        self._delays: dict[Hashable, float] = {}

    def was_refused(self, ref: Hashable) -> bool:
        """Return whether the last attempt failed, so that another one is due."""
        return ref in self._delays

    def next_delay(self, ref: Hashable, *, is_refused: bool) -> float | None:
        """Return the seconds until the next attempt; None if none is needed."""
        if not is_refused:
            self._delays.pop(ref, None)
            return None
        delay = self._delays.get(ref, _FIRST_SECONDS)
        self._delays[ref] = min(2 * delay, _MAX_SECONDS)
        return delay


async def create_pod(client: ObjectClient, namespace: str, pod: Plain) -> Plain | StatusFailure | None:
    """Create a pod; return the pod, the refusal, or None if it exists or its namespace is terminating.

    Raises:
        JournalError: The pod could not be stored.
    """
    if client.cluster.storage.table(_PODS).count >= MAX_PODS:
        problem = f"this server has {MAX_PODS:,} pods, and creates no more for workloads"
        return StatusFailure(HTTPStatus.FORBIDDEN, "Forbidden", problem)
    try:
        return await client.create_or_raise(_PODS, namespace, pod)
    except JournalError:
        raise
    except StatusFailure as refusal:
        # Nothing can be created in a terminating namespace, so there is nothing to report or retry.
        is_known = is_namespace_ending(refusal) or refusal.code in {HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND}
        return None if is_known else refusal


def is_namespace_ending(refusal: StatusFailure) -> bool:
    """Whether an object is refused because its namespace is terminating."""
    return any(cause.get("reason") == "NamespaceTerminating" for cause in items(refusal.details or {}, "causes"))

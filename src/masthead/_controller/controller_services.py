"""Services that the controllers of a running manager share."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from masthead._controller.applied_configurations import AppliedConfigurations
from masthead._controller.catch_up import CatchUp
from masthead._controller.user_errors import FailureLog
from masthead._sansio import randomness
from masthead.metrics import NO_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._cache.factory.factory import SharedInformerFactory
    from masthead._client.client import Client
    from masthead._controller.thread_runner import ThreadRunner
    from masthead._meta.object import Object
    from masthead.metrics import Metrics

__all__ = ["ControllerServices", "EventRecording", "ReplicaShare", "utc_now"]


def utc_now() -> datetime:
    """Return the current time, for timestamps in the API."""
    return datetime.now(UTC)


class EventRecording(Protocol):
    """Records Events without blocking. API errors are logged, not raised."""

    def record(
        self,
        obj: Object,
        type: str,
        reason: str,
        message: str,
        *,
        action: str = "",
        related: Object | None = None,
    ) -> None:
        """Record an Event about an object."""
        ...


class ReplicaShare(Protocol):
    """The share of one replica among replicas that divide the objects."""

    def owns(self, obj: Object) -> bool:
        """Whether the replica may reconcile an object now."""
        ...

    def owned(self, uid: str, namespace: str) -> bool:
        """Whether the replica may reconcile the deletion of an object."""
        ...


@dataclass(frozen=True, slots=True)
class ControllerServices:
    """Services that the controllers of a running manager share.

    Attributes:
        client: The client of the cluster.
        factory: The informers.
        recorder: The event recorder.
        threads: Runs plain functions in threads.
        metrics: The metrics registry.
        clock: The clock for timestamps in the API.
        share: The replica's share of the objects; None for all objects.
        may_work: Whether the lease is still held, by the clock of this process.
        failures: Failing functions of the user, except reconciles and mappers.
        detects_mutations: Whether to report reconciles that mutate their cached object.
        random: Returns numbers in [0, 1).
        applied: Configurations that the controllers have applied.
        catch_up: Waits for caches to reach the state of the server at the start of the controllers.
    """

    client: Client
    factory: SharedInformerFactory
    recorder: EventRecording
    threads: ThreadRunner
    metrics: Metrics = NO_METRICS
    clock: Callable[[], datetime] = utc_now
    share: ReplicaShare | None = None
    may_work: Callable[[], bool] = field(default=lambda: True)
    failures: FailureLog = field(default_factory=FailureLog)
    detects_mutations: bool = False
    random: Callable[[], float] = field(default=randomness.random)
    applied: AppliedConfigurations = field(default_factory=AppliedConfigurations)
    catch_up: CatchUp = field(default_factory=CatchUp)

"""What the parts of a running manager share."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from masthead._controller.applied_configurations import AppliedConfigurations
from masthead._controller.catch_up import CatchUp
from masthead._controller.user_errors import FailureLog
from masthead.errors import ArgumentError
from masthead.metrics import NO_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from masthead._cache.factory.factory import SharedInformerFactory
    from masthead._client.client import Client
    from masthead._controller.context import ReconcileContext
    from masthead._meta.object import Object
    from masthead.metrics import Metrics

__all__ = ["ControllerServices", "NoThreads", "Recorder", "ReplicaShare", "ThreadRunner", "utc_now"]


def utc_now() -> datetime:
    """The current time, which is written to the API."""
    return datetime.now(UTC)


class Recorder(Protocol):
    """Records events; never blocks, and does not raise for what the API refuses."""

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
        """Record an event about an object."""
        ...


class ThreadRunner(Protocol):
    """Runs plain functions in threads, with a context or a client that blocks; for one term of leadership."""

    async def __aenter__(self) -> Self:
        """Begin."""
        ...

    async def __aexit__(self, *exc: object) -> None:
        """Wait until no thread is running."""
        ...

    @property
    def is_busy(self) -> bool:
        """Whether a thread runs a function."""
        ...

    def revoke(self) -> None:
        """Refuse all further calls of the threads to the client: their work is no longer wanted."""
        ...

    async def call(
        self,
        function: Callable[..., object],
        context: ReconcileContext[Object],
        arguments: tuple[object, ...],
        limit: float | None,
    ) -> object:
        """Call a function with a blocking context and further arguments, and return what it returns.

        A thread cannot be cancelled: if the function takes longer than `limit` seconds, or the caller is cancelled, the
        call still lasts until it returns.

        Raises:
            DeadlineError: If it took longer than `limit` seconds, once it has returned.
            Exception: Whatever the function raises.
        """
        ...

    async def call_timer(self, function: Callable[..., object], *clients: Client) -> object:
        """Call the function of a timer with a blocking client for each that is given, and return what it returns.

        If the caller is cancelled, the call still lasts until the function returns.

        Raises:
            Exception: Whatever the function raises.
        """
        ...


class ReplicaShare(Protocol):
    """What a replica may work on, of the objects that it shares with others."""

    def owns(self, obj: Object) -> bool:
        """Whether it may work on an object now."""
        ...

    def owned(self, uid: str, namespace: str) -> bool:
        """Whether it may work on what an object has left behind that is gone."""
        ...


class NoThreads:
    """Refuses plain functions, where the blocking façade is not loaded."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None: ...

    @property
    def is_busy(self) -> bool:
        """No thread runs."""
        return False

    def revoke(self) -> None:
        """No-op."""

    async def call(
        self,
        function: Callable[..., object],
        context: ReconcileContext[Object],
        arguments: tuple[object, ...],
        limit: float | None,
    ) -> object:
        """Refuse a function.

        Raises:
            ArgumentError: Always.
        """
        del context, arguments, limit
        raise _refused(function)

    async def call_timer(self, function: Callable[..., object], *clients: Client) -> object:
        """Refuse a function.

        Raises:
            ArgumentError: Always.
        """
        del clients
        raise _refused(function)


def _refused(function: object) -> ArgumentError:
    return ArgumentError(f"{function!r} is a plain function; masthead.Manager runs these", value=function)


@dataclass(frozen=True, slots=True)
class ControllerServices:
    """What the controllers of a running manager share.

    Attributes:
        client: The client of the cluster.
        factory: The informers.
        recorder: Where events go.
        threads: Runs plain functions.
        metrics: Where to count.
        clock: The time that is written to the API.
        share: What this replica may work on; None for everything.
        may_work: Whether the lease is still held, by this process' own clock.
        failures: The functions of the user that fail, reconciles and mappers aside.
        detects_mutations: Whether reconciles must leave their cached objects as they are, and are checked.
        random: Returns numbers in [0, 1).
        applied: What the controllers have applied.
        catch_up: Waits until the caches show what the server had when these controllers were started.
    """

    client: Client
    factory: SharedInformerFactory
    recorder: Recorder
    threads: ThreadRunner
    metrics: Metrics = NO_METRICS
    clock: Callable[[], datetime] = utc_now
    share: ReplicaShare | None = None
    may_work: Callable[[], bool] = field(default=lambda: True)
    failures: FailureLog = field(default_factory=FailureLog)
    detects_mutations: bool = False
    random: Callable[[], float] = field(default=random.random)
    applied: AppliedConfigurations = field(default_factory=AppliedConfigurations)
    catch_up: CatchUp = field(default_factory=CatchUp)

"""The options of an elector as one value."""

from __future__ import annotations

import socket
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, TypedDict

from masthead._sansio.randomness import token_hex
from masthead.errors import ArgumentError
from masthead.metrics import NO_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._meta.unstructured import Unstructured
    from masthead._sansio.lease_records import LeaseTiming
    from masthead.metrics import Metrics

__all__ = ["ElectionOptions", "ElectorSettings", "bind_recorder", "default_identity", "utc_now"]


def utc_now() -> datetime:
    """The wall-clock time."""
    return datetime.now(UTC)


def default_identity() -> str:
    """Return the host name, for people, and a UUID, which makes processes of one host differ."""
    return f"{socket.gethostname()}_{uuid.UUID(hex=token_hex(16), version=4)}"


def _no_labels() -> dict[str, str]:
    return {}


class _Recorder(Protocol):
    def record(self, obj: Unstructured, type: str, reason: str, message: str, /) -> None: ...


def bind_recorder(recorder: _Recorder | None) -> Callable[[Unstructured, str, str, str], None] | None:
    """Return the function that records an Event; None without a recorder.

    Raises:
        ArgumentError: If the recorder has no method ``record``.
    """
    # Checked here: an error in the callback would be logged at each term, and no Event would be written.
    if recorder is not None and not callable(getattr(recorder, "record", None)):
        raise ArgumentError(
            f"recorder is of type {type(recorder).__name__}; it must be a masthead.EventRecorder", value=recorder
        )
    return None if recorder is None else recorder.record


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionOptions:
    """The options of an elector; `LeaderElector` describes them."""

    timing: LeaseTiming
    identity: str | None = None
    release_on_exit: bool = True
    recampaign: bool = True
    labels: Mapping[str, str] = field(default_factory=_no_labels)
    clock: Callable[[], datetime] = utc_now
    metrics: Metrics = NO_METRICS
    on_started_leading: Callable[[], object] | None = None
    on_stopped_leading: Callable[[], object] | None = None
    on_new_leader: Callable[[str], object] | None = None
    on_overdue: Callable[[], object] | None = None
    record: Callable[[Unstructured, str, str, str], None] | None = None


class ElectorSettings(TypedDict, total=False):
    """Arguments of `LeaderElector` that are the same in both façades."""

    identity: str | None
    lease_duration: float
    renew_deadline: float
    retry_period: float
    release_on_exit: bool
    recampaign: bool
    labels: Mapping[str, str] | None
    clock: Callable[[], datetime]
    metrics: Metrics

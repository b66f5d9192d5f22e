"""Options of an elector, as one value."""

from __future__ import annotations

import socket
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from masthead.metrics import NO_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._meta.unstructured import Unstructured
    from masthead._sansio.lease_records import LeaseTiming
    from masthead.metrics import Metrics

__all__ = ["ElectionOptions", "default_identity", "utc_now"]


def utc_now() -> datetime:
    """The wall-clock time."""
    return datetime.now(UTC)


def default_identity() -> str:
    """The host name, for people, and a UUID, so that it is unique even among processes of one host."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def _no_labels() -> dict[str, str]:
    return {}


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

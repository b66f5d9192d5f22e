"""The Lease of an election on the server: reads, creates and updates it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, cast

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.time import format_micro_time, parse_time
from masthead._meta.unstructured import Unstructured
from masthead._sansio.lease_records import Create, Lease, LeaseRecord, Read, Update
from masthead.errors import ArgumentError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._client.client import Client

__all__ = ["LeaseLock", "record_of", "spec_of"]

_log: Final = logging.getLogger("masthead.leaderelection")
_LEASES: Final = GroupVersionResource("coordination.k8s.io", "v1", "leases")


class LeaseLock:
    """One Lease.

    Args:
        client: The client.
        name: Its name.
        namespace: Its namespace.
        labels: Labels to set; others stay.
        timeout: Timeout of each request, in seconds.
    """

    def __init__(self, client: Client, name: str, namespace: str, *, labels: Mapping[str, str], timeout: float) -> None:
        self.name: Final = name
        self.namespace: Final = namespace
        self._leases = client.dynamic(_LEASES, namespace=namespace)
        self._labels = dict(labels)
        self._timeout = timeout
        # The last object of the server: an update sends it back with a new record.
        self._current: Unstructured | None = None

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def reference(self) -> Unstructured:
        """The Lease as the subject of an Event, with metadata only."""
        reference = Unstructured.new(
            self.name, api_version="coordination.k8s.io/v1", kind="Lease", namespace=self.namespace
        )
        if self._current is not None:
            reference.metadata.uid = self._current.metadata.uid
            reference.metadata.resource_version = self._current.metadata.resource_version
        return reference

    async def perform(self, step: Read | Create | Update) -> Lease | None:
        """Send the request of a step.

        Returns:
            The lease; None if a read finds no lease.

        Raises:
            MastheadError: As any call.
        """
        match step:
            case Read():
                try:
                    lease = await self._leases.get(self.name, timeout=self._timeout)
                except NotFoundError:
                    return None
            case Create():
                lease = await self._leases.create(self._build_new(step.record), timeout=self._timeout)
            case Update():
                lease = await self._leases.update(self._build_update(step), timeout=self._timeout)
        self._current = lease
        return Lease(record_of(lease), lease.metadata.uid, lease.metadata.resource_version)

    def _build_new(self, record: LeaseRecord) -> Unstructured:
        lease = Unstructured.new(
            self.name,
            api_version="coordination.k8s.io/v1",
            kind="Lease",
            namespace=self.namespace,
            labels=self._labels or None,
        )
        lease["spec"] = spec_of(record)
        return lease

    def _build_update(self, step: Update) -> Unstructured:
        assert self._current is not None, "a lease is read or written before it is updated"
        changed = self._current.copy()
        # The version of the decision: a lease that changed since then must conflict.
        changed.metadata.resource_version = step.version
        if self._labels:
            changed.metadata.labels = {**changed.metadata.labels, **self._labels}
        # Merged, because others may have written fields such as preferredHolder.
        changed["spec"] = _spec_in(changed) | spec_of(step.record)
        return changed


def spec_of(record: LeaseRecord) -> dict[str, object]:
    """Convert a record into fields of a Lease's spec."""
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.seconds,
        "acquireTime": format_micro_time(record.acquired) if record.acquired is not None else None,
        "renewTime": format_micro_time(record.renewed) if record.renewed is not None else None,
        "leaseTransitions": record.transitions,
    }


def record_of(lease: Unstructured) -> LeaseRecord:
    """Read the record of a Lease. Invalid fields of other writers are ignored, and invalid times logged."""
    spec = _spec_in(lease)
    holder, seconds, transitions = (
        spec.get(name) for name in ("holderIdentity", "leaseDurationSeconds", "leaseTransitions")
    )
    return LeaseRecord(
        # A holder whose identity is not text still holds the lease: to take it would be the greater risk.
        holder=holder if isinstance(holder, str) else "" if holder is None else repr(holder)[:100],
        # A bool is an int to isinstance, and no duration.
        seconds=seconds if type(seconds) is int and seconds > 0 else None,
        acquired=_time_in(lease, spec, "acquireTime"),
        renewed=_time_in(lease, spec, "renewTime"),
        transitions=transitions if type(transitions) is int and transitions >= 0 else 0,
    )


def _spec_in(lease: Unstructured) -> dict[str, object]:
    spec = lease.get("spec")
    return dict(cast("Mapping[str, object]", spec)) if isinstance(spec, dict) else {}


def _time_in(lease: Unstructured, spec: Mapping[str, object], name: str) -> datetime | None:
    text = spec.get(name)
    if text is None:
        return None
    try:
        return parse_time(cast("str", text))
    except ArgumentError as error:
        _log.warning("lease %s: spec.%s: %s", lease.key, name, error)
        return None

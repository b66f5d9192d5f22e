"""The CertificateSigningRequest cleaner: deletes obsolete requests."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import uid_of
from masthead_server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient, ObjectRef

__all__ = ["CertificateCleaner"]

_TABLE: Final = "certificates.k8s.io/certificatesigningrequests"
_PENDING: Final = timedelta(hours=24)
_DECIDED: Final = timedelta(hours=1)


class CertificateCleaner:
    """Deletes requests an hour after their decision, a day after their creation, or when their certificate expires.

    kube-controller-manager polls once an hour; this controller deletes a request when it is due.
    """

    observes = frozenset({_TABLE})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile every written request, since each has a deadline."""
        return () if write.record.is_deleted else (write.ref,)

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Delete a request after its deadline; before that, return the remaining seconds.

        Raises:
            JournalError: The deletion could not be stored.
        """
        found = self._client.load(ref)
        if found is None:
            return None
        deadline = min(_list_deadlines(found), default=None)
        if deadline is None:
            return None
        left = (deadline - self._client.cluster.clock.now()).total_seconds()
        # kube-controller-manager requires "older than": at the deadline itself the request stays.
        if left >= 0:
            return left + 1
        await self._client.delete(ref, uid_of(found))
        return None


def _list_deadlines(request: Plain) -> Iterator[datetime]:
    status = part(request, "status")
    conditions = items(status, "conditions")
    if not conditions:
        yield datetime.fromisoformat(text(metadata(request), "creationTimestamp")) + _PENDING
    certificate = text(status, "certificate")
    for condition in conditions:
        is_final = text(condition, "type") in {"Denied", "Failed"} or certificate
        if is_final and (since := text(condition, "lastUpdateTime")):
            yield datetime.fromisoformat(since) + _DECIDED
    if certificate and (expiry := _read_expiry(certificate)) is not None:
        yield expiry


def _read_expiry(certificate: str) -> datetime | None:
    """Return the end of a certificate's validity; None for data that is not a certificate, whose request stays."""
    try:
        from cryptography import x509

        return x509.load_pem_x509_certificate(base64.b64decode(certificate)).not_valid_after_utc.astimezone(UTC)
    except (ImportError, ValueError):
        return None

"""Certificates: requests for them, and bundles of trust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, has, integer, part, text
from masthead._printers.ages import human_duration
from masthead._printers.formats import label_set
from masthead._printers.printer import AGE, NAME, Column, Printer, age_of, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]

_CERTIFICATES: Final = "certificates.k8s.io"


def _signing_request(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        age_of(obj, now),
        text(spec, "signerName") or "<none>",
        text(spec, "username"),
        human_duration(integer(spec, "expirationSeconds")) if has(spec, "expirationSeconds") else "<none>",
        _request_condition(part(obj, "status")),
    ]


def _request_condition(status: Plain) -> str:
    types = {entry.get("type") for entry in entries(status, "conditions")}
    shown = ["Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"]
    if "Failed" in types:
        shown.append("Failed")
    if text(status, "certificate"):
        shown.append("Issued")
    return ",".join(shown)


def _trust_bundle(obj: Plain, _: datetime) -> list[Cell]:
    return [name_of(obj), text(part(obj, "spec"), "signerName") or "<none>"]


def _pod_certificate_request(obj: Plain, _: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    state = "Pending"
    for condition in entries(part(obj, "status"), "conditions"):
        kind = text(condition, "type")
        state = kind if kind in {"Issued", "Denied", "Failed"} else state
    return [
        name_of(obj),
        text(spec, "podName"),
        text(spec, "serviceAccountName"),
        text(spec, "nodeName"),
        text(spec, "signerName"),
        state,
        label_set(spec, "unverifiedUserAnnotations"),
    ]


PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    (_CERTIFICATES, "CertificateSigningRequest"): Printer(
        (
            NAME,
            AGE,
            Column("SignerName"),
            Column("Requestor"),
            Column("RequestedDuration"),
            Column("Condition"),
        ),
        _signing_request,
    ),
    (_CERTIFICATES, "ClusterTrustBundle"): Printer((NAME, Column("SignerName")), _trust_bundle),
    (_CERTIFICATES, "PodCertificateRequest"): Printer(
        (
            NAME,
            Column("PodName"),
            Column("ServiceAccountName"),
            Column("NodeName"),
            Column("SignerName"),
            Column("State"),
            Column("UnverifiedUserAnnotations"),
        ),
        _pod_certificate_request,
    ),
}
"""The printers, by group and kind."""

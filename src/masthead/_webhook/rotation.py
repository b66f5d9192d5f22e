"""Decides when authorities and certificates of webhooks are created, renewed and dropped, without I/O.

A rotation must not fail a single call, although API servers and replicas learn about it at different times:

1. A new authority joins the bundle. The certificate in use is still issued by the old one.
2. After `RotationPolicy.propagation`, when API servers trust both, the new authority issues the certificate.
3. After another `propagation`, when all replicas present it, the old authority leaves the bundle.

The times are those of the certificates themselves, so that replicas need no further state to agree.

A damaged set is repaired at the lowest cost for its callers: while the certificate still works, a new authority joins
as in a rotation; while the key of an authority works, that authority issues a new certificate. Only if neither works
do API servers have to learn a new authority first. The old authorities stay in the bundle during the switch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead._webhook.certificates import (
    has_issued,
    is_key_of,
    is_signing_key_of,
    is_well_formed,
    issue_certificate,
    make_authority,
    parse_bundle,
    parse_certificate,
)
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._webhook.certificates import Issued, TrustedAuthority

__all__ = ["CertificateSet", "RotationPolicy", "next_change", "rotate"]

_BUNDLE: Final = "ca.crt"
_AUTHORITY_KEY: Final = "ca.key"
_CERTIFICATE: Final = "tls.crt"
_KEY: Final = "tls.key"
_MIN_PROPAGATIONS: Final = 6
_MAX_AUTHORITIES: Final = 8
"""Authorities in a bundle: a Secret that is damaged again and again must not grow for ever."""


@set_module("masthead.webhook")
@dataclass(frozen=True, slots=True, kw_only=True)
class RotationPolicy:
    """The lifetimes of authorities and certificates.

    Attributes:
        authority_validity: The lifetime of an authority.
        certificate_validity: The lifetime of a certificate.
        renew_before: The fraction of the lifetime that is left when a successor is created.
        propagation: Time for API servers and replicas to learn about a change.
        backdate: Tolerated difference between the clocks of replicas and API servers: certificates are valid for this
            time before their creation.

    Raises:
        ArgumentError: If a value is invalid, or the lifetimes are too short for a rotation.
    """

    authority_validity: timedelta = timedelta(days=3650)
    certificate_validity: timedelta = timedelta(days=365)
    renew_before: float = 1 / 3
    propagation: timedelta = timedelta(minutes=10)
    backdate: timedelta = timedelta(hours=1)

    def __post_init__(self) -> None:
        for name in ("authority_validity", "certificate_validity", "propagation", "backdate"):
            value: object = getattr(self, name)
            if not isinstance(value, timedelta) or value < timedelta():
                raise ArgumentError(f"{name} must be such as timedelta(days=30), not {value!r}", value=value)
        share: object = self.renew_before
        # 0 and 1 are excluded, so that no whole number fits.
        if not isinstance(share, float) or not 0 < share < 1:
            raise ArgumentError(
                f"renew_before must be a part of the lifetime between 0 and 1, such as 1/3, not {share!r}", value=share
            )
        for name in ("authority_validity", "certificate_validity"):
            if getattr(self, name) < _MIN_PROPAGATIONS * self.propagation:
                raise ArgumentError(f"{name} must be {_MIN_PROPAGATIONS} times the propagation at least")


@dataclass(frozen=True, slots=True)
class CertificateSet:
    """The contents of the Secret.

    Attributes:
        bundle: The trusted authorities, the newest last.
        authority_key: The private key of the newest authority.
        certificate: The certificate of the server.
        key: Its private key.
    """

    bundle: bytes = b""
    authority_key: bytes = b""
    certificate: bytes = b""
    key: bytes = b""

    @classmethod
    def from_data(cls, data: Mapping[str, bytes]) -> CertificateSet:
        """Return the set in the data of a Secret; missing parts are empty."""
        return cls(
            data.get(_BUNDLE, b""), data.get(_AUTHORITY_KEY, b""), data.get(_CERTIFICATE, b""), data.get(_KEY, b"")
        )

    def to_data(self) -> dict[str, bytes]:
        """Return the data of a Secret."""
        return {
            _BUNDLE: self.bundle,
            _AUTHORITY_KEY: self.authority_key,
            _CERTIFICATE: self.certificate,
            _KEY: self.key,
        }


@dataclass(frozen=True, slots=True)
class _Findings:
    """The usable parts of a set.

    Attributes:
        authorities: The authorities that have not expired.
        signer: The newest authority whose private key is in the set, or None.
        issued: The server certificate; None if it cannot be used.
        issuer: The authority that has signed it.
    """

    authorities: list[TrustedAuthority]
    signer: TrustedAuthority | None
    issued: Issued | None
    issuer: TrustedAuthority | None


def rotate(current: CertificateSet, names: frozenset[str], now: datetime, policy: RotationPolicy) -> CertificateSet:
    """Return the set for this moment: the current one, if nothing has to change.

    Args:
        current: The set in the Secret; an empty or damaged one is repaired.
        names: The names and addresses of the server.
        now: The time.
        policy: The lifetimes.
    """
    findings = _examine(current, now, policy)
    authorities, signer, issued = findings.authorities, findings.signer, findings.issued
    if not is_well_formed(current.bundle):
        current = replace(current, bundle=_join(authorities))
    if issued is None:
        return _replace_certificate(current, findings, names, now, policy)
    if signer is None or signer.expires - now <= _lead(policy.authority_validity, policy):
        return _add_authority(current, findings, now, policy)
    is_trusted = len(authorities) == 1 or now - signer.created >= policy.propagation
    is_old = issued.expires - now <= _lead(policy.certificate_validity, policy)
    is_foreign = not has_issued(signer.pem, current.certificate)
    if is_trusted and (is_old or is_foreign or not names <= issued.names):
        return _issue(current, signer, names, now, policy)
    if len(authorities) > 1 and not is_foreign and now - issued.created >= policy.propagation:
        return replace(current, bundle=signer.pem)
    return current


def next_change(current: CertificateSet, now: datetime, policy: RotationPolicy) -> datetime:
    """Return the time of the next decision about a set."""
    findings = _examine(current, now, policy)
    signer, issued = findings.signer, findings.issued
    if signer is None or issued is None:
        return now
    moments = [
        signer.expires - _lead(policy.authority_validity, policy),
        issued.expires - _lead(policy.certificate_validity, policy),
    ]
    if len(findings.authorities) > 1:
        moments += [signer.created + policy.propagation, issued.created + policy.propagation]
    # A decision of the past has been made, or waits for another one.
    return min((moment for moment in moments if moment > now), default=now + policy.propagation)


def _examine(current: CertificateSet, now: datetime, policy: RotationPolicy) -> _Findings:
    authorities = [authority for authority in parse_bundle(current.bundle, policy.backdate) if authority.expires > now]
    # A replica whose clock is ahead by more than `backdate` makes authorities and certificates that nobody accepts yet.
    latest = now + policy.backdate
    valid = [authority for authority in reversed(authorities) if authority.created <= latest]
    signers = (
        authority
        for authority in valid
        if authority.expires - now > policy.propagation and is_signing_key_of(current.authority_key, authority.pem)
    )
    issued, issuer = parse_certificate(current.certificate, policy.backdate), None
    is_current = issued is not None and issued.created <= latest and issued.expires > now
    if is_current and is_key_of(current.key, current.certificate):
        issuer = next((authority for authority in valid if has_issued(authority.pem, current.certificate)), None)
    return _Findings(authorities, next(signers, None), issued if issuer else None, issuer)


def _replace_certificate(
    current: CertificateSet, findings: _Findings, names: frozenset[str], now: datetime, policy: RotationPolicy
) -> CertificateSet:
    """Replace a certificate that fails all calls, by an authority that API servers know if possible."""
    signer = findings.signer
    if signer is None:
        current = _add_authority(current, findings, now, policy)
        signer = parse_bundle(current.bundle, policy.backdate)[-1]
    return _issue(current, signer, names, now, policy)


def _add_authority(
    current: CertificateSet, findings: _Findings, now: datetime, policy: RotationPolicy
) -> CertificateSet:
    authority, authority_key = make_authority(now, policy.authority_validity, policy.backdate)
    kept = findings.authorities[1 - _MAX_AUTHORITIES :]
    if findings.issuer is not None and findings.issuer not in kept:
        kept[0] = findings.issuer
    # The key of the old authority is dropped: it issues nothing any more.
    return replace(current, bundle=_join(kept) + authority, authority_key=authority_key)


def _issue(
    current: CertificateSet, signer: TrustedAuthority, names: frozenset[str], now: datetime, policy: RotationPolicy
) -> CertificateSet:
    certificate, key = issue_certificate(
        signer.pem, current.authority_key, names, now, policy.certificate_validity, policy.backdate
    )
    return replace(current, certificate=certificate, key=key)


def _join(authorities: list[TrustedAuthority]) -> bytes:
    return b"".join(authority.pem for authority in authorities)


def _lead(validity: timedelta, policy: RotationPolicy) -> timedelta:
    """Return the time before the expiry at which a successor is created."""
    return max(validity * policy.renew_before, _MIN_PROPAGATIONS / 2 * policy.propagation)

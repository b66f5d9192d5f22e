"""Client certificates: the user that a certificate of the server's authority names."""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.authentication.jwt import InvalidTokenError
from masthead_server.certificate_signer import UID_OID
from masthead_server.wire.user_info import UserInfo, add_authenticated_group

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["read_certificate_user"]

_COMMON_NAME: Final = "2.5.4.3"
_ORGANIZATION: Final = "2.5.4.10"
_MAX_CACHED: Final = 256


class _Certificate(NamedTuple):
    user: UserInfo | None
    begins: datetime
    ends: datetime


def read_certificate_user(certificate: bytes, now: datetime) -> UserInfo | None:
    """Return the user of a certificate that the authority has signed; None if it names none.

    The common name is the user, and the organizations are its groups.

    Args:
        certificate: The certificate, in DER. The handshake has verified its signature.
        now: The time of the server, which decides whether it has expired.

    Raises:
        InvalidTokenError: If it is not valid now, or has no usable uid.
    """
    # By the clock of the server: the handshake has used that of the system.
    user, begins, ends = _parse(certificate)
    if not begins <= now <= ends:
        raise InvalidTokenError("x509: certificate has expired or is not yet valid")
    return user


@functools.lru_cache(maxsize=_MAX_CACHED)
def _parse(data: bytes) -> _Certificate:
    # Imported with the first certificate: a server without TLS needs no cryptography.
    from cryptography import x509

    certificate = x509.load_der_x509_certificate(data)
    values: dict[str, list[str]] = {}
    for attribute in certificate.subject:
        value = attribute.value
        values.setdefault(attribute.oid.dotted_string, []).append(value if isinstance(value, str) else "")
    uids = values.get(UID_OID, [])
    if len(uids) > 1:
        raise InvalidTokenError(f"expected 1 UID, but found multiple: [{' '.join(uids)}]")
    if uids == [""]:
        raise InvalidTokenError("UID cannot be an empty string")
    # Go's parser lets the last of several common names win.
    names = values.get(_COMMON_NAME, [""])
    fingerprint = f"X509SHA256={hashlib.sha256(data).hexdigest()}"
    user = UserInfo(
        names[-1],
        "".join(uids),
        tuple(values.get(_ORGANIZATION, ())),
        {"authentication.kubernetes.io/credential-id": (fingerprint,)},
    )
    return _Certificate(
        add_authenticated_group(user) if user.name else None,
        certificate.not_valid_before_utc,
        certificate.not_valid_after_utc,
    )

"""JSON Web Tokens: three parts, base64 for URLs, with dots between them."""

from __future__ import annotations

import base64
import binascii
import functools
import re
from typing import TYPE_CHECKING, Final

import msgspec

from masthead_server.authentication.signing_keys import encode_segment

if TYPE_CHECKING:
    from masthead_server.authentication.signing_keys import SigningKey
    from masthead_server.wire.plain import Plain

__all__ = ["BoundObject", "Claims", "InvalidTokenError", "KubernetesClaims", "read_issuer", "sign_claims", "verify"]

_MAX_LENGTH: Final = 64 * 1024
"""Characters of a token; those of service accounts have about a thousand."""
_SEGMENT: Final = re.compile(r"[A-Za-z0-9_-]*")
_MAX_VERIFIED: Final = 256
_BAD_SIGNATURE: Final = "go-jose/go-jose: error in cryptographic primitive"
_LEGACY: Final = "kubernetes.io/serviceaccount/"


class InvalidTokenError(Exception):
    """A token is not valid; the message is kube-apiserver's."""


class BoundObject(msgspec.Struct, frozen=True):
    """An object that a token is bound to, in its claims."""

    name: str = ""
    uid: str = ""


class KubernetesClaims(msgspec.Struct, frozen=True):
    """The private claims of a service-account token."""

    namespace: str = ""
    serviceaccount: BoundObject = BoundObject()
    pod: BoundObject | None = None
    secret: BoundObject | None = None
    node: BoundObject | None = None
    warnafter: float | None = None


class Claims(msgspec.Struct, frozen=True):
    """The claims of a service-account token."""

    iss: str = ""
    sub: str = ""
    aud: list[str] | str = []
    exp: float | None = None
    nbf: float | None = None
    iat: float | None = None
    jti: str = ""
    kubernetes: KubernetesClaims = msgspec.field(name="kubernetes.io", default=KubernetesClaims())
    legacy_namespace: str = msgspec.field(name=f"{_LEGACY}namespace", default="")
    legacy_secret: str = msgspec.field(name=f"{_LEGACY}secret.name", default="")
    legacy_account: str = msgspec.field(name=f"{_LEGACY}service-account.name", default="")
    legacy_uid: str = msgspec.field(name=f"{_LEGACY}service-account.uid", default="")

    @property
    def audiences(self) -> tuple[str, ...]:
        """The audiences; none for an old token."""
        return (self.aud,) if isinstance(self.aud, str) else tuple(self.aud)


class _Header(msgspec.Struct):
    alg: str | None = None
    kid: str | None = None
    crit: list[str] | None = None


def sign_claims(claims: Plain, key: SigningKey) -> str:
    """Return the token of some claims."""
    header = {"alg": key.algorithm, "kid": key.key_id}
    data = ".".join(encode_segment(msgspec.json.encode(piece)) for piece in (header, claims))
    return f"{data}.{encode_segment(key.sign(data.encode()))}"


def read_issuer(token: str) -> str:
    """Return the unverified issuer of a token; empty for any other text."""
    if len(token) > _MAX_LENGTH:
        return ""
    parts = token.split(".")
    if len(parts) != 3:
        return ""
    try:
        claims = msgspec.json.decode(_decode_segment(parts[1]).decode("utf-8", "replace"), type=dict[str, msgspec.Raw])
        # Go matches the names of fields in any case.
        issuers = [value for name, value in claims.items() if name.lower() == "iss"]
        return msgspec.json.decode(issuers[-1], type=str | None) or "" if issuers else ""
    except (ValueError, RecursionError):
        return ""


def verify(token: str, key: SigningKey) -> Claims | None:
    """Return the claims of a token that names a known issuer; None if it is no token at all.

    Raises:
        InvalidTokenError: If another key signed it.
    """
    # As go-jose reads tokens: without white space, and with padding where there is some.
    head, payload, signature = "".join(token.split()).split(".")
    try:
        header = _decode_header(head)
        signed_by = _decode_segment(signature.rstrip("="))
    except (ValueError, RecursionError):
        return None
    if header.kid and header.kid != key.key_id:
        raise InvalidTokenError("invalid signature, no keys found")
    # The algorithm is the key's, whatever the token claims.
    if header.alg != key.algorithm or header.crit:
        raise InvalidTokenError(_BAD_SIGNATURE)
    _check_signature(key, f"{head}.{payload}", signed_by)
    try:
        return msgspec.json.decode(_decode_segment(payload), type=Claims)
    except (ValueError, RecursionError):
        return None


@functools.lru_cache(maxsize=_MAX_VERIFIED)
def _check_signature(key: SigningKey, data: str, signature: bytes) -> None:
    """Verify a signature. Valid ones are remembered: clients send the same token with every request.

    Raises:
        InvalidTokenError: If another key made it.
    """
    if not key.verify(data.encode(), signature):
        raise InvalidTokenError(_BAD_SIGNATURE)


def _decode_header(text: str) -> _Header:
    """Decode the header of a token.

    Raises:
        ValueError: If it is no header.
    """
    # Go replaces bytes that are not UTF-8.
    decoded = _decode_segment(text.rstrip("=")).decode("utf-8", "replace")
    return msgspec.json.decode(decoded, type=_Header | None) or _Header() if decoded else _Header()


def _decode_segment(text: str) -> bytes:
    """Decode a part of a token.

    Raises:
        ValueError: If it is no base64 for URLs.
    """
    if not _SEGMENT.fullmatch(text):
        raise ValueError("no base64")
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError(str(error)) from None

"""When a certificate expires: the one thing of X.509 that is needed here, so that no library is. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import UTC, datetime
from typing import Final

__all__ = ["expiry_of_der", "expiry_of_pem"]

_PEM: Final = re.compile("-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
_SEQUENCE: Final = 0x30
_VERSION: Final = 0xA0
_UTC_TIME: Final = 0x17
_GENERALIZED_TIME: Final = 0x18
_LONG: Final = 0x80


def expiry_of_pem(text: str) -> datetime:
    """Return when the first certificate of a PEM text expires.

    Raises:
        ValueError: If there is no certificate in it.
    """
    found = _PEM.search(text)
    if found is None:
        raise ValueError("there is no certificate in it")
    try:
        return expiry_of_der(base64.b64decode(found[1]))
    except binascii.Error:
        raise ValueError("it is not Base64") from None


def expiry_of_der(data: bytes) -> datetime:
    """Return when a certificate expires.

    Raises:
        ValueError: If it is not a certificate.
    """
    certificate = _inside(data, _SEQUENCE)
    signed = _inside(certificate, _SEQUENCE)
    tag, _, rest = _element(signed)
    if tag == _VERSION:
        _, _, rest = _element(rest)  # the serial number
    for _ in range(2):  # the algorithm, and the issuer
        _, _, rest = _element(rest)
    _, _, behind = _element(_inside(rest, _SEQUENCE))  # not before
    tag, moment, _ = _element(behind)
    return _time(tag, moment.decode("ascii"))


def _element(data: bytes) -> tuple[int, bytes, bytes]:
    """Split DER into the tag and the content of its first element, and what follows."""
    if len(data) < 2:
        raise ValueError("it ends too early")
    length, at = data[1], 2
    if length >= _LONG:
        at += length - _LONG
        length = int.from_bytes(data[2:at], "big")
    if at > len(data) or at + length > len(data):
        raise ValueError("it ends too early")
    return data[0], data[at : at + length], data[at + length :]


def _inside(data: bytes, wanted: int) -> bytes:
    tag, content, _ = _element(data)
    if tag != wanted:
        raise ValueError("it is not a certificate")
    return content


def _time(tag: int, text: str) -> datetime:
    if tag == _UTC_TIME:
        # Two figures: 50 to 99 are of the last century.
        text = f"{'19' if text[:2] >= '50' else '20'}{text}"
    elif tag != _GENERALIZED_TIME:
        raise ValueError("it is not a certificate")
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)

"""Certificate signing requests (PKCS #10): the names of the subject."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["list_common_names", "list_organizations"]

_PEM: Final = re.compile(rb"-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----(.*?)-----END", re.DOTALL)
_SEQUENCE: Final = 0x30
_SET: Final = 0x31
_COMMON_NAME: Final = bytes.fromhex("550403")
"""The object identifier 2.5.4.3."""
_ORGANIZATION: Final = bytes.fromhex("55040a")
"""The object identifier 2.5.4.10."""
_LONG_LENGTH: Final = 0x80


class _Element(NamedTuple):
    """A value in DER."""

    tag: int
    content: bytes


def list_organizations(pem: bytes) -> list[str]:
    """Return the organizations of the subject of a request.

    Raises:
        ValueError: If it is no request.
    """
    return _list_names(pem, _ORGANIZATION)


def list_common_names(pem: bytes) -> list[str]:
    """Return the common names of the subject of a request; the last one counts.

    Raises:
        ValueError: If it is no request.
    """
    return _list_names(pem, _COMMON_NAME)


def _list_names(pem: bytes, identifier: bytes) -> list[str]:
    found = _PEM.search(pem)
    if found is None:
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    request = next(_read(base64.b64decode(found[1])), _Element(0, b""))
    info = next(_read(_contents(request, _SEQUENCE)), _Element(0, b""))
    fields = list(_read(_contents(info, _SEQUENCE)))
    # The first field is the version, the second the subject.
    if len(fields) < 2:
        raise ValueError("the request has no subject")
    names = [name for group in _read(_contents(fields[1], _SEQUENCE)) for name in _read(_contents(group, _SET))]
    pairs = [list(_read(_contents(name, _SEQUENCE))) for name in names]
    return [
        pair[1].content.decode("utf-8", "replace") for pair in pairs if len(pair) > 1 and pair[0].content == identifier
    ]


def _contents(element: _Element, tag: int) -> bytes:
    if element.tag != tag:
        raise ValueError(f"the request has the tag {element.tag:#x} where {tag:#x} belongs")
    return element.content


def _read(data: bytes) -> Iterator[_Element]:
    """Iterate over the values that follow each other."""
    at = 0
    while at < len(data):
        head = data[at : at + 2]
        length = head[-1] if len(head) > 1 else _LONG_LENGTH
        at += 2
        if length >= _LONG_LENGTH:
            size = length - _LONG_LENGTH
            length = int.from_bytes(data[at : at + size], "big") if size else len(data)
            at += size
        if at + length > len(data):
            raise ValueError("the request is cut off")
        yield _Element(head[0], data[at : at + length])
        at += length

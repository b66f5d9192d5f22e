"""Warnings about Secrets."""

from __future__ import annotations

import binascii
import re
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.wire.plain import Plain

_CERTIFICATE: Final = "CERTIFICATE"
_KEY: Final = "PRIVATE KEY"
_SEQUENCE: Final = 0x30
"""The first byte of whatever a certificate or a key may be."""
_MARK: Final = re.compile(rb"^-----(BEGIN|END) ([^\n]*?)-----[ \t]*\r?$", re.MULTILINE)
"""The first or last line of a block."""


class _Block(NamedTuple):
    """A block of PEM: what it says that it is, and what is in it."""

    kind: str
    content: bytes


# differs from kube-apiserver: it reads certificate and key, and says whether they belong together.
def tls_warnings(obj: Plain) -> list[str]:
    """Return the warnings about the certificate and the key of a TLS Secret."""
    if obj.get("type") != "kubernetes.io/tls":
        return []
    data = part(obj, "data")
    certificates, keys = _blocks(text(data, "tls.crt")), _blocks(text(data, "tls.key"))
    message = (
        _no_certificate([certificate.kind for certificate in certificates])
        or _no_key([key.kind for key in keys])
        or _garbled(certificates, keys)
    )
    return [message] if message else []


def _blocks(encoded: str) -> list[_Block]:
    try:
        text = binascii.a2b_base64(encoded)
    except binascii.Error:
        return []
    blocks: list[_Block] = []
    for kind, body in _enclosed(text):
        try:
            content = binascii.a2b_base64(b"".join(body.split()), strict_mode=True)
        except binascii.Error:
            # Go's pem.Decode skips a block whose content is not base64.
            continue
        blocks.append(_Block(kind.decode(errors="replace"), content))
    return blocks


def _enclosed(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Return the kind and the lines of each block: from a first line to the next last line of its kind, if there is one."""
    # All marks are found first: a search for the end from each beginning would take quadratic time.
    marks = list(_MARK.finditer(text))
    ends: dict[bytes, deque[re.Match[bytes]]] = {}
    for mark in marks:
        if mark[1] == b"END":
            ends.setdefault(mark[2], deque()).append(mark)
    reached = 0
    for mark in marks:
        if mark[1] == b"END" or mark.start() < reached:
            continue
        of_its_kind = ends.get(mark[2]) or deque[re.Match[bytes]]()
        while of_its_kind and of_its_kind[0].start() < mark.end():
            of_its_kind.popleft()
        if of_its_kind:
            yield mark[2], text[mark.end() + 1 : of_its_kind[0].start()]
            reached = of_its_kind[0].end()


def _no_certificate(kinds: list[str]) -> str:
    if _CERTIFICATE in kinds:
        return ""
    if not kinds:
        return "tls: failed to find any PEM data in certificate input"
    if len(kinds) == 1 and kinds[0].endswith(_KEY):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key;"
            " PEM inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the'
        f" following types: [{' '.join(kinds)}]"
    )


def _no_key(kinds: list[str]) -> str:
    if any(each.endswith(_KEY) for each in kinds):
        return ""
    if not kinds:
        return "tls: failed to find any PEM data in key input"
    if kinds == [_CERTIFICATE]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks'
        f" of the following types: [{' '.join(kinds)}]"
    )


def _garbled(certificates: list[_Block], keys: list[_Block]) -> str:
    certificate = next(each.content for each in certificates if each.kind == _CERTIFICATE)
    key = next(each.content for each in keys if each.kind.endswith(_KEY))
    if certificate[:1] != bytes([_SEQUENCE]):
        return "x509: malformed certificate"
    return "tls: failed to parse private key" if key[:1] != bytes([_SEQUENCE]) else ""

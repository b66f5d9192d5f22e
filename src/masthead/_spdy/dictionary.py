"""The dictionary of SPDY/3 header compression."""

from __future__ import annotations

import struct
from typing import Final

__all__ = ["DICTIONARY"]

_WORDS: Final = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age "
    "allow authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200+OK version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
"""Each word is preceded by its length, as in a header block. A plus replaces a space."""

_TAIL: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _with_length(word: str) -> bytes:
    encoded = word.replace("+", " ").encode("ascii")
    return struct.pack(">I", len(encoded)) + encoded


DICTIONARY: Final = b"".join(map(_with_length, _WORDS.split())) + _TAIL.encode("ascii")
"""What both sides prime zlib with. Its checksum is part of the wire format: one wrong byte, and nothing decodes."""

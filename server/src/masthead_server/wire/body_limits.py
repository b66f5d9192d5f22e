"""Limits of request bodies, of all formats and all kinds.

A body is limited in bytes, as kube-apiserver's is, and in values: three megabytes of JSON can be a million objects,
which take hundreds of times their text in memory and seconds to process. No object that kube-apiserver could store,
whose limit is a megabyte and a half, comes near to these limits. Bodies beyond the smaller thresholds are accepted, and
processed in a thread.
"""

from __future__ import annotations

import re
from typing import Any, Final

from masthead_server.wire.failures import StatusFailure

__all__ = [
    "BODY_SECONDS",
    "MAX_BODIES_BYTES",
    "MAX_BODY_BYTES",
    "MAX_DEPTH",
    "MAX_ITEMS",
    "MAX_STORED_BYTES",
    "MAX_TRACKED_BYTES",
    "MAX_VALUES",
    "MAX_YAML_VALUES",
    "LongNumberError",
    "count_values",
    "is_costly",
    "is_costly_yaml",
    "is_slow_yaml",
    "may_nest_too_deeply",
    "nests_too_deeply",
    "refuse_long_numbers",
    "refuse_many_values",
    "too_large",
]

MAX_BODY_BYTES: Final = 3 * 1024 * 1024
"""Bytes of a body; a longer one is refused unread."""
MAX_BODIES_BYTES: Final = 128 * 1024 * 1024
"""Bytes of the bodies of all requests in flight."""
BODY_SECONDS: Final = 60.0
"""Time for a body to arrive, on the server's clock."""
MAX_VALUES: Final = 60_000
"""The most values of a JSON body: objects, arrays, and what they contain."""
MAX_YAML_VALUES: Final = 20_000
"""The most values of a YAML body, which takes twenty times longer to decode."""
MAX_ITEMS: Final = 5_000
"""The most structs that the lists of one object may have together."""
MAX_STORED_BYTES: Final = 2 * MAX_BODY_BYTES
"""Bytes of a stored object, which patches could make grow without limit; etcd's limit is 1.5 MB."""
MAX_TRACKED_BYTES: Final = 3 * 512 * 1024
"""Bytes of an object with its managedFields, which kube-apiserver drops from one that is too large for etcd."""
MAX_DEPTH: Final = 200
"""How deeply an object may nest; the deepest schemas of the API need a tenth of it."""

# Each value but the outermost follows one of these signs outside of a string.
_SIGNS: Final = (b",", b"{", b"[")
_TO_SIGN: Final = rb'(?:[^",{\[]++|"(?:[^"\\]++|\\.)*+")*+[,{\[]'
_MANY_VALUES: Final = re.compile(rb"(?:%b){%d}+" % (_TO_SIGN, MAX_VALUES), re.DOTALL)


def too_large(problem: str) -> StatusFailure:
    """The failure of a request that is too large."""
    return StatusFailure(413, "RequestEntityTooLarge", f"Request entity too large: {problem}")


def refuse_many_values(body: bytes) -> None:
    """Refuse a body of too many values before it is decoded.

    Raises:
        StatusFailure: If it has too many.
    """
    # Most bodies are shorter, or have fewer such signs; only for the others their position matters.
    if len(body) >= MAX_VALUES and count_values(body) >= MAX_VALUES and _MANY_VALUES.match(body):
        raise too_large(f"limit is {MAX_VALUES} values")


def count_values(body: bytes) -> int:
    """Count the values of a body at most: signs within strings count, too."""
    return sum(map(body.count, _SIGNS))


_FEW_VALUES: Final = 2_000
_SHORT: Final = 128 * 1024
_VERY_SHORT: Final = 8 * 1024
"""Bytes of nearly all objects, whose values are not worth counting."""


def is_costly(text: bytes) -> bool:
    """Tell whether the text of an object has so many values that work on each of them would hold the event loop."""
    size = len(text)
    return size > _VERY_SHORT and (size > _SHORT or count_values(text) > _FEW_VALUES)


_MANY_LINES: Final = 2_000
_QUICK_YAML: Final = 8 * 1024
"""Bytes of YAML that are parsed at once; it can take a hundred times longer than JSON."""


def is_slow_yaml(body: bytes) -> bool:
    """Tell whether parsing YAML would hold the event loop."""
    return len(body) > _QUICK_YAML


def is_costly_yaml(body: bytes) -> bool:
    """Tell whether YAML may have so many values that work on each of them would hold the event loop."""
    # Their number is not known before it is decoded: a few aliases can expand to thousands.
    return b"*" in body or body.count(b"\n") > _MANY_LINES


class LongNumberError(ValueError):
    """A whole number of more digits than any type can hold."""


_MAX_DIGITS: Final = 310
"""Digits of the smallest whole number that is beyond all floats."""
_DIGITS: Final = bytes(ord("0") if byte in b"0123456789" else byte for byte in range(256))
_STRING_OR_NUMBER: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|([0-9]{%d,}+)(?![.eE])' % _MAX_DIGITS, re.DOTALL)


def refuse_long_numbers(body: bytes) -> None:
    """Refuse whole numbers so long that parsing them takes quadratic time.

    Raises:
        LongNumberError: If there is one, which is the message.
    """
    # Two passes of C code find nearly all bodies harmless; the pattern in Python is slow.
    if len(body) < _MAX_DIGITS or b"0" * _MAX_DIGITS not in body.translate(_DIGITS):
        return
    for found in _STRING_OR_NUMBER.finditer(body):
        if found[1]:
            raise LongNumberError(found[1].decode("ascii"))


def may_nest_too_deeply(body: bytes) -> bool:
    """Tell whether JSON has so many objects and arrays that it could nest too deeply; empty objects hold nothing."""
    openings = body.count(b"{") + body.count(b"[")
    # Each level of nesting takes a bracket: most bodies need no visit of their values.
    return openings > MAX_DEPTH and openings - body.count(b"{}") >= MAX_DEPTH


def nests_too_deeply(value: object) -> bool:
    """Tell whether a decoded value nests deeper than an object may."""
    # Inlined for speed: this visits every element of every large object.
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if outer.__class__ is dict else outer)
            if inner.__class__ is dict or inner.__class__ is list
        ]
        if not level:
            return False
    return True

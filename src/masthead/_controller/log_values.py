"""Values of log records as plain data: bounded, encodable as JSON, and without secrets."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["HIDDEN", "hide_credentials", "plain_value", "shortened"]

HIDDEN: Final = "<hidden>"
MAX_TEXT: Final = 32_768
"""Maximum number of characters in a text; container runtimes split lines into chunks of half that size."""
_MAX_WORD: Final = 80
_MAX_ITEMS: Final = 100
_MAX_DEPTH: Final = 6
_MAX_REPR: Final = 1_000
_EXACT_INT: Final = 2**63

_SENSITIVE_KEY: Final = re.compile(
    r"(?:^|[_.-])(?:password|passwd|token|authorization|cookie|api_?key|private_?key|client_?secret)$",
    re.IGNORECASE,
)
"""Keys whose values are hidden. ``secret`` alone is not among them: in an operator, it is the name of an object."""
_CREDENTIALS: Final = re.compile(
    r"\b(?P<scheme>Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*",
    re.IGNORECASE,
)
"""An ``Authorization`` header, or a JSON web token."""
_DATA_OF_SECRETS: Final = ("data", "stringData")


def shortened(text: str, limit: int = MAX_TEXT) -> str:
    """Return a text; if it is longer than the limit, its beginning and its end, cut between words."""
    if len(text) <= limit:
        return text
    # A quarter at least is left out, or the note about it would be as long.
    kept = limit * 3 // 8
    start, end = text[:kept], text[-kept:]
    # Half a verb or a name misleads. Words longer than that are data, such as base64.
    last, first = start.rfind(" ", kept - _MAX_WORD), end.find(" ", 0, _MAX_WORD)
    start, end = start[: last if last >= 0 else kept], end[max(first, 0) :]
    return f"{start}… ({len(text) - len(start) - len(end)} characters left out) …{end}"


def hide_credentials(text: str) -> str:
    """Replace ``Authorization`` headers and JSON web tokens in a text."""
    # Most texts contain neither, and a substring search is much faster than the expression.
    lowered = text.lower()
    if "bearer" in lowered or "basic" in lowered or "eyj" in lowered:
        return _CREDENTIALS.sub(_hide, text)
    return text


def _hide(found: re.Match[str]) -> str:
    scheme = found["scheme"]
    return f"{scheme} {HIDDEN}" if scheme else HIDDEN


def plain_value(value: object, key: str = "", depth: int = 0) -> object:
    """Return a value as strings, numbers, booleans, None, lists and dicts, bounded and without secrets.

    It never raises: a value without a valid repr is replaced by its type. API objects are replaced by their reprs,
    which hide the data of a Secret.

    Args:
        value: Any value.
        key: Its key in a dict or a record; values of keys such as ``token`` are hidden.
        depth: The number of enclosing containers.
    """
    # Flags such as ``token=None`` or ``has_password=True`` reveal nothing.
    if value is None or isinstance(value, bool):
        return value
    if key and _SENSITIVE_KEY.search(key):
        return HIDDEN
    try:
        return _plain(value, depth)
    except Exception as error:  # noqa: BLE001 - a value must not cost the line
        return f"<{type(value).__name__}: {type(error).__name__} when shown>"


def _plain(value: object, depth: int) -> object:
    if isinstance(value, dict | list | tuple | set | frozenset):
        # Also ends the recursion of a container that contains itself.
        if depth >= _MAX_DEPTH:
            return f"<{type(cast('object', value)).__name__}>"
        if isinstance(value, dict):
            return _plain_dict(cast("dict[object, object]", value), depth)
        return _plain_list(cast("Iterable[object]", value), depth)
    # Larger integers lose digits in parsers that read numbers as doubles.
    if type(value) is int and abs(value) < _EXACT_INT:
        return value
    # JSON has neither NaN nor infinity.
    if type(value) is float and math.isfinite(value):
        return value
    return hide_credentials(_text(value))


def _text(value: object) -> str:
    if isinstance(value, str):
        # Not str(), which a subclass may have overridden.
        return shortened(str.__str__(value))
    if isinstance(value, bytes | bytearray):
        # Bytes are mostly keys and passwords.
        return f"<{len(value)} bytes>"
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, PurePath):
        return shortened(str(value))
    if isinstance(value, BaseException):
        return shortened(f"{type(value).__name__}: {value}")
    return shortened(repr(value), _MAX_REPR)


def _plain_list(values: Iterable[object], depth: int) -> list[object]:
    found: list[object] = []
    for value in values:
        if len(found) == _MAX_ITEMS:
            found.append("…")
            break
        found.append(plain_value(value, depth=depth + 1))
    return found


def _plain_dict(values: Mapping[object, object], depth: int) -> dict[str, object]:
    # Plain data of an unstructured Secret has no repr that hides its values.
    is_secret = values.get("kind") == "Secret"
    found: dict[str, object] = {}
    for name, value in values.items():
        if len(found) == _MAX_ITEMS:
            found["…"] = f"{len(values) - _MAX_ITEMS} more"
            break
        key = name if type(name) is str else str(plain_value(name, depth=_MAX_DEPTH))
        is_hidden = is_secret and key in _DATA_OF_SECRETS
        found[shortened(key, _MAX_REPR)] = HIDDEN if is_hidden else plain_value(value, key, depth + 1)
    return found

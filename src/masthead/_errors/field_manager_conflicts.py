"""The conflicts of a refused server-side apply, decoded from the causes of its Status.

The causes have no fields for the other manager; the message has everything::

    conflict with "kubectl" with subresource "status" using apps/v1 at 2026-01-02T15:04:05Z
                  manager                subresource        version    time of the update

The version is present only if the manager has updated the object instead of applying it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from masthead._meta.v1 import StatusDetails

__all__ = ["FieldManagerConflict", "field_manager_conflicts", "has_field_manager_conflicts"]

_CAUSE: Final = "FieldManagerConflict"
"""The type of the causes of a refused apply."""
# Go quotes with %q: a manager may contain quotes and backslashes.
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_MESSAGE: Final = re.compile(
    rf"conflict with (?P<manager>{_QUOTED})(?: with subresource (?P<subresource>{_QUOTED}))?"
    r"(?: using (?P<version>\S+)(?: at (?P<time>\S+))?)?",
)
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))", re.DOTALL)
_LETTERS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_MAX_CODE_POINT: Final = 0x10FFFF


@dataclass(frozen=True, slots=True)
class FieldManagerConflict:
    """A field that another manager owns, with a value that differs from the applied one.

    Attributes:
        field: The path of the field, such as ``.spec.template.spec.containers[name="web"].image``.
        manager: The manager that owns it; empty if the server did not name one.
        operation: How the manager has written it: ``Apply`` for server-side apply, ``Update`` for any other write.
        subresource: The subresource that the manager has written, such as ``status``; empty for the object itself.
        api_version: The API version of an ``Update``; empty for an ``Apply``.
        time: The time of an ``Update``; None if the server did not send it.
        message: The server's message.
    """

    field: str
    manager: str
    operation: Literal["Apply", "Update"] = "Apply"
    subresource: str = ""
    api_version: str = ""
    time: datetime | None = None
    message: str = ""


def has_field_manager_conflicts(details: StatusDetails | None) -> bool:
    """Whether a Status refuses an apply because other managers own some of its fields."""
    return details is not None and any(cause.reason == _CAUSE for cause in details.causes)


def field_manager_conflicts(details: StatusDetails | None) -> tuple[FieldManagerConflict, ...]:
    """Decode the conflicts in the details of a Status, in the server's order."""
    # A proxy may drop the details; the error itself still says that the apply conflicts.
    causes = details.causes if details is not None else ()
    return tuple(_conflict(cause.field or "", cause.message or "") for cause in causes if cause.reason == _CAUSE)


def _conflict(field: str, message: str) -> FieldManagerConflict:
    match = _MESSAGE.fullmatch(message)
    if match is None:  # another server's wording: the field and the message are still of use
        return FieldManagerConflict(field, "", message=message)
    # Only an Update names a version; an Apply is identified by its manager alone.
    version = match["version"] or ""
    return FieldManagerConflict(
        field,
        _unquote(match["manager"]),
        "Update" if version else "Apply",
        _unquote(match["subresource"] or '""'),
        version,
        _parse_time(match["time"]),
        message,
    )


def _unquote(text: str) -> str:
    """Decode a string quoted by Go."""
    return _ESCAPE.sub(_unescape, text[1:-1])


def _unescape(escape: re.Match[str]) -> str:
    byte, short, long, letter = escape.groups()
    if letter is not None:
        return _LETTERS.get(letter, letter)
    # Exactly one of the three groups matches.
    code = int(byte or short or long, 16)
    return chr(code) if code <= _MAX_CODE_POINT else escape[0]


def _parse_time(text: str | None) -> datetime | None:
    try:
        # A malformed time must not hide the conflict.
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None

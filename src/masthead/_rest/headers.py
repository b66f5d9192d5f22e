"""Which headers go with a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead._config.model import Impersonation
    from masthead._meta.secret import Secret

__all__ = ["has_header", "impersonation_headers", "merged"]

_IMPERSONATION: Final = "impersonate-"
_WHOM: Final = "impersonate-user"

_IN_HEADER_NAMES: Final = "!#$&'*+.^_`|~-"
"""What may stand in the name of a header as it is, beside letters and digits; the rest of an extra's key is escaped."""


def has_header(headers: Sequence[tuple[str, str | Secret]], name: str) -> bool:
    """Whether a header is there; its name is given in small letters."""
    return bool(headers) and any(each.lower() == name for each, _ in headers)


def merged(
    ours: Iterable[tuple[str, str]], theirs: Sequence[tuple[str, str | Secret]]
) -> list[tuple[str, str | Secret]]:
    """The client's headers and a call's: of one name, only the call's are sent.

    A call that says as whom to act says all of it: nothing is left of whom the client acts as.
    """
    if not theirs:
        return [*ours]
    names = {name.lower() for name, _ in theirs}
    is_dropped = _IMPERSONATION if _WHOM in names else "\n"  # no name holds that
    kept = (
        (name, value)
        for name, value in ours
        if (small := name.lower()) not in names and not small.startswith(is_dropped)
    )
    return [*kept, *theirs]


def impersonation_headers(whom: Impersonation) -> tuple[tuple[str, str], ...]:
    """The headers that say as whom to act."""
    return (
        ("Impersonate-User", whom.user),
        *((("Impersonate-Uid", whom.uid),) if whom.uid else ()),
        *(("Impersonate-Group", group) for group in whom.groups),
        *(
            (f"Impersonate-Extra-{quote(key, safe=_IN_HEADER_NAMES)}", value)
            for key, values in whom.extra.items()
            for value in values
        ),
    )

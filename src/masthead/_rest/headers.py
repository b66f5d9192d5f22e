"""Request headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from masthead._config.model import Impersonation
    from masthead._meta.secret import Secret

__all__ = ["impersonation_headers", "merge_headers"]

_IMPERSONATION: Final = "impersonate-"
_IMPERSONATED_USER: Final = "impersonate-user"

_IN_HEADER_NAMES: Final = "!#$&'*+.^_`|~-"
"""Characters of a header name besides letters and digits; all others in the key of an extra are escaped."""


def merge_headers(
    ours: Iterable[tuple[str, str]], theirs: Sequence[tuple[str, str | Secret]], names: AbstractSet[str]
) -> list[tuple[str, str | Secret]]:
    """Merge the client's headers with a call's, which replace the client's of the same name.

    A call that impersonates a user replaces the client's impersonation as a whole: user, groups, UID and
    extras.

    Args:
        ours: The client's headers.
        theirs: The call's headers.
        names: The names of the call's headers, in lower case.
    """

    # A call that impersonates another user must not send the groups of the client's user with it.
    def is_replaced(name: str) -> bool:
        return name in names or (_IMPERSONATED_USER in names and name.startswith(_IMPERSONATION))

    return [*((name, value) for name, value in ours if not is_replaced(name.lower())), *theirs]


def impersonation_headers(whom: Impersonation) -> tuple[tuple[str, str], ...]:
    """The headers that impersonate a user."""
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

"""The user of a request: everyone who is authenticated is the same one, and may impersonate others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from masthead._meta.quoting import quoted
from masthead_server.wire.failures import bad_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from masthead_server.wire.plain import Plain

__all__ = ["ADMIN", "UserInfo", "impersonated_user"]

_AUTHENTICATED: Final = "system:authenticated"
_ANONYMOUS: Final = "system:anonymous"
_ACCOUNT: Final = "system:serviceaccount:"
_EXTRA: Final = "impersonate-extra-"


@dataclass(frozen=True, slots=True)
class UserInfo:
    """Who sends a request.

    Attributes:
        name: The user name.
        uid: Its uid; empty for most.
        groups: The groups.
        extra: What else the authenticator knows.
    """

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def to_plain(self) -> Plain:
        """Return it as the UserInfo of a review."""
        plain: Plain = {"username": self.name}
        if self.uid:
            plain["uid"] = self.uid
        plain["groups"] = list(self.groups)
        if self.extra:
            plain["extra"] = {key: list(values) for key, values in self.extra.items()}
        return plain


ADMIN: Final = UserInfo("kubernetes-admin", groups=("system:masters", _AUTHENTICATED))
"""The user of every request that impersonates no other."""


def impersonated_user(names: Iterable[str], values: Callable[[str], list[str]]) -> UserInfo:
    """Return the user that the ``Impersonate-`` headers of a request name; `ADMIN` if there are none.

    Args:
        names: The names of all headers.
        values: Returns all values of a header.

    Raises:
        StatusFailure: If they name groups, a uid or more, but no user.
    """
    # Hardly any request impersonates, and the names of headers are short.
    if "impersonate-" not in " ".join(names).lower():
        return ADMIN
    extra = {
        unquote(lower.removeprefix(_EXTRA)): tuple(values(lower))
        for lower in dict.fromkeys(map(str.lower, names))
        if lower.startswith(_EXTRA)
    }
    name = next(iter(values("impersonate-user")), "")
    uid = next(iter(values("impersonate-uid")), "")
    groups = tuple(values("impersonate-group"))
    if name:
        return UserInfo(name, uid, _add_implied_groups(name, groups), extra)
    if uid or groups or extra:
        asked = f'&user.DefaultInfo{{Name:"", UID:{quoted(uid)}, Groups:{_go_list(groups)}, Extra:{_go_map(extra)}}}'
        raise bad_request(f"requested {asked} without impersonating a user name")
    return ADMIN


def _add_implied_groups(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return the groups, with the groups that the name implies."""
    if not groups and name.startswith(_ACCOUNT):
        namespace = name.removeprefix(_ACCOUNT).partition(":")[0]
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    implied = "system:unauthenticated" if name == _ANONYMOUS else _AUTHENTICATED
    return groups if implied in groups else (*groups, implied)


def _go_list(values: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(quoted(value) for value in values)}}}" if values else "[]string(nil)"


def _go_map(values: Mapping[str, tuple[str, ...]]) -> str:
    if not values:
        return "map[string][]string(nil)"
    return f"map[string][]string{{{', '.join(f'{quoted(key)}:{_go_list(items)}' for key, items in values.items())}}}"

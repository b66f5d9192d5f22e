"""Users: who sends a request."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.wire.plain import Plain

__all__ = [
    "ADMIN",
    "ANONYMOUS",
    "AUTHENTICATED_GROUP",
    "CONTROLLER_USER",
    "SCHEDULER_USER",
    "UNAUTHENTICATED_GROUP",
    "UserInfo",
    "add_authenticated_group",
    "is_unauthenticated",
]

AUTHENTICATED_GROUP: Final = "system:authenticated"
"""The group of everyone with valid credentials."""
UNAUTHENTICATED_GROUP: Final = "system:unauthenticated"
"""The group of everyone without credentials."""


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
        if self.groups:
            plain["groups"] = list(self.groups)
        if self.extra:
            plain["extra"] = {key: list(values) for key, values in self.extra.items()}
        return plain


ADMIN: Final = UserInfo("kubernetes-admin", groups=("system:masters", AUTHENTICATED_GROUP))
"""The user of the server's own token."""
ANONYMOUS: Final = UserInfo("system:anonymous", groups=(UNAUTHENTICATED_GROUP,))
"""The user of a request without credentials."""
CONTROLLER_USER: Final = UserInfo("system:kube-controller-manager", groups=(AUTHENTICATED_GROUP,))
"""The user of the server's own controllers."""
SCHEDULER_USER: Final = UserInfo("system:kube-scheduler", groups=(AUTHENTICATED_GROUP,))
"""The user of the server's own scheduler."""


def is_unauthenticated(user: UserInfo) -> bool:
    """Whether a user has no credentials, or is impersonated as if."""
    return UNAUTHENTICATED_GROUP in user.groups


def add_authenticated_group(user: UserInfo) -> UserInfo:
    """Return a user with the group of everyone who is authenticated."""
    if user.name == ANONYMOUS.name or {AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP} & {*user.groups}:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED_GROUP))

"""What an authorizer is, and what it decides about."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from masthead_server.authorization.policy_rules import PolicyRule
    from masthead_server.wire.user_info import UserInfo

__all__ = ["AuthorizationAttributes", "Authorizer", "Decision", "Outcome", "UserRules"]


class Decision(Enum):
    """The decision of an authorizer."""

    ALLOW = "allow"
    DENY = "deny"
    """Refused, whatever other authorizers say."""
    NO_OPINION = "no opinion"
    """Refused, unless another authorizer allows it."""


class Outcome(NamedTuple):
    """A decision and the reason for it, which access reviews and refusals show."""

    decision: Decision
    reason: str = ""

    @property
    def is_allowed(self) -> bool:
        """Whether the request may go on."""
        return self.decision is Decision.ALLOW


class UserRules(NamedTuple):
    """The rules that apply to a user in a namespace.

    Attributes:
        rules: The rules that are known.
        is_incomplete: Whether the user may do more than the rules say.
        errors: What prevented a complete answer.
    """

    rules: tuple[PolicyRule, ...] = ()
    is_incomplete: bool = False
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuthorizationAttributes:
    """A request, as far as authorization is concerned.

    Attributes:
        user: Who sends it.
        verb: ``get``, ``list``, ``impersonate`` and so on; for a path without a resource, the method in lower case.
        namespace: The namespace; empty for a cluster-scoped resource and for all namespaces.
        group: The API group; empty for the core group.
        version: The API version.
        resource: The resource; empty for a path without one.
        subresource: The subresource; empty for the object itself.
        name: The name; empty for a collection.
        path: The path of a request without a resource.
        field_selector: The field selector of a list, watch or deletion of a collection.
        label_selector: The label selector.
    """

    user: UserInfo
    verb: str
    namespace: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    path: str = ""
    field_selector: str = ""
    label_selector: str = ""

    @property
    def is_resource_request(self) -> bool:
        """Whether it is about a resource, rather than about a path."""
        # An access review may name no resource; the path of a request is never empty.
        return bool(self.resource) or not self.path


class Authorizer(Protocol):
    """Decides what users may do. It never awaits: the rules are in the cluster state."""

    def authorize(self, attributes: AuthorizationAttributes, /) -> Outcome:
        """Decide about a request."""
        ...

    def rules_for(self, user: UserInfo, namespace: str, /) -> UserRules:
        """Return the rules that apply to a user in a namespace."""
        ...

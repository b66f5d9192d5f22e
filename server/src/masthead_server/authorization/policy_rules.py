"""Policy rules: what one rule of a role allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead_server.authorization.authorizer import AuthorizationAttributes
    from masthead_server.wire.plain import Plain

__all__ = ["FULL_AUTHORITY", "PolicyRule", "RuleSet", "describe_list", "url_matches"]

ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A rule of a role, as stored.

    Attributes:
        verbs: The allowed verbs.
        groups: The API groups of the resources.
        resources: The resources, with subresources as ``pods/log`` or ``*/scale``.
        names: The names of the objects; empty for all.
        urls: The paths without a resource; the last character may be an asterisk.
    """

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    @classmethod
    def of(cls, rule: Plain) -> PolicyRule:
        """Read a rule of a Role or ClusterRole."""
        return cls(
            verbs=tuple(rule.get("verbs") or ()),
            groups=tuple(rule.get("apiGroups") or ()),
            resources=tuple(rule.get("resources") or ()),
            names=tuple(rule.get("resourceNames") or ()),
            urls=tuple(rule.get("nonResourceURLs") or ()),
        )

    def __str__(self) -> str:
        parts = (
            ("APIGroups", self.groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.urls),
            ("ResourceNames", self.names),
            ("Verbs", self.verbs),
        )
        return f"{{{', '.join(f'{title}:{describe_list(values)}' for title, values in parts if values)}}}"


FULL_AUTHORITY: Final = (
    PolicyRule((ANY,), groups=(ANY,), resources=(ANY,)),
    PolicyRule((ANY,), urls=(ANY,)),
)
"""The rules of a cluster administrator."""


class RuleSet:
    """The rules of a role, by the resources that they name.

    Args:
        rules: The rules, in the order of the role.
    """

    __slots__ = ("_by_resource", "_with_urls", "rules")

    def __init__(self, rules: Sequence[PolicyRule]) -> None:
        self.rules: tuple[PolicyRule, ...] = tuple(rules)
        by_resource: dict[str, list[_ResourceRule]] = {}
        for rule in self.rules:
            prepared = _ResourceRule(rule)
            # A role may name a resource twice; the rule is checked once.
            for resource in dict.fromkeys(rule.resources):
                by_resource.setdefault(resource, []).append(prepared)
        self._by_resource = by_resource
        self._with_urls = tuple(rule for rule in self.rules if rule.urls)

    def allows(self, attributes: AuthorizationAttributes) -> bool:
        """Tell whether any of the rules allows a request."""
        if not attributes.is_resource_request:
            path, verb = attributes.path, attributes.verb
            return any(
                (verb in rule.verbs or ANY in rule.verbs) and any(url_matches(url, path) for url in rule.urls)
                for rule in self._with_urls
            )
        # Three lookups instead of a walk over all rules: the roles of administrators and controllers have dozens.
        subresource = attributes.subresource
        if not subresource:
            return self._any_allows(attributes.resource, attributes) or self._any_allows(ANY, attributes)
        return (
            self._any_allows(f"{attributes.resource}/{subresource}", attributes)
            or self._any_allows(ANY, attributes)
            or self._any_allows(f"*/{subresource}", attributes)
        )

    def _any_allows(self, resource: str, attributes: AuthorizationAttributes) -> bool:
        return any(rule.allows(attributes) for rule in self._by_resource.get(resource, ()))


class _ResourceRule:
    """The verbs, groups and names of a rule, as sets."""

    __slots__ = ("_groups", "_names", "_verbs")

    def __init__(self, rule: PolicyRule) -> None:
        # None means every value.
        self._verbs = None if ANY in rule.verbs else frozenset(rule.verbs)
        self._groups = None if ANY in rule.groups else frozenset(rule.groups)
        # A rule with names never allows a list or create, whose name is empty.
        self._names = frozenset(rule.names) if rule.names else None

    def allows(self, attributes: AuthorizationAttributes) -> bool:
        """Tell whether the rule allows a request for one of its resources."""
        return (
            (self._verbs is None or attributes.verb in self._verbs)
            and (self._groups is None or attributes.group in self._groups)
            and (self._names is None or attributes.name in self._names)
        )


def url_matches(pattern: str, path: str) -> bool:
    """Tell whether a path, or every path of a pattern, is among the paths of another pattern."""
    return pattern == path or (pattern.endswith(ANY) and path.startswith(pattern.rstrip(ANY)))


def describe_list(values: Iterable[str]) -> str:
    """Write strings as Go's ``%q`` writes a slice."""
    return f"[{' '.join(quoted(value) for value in values)}]"

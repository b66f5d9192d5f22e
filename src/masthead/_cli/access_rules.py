"""The table of ``auth can-i --list``: rules of a SelfSubjectRulesReview, merged and in the order of kubectl. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from masthead._meta.plain import Plain

__all__ = ["AccessRule", "merge_rules", "rule_lines"]

_HEADINGS: Final = ("Resources", "Non-Resource URLs", "Resource Names", "Verbs")


@dataclass(frozen=True, slots=True)
class AccessRule:
    """Verbs on one resource, or on one URL.

    Attributes:
        verbs: The verbs.
        group: The group of the resource.
        resource: The resource, perhaps with a subresource: ``pods/log``; empty for a URL.
        name: The only object that is meant; empty for all.
        url: The URL; empty for a resource.
    """

    verbs: tuple[str, ...]
    group: str = ""
    resource: str = ""
    name: str = ""
    url: str = ""

    @property
    def sort_key(self) -> str:
        """The text that Go prints for the rule, which kubectl sorts by."""
        groups, resources = ("", "") if self.url else (self.group, self.resource)
        return (
            f"Verbs:{_brackets(self.verbs)},APIGroups:[{groups}],Resources:[{resources}],"
            f"ResourceNames:[{self.name}],NonResourceURLs:[{self.url}],"
        )

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of its line."""
        resource, slash, subresource = self.resource.partition("/")
        combined = f"{resource}.{self.group}" if self.group else resource
        return f"{combined}{slash}{subresource}", f"[{self.url}]", f"[{self.name}]", _brackets(self.verbs)


def _brackets(words: Iterable[str]) -> str:
    return f"[{' '.join(words)}]"


def merge_rules(status: Plain) -> list[AccessRule]:
    """Return the rules of a review's status: one for each resource and name, and one for each URL and verb."""
    verbs: dict[tuple[str, str, str], dict[str, None]] = {}
    for resource_rule in entries(status, "resourceRules"):
        names = texts(resource_rule, "resourceNames") or [""]
        parts = (texts(resource_rule, field) for field in ("apiGroups", "resources", "verbs"))
        for group, resource, verb, name in product(*parts, names):
            verbs.setdefault((group, resource, name), {})[verb] = None
    merged = [AccessRule(tuple(found), group, resource, name) for (group, resource, name), found in verbs.items()]
    return sorted([*merged, *_url_rules(status)], key=lambda rule: rule.sort_key)


def _url_rules(status: Plain) -> Iterator[AccessRule]:
    # Not merged: kubectl prints a line for each verb.
    for rule in entries(status, "nonResourceRules"):
        for url, verb in product(texts(rule, "nonResourceURLs"), texts(rule, "verbs")):
            yield AccessRule((verb,), url=url)


def rule_lines(rules: Iterable[AccessRule], *, headers: bool) -> list[tuple[str, ...]]:
    """Return the cells of the table, line by line."""
    return [*([_HEADINGS] if headers else []), *(rule.cells for rule in rules)]

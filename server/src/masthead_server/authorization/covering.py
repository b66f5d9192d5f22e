"""Covering: whether the rules of one user include all that other rules allow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from masthead_server.authorization.policy_rules import ANY, PolicyRule, url_matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["compact", "find_missing"]


def find_missing(held: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return what the wanted rules allow and the held ones do not, each for one verb of one resource or path."""
    # An atomic rule is either covered by a single rule or not at all: no combination of rules covers it.
    return [atom for rule in wanted for atom in _break_down(rule) if not any(_covers(own, atom) for own in held)]


def compact(rules: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Join the atomic rules that differ in their verbs only."""
    joined: dict[tuple[str, ...], PolicyRule] = {}
    others: list[PolicyRule] = []
    for rule in rules:
        if rule.urls:
            others.append(rule)
            continue
        place = (*rule.groups, *rule.resources, *rule.names)
        present = joined.get(place)
        joined[place] = rule if present is None else replace(present, verbs=present.verbs + rule.verbs)
    return [*others, *joined.values()]


def _break_down(rule: PolicyRule) -> Iterator[PolicyRule]:
    """Split a rule into rules with one verb, and with at most one group, resource, name and path."""
    for group in rule.groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                if not rule.names:
                    yield PolicyRule((verb,), (group,), (resource,))
                for name in rule.names:
                    yield PolicyRule((verb,), (group,), (resource,), (name,))
    for url in rule.urls:
        for verb in rule.verbs:
            yield PolicyRule((verb,), urls=(url,))


def _covers(own: PolicyRule, atom: PolicyRule) -> bool:
    if not (ANY in own.verbs or atom.verbs[0] in own.verbs):
        return False
    # Resources and paths of one rule are independent of each other.
    if atom.urls:
        # A rule with names is about resources only, whatever paths it has besides.
        return not own.names and any(url_matches(url, atom.urls[0]) for url in own.urls)
    if not (ANY in own.groups or atom.groups[0] in own.groups):
        return False
    # A rule for all names is not covered by one for some of them.
    if own.names and not (atom.names and atom.names[0] in own.names):
        return False
    return _covers_resource(own.resources, atom.resources[0])


def _covers_resource(own: tuple[str, ...], resource: str) -> bool:
    if ANY in own or resource in own:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in own

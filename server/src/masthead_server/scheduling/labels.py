"""Selectors of labels and of nodes, compiled once for all pods that share them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta.labels import from_label_selector
from masthead_server.wire.go_numbers import parse_int

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "LabelSelectorFacts",
    "NodeSelectorFacts",
    "NodeTerm",
    "Requirement",
    "Selector",
    "compile_selector",
    "matches_node",
]

_NAME_FIELD: Final = "metadata.name"


class Requirement(msgspec.Struct):
    """A requirement on a label or a field."""

    key: str = ""
    operator: str = ""
    values: list[str] = []


class LabelSelectorFacts(msgspec.Struct, rename="camel"):
    """A LabelSelector."""

    match_labels: dict[str, str] = {}
    match_expressions: list[Requirement] = []


class NodeTerm(msgspec.Struct, rename="camel"):
    """A term of a node selector: all of its requirements must hold."""

    match_expressions: list[Requirement] = []
    match_fields: list[Requirement] = []

    def names(self) -> set[str] | None:
        """Return the node names to which it is limited; None for no limit."""
        names: set[str] | None = None
        for requirement in self.match_fields:
            if requirement.key == _NAME_FIELD and requirement.operator == "In":
                names = set(requirement.values) if names is None else names & set(requirement.values)
        return names


class NodeSelectorFacts(msgspec.Struct, rename="camel"):
    """A node selector: one of its terms must match."""

    node_selector_terms: list[NodeTerm] = []


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled LabelSelector.

    Attributes:
        matches: Tells whether labels match.
        pairs: Labels that every match has, for lookups in an index.
        is_empty: Whether it has no requirement.
    """

    matches: Callable[[Mapping[str, str]], bool]
    pairs: tuple[tuple[str, str], ...]
    is_empty: bool


def compile_selector(written: LabelSelectorFacts | None, more: Iterable[tuple[str, str]] = ()) -> Selector:
    """Compile a LabelSelector; None matches nothing.

    Args:
        written: The selector.
        more: Further labels that must match.

    Raises:
        SelectorError: If it is invalid.
    """
    if written is None:
        return Selector(from_label_selector(None).matches, (), is_empty=False)
    added = [Requirement(key, "In", [value]) for key, value in more]
    whole = LabelSelectorFacts(written.match_labels, [*written.match_expressions, *added])
    single = [(found.key, found.values[0]) for found in whole.match_expressions if _is_equality(found)]
    return Selector(
        from_label_selector(whole).matches,
        (*whole.match_labels.items(), *single),
        is_empty=not whole.match_labels and not whole.match_expressions,
    )


def _is_equality(requirement: Requirement) -> bool:
    return requirement.operator == "In" and len(requirement.values) == 1


def matches_node(terms: Iterable[NodeTerm], name: str, labels: Mapping[str, str]) -> bool:
    """Tell whether a node matches one of the terms; an empty term matches no node."""
    return any(_matches_term(term, name, labels) for term in terms)


def _matches_term(term: NodeTerm, name: str, labels: Mapping[str, str]) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {_NAME_FIELD: name}
    return all(_holds(requirement, labels) for requirement in term.match_expressions) and all(
        _holds(requirement, fields) for requirement in term.match_fields
    )


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            return (
                value is not None and len(requirement.values) == 1 and _compares(operator, value, requirement.values[0])
            )


def _compares(operator: str, value: str, limit: str) -> bool:
    # Python also parses 1_000, which is not a number for Go.
    try:
        number, bound = parse_int(value), parse_int(limit)
    except ValueError:
        return False
    return (operator == "Gt" and number > bound) or (operator == "Lt" and number < bound)

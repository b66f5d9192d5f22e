"""Changes of a Pod whose scheduling gates keep it from the scheduler: its nodes may be limited further."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid
from masthead_server.resources.validation.checks import same, shown_map
from masthead_server.resources.validation.internal_types import inner
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["gated_changes", "with_stored_nodes"]

_NODES: Final = "nodeAffinity"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS: Final = f"spec.affinity.{_NODES}.{_REQUIRED}.nodeSelectorTerms"


def gated_changes(after: Plain, before: Plain) -> Errors:
    """Return the errors of changes that do not only limit the nodes of a gated Pod.

    Args:
        after: The spec.
        before: The stored one.
    """
    selector, stored = part(after, "nodeSelector"), part(before, "nodeSelector")
    errors: Errors = []
    if not stored.items() <= selector.items():
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        shown = shown_map(selector) if "nodeSelector" in after else None
        errors.append(invalid("spec.nodeSelector", shown, why))
    now, then = (part(part(state, "affinity"), _NODES) for state in (after, before))
    return errors + _term_changes(part(now, _REQUIRED), part(then, _REQUIRED))


def _term_changes(now: Plain, then: Plain) -> Errors:
    """Return the errors of the required terms: a pod without any may get some, and the others grow stricter."""
    terms, stored = items(now, "nodeSelectorTerms"), items(then, "nodeSelectorTerms")
    if not stored:
        return []
    if len(terms) != len(stored):
        shown = [inner("NodeSelectorTerm", term) for term in terms] or None
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid(_TERMS, shown, why)]
    why = "only additions are allowed (no mutations or deletions)"
    return [
        invalid(f"{_TERMS}[{index}]", inner("NodeSelectorTerm", term), why)
        for index, (term, known) in enumerate(zip(terms, stored, strict=True))
        if not _only_adds(term, known)
    ]


def _only_adds(term: Plain, stored: Plain) -> bool:
    fields = ("matchExpressions", "matchFields")
    # An empty term matches no node, and more requirements would be other ones.
    if not any(stored.get(field) for field in fields):
        return not any(term.get(field) for field in fields)
    return all(same(items(term, field)[: len(items(stored, field))], items(stored, field)) for field in fields)


def with_stored_nodes(spec: Plain, stored: Plain) -> Plain:
    """Return a spec with the node selector and the node affinity of the stored one."""
    mixed = {key: value for key, value in spec.items() if key != "nodeSelector"}
    if "nodeSelector" in stored:
        mixed["nodeSelector"] = stored["nodeSelector"]
    now, then = part(spec, "affinity"), part(stored, "affinity")
    if now.get(_NODES) == then.get(_NODES):
        return mixed
    # Affinity to other pods stays, because the server has added requirements to it.
    affinity = {key: value for key, value in now.items() if key != _NODES}
    affinity |= {_NODES: then[_NODES]} if _NODES in then else {}
    mixed.pop("affinity", None)
    return {**mixed, "affinity": affinity} if affinity or "affinity" in stored else mixed

"""How a namespace that is being deleted comes to its end: its contents go, and then it does."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from masthead.server.cluster import is_being_deleted
from masthead.server.controllers.places import uid_of
from masthead.server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from masthead.server.controllers.places import Place, Places

__all__ = ["empty"]

_PODS: Final = "pods"
_FINALIZER: Final = "kubernetes"
_FINE: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""What each condition of a namespace's status says when there is nothing to complain of."""


def empty(places: Places, place: Place, namespace: Plain) -> None:
    """Delete what a namespace holds; if that is all gone, let go of the namespace.

    Pods go first: only when none is left is the rest deleted, as the real controller does it.
    """
    name = place.key
    _delete(places, list(places.within(name, only=_PODS)))
    if any(True for _ in places.within(name, only=_PODS)):
        _report(places, place, {})
        return
    _delete(places, list(places.within(name)))
    remaining = list(places.within(name))
    _report(places, place, _complaints(places, remaining))
    if not remaining and _FINALIZER in (part(namespace, "spec").get("finalizers") or ()):
        places.change(place, _let_go, subresource="finalize")


def _delete(places: Places, contents: list[Place]) -> None:
    for each in contents:
        found = places.load(each)
        if found is not None and not is_being_deleted(found):
            places.delete(each, uid_of(found))


def _complaints(places: Places, remaining: list[Place]) -> dict[str, tuple[str, str]]:
    """The reason and message of each condition that is not fine."""
    if not remaining:
        return {}
    resources = Counter(_resource(each.table) for each in remaining)
    found = filter(None, map(places.load, remaining))
    finalizers = Counter(each for one in found for each in metadata(one).get("finalizers") or ())
    listed = ", ".join(sorted(f"{each} has {count} resource instances" for each, count in resources.items()))
    complaints = {
        "NamespaceContentRemaining": ("SomeResourcesRemain", f"Some resources are remaining: {listed}")
    }
    if finalizers:
        listed = ", ".join(
            sorted(f"{each} in {count} resource instances" for each, count in finalizers.items())
        )
        problem = f"Some content in the namespace has finalizers remaining: {listed}"
        complaints["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", problem)
    return complaints


def _resource(table: str) -> str:
    group, _, name = table.rpartition("/")
    return f"{name}.{group}"


def _report(places: Places, place: Place, complaints: dict[str, tuple[str, str]]) -> None:
    now = places.cluster.now()

    def report(namespace: Plain) -> None:
        status = namespace.setdefault("status", {})
        before = {text(each, "type"): each for each in items(status, "conditions")}
        ours = [_condition(kind, complaints.get(kind), before.get(kind), now) for kind in _FINE]
        status["conditions"] = [each for kind, each in before.items() if kind not in _FINE] + ours

    places.change(place, report, subresource="status")


def _condition(kind: str, complaint: tuple[str, str] | None, before: Plain | None, now: str) -> Plain:
    reason, message = complaint or _FINE[kind]
    status = "True" if complaint else "False"
    since = before["lastTransitionTime"] if before and before.get("status") == status else now
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }


def _let_go(namespace: Plain) -> None:
    spec = part(namespace, "spec")
    left = [each for each in spec.get("finalizers") or () if each != _FINALIZER]
    spec["finalizers"] = left
    if not left:
        del spec["finalizers"]

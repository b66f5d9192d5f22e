"""Filters for the requests of replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict, cast

from masthead._module import set_module
from masthead.testing._request_places import RequestPlace, locate, verb_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from masthead.testing._exchanges import Exchange

__all__ = ["FilteredRequest", "ReplicaRequestFilter", "check_filter"]

_READS: Final = ("get", "list", "watch")
_WRITES: Final = ("create", "update", "patch", "apply", "delete", "deletecollection")
_GROUPS_OF_VERBS: Final = {"read": _READS, "write": _WRITES, "patch": ("patch", "apply")}
_VERBS: Final = frozenset({*_READS, *_WRITES, *_GROUPS_OF_VERBS})


@set_module("masthead.testing")
class ReplicaRequestFilter(TypedDict, total=False):
    """The requests of a replica that a fault strikes.

    Attributes:
        verb: Only this verb, or these; ``read`` and ``write`` stand for all of their kind, and ``patch`` includes
            ``apply``. Writes by default.
        resource: Only this resource: ``deployments`` or ``deployments.apps``; its subresources included. By default all
            but Leases, Events and the certificates of webhooks.
        subresource: Only this subresource; empty for the resource itself.
        namespace: Only objects in this namespace; empty for cluster-scoped objects.
        name: Only the object of this name.
        controller: Only requests of this controller's reconciles.
        key: Only requests of the reconciles of this object: ``namespace/name``.
    """

    verb: str | Collection[str]
    resource: str
    subresource: str
    namespace: str
    name: str
    controller: str
    key: str


class FilteredRequest(NamedTuple):
    """The attributes of a request that filters compare.

    Attributes:
        verb: The verb.
        place: The object.
        controller: The controller that sends it; empty for none.
        key: The reconciled object; empty for none.
        is_upkeep: Whether it is about a Lease, an Event or a certificate.
    """

    verb: str
    place: RequestPlace
    controller: str
    key: str
    is_upkeep: bool

    @classmethod
    def of(cls, exchange: Exchange) -> FilteredRequest:
        """Describe a request."""
        place = locate(exchange.request)
        write, reconcile = exchange.write, exchange.reconcile
        return cls(
            verb_of(exchange.request, place),
            place,
            "" if reconcile is None else reconcile.controller,
            "" if reconcile is None else reconcile.object,
            write.is_upkeep or write.is_event,
        )

    def differences(self, where: ReplicaRequestFilter) -> list[str]:
        """Return the filters that the request does not meet."""
        place = self.place
        differences = [] if self.verb in _expand_verbs(where.get("verb", "write")) else ["verb"]
        if (resource := where.get("resource")) is None:
            # Leases and Events follow timers, so that they would make the number of a request useless.
            differences += ["resource"] if self.is_upkeep or not place.is_resource else []
        elif resource not in {place.plural, place.group_resource}:
            differences.append("resource")
        found = {
            "subresource": place.subresource,
            "namespace": place.namespace,
            "name": place.name,
            "controller": self.controller,
            "key": self.key,
        }
        wanted = cast("dict[str, str]", where)
        return differences + [name for name, value in found.items() if name in wanted and wanted[name] != value]

    def __str__(self) -> str:
        by = f" by {self.controller} {self.key}" if self.controller else ""
        return f"{self.verb} {self.place.resource} {self.place.key}".rstrip() + by


def _expand_verbs(verb: str | Collection[str]) -> Collection[str]:
    if isinstance(verb, str):
        return _GROUPS_OF_VERBS.get(verb, (verb,))
    return [expanded for name in verb for expanded in _expand_verbs(name)]


def check_filter(where: ReplicaRequestFilter) -> None:
    """Refuse a filter that no request could meet.

    Raises:
        TypeError: For an unknown filter.
        ValueError: For an unknown verb, or a resource with its subresource.
    """
    if unknown := sorted(where.keys() - ReplicaRequestFilter.__annotations__.keys()):
        known = ", ".join(ReplicaRequestFilter.__annotations__)
        raise TypeError(f"there is no filter {unknown[0]!r}; there are {known}")
    for verb in _expand_verbs(where.get("verb", ())):
        if verb not in _VERBS:
            raise ValueError(f"there is no verb {verb!r}; there are {', '.join(sorted(_VERBS))}")
    plural, slash, subresource = where.get("resource", "").partition("/")
    # No resource name has a slash, so that the fault would never strike.
    if slash:
        raise ValueError(f"write resource={plural!r}, subresource={subresource!r}")

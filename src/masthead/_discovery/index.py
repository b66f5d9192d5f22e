"""Lookup of names, kinds and short names in a discovery result; no I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersion
from masthead._value import Value
from masthead.errors import ArgumentError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._discovery.model import DiscoveryResult, ServedResource
    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource

__all__ = ["Index", "ResourceArgument", "parse_resource_argument"]

_NEAR: Final = 3


class ResourceArgument(Value):
    """One interpretation of a resource name, as given to ``kubectl get``.

    Attributes:
        name: A plural, singular, kind or short name, in lower case.
        version: The version; None for any.
        group: The group, or a prefix of it; None for any.
    """

    name: str
    version: str | None = None
    group: str | None = None


def parse_resource_argument(text: str) -> tuple[ResourceArgument, ...]:
    """Parse a resource name into its possible interpretations, the most likely first.

    ``deployments.v1.apps`` is version ``v1`` of group ``apps``, unless a group ``v1.apps`` exists; a trailing dot
    (``pods.v1.``) denotes the core group.

    Raises:
        ArgumentError: If it is empty, or contains a slash.
    """
    name, dot, rest = text.strip().lower().partition(".")
    if not name or "/" in text or (dot and not rest):
        raise ArgumentError(
            f'"{text}" is not a resource name; use "deployments", "deployments.apps" or "deployments.v1.apps"',
            value=text,
        )
    if not dot:
        return (ResourceArgument(name),)
    version, has_group, group = rest.partition(".")
    # As in kubectl, `deployments.v1.apps` may name a version or a group called v1.apps.
    in_group = ResourceArgument(name, group=rest)
    if not has_group:
        return (in_group,)
    in_version = ResourceArgument(name, version, group)
    return (in_version, in_group) if group else (in_version,)


class Index:
    """Finds resources in a discovery result.

    If several match, the core group comes first, then the groups in the server's order, each with its preferred version
    first, as in kubectl.
    """

    def __init__(self, found: DiscoveryResult) -> None:
        """Build the index."""
        self.found: Final = found
        self._rank = found.ranking()
        self._by_name: dict[str, list[ServedResource]] = {}
        self._by_kind: dict[str, list[ServedResource]] = {}
        self._by_short_name: dict[str, list[ServedResource]] = {}
        self._by_gvk: dict[GroupVersionKind, list[ServedResource]] = {}
        self._by_gvr: dict[GroupVersionResource, ServedResource] = {}
        for resource in sorted(found.resources, key=self._rank):
            self._by_gvr.setdefault(resource.gvr, resource)
            if resource.kind:  # without a kind, only subresources are served
                self._add(resource)

    def find(self, what: str, *, api_version: str | None = None, group: str | None = None) -> ServedResource | None:
        """Find a resource by its plural, singular, kind or short name, ignoring case.

        Names and kinds take precedence over short names.

        Args:
            what: The name, optionally followed by ``.group`` or ``.version.group``.
            api_version: Only in this group and version.
            group: Only in this group; empty for the core group.

        Raises:
            ArgumentError: If `what` or `api_version` is invalid.
            UnknownKindError: If it is ambiguous.
        """
        served = None if api_version is None else GroupVersion.parse(api_version)
        for argument in parse_resource_argument(what):
            # In this order, so that a short name never hides a plural.
            for table in (self._by_name, self._by_kind, self._by_short_name):
                fitting = [
                    resource
                    for resource in _fitting(argument, table.get(argument.name, ()))
                    if (served is None or resource.gvr.group_version == served)
                    and (group is None or resource.gvr.group == group)
                ]
                if fitting:
                    return self._best(fitting, what)
        return None

    def kind(self, gvk: GroupVersionKind) -> ServedResource | None:
        """Find the resource of a kind.

        Raises:
            UnknownKindError: If the kind is ambiguous.
        """
        fitting = self._by_gvk.get(gvk, [])
        # Another group may serve the kind as well; its own group takes precedence.
        fitting = [resource for resource in fitting if resource.gvr.group_version == gvk.group_version] or fitting
        return self._best(fitting, str(gvk)) if fitting else None

    def resource(self, gvr: GroupVersionResource) -> ServedResource | None:
        """Find a resource by group, version and plural."""
        return self._by_gvr.get(gvr)

    def category(self, name: str) -> tuple[ServedResource, ...]:
        """Return the resources of a category, each in its preferred version, in the order of groups."""
        wanted = name.lower()
        fitting = [resource for resource in self.found.preferred() if wanted in map(str.lower, resource.categories)]
        return tuple(sorted(fitting, key=self._rank))

    def categories(self) -> list[str]:
        """Return the names of all categories."""
        return sorted({name for resource in self.found for name in resource.categories})

    def nearest(self, name: str) -> list[str]:
        """Return similar names for an error message, such as ``deployments.apps``."""
        import difflib  # for an error only, because programs must start quickly

        wanted = name.strip().lower().partition(".")[0]
        # An exact match exists in another group or version than the requested one.
        known = sorted({*self._by_name, *self._by_kind})
        near = [wanted] if wanted in known else difflib.get_close_matches(wanted, known, n=_NEAR)
        alike = [
            resource for name in near for table in (self._by_name, self._by_kind) for resource in table.get(name, ())
        ]
        return list(dict.fromkeys(resource.gvr.group_resource for resource in alike))[:_NEAR]

    def served_as(self, name: str) -> list[str]:
        """Return the API versions that have a resource or kind of exactly this name; the preferred ones first."""
        wanted = name.strip().lower().partition(".")[0]
        found = [*self._by_name.get(wanted, ()), *self._by_kind.get(wanted, ())]
        return list(dict.fromkeys(resource.api_version for resource in found))[:_NEAR]

    def _add(self, each: ServedResource) -> None:
        for name in {each.name.lower(), each.singular.lower() or each.kind.lower()}:
            self._by_name.setdefault(name, []).append(each)
        self._by_kind.setdefault(each.kind.lower(), []).append(each)
        for name in {short.lower() for short in each.short_names}:
            self._by_short_name.setdefault(name, []).append(each)
        # A resource may return the kind of another group-version; both lead to it.
        for gvk in {each.gvk, each.gvr.group_version.kind(each.kind)}:
            self._by_gvk.setdefault(gvk, []).append(each)

    def _best(self, fitting: list[ServedResource], what: str) -> ServedResource:
        first = self._rank(fitting[0])
        best = [resource for resource in fitting if self._rank(resource) == first]
        name = what.lower().partition(".")[0]
        # A kind may have a second, create-only resource, and a plural may be the singular of another resource.
        best = [resource for resource in best if resource.name.lower() == name] or best
        best = [resource for resource in best if "list" in resource.verbs] or best
        if len(best) > 1:
            names = ", ".join(f"{resource.name} ({resource.kind})" for resource in best)
            raise UnknownKindError(
                f"{what} is ambiguous: it matches {names} in {best[0].api_version}; use the plural of one of them"
            )
        return best[0]


def _fitting(argument: ResourceArgument, candidates: Iterable[ServedResource]) -> list[ServedResource]:
    """Filter by version and group: by the exact group or, if none matches exactly, by its prefix."""
    in_version = [candidate for candidate in candidates if argument.version in {None, candidate.gvr.version}]
    if argument.group is None:
        return in_version
    exact = [resource for resource in in_version if resource.gvr.group == argument.group]
    # Only without an exact match may a group be abbreviated, as kubectl allows.
    if exact or not argument.group:
        return exact
    return [resource for resource in in_version if resource.gvr.group.startswith(argument.group)]

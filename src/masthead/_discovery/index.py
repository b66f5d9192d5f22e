"""Names, kinds and short names, looked up in what was found: no request, no waiting."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersion
from masthead.errors import InvalidValueError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._discovery.model import ApiResource, DiscoveryResult
    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource

__all__ = ["Index", "ResourceArgument", "parse_resource_argument"]

_NEAR: Final = 3


@dataclass(frozen=True, slots=True)
class ResourceArgument:
    """One way to read what somebody calls a resource.

    Attributes:
        name: A plural, singular, kind or short name, in lower case.
        version: The version; None for any.
        group: The group, or the beginning of one; None for any.
    """

    name: str
    version: str | None = None
    group: str | None = None


def parse_resource_argument(text: str) -> tuple[ResourceArgument, ...]:
    """The ways to read a name, the likeliest first.

    ``deployments.v1.apps`` is version ``v1`` of group ``apps``, unless there is a group ``v1.apps``; a dot at the end
    (``pods.v1.``) stands for the core group.

    Raises:
        InvalidValueError: if it is empty, or names a part of an object.
    """
    name, dot, rest = text.strip().lower().partition(".")
    if not name or "/" in text or (dot and not rest):
        raise InvalidValueError(
            f'"{text}" names no resource; say "deployments", "deployments.apps" or "deployments.v1.apps"',
            value=text,
        )
    if not dot:
        return (ResourceArgument(name),)
    version, has_group, group = rest.partition(".")
    in_group = ResourceArgument(name, group=rest)
    if not has_group:
        return (in_group,)
    in_version = ResourceArgument(name, version, group)
    return (in_version, in_group) if group else (in_version,)


class Index:
    """Finds resources in what was discovered.

    Where several fit, the core group comes first, then the groups in the server's order, each with its preferred
    version first; so kubectl has it, too.
    """

    def __init__(self, found: DiscoveryResult) -> None:
        """Index what was found."""
        self.found: Final = found
        self._rank = found.ranking()
        self._by_name: dict[str, list[ApiResource]] = {}
        self._by_kind: dict[str, list[ApiResource]] = {}
        self._by_short_name: dict[str, list[ApiResource]] = {}
        self._by_gvk: dict[GroupVersionKind, list[ApiResource]] = {}
        self._by_gvr: dict[GroupVersionResource, ApiResource] = {}
        for each in sorted(found.resources, key=self._rank):
            self._by_gvr.setdefault(each.gvr, each)
            if each.kind:  # what has none cannot be read or written itself
                self._add(each)

    def find(
        self, what: str, *, api_version: str | None = None, group: str | None = None
    ) -> ApiResource | None:
        """Find a resource by its plural, singular, kind or short name, whatever the case.

        Names and kinds count before short names.

        Args:
            what: The name, perhaps with its group, or with version and group, behind dots.
            api_version: Only in this group and version.
            group: Only in this group; empty for the core group.

        Raises:
            InvalidValueError: if that is no name, or no API version.
            UnknownKindError: if it stands for several, and nothing speaks for one of them.
        """
        served = None if api_version is None else GroupVersion.parse(api_version)
        for reading in parse_resource_argument(what):
            for table in (self._by_name, self._by_kind, self._by_short_name):
                fitting = [
                    each
                    for each in _fitting(reading, table.get(reading.name, ()))
                    if (served is None or each.gvr.group_version == served)
                    and (group is None or each.gvr.group == group)
                ]
                if fitting:
                    return self._best(fitting, what)
        return None

    def kind(self, gvk: GroupVersionKind) -> ApiResource | None:
        """Find the resource of a kind.

        Raises:
            UnknownKindError: if there are several, and nothing speaks for one of them.
        """
        fitting = self._by_gvk.get(gvk, [])
        # A kind may also be served by another group; its own knows it best.
        fitting = [each for each in fitting if each.gvr.group_version == gvk.group_version] or fitting
        return self._best(fitting, str(gvk)) if fitting else None

    def resource(self, gvr: GroupVersionResource) -> ApiResource | None:
        """Find a resource by its full name."""
        return self._by_gvr.get(gvr)

    def category(self, name: str) -> tuple[ApiResource, ...]:
        """The resources of a category, each in its preferred version; in the order of groups."""
        wanted = name.lower()
        fitting = [each for each in self.found.preferred() if wanted in map(str.lower, each.categories)]
        return tuple(sorted(fitting, key=self._rank))

    def categories(self) -> list[str]:
        """Every category that there is."""
        return sorted({name for each in self.found for name in each.categories})

    def nearest(self, name: str) -> list[str]:
        """What may have been meant, by what to say instead: ``deployments.apps``."""
        wanted = name.strip().lower().partition(".")[0]
        # What is called exactly so is in another group or version than was asked for.
        known = sorted({*self._by_name, *self._by_kind})
        near = [wanted] if wanted in known else difflib.get_close_matches(wanted, known, n=_NEAR)
        alike = [
            each for name in near for table in (self._by_name, self._by_kind) for each in table.get(name, ())
        ]
        return list(dict.fromkeys(str(each.gvr.group_resource) for each in alike))[:_NEAR]

    def _add(self, each: ApiResource) -> None:
        for name in {each.name.lower(), each.singular.lower() or each.kind.lower()}:
            self._by_name.setdefault(name, []).append(each)
        self._by_kind.setdefault(each.kind.lower(), []).append(each)
        for name in {short.lower() for short in each.short_names}:
            self._by_short_name.setdefault(name, []).append(each)
        for gvk in {each.gvk, each.gvr.group_version.kind(each.kind)}:
            self._by_gvk.setdefault(gvk, []).append(each)

    def _best(self, fitting: list[ApiResource], what: str) -> ApiResource:
        first = self._rank(fitting[0])
        best = [each for each in fitting if self._rank(each) == first]
        name = what.lower().partition(".")[0]
        # Some kinds have a second resource that only takes orders; and a plural may be another's singular.
        best = [each for each in best if each.name.lower() == name] or best
        best = [each for each in best if "list" in each.verbs] or best
        if len(best) > 1:
            names = ", ".join(f"{each.name} ({each.kind})" for each in best)
            raise UnknownKindError(
                f"{what} may be any of {names} in {best[0].api_version}; name the one that is meant by its plural"
            )
        return best[0]


def _fitting(reading: ResourceArgument, candidates: Iterable[ApiResource]) -> list[ApiResource]:
    """Those that a reading fits: the group exactly or, where none is exactly so, by its beginning."""
    in_version = [each for each in candidates if reading.version in {None, each.gvr.version}]
    if reading.group is None:
        return in_version
    exact = [each for each in in_version if each.gvr.group == reading.group]
    if exact or not reading.group:
        return exact
    return [each for each in in_version if each.gvr.group.startswith(reading.group)]

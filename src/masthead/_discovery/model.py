"""The values that discovery returns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from masthead._meta.gvk import GroupVersion, GroupVersionKind, GroupVersionResource
    from masthead._meta.resource import Subresource
    from masthead.errors import MastheadError

__all__ = ["DiscoveryResult", "ServedGroup", "ServedResource", "ServerVersion"]


@set_module("masthead.discovery")
@dataclass(frozen=True, slots=True, kw_only=True)
class ServedResource:
    """A resource that the server serves.

    Attributes:
        gvr: Its group, version and plural.
        gvk: The kind of its objects, which may be of another group. Empty if only subresources are served.
        singular: Such as ``pod``; empty if the server does not send it.
        namespaced: Whether its objects are namespaced.
        verbs: The supported verbs.
        short_names: Such as ``po``.
        categories: Such as ``all``.
        subresources: Its subresources.
    """

    gvr: GroupVersionResource
    gvk: GroupVersionKind
    singular: str = ""
    namespaced: bool = False
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()

    @property
    def name(self) -> str:
        """The plural, as in the path."""
        return self.gvr.resource

    @property
    def kind(self) -> str:
        """The kind of its objects."""
        return self.gvk.kind

    @property
    def api_version(self) -> str:
        """The group and version of the resource, in the form of ``apiVersion``."""
        return str(self.gvr.group_version)

    def subresource(self, name: str) -> Subresource | None:
        """Find a subresource by its name."""
        return next((subresource for subresource in self.subresources if subresource.name == name), None)


@set_module("masthead.discovery")
@dataclass(frozen=True, slots=True)
class ServedGroup:
    """An API group and its versions.

    Attributes:
        name: Such as ``apps``; empty for the core group.
        versions: In the server's order, which is the order of preference.
        preferred: The preferred version.
    """

    name: str
    versions: tuple[str, ...]
    preferred: str


@set_module("masthead.discovery")
@dataclass(frozen=True, slots=True)
class DiscoveryResult:
    """The groups and resources that were discovered, and the group-versions that failed.

    Iterating yields the resources.

    Attributes:
        groups: The core group first, then in the server's order.
        resources: Ordered by group, then by version, then as the server lists them.
        failures: The error for each group-version that could not be discovered or refreshed, usually because the
            backend of an aggregated API is down. Its resources are missing, or may be out of date.
    """

    groups: tuple[ServedGroup, ...] = ()
    resources: tuple[ServedResource, ...] = ()
    failures: Mapping[GroupVersion, MastheadError] = field(default_factory=dict["GroupVersion", "MastheadError"])

    def __iter__(self) -> Iterator[ServedResource]:
        return iter(self.resources)

    def __len__(self) -> int:
        return len(self.resources)

    def __add__(self, other: DiscoveryResult) -> DiscoveryResult:
        return DiscoveryResult(
            self.groups + other.groups,
            self.resources + other.resources,
            {**self.failures, **other.failures},
        )

    def of(self, served: GroupVersion) -> DiscoveryResult:
        """Return the part of the result for one group-version."""
        return DiscoveryResult(
            tuple(group for group in self.groups if group.name == served.group),
            tuple(resource for resource in self.resources if resource.gvr.group_version == served),
            {group_version: error for group_version, error in self.failures.items() if group_version == served},
        )

    def preferred(self) -> DiscoveryResult:
        """Return each resource once: in its group's preferred version or, if missing there, in the next one."""
        rank = self.ranking()
        best: dict[tuple[str, str], ServedResource] = {}
        for resource in self.resources:
            key = resource.gvr.group, resource.name
            if key not in best or rank(resource) < rank(best[key]):
                best[key] = resource
        return DiscoveryResult(self.groups, tuple(best.values()), self.failures)

    def ranking(self) -> Callable[[ServedResource], tuple[int, int]]:
        """Return a sort key that puts preferred resources first: by group, then by version."""
        order = {
            # The core group comes first, wherever the server lists it.
            (group.name, version): (0 if group.name == "" else at, _rank(group, version))
            for at, group in enumerate(self.groups, start=1)
            for version in group.versions
        }
        last = len(self.groups) + 1, 0
        return lambda each: order.get((each.gvr.group, each.gvr.version), last)


def _rank(group: ServedGroup, version: str) -> int:
    return -1 if version == group.preferred else group.versions.index(version)


@set_module("masthead.discovery")
@dataclass(frozen=True, slots=True, kw_only=True)
class ServerVersion:
    """The version of the server.

    Attributes:
        major: Such as ``1``.
        minor: Such as ``36``; some providers write ``36+``.
        git_version: Such as ``v1.36.4``.
        git_commit: The commit it was built from.
        git_tree_state: ``clean`` or ``dirty``.
        build_date: The build date, as the server formats it.
        go_version: The Go version it was built with.
        compiler: The compiler it was built with.
        platform: The platform it was built for, such as ``linux/amd64``.
    """

    major: str
    minor: str
    git_version: str
    git_commit: str = ""
    git_tree_state: str = ""
    build_date: str = ""
    go_version: str = ""
    compiler: str = ""
    platform: str = ""

    def __str__(self) -> str:
        return self.git_version

    @property
    def number(self) -> tuple[int, int]:
        """Major and minor as integers, for comparisons: ``version.number >= (1, 30)``."""
        return _leading_number(self.major), _leading_number(self.minor)


def _leading_number(text: str) -> int:
    digits = re.match(r"[0-9]{1,9}", text)
    return int(digits[0]) if digits else 0

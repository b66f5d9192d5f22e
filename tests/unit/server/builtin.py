"""The built-in resources as the tests of their behavior look them up; any other resource is a custom one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.server.definitions import definition_of

from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead_server import scheme
from masthead_server.resources.catalog import Catalog
from masthead_server.resources.custom.resource import served_versions

if TYPE_CHECKING:
    from masthead_server.resources.behavior import StrategyHooks
    from masthead_server.resources.resource import ServedResource
    from masthead_server.resources.strategy import Strategy

Plain = dict[str, Any]

CATALOG = Catalog.builtin()
RESOURCES = sorted(
    {
        (group, resource)
        for group, versions in scheme.VERSIONS.items()
        for version in versions
        for resource in scheme.kinds_in(group, version).values()
        if resource and not resource.endswith("reviews")
    }
)


def served(group: str, resource: str, version: str = "", *, namespaced: bool = True) -> ServedResource:
    """Return a resource, in its foremost version if none is given."""
    for each in (version,) if version else CATALOG.versions(group):
        found = CATALOG.find(GroupVersionResource(group, each, resource))
        if found is not None:
            return found
    return custom(group, version or "v1", resource, namespaced=namespaced)


def custom(group: str, version: str, resource: str, *, namespaced: bool = True) -> ServedResource:
    """Return a custom resource of this name."""

    definition = definition_of(group, resource.capitalize(), version, plural=resource, is_namespaced=namespaced)
    return served_versions(definition, 0)[0]


def of_kind(group: str, version: str, kind: str) -> ServedResource:
    """Return the resource of a kind."""
    return CATALOG.by_kind(GroupVersionKind(group, version, kind)) or custom(group, version, kind.lower())


def strategy_of(group: str, resource: str) -> Strategy:
    return served(group, resource).strategy


def hooks_of(group: str, resource: str) -> StrategyHooks:
    """Return the hooks of a resource, or of ``resource/subresource``."""
    name, _, subresource = resource.partition("/")
    return served(group, name).hooks_for(subresource)


def apply_defaults(group: str, version: str, kind: str, obj: Plain) -> None:
    of_kind(group, version, kind).apply_defaults(obj)


def on_create(group: str, resource: str, obj: Plain) -> list[str]:
    return served(group, resource).behavior.warnings.on_create(obj)


def on_update(group: str, resource: str, new: Plain, old: Plain) -> list[str]:
    name, _, subresource = resource.partition("/")
    return served(group, name).warnings_for(subresource).on_update(new, old)


def to_storage(obj: Plain, kind: str, group: str, version: str) -> Plain:
    return of_kind(group, version, kind).to_storage(obj)


def from_storage(obj: Plain, kind: str, group: str, version: str) -> Plain:
    return of_kind(group, version, kind).from_storage(obj)

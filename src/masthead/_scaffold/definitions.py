"""The CustomResourceDefinitions of an operator's classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from masthead._customresource.rendering import with_integers
from masthead._customresource.resource import CustomResource
from masthead._customresource.sources import crds
from masthead._meta.registry import registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from masthead._controller.manager import Manager

__all__ = ["definition_objects"]


def definition_objects(manager: Manager) -> Iterator[Mapping[str, object]]:
    """Yield the definitions with all registered versions, including versions that no controller uses.

    Raises:
        CustomResourceError: If versions are inconsistent.
    """
    classes = [
        version
        for controller in manager.controllers
        for spec in controller.specs
        if isinstance(spec.kind, type) and issubclass(spec.kind, CustomResource)
        for version in _versions_of(spec.kind)
    ]
    for definition in crds(*classes):
        yield cast("Mapping[str, object]", with_integers(definition.to_dict()))


def _versions_of(cls: type[CustomResource]) -> Iterator[type[CustomResource]]:
    yield cls
    for gvk in sorted(registry.kinds()):
        if gvk.group_kind == cls.GVK.group_kind and gvk != cls.GVK:
            found = registry.class_of(gvk)
            if issubclass(found, CustomResource):
                yield found

"""The CustomResourceDefinitions of an operator's classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from masthead._customresource.rendering import with_integers
from masthead._customresource.resource import CustomResource
from masthead._customresource.sources import crds
from masthead._meta.registry import registry
from masthead._webhook.configurations import conversion_of
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from masthead._controller.manager import Manager
    from masthead._webhook.locations import Locate

__all__ = ["custom_resources", "definition_objects"]


def definition_objects(
    manager: Manager, locate: Locate | None = None, annotations: Mapping[str, str] | None = None
) -> Iterator[Mapping[str, object]]:
    """Yield the definitions with all registered versions, including versions that no controller uses.

    Args:
        manager: The manager.
        locate: Returns the ``clientConfig`` of the manager's conversions; None to leave them out.
        annotations: Annotations of definitions with conversions.

    Raises:
        CustomResourceError: If versions are inconsistent.
        ConfigError: If a version cannot be converted.
    """
    versions = {} if locate is None else _converted_versions(manager)
    for definition in crds(*custom_resources(manager)):
        plain = cast("dict[str, Any]", with_integers(definition.to_dict()))
        known = versions.get(definition.metadata.name)
        # A conversion in the class names a webhook server of the user.
        if known and locate is not None and "conversion" not in plain["spec"]:
            _check_versions(plain, known)
            plain["spec"]["conversion"] = conversion_of(locate)
            if annotations:
                plain["metadata"]["annotations"] = {**plain["metadata"].get("annotations", {}), **annotations}
        yield plain


def _converted_versions(manager: Manager) -> dict[str, set[str]]:
    """Return the convertible versions by the name of their definition."""
    return {
        f"{resource.name}.{classes[0].GVK.group}": {cls.GVK.version for cls in classes}
        for classes in manager.webhooks.converted_classes()
        if (resource := classes[0].RESOURCE) is not None
    }


def _check_versions(definition: Mapping[str, Any], known: set[str]) -> None:
    for version in definition["spec"]["versions"]:
        if version["served"] and version["name"] not in known:
            raise ConfigError(
                f"{definition['metadata']['name']} is served in {version['name']}, and has conversions of other "
                "versions only; declare its conversions with @manager.convert"
            )


def custom_resources(manager: Manager) -> list[type[CustomResource]]:
    """Return the custom resources that a manager reconciles, reads, admits or converts, in all registered versions."""
    kinds: list[object] = [spec.kind for controller in manager.controllers for spec in controller.specs]
    kinds += [webhook.kind for webhook in manager.webhooks.admission]
    kinds += [spec.source for spec in manager.webhooks.conversions]
    own = {kind.GVK: kind for kind in kinds if isinstance(kind, type) and issubclass(kind, CustomResource)}
    # Another module may have registered a class of the same name and version: the manager's own count.
    others = {version.GVK: version for kind in own.values() for version in _other_versions(kind)}
    return [*own.values(), *(version for gvk, version in others.items() if gvk not in own)]


def _other_versions(cls: type[CustomResource]) -> Iterator[type[CustomResource]]:
    for gvk in sorted(registry.kinds()):
        if gvk.group_kind == cls.GVK.group_kind and gvk != cls.GVK:
            found = registry.class_of(gvk)
            if issubclass(found, CustomResource):
                yield found

"""The definitions of classes and modules."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from masthead._customresource.resource import CustomResource, definition_of_classes
from masthead._module import set_module
from masthead.errors import CustomResourceError

if TYPE_CHECKING:
    from masthead.api.apiextensions.v1 import CustomResourceDefinition

__all__ = ["classes_in", "crds"]


@set_module("masthead.crd")
def crds(*sources: ModuleType | type[CustomResource]) -> list[CustomResourceDefinition]:
    """Return the CustomResourceDefinitions of classes, sorted by name.

    Classes of one group and kind are versions of one definition. The text is deterministic:
    ``[crd.to_yaml() for crd in crds(my_module)]``.

    Args:
        sources: Classes, and modules for all custom resources among their names.

    Raises:
        CustomResourceError: If a module has no custom resource, or versions are inconsistent.
    """
    kinds: dict[tuple[str, str], list[type[CustomResource]]] = {}
    for source in sources:
        for cls in classes_in(source):
            known = kinds.setdefault((cls.GVK.group, cls.GVK.kind), [])
            if cls not in known:
                known.append(cls)
    made = [definition_of_classes(classes) for classes in kinds.values()]
    return sorted(made, key=lambda each: each.metadata.name)


def classes_in(source: ModuleType | type[CustomResource]) -> list[type[CustomResource]]:
    """Return the custom resources of a module, or the class itself.

    Raises:
        CustomResourceError: If a module has none.
    """
    if not isinstance(source, ModuleType):
        return [source]
    found = [
        var
        for var in vars(source).values()
        if isinstance(var, type) and issubclass(var, CustomResource) and var.GVK.kind
    ]
    if not found:
        raise CustomResourceError("the module has no custom resource", path=source.__name__)
    return list(dict.fromkeys(found))

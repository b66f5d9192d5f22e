"""The base of the clientset's API groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from masthead._client.resource_target import typed_target
from masthead._meta.registry import registry
from masthead._module import set_module

if TYPE_CHECKING:
    from masthead._client.base import ClientContext
    from masthead._client.resource_target import ResourceTarget
    from masthead._meta.gvk import GroupVersion

__all__ = ["Group"]


@set_module("masthead.aio.clientset")
class Group:
    """The resources of one API group at one version.

    Attributes:
        GROUP_VERSION: The group and version.
    """

    GROUP_VERSION: ClassVar[GroupVersion]

    def __init__(self, context: ClientContext) -> None:
        self._context = context
        self._targets: dict[str, ResourceTarget[Any]] = {}

    def _target(self, kind: str) -> ResourceTarget[Any]:
        """The target of a kind, whose module is imported on first use."""
        found = self._targets.get(kind)
        if found is None:
            found = self._targets[kind] = typed_target(registry.object_class(self.GROUP_VERSION.kind(kind)))
        return found

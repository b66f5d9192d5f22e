"""One resource in one version, as a server serves it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersion
from masthead._meta.quoting import quoted
from masthead.errors import UnknownKindError
from masthead_server import scheme
from masthead_server.resources.behavior import NO_SUBRESOURCE
from masthead_server.resources.codec import GoCodec
from masthead_server.resources.names import path_segment
from masthead_server.resources.storage_version_hash import storage_version_hash
from masthead_server.wire.failures import StatusFailure, bad_request, not_found
from masthead_server.wire.request import (
    APPLY_PATCH_TYPE,
    JSON_PATCH_TYPE,
    MERGE_PATCH_TYPE,
    STRATEGIC_MERGE_PATCH_TYPE,
)

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
    from masthead._meta.object import Object
    from masthead._meta.resource import Resource
    from masthead._printers.printer import Printer
    from masthead_server.field_managers.field_manager import FieldManager
    from masthead_server.resources.behavior import Behavior, StrategyHooks, SubresourceBehavior, WarningHooks
    from masthead_server.resources.codec import ObjectCodec
    from masthead_server.resources.custom.definition import DefinitionVersion
    from masthead_server.resources.description import ResourceDescription
    from masthead_server.resources.field_selectors import SelectableFields
    from masthead_server.resources.strategy import Strategy
    from masthead_server.storage import Record
    from masthead_server.wire.plain import Plain

__all__ = ["ServedResource"]

_CUSTOM_PATCHES: Final = (JSON_PATCH_TYPE, MERGE_PATCH_TYPE, APPLY_PATCH_TYPE)
_PATCHES: Final = (JSON_PATCH_TYPE, MERGE_PATCH_TYPE, STRATEGIC_MERGE_PATCH_TYPE, APPLY_PATCH_TYPE)


class ServedResource:
    """One resource in one version: its names, its description, and the codec of its objects.

    Args:
        gvk: Its kind.
        resource: Its names, scope, verbs and subresources.
        description: What else the server knows of the resource.
        codec: Encodes and decodes its objects.
        verbs: The verbs that are served; by default those of `resource`, which discovery shows.
        list_kind: The kind of its lists; by default the kind with ``List`` appended.
        deprecation_warning: The warning that every request gets, also if it fails; empty for none.
        definition: What defines a custom resource; None for a built-in one.
    """

    def __init__(
        self,
        gvk: GroupVersionKind,
        resource: Resource,
        description: ResourceDescription,
        codec: ObjectCodec,
        *,
        verbs: frozenset[str] | None = None,
        list_kind: str = "",
        deprecation_warning: str = "",
        definition: DefinitionVersion | None = None,
    ) -> None:
        self.description = description
        self.codec = codec
        self.definition = definition
        self.gvk = gvk
        self.gvr: GroupVersionResource = gvk.group_version.resource(resource.name)
        self.resource = resource
        self.group: str = gvk.group
        self.version: str = gvk.version
        self.kind: str = gvk.kind
        self.list_kind: str = list_kind or f"{gvk.kind}List"
        self.api_version: str = gvk.api_version
        self.name: str = resource.name
        self.verbs: frozenset[str] = frozenset(resource.verbs) if verbs is None else verbs
        self.is_namespaced: bool = resource.namespaced
        self.patch_types: tuple[str, ...] = _PATCHES if definition is None else _CUSTOM_PATCHES
        """The media types of the patches that it accepts, in the order in which messages list them."""
        self.is_stored: bool = description.is_stored
        self.strategy: Strategy = description.strategy
        self.deprecation_warning = deprecation_warning
        self.has_own_shape: bool = self.version in description.converted
        self.stored_as: GroupVersion = description.stored_as or _foremost(gvk, resource.name)
        self.stored_group: str = self.stored_as.group
        self.field_managers: dict[str, FieldManager] = {}
        """The field managers of its subresources and, by the empty name, of the objects; created when first used."""
        self.table: str = f"{self.stored_group}/{self.name}" if self.stored_group else self.name

    @classmethod
    def builtin(cls, kind: type[Object], description: ResourceDescription) -> ServedResource:
        """Return the resource of a built-in kind.

        Args:
            kind: The generated class: its names, verbs, subresources and fields.
            description: What else the server knows of the resource.

        Raises:
            UnknownKindError: If the kind is not served as a resource.
        """
        gvk, resource = kind.GVK, kind.RESOURCE
        if resource is None:
            raise UnknownKindError(f"{gvk} is not served as a resource")
        stored_as = description.stored_as or _foremost(gvk, resource.name)
        is_converted = gvk.version in description.converted
        conversion = (lambda: description.behavior().conversions[gvk.version]) if is_converted else None
        codec = GoCodec(kind, stored_as, conversion)
        fate = description.deprecated.get(gvk.version)
        warning = f"{gvk.api_version} {gvk.kind} is deprecated in {fate}" if fate else ""
        return cls(gvk, resource, description, codec, deprecation_warning=warning)

    @functools.cached_property
    def behavior(self) -> Behavior:
        """The code of the resource; its modules are imported now."""
        return self.description.behavior()

    @property
    def is_custom(self) -> bool:
        """Whether a CustomResourceDefinition defines it."""
        return self.definition is not None

    @property
    def converts_by_webhook(self) -> bool:
        """Whether a webhook converts its objects between versions."""
        return self.definition is not None and self.definition.definition.has_webhook

    @property
    def registry_name(self) -> str:
        """The name of its objects' place in kube-apiserver's storage, which messages mention."""
        return f"{self.group}/{self.name}" if self.is_custom else self.name

    @property
    def selectable(self) -> SelectableFields:
        """The fields that a field selector may name."""
        return self.description.selectable

    @functools.cached_property
    def printer(self) -> Printer:
        """The columns of a table of its objects, and their cells; its modules are imported now."""
        # Definitions describe their own columns.
        if self.description.printer is not None:
            return self.description.printer()
        from masthead._printers.kinds import printer_for

        return printer_for(self.stored_group, self.kind)

    @property
    def storage_version_hash(self) -> str:
        """The hash of the kind that objects are stored as; empty if none are."""
        return storage_version_hash(*self.stored_as_kind) if self.is_stored else ""

    @property
    def stored_as_kind(self) -> tuple[str, str, str]:
        """The group, version and kind that objects are stored as."""
        return (self.stored_as.group, self.stored_as.version, self.kind)

    def apply_defaults(self, obj: Plain) -> None:
        """Set, in place, the defaults of an object of this version, whose fields have the right types.

        Doing it twice changes nothing more. Structs that Go writes even when they are empty are not added.
        """
        behavior = self.behavior
        fill = behavior.defaults_by_version.get(self.version, behavior.defaults)
        if fill is not None:
            fill(obj)

    def subresource(self, name: str) -> SubresourceBehavior:
        """Return the behavior of a subresource that is written as the object itself."""
        return self.behavior.subresources.get(name, NO_SUBRESOURCE)

    def hooks_for(self, subresource: str) -> StrategyHooks:
        """Return the strategy of a write to a subresource; empty for the object itself."""
        if not subresource or subresource == "status":
            return self.behavior.hooks
        return self.subresource(subresource).hooks

    def warnings_for(self, subresource: str) -> WarningHooks:
        """Return the warnings of a write to a subresource; empty for the object itself."""
        return self.subresource(subresource).warnings if subresource else self.behavior.warnings

    def delete_warnings(self, *, policy: str | None, orphans: bool | None) -> list[str]:
        """Return the warnings of a DELETE, whether or not there is such an object.

        Args:
            policy: The ``propagationPolicy`` of the options.
            orphans: The ``orphanDependents`` of the options.
        """
        warning = self.behavior.delete_warning
        return [warning] if warning and policy is None and orphans is None else []

    def key(self, namespace: str, name: str) -> str:
        """Return the key of an object in its table."""
        return f"{namespace}/{name}" if self.is_namespaced else name

    def place(self, namespace: str, name: str) -> str:
        """Return the key of an object that a client names.

        Raises:
            StatusFailure: If no object can have that name.
        """
        # Such a name cannot come from a client that escapes its paths correctly.
        if problems := path_segment(name):
            raise bad_request(f"Name parameter invalid: {quoted(name)}: {';'.join(problems)}")
        return self.key(namespace, name)

    def split(self, key: str) -> tuple[str, str]:
        """Return the namespace and the name of a key."""
        namespace, _, name = key.rpartition("/") if self.is_namespaced else ("", "", key)
        return namespace, name

    def to_storage(self, found: Plain) -> Plain:
        """Convert an object of this version to the stored version."""
        return self.behavior.conversions[self.version].to_storage(found) if self.has_own_shape else found

    def from_storage(self, found: Plain) -> Plain:
        """Convert a stored object to this version."""
        return self.behavior.conversions[self.version].from_storage(found) if self.has_own_shape else found

    def load(self, record: Record) -> Plain:
        """Decode a stored object, without kind and apiVersion; a built-in one in the stored version."""
        return self.codec.load(record.value)

    def dump(self, found: Plain) -> bytes:
        """Encode an object, as `load` returns it, for the storage."""
        return self.codec.dump(found)

    def printable(self, value: bytes) -> Plain:
        """Decode a stored object for its printer; columns of a custom resource may show its kind and version."""
        found = self.codec.load(value)
        return {**found, "apiVersion": self.api_version, "kind": self.kind} if self.is_custom else found

    def missing(self, name: str) -> StatusFailure:
        """Return the response about an object that does not exist."""
        return not_found(self.group, self.name, name)


def _foremost(gvk: GroupVersionKind, resource: str) -> GroupVersion:
    """The foremost version of the scheme that serves a resource; its own if the scheme does not have it."""
    for version in scheme.VERSIONS.get(gvk.group, ()):
        if resource in scheme.kinds_in(gvk.group, version).values():
            return GroupVersion(gvk.group, version)
    return gvk.group_version

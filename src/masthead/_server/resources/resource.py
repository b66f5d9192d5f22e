"""One resource in one version, as a server serves it."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from masthead._meta.gvk import GroupVersion
from masthead._schema.errors import quoted
from masthead._server import scheme
from masthead._server.resources.behavior import NO_SUBRESOURCE
from masthead._server.resources.go_decoder import decoder_of
from masthead._server.resources.names import path_segment
from masthead._server.resources.versions import storage_version_hash
from masthead._server.wire.failures import StatusFailure, bad_request, not_found
from masthead._server.wire.request import JSON_PATCH_TYPE, MERGE_PATCH_TYPE
from masthead.errors import UnknownKindError

if TYPE_CHECKING:
    from masthead._meta.apitype import ApiType
    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
    from masthead._meta.object import Object
    from masthead._printers.printer import Printer
    from masthead._server.resources.behavior import Behavior, StrategyHooks, SubresourceBehavior, WarningHooks
    from masthead._server.resources.description import ResourceDescription
    from masthead._server.resources.field_selectors import SelectableFields
    from masthead._server.resources.go_decoder import GoDecoder
    from masthead._server.storage import Record
    from masthead._server.wire.plain import Plain

__all__ = ["ServedResource"]

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


class ServedResource:
    """One resource in one version: its names, its description, and the bytes of its objects.

    A stored object is kept as the text of its JSON after ``"apiVersion"``. So any version of its kind is written by
    putting that version's head in front, and an item of a list by a brace alone, which is how kube-apiserver writes
    items.

    Args:
        cls: The class of the kind: its names, verbs, subresources and fields.
        description: What else the server knows of the resource.
    """

    def __init__(self, cls: type[Object], description: ResourceDescription) -> None:
        resource = cls.RESOURCE
        if resource is None:
            raise UnknownKindError(f"{cls.GVK} is not served as a resource")
        self.cls = cls
        self.description = description
        self.gvk: GroupVersionKind = cls.GVK
        self.gvr: GroupVersionResource = cls.GVK.group_version.resource(resource.name)
        self.resource = resource
        self.group = cls.GVK.group
        self.version = cls.GVK.version
        self.kind = cls.GVK.kind
        self.api_version = cls.GVK.api_version
        self.name = resource.name
        self.verbs = frozenset(resource.verbs)
        self.is_namespaced = resource.namespaced
        self.patch_types = frozenset({JSON_PATCH_TYPE, MERGE_PATCH_TYPE})
        """The media types of the patches that it accepts."""
        self.head = f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'.encode()
        self.is_custom = description.is_custom
        self.is_stored = description.is_stored
        self.strategy = description.strategy
        fate = description.deprecated.get(self.version)
        self.deprecation_warning = f"{self.api_version} {self.kind} is deprecated in {fate}" if fate else ""
        """The warning that every request to a deprecated version gets, also if it fails; empty for others."""
        self.has_own_shape = self.version in description.converted
        self.stored_as = description.stored_as or self._foremost()
        self.stored_group = self.stored_as.group
        self.table = f"{self.stored_group}/{self.name}" if self.stored_group else self.name

    def _foremost(self) -> GroupVersion:
        """The foremost version of the scheme that serves the resource; for a custom resource, its own."""
        for version in scheme.VERSIONS.get(self.group, ()):
            if self.name in scheme.kinds_in(self.group, version).values():
                return GroupVersion(self.group, version)
        return self.gvk.group_version

    @functools.cached_property
    def decoder(self) -> GoDecoder:
        """The decoder of the kind."""
        return decoder_of(cast("ApiType", self.cls))

    @functools.cached_property
    def stored_decoder(self) -> GoDecoder:
        """The decoder of the kind in the version in which its objects are stored."""
        if not self.has_own_shape:
            return self.decoder
        return decoder_of(cast("ApiType", scheme.object_class(self.stored_as.kind(self.kind))))

    @functools.cached_property
    def behavior(self) -> Behavior:
        """The code of the resource; its modules are imported now."""
        return self.description.behavior()

    @functools.cached_property
    def selectable(self) -> SelectableFields:
        """The fields that a field selector may name."""
        found = self.description.selectable
        return replace(found, has_namespace=False) if self.is_custom and not self.is_namespaced else found

    @functools.cached_property
    def printer(self) -> Printer:
        """The columns of a table of its objects, and their cells; its modules are imported now."""
        if self.description.printer is not None:
            return self.description.printer()
        from masthead._printers.registry import printer_for

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
        """Decode a stored object, in the stored version and without kind and apiVersion."""
        return cast("Plain", _decode(b"{" + record.value))

    def dump(self, found: Plain) -> bytes:
        """Encode an object for the storage; it must be in the stored version."""
        body: dict[str, Any] = {"metadata": found["metadata"]}
        body.update((key, value) for key, value in found.items() if key not in _HEAD)
        return _encode(body)[1:]

    def tail(self, value: bytes) -> bytes:
        """Return what follows the head of a stored object in this version."""
        if not self.has_own_shape:
            return value
        return self.dump(self._shaped(cast("Plain", _decode(b"{" + value))))

    def printable(self, value: bytes) -> Plain:
        """Decode a stored object for its printer."""
        return cast("Plain", _decode(b"{" + (self.tail(value) if self.is_custom else value)))

    def write(self, value: bytes) -> bytes:
        """Encode a stored object in this version."""
        return self.head + self.tail(value)

    def encode(self, found: Plain) -> bytes:
        """Encode an object in the stored version that is not stored, or not yet, in this version."""
        return self.head + self.dump(self._shaped(found))

    def _shaped(self, found: Plain) -> Plain:
        """Convert a stored object to this version, with the fields that Go writes even if they are unset."""
        if not self.has_own_shape:
            return found
        complete, _ = self.decoder.clean(self.from_storage(found))
        return complete

    def blank(self, metadata: Plain) -> bytes:
        """Encode an object that has nothing but some metadata, and the fields that Go writes even if they are unset."""
        cleaned, _ = self.decoder.clean({})
        return self.head + self.dump({**cleaned, "metadata": metadata})

    def missing(self, name: str) -> StatusFailure:
        """Return the response about an object that does not exist."""
        return not_found(self.group, self.name, name)


_HEAD: Final = frozenset({"metadata", "kind", "apiVersion"})

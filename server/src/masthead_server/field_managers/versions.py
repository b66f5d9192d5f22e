"""The versions of a kind: conversion of its objects, and their merge types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, cast

from masthead._meta.gvk import GroupVersion
from masthead._schema.builtin.definitions import DEFINITIONS, name_of
from masthead._schema.openapi import custom_object
from masthead._schema.schema import Schema
from masthead._schema.structured_merge.type_checking import errors_text, type_errors
from masthead._schema.structured_merge.types import MergeTypes
from masthead.errors import ArgumentError
from masthead_server import scheme
from masthead_server.resources.go_decoder import decoder_of
from masthead_server.resources.go_values import Mismatch
from masthead_server.resources.unstructured import restore

if TYPE_CHECKING:
    from masthead._meta.apitype import ApiType
    from masthead._meta.gvk import GroupVersionKind
    from masthead._schema.structured_merge.types import MergeType
    from masthead_server.resources.custom.codec import SchemaCodec
    from masthead_server.resources.custom.definition import DefinitionVersion
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["BuiltinVersions", "CustomVersions", "KindVersions", "UnstoredVersions", "versions_of"]

_TYPES: Final = MergeTypes(DEFINITIONS)
"""The merge types of built-in types; custom resources refer to them for their metadata."""


class KindVersions(Protocol):
    """The versions of a kind. Objects have apiVersion and kind, except for stored ones."""

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind, in the version of the request."""
        ...

    @property
    def is_fixed(self) -> bool:
        """Whether the types never change, as those of built-in kinds."""
        ...

    def from_storage(self, found: Plain) -> Plain:
        """Return a stored object in the version of the request.

        Raises:
            ArgumentError: If a value does not have the type that the schema declares.
        """
        ...

    def blank(self) -> Plain:
        """Return an empty object in the version of the request."""
        ...

    def convert(self, value: Plain, to: str) -> Plain | None:
        """Return an object in another version; None if there is no such version.

        Raises:
            ArgumentError: If the result does not have the types that the schema declares, or has duplicate items.
            StatusFailure: If it cannot be converted.
            ConversionPending: If a webhook has to convert it first.
        """
        ...

    def type_of(self, api_version: str) -> MergeType:
        """Return the type of the objects of a version that `convert` converts to."""
        ...


def versions_of(served: ServedResource) -> KindVersions:
    """Return the versions of a resource."""
    return BuiltinVersions(served) if served.definition is None else CustomVersions(served, served.definition)


class BuiltinVersions:
    """The versions of a built-in kind."""

    is_fixed = True

    def __init__(self, served: ServedResource) -> None:
        self.gvk = served.gvk
        self._served = served
        self._head = _head(served.gvk)
        self._types: dict[str, MergeType] = {}

    def from_storage(self, found: Plain) -> Plain:
        """Return a stored object in the version of the request."""
        # Most versions have the form of storage, and need no conversion.
        if not self._served.has_own_shape:
            return {**self._head, **found}
        return {**self._head, **self._served.codec.decode(self._served.from_storage(found))[0]}

    def blank(self) -> Plain:
        """Return an empty object, with the structs that Go writes even if they are empty."""
        return {**self._head, **self._served.codec.blank({})}

    def convert(self, value: Plain, to: str) -> Plain | None:
        """Return an object in another version of its group; None if the scheme does not have it.

        Raises:
            ArgumentError: If a value does not fit its field, or if a set or a list with keys has duplicate items.
        """
        source: str = value["apiVersion"]
        if source == to:
            return value
        target = GroupVersion.parse(to).kind(self.gvk.kind)
        # kube-apiserver does not find the same objects in another group: it looks up types by group.
        if target.group != self.gvk.group or not scheme.is_registered(target):
            return None
        conversions = self._served.behavior.conversions
        found = _without_head(value)
        # By way of the stored form: versions are converted to it and from it, never directly.
        if (known := conversions.get(GroupVersion.parse(source).version)) is not None:
            found = known.to_storage(found)
        if (known := conversions.get(target.version)) is not None:
            found = known.from_storage(found)
        try:
            complete = _complete(target, found)
        except Mismatch:
            raise ArgumentError(_unconvertible(value, GroupVersion.parse(source).kind(self.gvk.kind))) from None
        converted = {**_head(target), **complete}
        _check(converted, self.type_of(to), allow_duplicates=False)
        return converted

    def type_of(self, api_version: str) -> MergeType:
        """Return the type of the objects of a version."""
        found = self._types.get(api_version)
        if found is None:
            kind = GroupVersion.parse(api_version).kind(self.gvk.kind)
            found = self._types[api_version] = _builtin_type(kind)
        return found


class CustomVersions:
    """The versions of the kind of a CustomResourceDefinition."""

    is_fixed = False

    def __init__(self, served: ServedResource, version: DefinitionVersion) -> None:
        self.gvk = served.gvk
        self._served = served
        self._definition = version.definition
        self._head = _head(served.gvk)
        self._types: dict[str, MergeType] = {}

    def from_storage(self, found: Plain) -> Plain:
        """Return an object with its kind; the codec has read it in the version of the request already.

        Raises:
            ArgumentError: If a value does not have the type that the schema declares.
        """
        value = {**self._head, **found}
        # Stored objects may have duplicates from before the schema forbade them.
        _check(value, self.type_of(self.gvk.api_version), allow_duplicates=True)
        return value

    def blank(self) -> Plain:
        """Return an empty object."""
        return {**self._head, "metadata": {}}

    def convert(self, value: Plain, to: str) -> Plain | None:
        """Return an object in another version of the definition, served or not; never None.

        Raises:
            ArgumentError: If a value does not have the type that the schema of that version declares.
            StatusFailure: If the definition does not have the version, or if the object cannot be converted.
            ConversionPending: If a webhook has to convert it first.
        """
        source: str = value["apiVersion"]
        if source == to:
            return value
        codec = cast("SchemaCodec", self._served.codec)
        found = codec.convert(_without_head(value), source, to)
        converted = {**_head(GroupVersion.parse(to).kind(self.gvk.kind)), **found}
        _check(converted, self.type_of(to), allow_duplicates=False)
        return converted

    def type_of(self, api_version: str) -> MergeType:
        """Return the type of the objects of a version."""
        found = self._types.get(api_version)
        if found is None:
            version = self._definition.versions[GroupVersion.parse(api_version).version]
            # A definition without a schema has the type of unstructured data.
            schema = version.schema if version.schema != Schema() else None
            found = self._types[api_version] = _TYPES.of(custom_object(schema, version.gvk))
        return found


class UnstoredVersions:
    """A kind that is not stored and has a single version: scales and token requests."""

    is_fixed = True

    def __init__(self, gvk: GroupVersionKind) -> None:
        self.gvk = gvk

    def from_storage(self, found: Plain) -> Plain:
        """Return an object with its kind, and with the structs that Go writes even if they are empty."""
        return {**_head(self.gvk), **_complete(self.gvk, found)}

    def blank(self) -> Plain:
        """Return an empty object."""
        return self.from_storage({})

    def convert(self, value: Plain, to: str) -> Plain | None:
        """Return the object itself; None in any other version."""
        return value if to == self.gvk.api_version else None

    def type_of(self, api_version: str) -> MergeType:
        """Return the type of the kind."""
        del api_version
        return _builtin_type(self.gvk)


def _builtin_type(gvk: GroupVersionKind) -> MergeType:
    return _TYPES.named(name_of(cast("ApiType", scheme.object_class(gvk))))


def _unconvertible(value: Plain, gvk: GroupVersionKind) -> str:
    """Return the message about an object that does not have the types of its kind."""
    kind = f"{gvk.api_version}, Kind={gvk.kind}"
    try:
        restore(value, cast("ApiType", scheme.object_class(gvk)))
    except Mismatch as error:
        return f"unable to convert unstructured object to {kind}: {error}"
    return f"unable to convert unstructured object to {kind}"


def _check(value: Plain, of: MergeType, *, allow_duplicates: bool) -> None:
    if errors := type_errors(value, of, allow_duplicates=allow_duplicates):
        raise ArgumentError(errors_text(errors))


def _complete(gvk: GroupVersionKind, found: Plain) -> Plain:
    """Return an object with the structs that Go writes even if they are empty."""
    return decoder_of(cast("ApiType", scheme.object_class(gvk))).clean(found)[0]


def _head(gvk: GroupVersionKind) -> Plain:
    return {"apiVersion": gvk.api_version, "kind": gvk.kind}


def _without_head(found: Plain) -> Plain:
    return {name: value for name, value in found.items() if name not in {"apiVersion", "kind"}}

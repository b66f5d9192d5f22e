"""One resource in one version, as a server serves it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead._server import scheme
from masthead._server.resources import conversion
from masthead._server.resources.names import path_segment
from masthead._server.resources.rules import rules_of
from masthead._server.resources.schema import schema_of
from masthead._server.resources.strategy import strategy_of
from masthead._server.wire.failures import StatusFailure, bad_request, not_found, quoted
from masthead._server.wire.patches import JSON_PATCH, MERGE_PATCH
from masthead.errors import UnknownKindError

if TYPE_CHECKING:
    from masthead._meta.apitype import ApiType
    from masthead._meta.object import Object
    from masthead._server.resources.rules import StrategyHooks
    from masthead._server.resources.schema import Schema
    from masthead._server.resources.strategy import Strategy
    from masthead._server.storage import Record
    from masthead._server.wire.plain import Plain

__all__ = ["ServedResource"]

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


class ServedResource:
    """One resource in one version: what it is called, how its objects behave, and how they are written.

    A stored object is kept as the text of its JSON from behind ``"apiVersion"`` on. So any version of its kind is
    answered by putting that version's beginning in front, and an item of a list by a brace alone, which is how
    kube-apiserver writes items.

    Args:
        cls: The generated class of the kind.
    """

    def __init__(self, cls: type[Object]) -> None:
        resource = cls.RESOURCE
        if resource is None:
            raise UnknownKindError(f"{cls.GVK} is not served as a resource")
        self.cls = cls
        self.gvk: GroupVersionKind = cls.GVK
        self.resource = resource
        self.gvr: GroupVersionResource = cls.GVK.group_version.resource(resource.name)
        self.group = cls.GVK.group
        self.version = cls.GVK.version
        self.kind = cls.GVK.kind
        self.api_version = cls.GVK.api_version
        self.name = resource.name
        self.verbs = frozenset(resource.verbs)
        self.is_namespaced = resource.namespaced
        self.patch_types = frozenset({JSON_PATCH, MERGE_PATCH})
        """The media types of the patches that it accepts."""
        self.head = f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'.encode()
        stored = conversion.storage_of(self.group, self.name)
        self.is_stored = stored is not None
        self.stored_group = stored.group if stored else self.group
        self.table = f"{self.stored_group}/{self.name}" if self.stored_group else self.name

    @functools.cached_property
    def schema(self) -> Schema:
        """The fields of the kind."""
        return schema_of(cast("ApiType", self.cls))

    @functools.cached_property
    def stored_schema(self) -> Schema:
        """The fields of the kind in the shape in which its objects are stored."""
        stored = conversion.storage_of(self.group, self.name)
        if stored is None or not self.has_own_shape:
            return self.schema
        cls = scheme.object_class(GroupVersionKind(stored.group, stored.version, stored.kind))
        return schema_of(cast("ApiType", cls))

    @functools.cached_property
    def strategy(self) -> Strategy:
        """What the generic write path must know."""
        return strategy_of(self.group, self.name)

    @functools.cached_property
    def rules(self) -> StrategyHooks:
        """What is special about the kind."""
        return rules_of(self.group, self.name)

    @functools.cached_property
    def has_own_shape(self) -> bool:
        """Whether objects must be converted between storage and this version."""
        return conversion.has_own_shape(self.kind, self.group, self.version)

    def key(self, namespace: str, name: str) -> str:
        """Where an object lies in its table."""
        return f"{namespace}/{name}" if self.is_namespaced else name

    def place(self, namespace: str, name: str) -> str:
        """Where an object lies that a client named.

        Raises:
            StatusFailure: No object can have that name.
        """
        if problems := path_segment(name):
            raise bad_request(f"Name parameter invalid: {quoted(name)}: {';'.join(problems)}")
        return self.key(namespace, name)

    def split(self, key: str) -> tuple[str, str]:
        """The namespace and the name of the object at a place in the table."""
        namespace, _, name = key.rpartition("/") if self.is_namespaced else ("", "", key)
        return namespace, name

    def to_storage(self, found: Plain) -> Plain:
        """Give an object of this version the shape in which it is stored."""
        return (
            conversion.to_storage(found, self.kind, self.group, self.version) if self.has_own_shape else found
        )

    def from_storage(self, found: Plain) -> Plain:
        """Give a stored object the shape of this version."""
        return (
            conversion.from_storage(found, self.kind, self.group, self.version)
            if self.has_own_shape
            else found
        )

    def load(self, record: Record) -> Plain:
        """Read a stored object, in the shape in which it is stored and without kind and apiVersion."""
        return cast("Plain", _decode(b"{" + record.value))

    def dump(self, found: Plain) -> bytes:
        """Write an object as it is stored; it must be in that shape."""
        body: dict[str, Any] = {"metadata": found["metadata"]}
        body.update((key, value) for key, value in found.items() if key not in _HEAD)
        return _encode(body)[1:]

    def tail(self, value: bytes) -> bytes:
        """What comes after the head when a stored object is written in this version."""
        if not self.has_own_shape:
            return value
        return self.dump(self._shaped(cast("Plain", _decode(b"{" + value))))

    def write(self, value: bytes) -> bytes:
        """Write a stored object out in this version."""
        return self.head + self.tail(value)

    def encode(self, found: Plain) -> bytes:
        """Write out an object that has the stored shape and was not stored, or not yet."""
        return self.head + self.dump(self._shaped(found))

    def _shaped(self, found: Plain) -> Plain:
        """Give a stored object the shape of this version, complete with what Go writes without being told."""
        if not self.has_own_shape:
            return found
        complete, _ = self.schema.clean(self.from_storage(found))
        return complete

    def blank(self, metadata: Plain) -> bytes:
        """Write an object that has nothing but some metadata, and what Go writes without being told."""
        cleaned, _ = self.schema.clean({})
        return self.head + self.dump({**cleaned, "metadata": metadata})

    def missing(self, name: str) -> StatusFailure:
        """There is no such object."""
        return not_found(self.group, self.name, name)


_HEAD: Final = frozenset({"metadata", "kind", "apiVersion"})

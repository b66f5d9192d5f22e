"""Codecs: how bodies become objects of one kind and version, and objects become stored text and responses.

There are two. `GoCodec` decodes as kube-apiserver decodes into its Go structs, and is for the built-in kinds. The
codec of custom resources, `masthead_server.resources.custom.codec.SchemaCodec`, goes by the schema of their
definition.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import msgspec

from masthead_server import scheme
from masthead_server.resources.go_decoder import GoList, GoStruct, decoder_of
from masthead_server.wire.patches import problem_with_kind
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from masthead._meta.apitype import ApiType
    from masthead._meta.gvk import GroupVersion, GroupVersionKind
    from masthead._meta.object import Object
    from masthead_server.resources.behavior import Conversion
    from masthead_server.resources.go_decoder import GoDecoder
    from masthead_server.wire.plain import Plain

__all__ = ["QUICK_ITEMS", "Decoder", "GoCodec", "KindDecoder", "ObjectCodec", "is_same_stored"]

_encode: Final = msgspec.json.Encoder().encode
_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode
_decode: Final = msgspec.json.Decoder().decode
_PARTS: Final = frozenset({"spec", "status"})
QUICK_ITEMS: Final = 300
"""How many objects are decoded and encoded again in the event loop."""


def is_same_stored(one: bytes, other: bytes) -> bool:
    """Tell whether two stored texts are equal objects; the order of fields depends on the version that wrote them."""
    return one == other or _encode_sorted(_decode(b"{" + one)) == _encode_sorted(_decode(b"{" + other))


class Decoder(Protocol):
    """Decodes bodies of one kind in one version."""

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind and version."""
        ...

    def decode(self, body: Plain) -> tuple[Plain, list[str]]:
        """Return the object as the server keeps it, without kind and version, and the paths of unknown fields.

        Raises:
            Mismatch: If a value is not of its field's type.
        """
        ...


class ObjectCodec(Decoder, Protocol):
    """Encodes and decodes the objects of one resource in one version.

    A stored object is the text of its JSON after the opening brace, with or without its kind and apiVersion.
    """

    @property
    def null_lists(self) -> tuple[tuple[str, str], ...]:
        """The lists that are stored as null if empty: their owner, empty for the object itself, and their name."""
        ...

    def load(self, value: bytes) -> Plain:
        """Decode a stored object, without kind and apiVersion."""
        ...

    def dump(self, found: Plain) -> bytes:
        """Encode an object, as `load` returns it, for the storage."""
        ...

    def write(self, value: bytes) -> bytes:
        """Encode a stored object in this version."""
        ...

    def items(self, values: Sequence[bytes]) -> list[bytes]:
        """Encode stored objects in this version as the items of a list."""
        ...

    def is_slow(self, values: Sequence[bytes]) -> bool:
        """Tell whether writing stored objects takes too long for the event loop; then any thread may do it."""
        ...

    def require(self, values: Iterable[bytes]) -> None:
        """Make sure that stored objects can be written in this version without waiting.

        Raises:
            ConversionPending: If a webhook has to convert some of them first.
        """
        ...

    def with_version(self, value: bytes, version: str) -> bytes:
        """Return a stored object with another resourceVersion."""
        ...

    def encode(self, found: Plain) -> bytes:
        """Encode an object of this version that is not stored; its metadata comes first."""
        ...

    def kind_problem(self, patched: Plain) -> str:
        """Return the message about a patch that made an object of another kind; empty if the kind is right."""
        ...

    def blank(self, metadata: Plain) -> Plain:
        """Return an object of this version that has nothing but some metadata."""
        ...

    def blank_status(self) -> Plain | None:
        """Return the status of a new object whose client may not set it; None for none."""
        ...


class KindDecoder:
    """Decodes a built-in kind.

    Args:
        cls: Its generated class.
    """

    def __init__(self, cls: type[Object]) -> None:
        self.gvk = cls.GVK
        self._cls = cls

    @functools.cached_property
    def decoder(self) -> GoDecoder:
        """The decoder of the kind."""
        return decoder_of(cast("ApiType", self._cls))

    def decode(self, body: Plain) -> tuple[Plain, list[str]]:
        """Return the object as the server keeps it, without kind and version, and the paths of unknown fields.

        Raises:
            Mismatch: If a value is not of its field's type.
        """
        cleaned, unknown = self.decoder.clean(body)
        if part(body, "metadata").get("managedFields") == []:
            # Go omits the empty list, but it asks to drop the field managers.
            cleaned["metadata"]["managedFields"] = []
        for owner, name in self.null_lists:
            sent, kept = (part(state, owner) if owner else state for state in (body, cleaned))
            if sent.get(name) == []:
                # It is stored as null, but its sender owns it.
                kept[name] = []
        return cleaned, unknown

    @property
    def null_lists(self) -> tuple[tuple[str, str], ...]:
        """The lists that Go writes as null if empty: their owner, empty for the object itself, and their name."""
        return self._null_lists

    @functools.cached_property
    def _null_lists(self) -> tuple[tuple[str, str], ...]:
        root = self.decoder.root
        owners = {"": root, **{name: value for name, value in root.fields.items() if name in _PARTS}}
        blank = self.decoder.clean({})[0]
        return tuple(
            (owner, name)
            for owner, struct in owners.items()
            if isinstance(struct, GoStruct)
            for name, field in struct.fields.items()
            if isinstance(field, GoList) and (part(blank, owner) if owner else blank).get(name, ()) is None
        )


class GoCodec(KindDecoder):
    """Encodes and decodes the objects of a built-in kind.

    A stored object is the text of its JSON after ``"apiVersion"``. So any version of its kind is written by
    putting that version's head in front, and an item of a list by a brace alone, which is how kube-apiserver writes
    items.

    Args:
        cls: The generated class of the kind.
        stored_as: The group and version in which objects are stored.
        conversion: Returns how objects are converted; None if the version has the stored shape.
    """

    def __init__(self, cls: type[Object], stored_as: GroupVersion, conversion: Callable[[], Conversion] | None) -> None:
        super().__init__(cls)
        self._head = f'{{"kind":"{self.gvk.kind}","apiVersion":"{self.gvk.api_version}",'.encode()
        self._stored_as = stored_as
        self._conversion = conversion

    @functools.cached_property
    def _stored_decoder(self) -> GoDecoder:
        """The decoder of the kind in the version in which its objects are stored."""
        if self._conversion is None:
            return self.decoder
        return decoder_of(cast("ApiType", scheme.object_class(self._stored_as.kind(self.gvk.kind))))

    def load(self, value: bytes) -> Plain:
        """Decode a stored object, in the stored version and without kind and apiVersion."""
        return cast("Plain", _decode(b"{" + value))

    def dump(self, found: Plain) -> bytes:
        """Encode an object for the storage; it must be in the stored version."""
        body: dict[str, Any] = {"metadata": found["metadata"], **found}
        for key in ("kind", "apiVersion"):
            body.pop(key, None)
        return _encode(body)[1:]

    def write(self, value: bytes) -> bytes:
        """Encode a stored object in this version."""
        return self._head + self._tail(value)

    def items(self, values: Sequence[bytes]) -> list[bytes]:
        """Encode stored objects in this version as the items of a list, which have no kind."""
        return [b"{" + self._tail(value) for value in values]

    def is_slow(self, values: Sequence[bytes]) -> bool:
        """Tell whether writing stored objects takes long: if many of them have to be converted."""
        return self._conversion is not None and len(values) > QUICK_ITEMS

    def require(self, values: Iterable[bytes]) -> None:
        """Nothing has to be waited for."""

    def with_version(self, value: bytes, version: str) -> bytes:
        """Return a stored object with another resourceVersion."""
        found = self.load(value)
        found["metadata"]["resourceVersion"] = version
        return self.dump(found)

    def _tail(self, value: bytes) -> bytes:
        """Return what follows the head of a stored object in this version."""
        if self._conversion is None:
            return value
        # With the fields that Go writes even if they are unset.
        complete, _ = self.decoder.clean(self._conversion().from_storage(self.load(value)))
        return self.dump(complete)

    def encode(self, found: Plain) -> bytes:
        """Encode an object of this version that is not stored; its metadata comes first."""
        return self._head + self.dump(found)

    def kind_problem(self, patched: Plain) -> str:
        """Return the message about a patch that made an object of another kind; empty if it did not."""
        return problem_with_kind(patched, self.gvk.kind, self.gvk.api_version)

    def blank(self, metadata: Plain) -> Plain:
        """Return an object that has nothing but some metadata, and the fields that Go writes even if they are unset."""
        cleaned, _ = self.decoder.clean({})
        return {**cleaned, "metadata": metadata}

    def blank_status(self) -> Plain | None:
        """Return an empty status, with the fields that Go writes even if they are unset."""
        return self._stored_decoder.blank("status")

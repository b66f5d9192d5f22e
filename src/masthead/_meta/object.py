"""Objects and lists of the API: typed, and decoded lazily.

An object that came off the wire keeps its bytes. Its metadata is decoded immediately, except for maps and lists; every
other section (``spec``, ``status``, ``data``) holds its part of the bytes until it is first read::

    bytes ──from_wire──> Pod(metadata: decoded, spec: bytes, status: bytes)
                               │ pod.spec.node_name
                               v
                         Pod(metadata: decoded, spec: decoded, status: bytes)

Apart from speed, this is transparent. Thanks to the bytes, a section that was only read is encoded byte for byte as it
came, a copy is a fresh decode, and a modification is detected exactly, by decoding again and comparing.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Self, TypeAlias, TypeVar, cast, overload

import msgspec
from msgspec import UNSET, Raw

from masthead._meta import redacted_repr, shape, wire
from masthead._meta.field_decoder import (
    check_kind,
    decode_by_field,
    read_field,
    resplit_fields,
    subject_in,
    subject_of,
)
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.kinds import TYPE_FIELDS, KindType, ObjectType
from masthead._meta.list_splitter import split_list
from masthead._meta.metadata import ListMeta, ObjectMeta, new_metadata
from masthead._meta.model import Struct, field
from masthead._meta.resource import Resource
from masthead._meta.slots import lazy_members, member_of, members
from masthead._meta.walk import (
    LEAVES,
    decode_lazy_fields,
    fits,
    have_equal_encodings,
    is_blank,
    same,
    set_fields,
    shallow_copy,
    to_encode,
    values,
)
from masthead._module import set_module
from masthead.errors import ArgumentError, DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import MemberDescriptorType

    from masthead._printers.table import PrintedTable

R = TypeVar("R")

Data: TypeAlias = "Mapping[str, object]"
"""Plain data with wire names or Python names, which is checked."""


class WireBacking:
    """Additional slots that msgspec does not see.

    Attributes:
        _source: The bytes that an object was decoded from.
        _sections: The sections of an unstructured object.
    """

    __slots__ = ("_sections", "_source")


SOURCE: Final[Any] = WireBacking.__dict__["_source"]


@set_module("masthead")
class Object(Struct, WireBacking, metaclass=ObjectType):
    """An object of the API: a kind, its metadata and its sections.

    Each kind is a subclass. `from_json`, `from_yaml` and `from_dict` decode and check manifests; `from_wire` decodes
    responses of a server. Objects from a cache are shared: `copy` one before changing it.
    """

    GVK: ClassVar[GroupVersionKind] = GroupVersionKind("", "", "")
    """The kind of this class."""
    RESOURCE: ClassVar[Resource | None] = None
    """Its resource; None for a kind that is only sent to a subresource."""

    _INSTEAD_OF_HASH: ClassVar[str] = "Use its key (namespace/name) or its metadata.uid instead."
    _repr_body = redacted_repr.identity

    api_version: str = ""
    """The group and version, such as `apps/v1`; that of the class unless it is set."""
    kind: str = ""
    """The kind, such as `Deployment`; that of the class unless it is set."""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    """The name, namespace, labels, owners and whatever else all objects have."""

    if TYPE_CHECKING:  # each generated kind declares its sections

        @classmethod
        def new(
            cls,
            name: str = "",
            *,
            namespace: str = "",
            generate_name: str = "",
            labels: dict[str, str] | None = None,
            annotations: dict[str, str] | None = None,
        ) -> Self:
            """Create an object from its name, common metadata, and its sections."""
            ...
    else:

        @classmethod
        def new(cls, name="", *, namespace="", generate_name="", labels=None, annotations=None, **sections):  # noqa: ANN001, ANN003, ANN206
            """Create an object from its name, common metadata, and its sections.

            Args:
                name: Its name; optional if `generate_name` is given.
                namespace: Its namespace.
                generate_name: The prefix of a unique name that the server generates.
                labels: Its labels.
                annotations: Its annotations.
                sections: ``spec``, ``data`` and so on: typed objects, or dicts, which are checked.

            Raises:
                DecodeError: If a section is invalid.
                NameFormatError: If a name or label is invalid.
            """
            metadata = new_metadata(name, namespace, generate_name, labels, annotations)
            try:
                made = cls(metadata=metadata, **sections)
            except DecodeError as error:
                raise _misspelled(cls, sections) or error from None
            SOURCE.__set__(made, None)  # an empty slot would raise, which costs `to_json` 1 µs
            return made

    @classmethod
    def from_wire(cls, data: bytes) -> Self:
        """Decode the metadata of an object as a server encodes it; other sections are decoded lazily.

        Raises:
            DecodeError: If it is not JSON, is of another kind, or its metadata is invalid.
        """
        data = bytes(data)  # a copy, because the caller may reuse its buffer
        try:
            decoded = wire.reader_for(cls).decode(data)
        except msgspec.ValidationError:
            decoded = decode_by_field(cls, data)
        except wire.MALFORMED as error:
            raise DecodeError(wire.malformed(error).problem, kind=cls.__name__) from None
        SOURCE.__set__(decoded, data)
        return cast("Self", decoded)

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Decode JSON that may be written by hand.

        The metadata is checked. Other sections are decoded and checked when they are first read.

        Raises:
            DecodeError: If it is not JSON, has a duplicate key, is of another kind, or its metadata is invalid.
        """
        try:
            text = wire.utf8(data)
            # Only what people write is checked for this; servers do not send duplicate keys.
            wire.refuse_duplicate_keys(text)
        except shape.ShapeError as fault:
            subject = subject_of(data)
            raise DecodeError(fault.problem, kind=cls.__name__, subject=subject, path=fault.path) from None
        made = cls.from_wire(text)
        # Decoding does not raise for invalid metadata: the error is stored as the value.
        for _, value in set_fields(made.metadata):
            if isinstance(value, DecodeError):
                raise DecodeError(value.problem, kind=cls.__name__, subject=made.key, path=value.path)
        return made

    @classmethod
    def from_dict(cls, data: Mapping[str, object], *, strict: bool = False) -> Self:
        """Convert plain data with wire names, such as a parsed manifest, and check all of it.

        Args:
            data: Dicts, lists, strings and numbers; it may contain typed objects.
            strict: Whether unknown fields are rejected instead of preserved.

        Raises:
            DecodeError: If the data does not match the type.
        """
        rules = shape.STRICT if strict else shape.FROM_WIRE
        try:
            check_kind(cls, data)
            return cast("Self", shape.StructShape(cls).build(data, rules))
        except shape.ShapeError as fault:
            raise DecodeError(fault.problem, kind=cls.__name__, subject=subject_in(data), path=fault.path) from None
        except RecursionError:
            raise DecodeError("nested too deeply", kind=cls.__name__, subject=subject_in(data)) from None

    def to_json(self) -> bytes:
        """Encode to compact JSON; unmodified sections byte for byte as they came.

        Raises:
            DecodeError: If a list or map contains a value of a wrong type.
            ArgumentError: If a value cannot be encoded as JSON.
        """
        return wire.encode(self.to_write(typed=True))

    def copy(self) -> Self:
        """Return an independent copy: a fresh decode of the bytes.

        The copy of a modified object counts as unmodified: its bytes are the current encoding.
        """
        source = self.wire_bytes
        cls = cast("type[Self]", type(self).api_type)
        return cls.from_wire(source if source is not None and not self.is_modified() else self.to_json())

    __copy__ = copy

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (type(self).api_type, self.to_json())

    @property
    def key(self) -> str:
        """``namespace/name``, or ``name`` for an object without a namespace."""
        namespace, name = self.metadata.namespace, self.metadata.name
        return f"{namespace}/{name}" if namespace else name

    @property
    def wire_bytes(self) -> bytes | None:
        """The bytes that the object was decoded from; None if it was not decoded."""
        try:
            return cast("bytes | None", SOURCE.__get__(self))
        except AttributeError:
            return None

    def _repr_html_(self) -> str:
        """The object as notebooks show it: YAML without managedFields, and without the values of a Secret."""
        shown: str = _printers().notebook.object_html(self)
        return shown

    def is_modified(self) -> bool:
        """Whether the object differs from the bytes that it was decoded from.

        Exact: only sections that were read can have changed; those are decoded again and compared. An object that was
        not decoded counts as modified.
        """
        source = self.wire_bytes
        if source is None:
            return True
        parts = resplit_fields(self, source)
        return any(
            is_changed(partial(read_field, type(self), name), value, parts.get(wire_name))
            for name, wire_name, _, value in _held(self)
            if name not in TYPE_FIELDS
        )

    def glance(self, look: Callable[[Self], R]) -> R:
        """Return the result of a function of the object, and discard the sections that it decoded."""
        waiting = [(member, value) for member in lazy_members(type(self)) if type(value := member.__get__(self)) is Raw]
        try:
            return look(self)
        finally:
            # Put back, so that the object takes no more memory than before.
            for member, value in waiting:
                member.__set__(self, value)

    @property
    def gvk(self) -> GroupVersionKind:
        """The group, version and kind of the object."""
        return self.GVK

    def decode_error(self, fault: shape.ShapeError) -> DecodeError:
        """Create the error for an invalid field of this object."""
        return DecodeError(fault.problem, kind=type(self).__name__, subject=self.key, path=fault.path)

    def to_write(self, *, typed: bool) -> object:
        """Return a shallow copy to encode, with unmodified fields as raw bytes."""
        source = self.wire_bytes
        parts = resplit_fields(self, source) if source is not None else {}
        result = shallow_copy(self)
        for name, wire_name, member, value in _held(self):
            if name in TYPE_FIELDS:
                if typed:
                    member.__set__(result, getattr(self, name))
                continue
            original, is_leaf = parts.get(wire_name), type(value) in LEAVES
            if type(value) is Raw or (is_leaf and original is None):
                continue
            read = partial(read_field, type(self), name)
            # An unmodified field is written as the bytes that it was read from.
            if original is not None and not is_changed(read, value, original):
                member.__set__(result, original)
            elif not is_leaf and not fits(type(self), name, value):
                member.__set__(result, UNSET if is_blank(value) else self.checked(read, value))
        return result

    def checked(self, read: Callable[[Raw], object], value: object) -> Raw:
        """Encode a field and decode it again, as lists and maps accept values of any type.

        Raises:
            DecodeError: If a value is invalid.
            ArgumentError: If it cannot be encoded as JSON.
        """
        data = Raw(wire.encode(to_encode(value)))
        try:
            decode_lazy_fields(read(data))
        except shape.ShapeError as fault:
            raise self.decode_error(fault) from None
        except DecodeError as error:  # in a lazy field
            raise DecodeError(error.problem, kind=type(self).__name__, subject=self.key, path=error.path) from None
        return data


def is_changed(read: Callable[[Raw], object], value: object, original: Raw | None) -> bool:
    """Whether the encoding of a field differs from its original bytes.

    Args:
        read: Decodes the field's bytes.
        value: The value in its slot.
        original: The bytes that it was decoded from, if any.
    """
    if type(value) is Raw:
        return original is None or bytes(value) != bytes(original)
    if value is UNSET or value is None or is_blank(value):
        return original is not None and bytes(original) != b"null"
    if original is None:
        return True
    try:
        fresh = read(original)
        if have_equal_encodings(fresh, value):
            return False
        text = wire.encode(to_encode(value))
        return wire.encode(to_encode(fresh)) != text and not _say_the_same(fresh, read(Raw(text)))
    except (shape.ShapeError, DecodeError, ArgumentError):
        return True  # one of the two cannot be decoded


def _say_the_same(one: object, other: object) -> bool:
    """Whether two fields are equal once fully decoded, apart from layout and order of keys."""
    for side in (one, other):
        decode_lazy_fields(side)
    left, right = (wire.decode_plain(wire.encode(to_encode(side))) for side in (one, other))
    return same(left, right)


def _held(instance: Struct) -> Iterator[tuple[str, str, MemberDescriptorType, object]]:
    """Yield attribute, wire name, slot and value of every field."""
    cls = type(instance)
    for (name, member, _), wire_name, value in zip(
        members(cls), cls.__struct_encode_fields__, values(instance), strict=True
    ):
        yield name, wire_name, member, value


_NEW: Final = ("name", "namespace", "generate_name", "labels", "annotations")
"""The parameters of `Object.new` other than the sections."""


def _misspelled(cls: type[Object], sections: Mapping[str, object]) -> DecodeError | None:
    """Return the error for an argument of `Object.new` that is neither a section nor common, or None."""
    fields = shape.fields_by_attribute(cls.api_type)
    unknown = next((name for name in sections if name not in fields), None)
    if unknown is None:
        return None
    names = [*_NEW, *(name for name in fields if name not in TYPE_FIELDS and name != "metadata")]
    return DecodeError(shape.unknown_field(cls.api_type, unknown, names), kind=cls.__name__)


def _restore(cls: type[Object | ObjectList[Any]], data: bytes) -> Struct:
    return cls.from_wire(data)


T = TypeVar("T", bound=Object)


@set_module("masthead")
class ObjectList(Struct, Generic[T], metaclass=KindType, in_parts=("items",)):
    """A list as a server returns it: metadata, and items that are decoded lazily.

    Iteration, indexing and ``len`` apply to `items`. Each item has its own bytes: keeping one does not keep the whole
    response in memory.
    """

    GVK: ClassVar[GroupVersionKind] = GroupVersionKind("", "", "")
    """The kind of the list."""
    ITEM: ClassVar[type[Object]] = Object
    """The class of its items."""
    _repr_body = redacted_repr.count

    api_version: str = ""
    kind: str = ""
    metadata: ListMeta = field(default_factory=ListMeta)
    items: list[T] = []

    @classmethod
    def from_wire(cls, data: bytes, *, on_error: Callable[[DecodeError], None] | None = None) -> Self:
        """Decode a list as a server encodes it, with the metadata of its items.

        Args:
            data: The response body.
            on_error: Called for each undecodable item, which is then skipped; its bytes are the error's ``value``.
                Without it, the first such item raises.

        Raises:
            DecodeError: If it is not JSON or not such a list, or an item cannot be decoded.
        """
        data = bytes(data)
        if (quickly := _read_quickly(cls, data)) is not None:
            return quickly
        try:
            decoded = wire.reader_for(cls).decode(data)
        except msgspec.ValidationError:
            decoded = decode_by_field(cls, data)
        except wire.MALFORMED as error:
            raise DecodeError(wire.malformed(error).problem, kind=cls.__name__) from None
        member = member_of(cls, "items")
        if raws := member.__get__(decoded):
            member.__set__(decoded, _decode_items(cls.ITEM, raws, on_error))
        return cast("Self", decoded)

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Decode JSON; the same as `from_wire`, because lists are not written by hand.

        Raises:
            DecodeError: If it is not JSON or not such a list, or an item cannot be decoded.
        """
        try:
            text = wire.utf8(data)
        except shape.ShapeError as fault:
            raise DecodeError(fault.problem, kind=cls.__name__) from None
        return cls.from_wire(text)

    @classmethod
    def from_dict(cls, data: Mapping[str, object], *, strict: bool = False) -> Self:
        """Convert plain data with wire names, and check all of it.

        Args:
            data: Dicts, lists, strings and numbers; it may contain typed objects.
            strict: Whether unknown fields are rejected instead of preserved.

        Raises:
            DecodeError: If the data does not match the type.
        """
        try:
            check_kind(cls, data)
        except shape.ShapeError as fault:
            raise DecodeError(fault.problem, kind=cls.__name__, path=fault.path) from None
        known = {"apiVersion", "kind"} if cls.GVK.kind else set[str]()
        given = {name: value for name, value in data.items() if name not in known}
        return super().from_dict(given, strict=strict)

    def to_json(self) -> bytes:
        """Encode to compact JSON; unmodified parts as they came.

        Raises:
            ArgumentError: If a value cannot be encoded as JSON.
        """
        result = shallow_copy(self)
        for name in TYPE_FIELDS:
            member_of(type(self), name).__set__(result, getattr(self, name))
        metadata = member_of(type(self), "metadata")
        # The slot itself: reading the attribute would create metadata, and change the encoding.
        held = metadata.__get__(self)
        metadata.__set__(result, UNSET if held is None or is_blank(held) else to_encode(held))
        items = [self._item(item).to_write(typed=False) for item in self.items]
        member_of(type(self), "items").__set__(result, items)
        return wire.encode(result)

    def to_table(self, *, wide: bool = False, namespaces: bool = False) -> PrintedTable:
        """Make a table of the objects, with the columns and cells that a server would send; `print` it.

        Args:
            wide: Whether its text has the wide columns.
            namespaces: Whether its text has the namespaces.
        """
        made: PrintedTable = _printers().table.table(self, wide=wide, namespaces=namespaces)
        return made

    def _repr_html_(self) -> str:
        """The list as notebooks show it: a table of at most 200 rows."""
        shown: str = _printers().notebook.list_html(self)
        return shown

    def _item(self, item: object) -> Object:
        """Return an item, converted if it was added as plain data."""
        return item if isinstance(item, Object) else self.ITEM.from_dict(cast("Mapping[str, object]", item))

    def copy(self) -> Self:
        """Return an independent copy."""
        return cast("type[Self]", type(self).api_type).from_wire(self.to_json())

    __copy__ = copy

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (type(self).api_type, self.to_json())

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        return self.items[index]


def _printers() -> Any:  # noqa: ANN401 - a package
    """The printers. They are a layer above, and looked up by name when something is printed."""
    # A submodule is an attribute of its package only after its import.
    importlib.import_module("masthead._printers.notebook")
    return importlib.import_module("masthead._printers")


L = TypeVar("L", bound=ObjectList[Any])


def _read_quickly(cls: type[L], data: bytes) -> L | None:
    """Decode the pieces of `split_list`; None if the list does not have the usual form."""
    pieces = split_list(data)
    if pieces is None:
        return None
    try:
        decoded = wire.reader_for(cls).decode(pieces[0])
        items = list(map(cls.ITEM.from_wire, pieces[1]))
    except (DecodeError, *wire.MALFORMED):
        # The general way locates the error.
        return None
    member_of(cls, "items").__set__(decoded, items)
    return cast("L", decoded)


def _decode_items(
    item: type[Object], raws: Iterable[Raw], on_error: Callable[[DecodeError], None] | None
) -> list[Object]:
    from_wire = item.from_wire
    decoded: list[Object] = []
    for index, raw in enumerate(raws):
        data = bytes(raw)
        try:
            decoded.append(from_wire(data))
        except DecodeError as error:
            # The path of the error starts at the item; users look for it in the list.
            path = f"items[{index}].{error.path}".removesuffix(".")
            placed = DecodeError(error.problem, kind=error.kind, subject=error.subject, path=path)
            placed.value = data
            if on_error is None:
                raise placed from None
            on_error(placed)
    return decoded

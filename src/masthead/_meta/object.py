"""Objects and lists of the API: typed, and decoded only where you look.

An object that came off the wire keeps its bytes. Its metadata is decoded at once, but for the maps and lists in it;
every other section (``spec``, ``status``, ``data``) holds its part of the bytes until it is read for the first time::

    bytes ──from_wire──> Pod(metadata: decoded, spec: bytes, status: bytes)
                               │ pod.spec.node_name
                               v
                         Pod(metadata: decoded, spec: decoded, status: bytes)

Nobody can tell the difference but for the time it takes. Because the bytes are kept, a section that was only
read is written back byte for byte, a copy is a fresh decode, and whether an object was changed is known
exactly: decode it anew and compare.
"""

from __future__ import annotations

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
    fits,
    is_blank,
    read_everything,
    same,
    set_fields,
    shallow_copy,
    to_encode,
    values,
    write_the_same,
)
from masthead.errors import DecodeError, InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import MemberDescriptorType

R = TypeVar("R")

Data: TypeAlias = "Mapping[str, object]"
"""Plain data with the names of the wire or of Python, to be checked."""


class WireBacking:
    """Slots beside msgspec's, of which it need not know.

    Attributes:
        _source: The bytes that an object came from.
        _sections: What an object without a type keeps instead of fields.
    """

    __slots__ = ("_sections", "_source")


SOURCE: Final[Any] = WireBacking.__dict__["_source"]


class Object(Struct, WireBacking, metaclass=ObjectType):
    """An object of the API: a kind, its metadata and its sections.

    Each kind is a subclass. `from_json`, `from_yaml` and `from_dict` read what a person may have written and
    check it; `from_wire` reads what a server sent. Objects from a cache are shared: `copy` before changing one.
    """

    GVK: ClassVar[GroupVersionKind] = GroupVersionKind("", "", "")
    """What objects of this class are."""
    RESOURCE: ClassVar[Resource | None] = None
    """Where they are served; None for a kind that is only sent to a subresource."""

    _INSTEAD_OF_HASH: ClassVar[str] = "Use its key (namespace/name) or its metadata.uid instead."
    _repr_body = redacted_repr.identity

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)

    if TYPE_CHECKING:  # each generated kind says which sections it takes beside these

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
            """Make an object: its name, the metadata that is set most often, and its sections."""
            ...
    else:

        @classmethod
        def new(cls, name="", *, namespace="", generate_name="", labels=None, annotations=None, **sections):  # noqa: ANN001, ANN003, ANN206
            """Make an object: its name, the metadata that is set most often, and its sections.

            Args:
                name: Its name; may be left out where `generate_name` is given.
                namespace: Its namespace.
                generate_name: What the server starts a unique name with.
                labels: Its labels.
                annotations: Its annotations.
                sections: ``spec``, ``data`` and so on: typed objects, or dicts, which are checked.

            Raises:
                DecodeError: If a section does not fit.
                NameFormatError: If a name or label is none.
            """
            metadata = new_metadata(name, namespace, generate_name, labels, annotations)
            made = cls(metadata=metadata, **sections)
            SOURCE.__set__(made, None)  # an empty slot says so with an error, which takes `to_json` 1 µs
            return made

    @classmethod
    def from_wire(cls, data: bytes) -> Self:
        """Read an object as a server wrote it, decoding metadata only.

        Raises:
            DecodeError: If it is not JSON, is of another kind, or its metadata does not fit.
        """
        data = bytes(data)  # or a buffer that is used again would change the object
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
        """Read JSON text that a person may have written.

        All of the metadata is checked. Other sections are decoded, and their mistakes found, when they are read.

        Raises:
            DecodeError: If it is not JSON, has a key twice, is of another kind, or its metadata does not fit.
        """
        try:
            text = wire.utf8(data)
            wire.refuse_duplicate_keys(text)
        except shape.ShapeError as fault:
            subject = subject_of(data)
            raise DecodeError(fault.problem, kind=cls.__name__, subject=subject, path=fault.path) from None
        made = cls.from_wire(text)
        for _, value in set_fields(made.metadata):
            if isinstance(value, DecodeError):
                raise DecodeError(value.problem, kind=cls.__name__, subject=made.key, path=value.path)
        return made

    @classmethod
    def from_dict(cls, data: Mapping[str, object], *, strict: bool = False) -> Self:
        """Take plain data with the names of the wire, such as a parsed manifest, and check all of it.

        Args:
            data: Dicts, lists, strings and numbers; typed objects may stand among them.
            strict: Refuse fields that the type does not know instead of keeping them.

        Raises:
            DecodeError: If something does not fit the type.
        """
        rules = shape.STRICT if strict else shape.FROM_WIRE
        try:
            check_kind(cls, data)
            return cast("Self", shape.StructShape(cls).build(data, rules))
        except shape.ShapeError as fault:
            raise DecodeError(
                fault.problem, kind=cls.__name__, subject=subject_in(data), path=fault.path
            ) from None
        except RecursionError:
            raise DecodeError("nested too deeply", kind=cls.__name__, subject=subject_in(data)) from None

    def to_json(self) -> bytes:
        """Write compact JSON; sections that were not changed as they came, byte for byte.

        Raises:
            DecodeError: If something was put into a list or map that does not belong there.
            InvalidValueError: If something in it cannot be written as JSON.
        """
        return wire.encode(self.to_write(typed=True))

    def copy(self) -> Self:
        """Return an independent copy: a fresh decode of the bytes.

        A copy of an object that was changed starts anew: its bytes are what the object would write now.
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
        """The bytes that the object came from; None if it was made here."""
        try:
            return cast("bytes | None", SOURCE.__get__(self))
        except AttributeError:
            return None

    def is_modified(self) -> bool:
        """Whether the object says something else than the bytes that it came from.

        Exact: only sections that were read can have changed, and those are decoded anew and compared. An
        object that was made here has no bytes, and counts as modified.
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
        """What a function says about the object; what it makes us decode on the way is not kept."""
        waiting = [
            (member, value)
            for member in lazy_members(type(self))
            if type(value := member.__get__(self)) is Raw
        ]
        try:
            return look(self)
        finally:
            for member, value in waiting:
                member.__set__(self, value)

    @property
    def gvk(self) -> GroupVersionKind:
        """What the object is."""
        return self.GVK

    def decode_error(self, fault: shape.ShapeError) -> DecodeError:
        """Say what is wrong with a field of this object."""
        return DecodeError(fault.problem, kind=type(self).__name__, subject=self.key, path=fault.path)

    def to_write(self, *, typed: bool) -> object:
        """A shallow copy to encode, in which what was not changed is its own bytes."""
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
            if original is not None and not is_changed(read, value, original):
                member.__set__(result, original)
            elif not is_leaf and not fits(type(self), name, value):
                member.__set__(result, UNSET if is_blank(value) else self.checked(read, value))
        return result

    def checked(self, read: Callable[[Raw], object], value: object) -> Raw:
        """What is to be written of a field, once it has been read back: lists and maps take anything.

        Raises:
            DecodeError: If it does not fit.
            InvalidValueError: If it cannot be written as JSON.
        """
        data = Raw(wire.encode(to_encode(value)))
        try:
            read_everything(read(data))
        except shape.ShapeError as fault:
            raise self.decode_error(fault) from None
        except DecodeError as error:  # in something that waits to be read
            raise DecodeError(
                error.problem, kind=type(self).__name__, subject=self.key, path=error.path
            ) from None
        return data


def is_changed(read: Callable[[Raw], object], value: object, original: Raw | None) -> bool:
    """Whether a field would be written otherwise than its bytes were.

    Args:
        read: Decodes the field's bytes.
        value: What its slot holds.
        original: The bytes that it came from, if it was there.
    """
    if type(value) is Raw:
        return original is None or bytes(value) != bytes(original)
    if value is UNSET or value is None or is_blank(value):
        return original is not None and bytes(original) != b"null"
    if original is None:
        return True
    try:
        fresh = read(original)
        if write_the_same(fresh, value):
            return False
        text = wire.encode(to_encode(value))
        return wire.encode(to_encode(fresh)) != text and not _say_the_same(fresh, read(Raw(text)))
    except (shape.ShapeError, DecodeError, InvalidValueError):
        return True  # one of the two is broken


def _say_the_same(one: object, other: object) -> bool:
    """Whether two fields are equal once all of both has been read: layout and order mean nothing."""
    for each in (one, other):
        read_everything(each)
    left, right = (wire.decode_plain(wire.encode(to_encode(each))) for each in (one, other))
    return same(left, right)


def _held(instance: Struct) -> Iterator[tuple[str, str, MemberDescriptorType, object]]:
    """The attribute, wire name, slot and value of every field."""
    cls = type(instance)
    for (name, member, _), wire_name, value in zip(
        members(cls), cls.__struct_encode_fields__, values(instance), strict=True
    ):
        yield name, wire_name, member, value


def _restore(cls: type[Object | ObjectList[Any]], data: bytes) -> Struct:
    return cls.from_wire(data)


T = TypeVar("T", bound=Object)


class ObjectList(Struct, Generic[T], metaclass=KindType, in_parts=("items",)):
    """A list as a server answers it: its metadata, and its items, which are decoded where you look.

    Iterating, indexing and ``len`` go to `items`. Each item has bytes of its own: one that is kept does not
    keep the whole answer in memory.
    """

    GVK: ClassVar[GroupVersionKind] = GroupVersionKind("", "", "")
    """What the list is."""
    ITEM: ClassVar[type[Object]] = Object
    """What its items are."""
    _repr_body = redacted_repr.count

    api_version: str = ""
    kind: str = ""
    metadata: ListMeta = field(default_factory=ListMeta)
    items: list[T] = []

    @classmethod
    def from_wire(cls, data: bytes, *, on_error: Callable[[DecodeError], None] | None = None) -> Self:
        """Read a list as a server wrote it, decoding the items' metadata only.

        Args:
            data: The server's answer.
            on_error: Is told of each item that cannot be read, which is then left out; its bytes are the
                error's ``value``. Without it, the first such item raises.

        Raises:
            DecodeError: If it is not JSON or not such a list, or an item cannot be read.
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
        """Read JSON text; the same as `from_wire`, because lists are written by machines.

        Raises:
            DecodeError: If it is not JSON or not such a list, or an item cannot be read.
        """
        try:
            text = wire.utf8(data)
        except shape.ShapeError as fault:
            raise DecodeError(fault.problem, kind=cls.__name__) from None
        return cls.from_wire(text)

    @classmethod
    def from_dict(cls, data: Mapping[str, object], *, strict: bool = False) -> Self:
        """Take plain data with the names of the wire, and check all of it.

        Args:
            data: Dicts, lists, strings and numbers; typed objects may stand among them.
            strict: Refuse fields that the types do not know instead of keeping them.

        Raises:
            DecodeError: If something does not fit.
        """
        try:
            check_kind(cls, data)
        except shape.ShapeError as fault:
            raise DecodeError(fault.problem, kind=cls.__name__, path=fault.path) from None
        known = {"apiVersion", "kind"} if cls.GVK.kind else set[str]()
        given = {name: value for name, value in data.items() if name not in known}
        return super().from_dict(given, strict=strict)

    def to_json(self) -> bytes:
        """Write compact JSON; what was not changed as it came.

        Raises:
            InvalidValueError: If something in it cannot be written as JSON.
        """
        result = shallow_copy(self)
        for name in TYPE_FIELDS:
            member_of(type(self), name).__set__(result, getattr(self, name))
        metadata = member_of(type(self), "metadata")
        metadata.__set__(result, UNSET if is_blank(metadata.__get__(self)) else to_encode(self.metadata))
        items = [self._item(each).to_write(typed=False) for each in self.items]
        member_of(type(self), "items").__set__(result, items)
        return wire.encode(result)

    def _item(self, item: object) -> Object:
        """An item, which may have been put into the list as plain data."""
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


L = TypeVar("L", bound=ObjectList[Any])


def _read_quickly(cls: type[L], data: bytes) -> L | None:
    """Read a list item by item as its text is cut; None if anything is not as it usually is."""
    pieces = split_list(data)
    if pieces is None:
        return None
    try:
        decoded = wire.reader_for(cls).decode(pieces[0])
        items = list(map(cls.ITEM.from_wire, pieces[1]))
    except (DecodeError, *wire.MALFORMED):
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
            path = f"items[{index}].{error.path}".removesuffix(".")
            placed = DecodeError(error.problem, kind=error.kind, subject=error.subject, path=path)
            placed.value = data
            if on_error is None:
                raise placed from None
            on_error(placed)
    return decoded

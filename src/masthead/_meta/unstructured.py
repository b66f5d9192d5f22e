"""Unstructured objects: typed metadata, everything else as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar, cast

from msgspec import Raw

from masthead._meta import redacted_repr, shape, wire
from masthead._meta.apitype import construct
from masthead._meta.field_decoder import resplit_fields, split_fields, subject_in, subject_of
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.metadata import ObjectMeta, new_metadata
from masthead._meta.object import SOURCE, Object, ObjectList, WireBacking, is_changed
from masthead._meta.slots import member_of
from masthead._meta.walk import same, to_encode
from masthead._module import set_module
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

R = TypeVar("R")

_SECTIONS: Final[Any] = WireBacking.__dict__["_sections"]
_TYPED: Final = frozenset({"apiVersion", "kind", "metadata"})


@set_module("masthead")
class Unstructured(Object):
    """An object of any kind.

    ``apiVersion``, ``kind`` and ``metadata`` are attributes, as on typed objects; every other section is accessed with
    brackets and is plain data, decoded when it is first read::

        widget["spec"]["size"] = 3
        widget.get("status", "conditions", 0, "type", default="Unknown")
    """

    GVK: ClassVar[GroupVersionKind] = GroupVersionKind("", "", "")
    _SECTION_ACCESS: ClassVar[str] = (
        'its sections are plain data: obj["{key}"], or obj.get("{key}", ...) with a path and a default'
    )
    """What to write instead of an attribute that no object has."""
    _repr_body = redacted_repr.kind_and_identity

    @classmethod
    def new(
        cls,
        name: str = "",
        *,
        api_version: str = "",
        kind: str = "",
        namespace: str = "",
        generate_name: str = "",
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
    ) -> Self:
        """Create an object without sections.

        Raises:
            NameFormatError: If a name or label is invalid.
        """
        metadata = new_metadata(name, namespace, generate_name, labels, annotations)
        return cls(api_version=api_version, kind=kind, metadata=metadata)

    @classmethod
    def from_wire(cls, data: bytes) -> Self:
        """Decode the metadata of an object as a server encodes it; other sections are decoded lazily.

        Raises:
            DecodeError: If it is not a JSON object, or its metadata is invalid.
        """
        data = bytes(data)  # a copy, because the caller may reuse its buffer
        try:
            made = _from_parts(cls, split_fields(data))
        except shape.ShapeError as fault:
            raise DecodeError(fault.problem, kind=cls.__name__, subject=subject_of(data), path=fault.path) from None
        SOURCE.__set__(made, data)
        return made

    @classmethod
    def from_dict(cls, data: Mapping[str, object], *, strict: bool = False) -> Self:
        """Convert plain data with wire names.

        Args:
            data: Dicts, lists, strings and numbers.
            strict: Whether unknown fields of the metadata are rejected instead of preserved.

        Raises:
            DecodeError: If it is not an object, or its metadata is invalid.
        """
        try:
            return cls.from_plain(data, shape.STRICT if strict else shape.FROM_WIRE)
        except shape.ShapeError as fault:
            raise DecodeError(fault.problem, kind=cls.__name__, subject=subject_in(data), path=fault.path) from None

    @classmethod
    def from_plain(cls, data: object, rules: shape.Rules) -> Self:
        """Build an object that is a field of another type.

        Raises:
            ShapeError: If it is not an object, or its metadata is invalid.
        """
        checked = shape.MapShape(shape.AnyShape()).build(data, rules)
        return _from_parts(cls, cast("dict[str, Any]", checked), rules)

    def copy(self) -> Self:
        """Return an independent copy, which has apiVersion and kind even if only its list had them."""
        made = super().copy()
        made.api_version, made.kind = self.api_version, self.kind
        return made

    __copy__ = copy

    def glance(self, look: Callable[[Self], R]) -> R:
        """Return the result of a function of the object, and discard the sections that it decoded."""
        held = self._sections_held()
        waiting = {name: value for name, value in held.items() if type(value) is Raw}
        try:
            return look(self)
        finally:
            held.update(waiting)

    @property
    def gvk(self) -> GroupVersionKind:
        """The group, version and kind of the object.

        Raises:
            ArgumentError: If its ``apiVersion`` is invalid.
        """
        return GroupVersionKind.of(self.api_version, self.kind)

    def __getitem__(self, section: str) -> Any:  # noqa: ANN401 - plain data
        _refuse_typed(section)
        held = self._sections_held()
        value = held[section]
        if type(value) is Raw:
            try:
                value = held[section] = wire.decode_plain(value)
            except shape.ShapeError as fault:
                fault.steps.append(f".{section}")
                raise self.decode_error(fault) from None
        return value

    def __setitem__(self, section: str, value: object) -> None:
        _refuse_typed(section)
        self._sections_held()[section] = value

    def __delitem__(self, section: str) -> None:
        _refuse_typed(section)
        del self._sections_held()[section]

    def __contains__(self, section: object) -> bool:
        return section in self._sections_held()

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the sections."""
        return iter(list(self._sections_held()))

    def get(self, section: str, *path: str | int, default: object = None) -> Any:  # noqa: ANN401 - plain data
        """Return the value at a path of keys and indices in a section, or the default if it does not exist."""
        _refuse_typed(section)
        if section not in self:
            return default
        value: Any = self[section]
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return default
        return value

    def to_write(self, *, typed: bool) -> object:
        """Return the value to encode."""
        del typed  # an unstructured object always encodes apiVersion and kind
        source = self.wire_bytes
        parts = resplit_fields(self, source) if source is not None else {}
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": self._metadata_to_write(parts.get("metadata")),
            **{name: self._section_to_write(value, parts.get(name)) for name, value in self._sections_held().items()},
        }

    def is_modified(self) -> bool:
        """Whether the encoding differs from the bytes that the object was decoded from."""
        source = self.wire_bytes
        if source is None:
            return True
        parts, sections = resplit_fields(self, source), self._sections_held()
        # List items have no apiVersion and kind in their bytes; that these were added is not a modification.
        held = {"apiVersion": self.api_version, "kind": self.kind}
        return (
            any(name in parts and wire.decode_plain(parts[name]) != value for name, value in held.items())
            or parts.keys() - _TYPED != sections.keys()
            or is_changed(_metadata, _METADATA.__get__(self), parts.get("metadata"))
            or any(is_changed(wire.decode_plain, value, parts[name]) for name, value in sections.items())
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Unstructured):
            return NotImplemented
        return (
            (self.api_version, self.kind) == (other.api_version, other.kind)
            and same(self.metadata, other.metadata)
            and same({name: self[name] for name in self}, {name: other[name] for name in other})
        )

    if not TYPE_CHECKING:  # to type checkers it is None, as for every class with only an __eq__
        __hash__ = Object.__hash__

    def _sections_held(self) -> dict[str, Any]:
        try:
            return cast("dict[str, Any]", _SECTIONS.__get__(self))
        except AttributeError:
            held: dict[str, Any] = {}
            _SECTIONS.__set__(self, held)
            return held

    def _metadata_to_write(self, original: Raw | None) -> object:
        if original is not None and not is_changed(_metadata, _METADATA.__get__(self), original):
            return original
        return self.checked(_metadata, self.metadata)

    def _section_to_write(self, value: object, original: Raw | None) -> object:
        if original is not None and not is_changed(wire.decode_plain, value, original):
            return original
        return to_encode(value)


_METADATA: Final = member_of(Unstructured, "metadata")
_META: Final = wire.reader_for(ObjectMeta)


U = TypeVar("U", bound=Unstructured)


def _from_parts(cls: type[U], parts: Mapping[str, Any], rules: shape.Rules = shape.FROM_WIRE) -> U:
    fields = shape.fields_of(Object)
    known: dict[str, object] = {}
    for name in _TYPED & parts.keys():
        value, this = parts[name], fields[name]
        if name == "metadata" and type(value) is Raw:
            known["metadata"] = _metadata(value)
        else:
            plain = wire.decode_plain(value) if type(value) is Raw else value
            known[this.attribute] = this.build(plain, rules)
    made = cast("U", construct(cls, known))
    _SECTIONS.__set__(made, {name: value for name, value in parts.items() if name not in _TYPED})
    return made


def _metadata(raw: Raw) -> object:
    try:
        return None if bytes(raw) == b"null" else _META.read(raw)
    except shape.ShapeError as fault:
        fault.steps.append(".metadata")
        raise


def _refuse_typed(section: str) -> None:
    if section in _TYPED:
        attribute = {"apiVersion": "api_version"}.get(section, section)
        raise KeyError(f'"{section}" is typed on every object; use the attribute .{attribute}')


@set_module("masthead.meta")
class UnstructuredList(ObjectList[Unstructured]):
    """A list of objects of any kind."""

    GVK: ClassVar[GroupVersionKind] = GroupVersionKind("", "", "")
    ITEM: ClassVar[type[Object]] = Unstructured

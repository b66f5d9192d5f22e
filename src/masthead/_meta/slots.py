"""Descriptors for the slots of a Struct.

msgspec's C code accesses the slots directly; Python code goes through a descriptor where a slot needs one:

* a *value* slot returns its default while it is unset;
* an *implicit* slot (a list, a map, a nested type) creates its value when it is read while unset. The value is marked
  as implicit: it is encoded only if something was put into it;
* a *required* slot, of a field without a default, returns the empty value of its type, as Go does;
* a *lazy* slot holds raw bytes until it is first read.

An unset slot holds msgspec's UNSET, which msgspec does not encode.
"""

from __future__ import annotations

import importlib
import types
from typing import TYPE_CHECKING, Annotated, Any, Final, Union, cast, get_args, get_origin

import msgspec
from msgspec import UNSET, Raw, UnsetType, field

from masthead._meta.annotations import evaluate, wire_type
from masthead._meta.implicit import Factory, is_implicit, maker_of
from masthead._meta.shape import ShapeError, allows_none, is_float
from masthead._module import scoped

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import MemberDescriptorType

    from masthead._meta.apitype import ApiType


_ABSENT: Final = msgspec.NODEFAULT
"""The default of a field in a class body that gives none."""


class Slot:
    """A descriptor for a slot of a Struct; msgspec's C code bypasses it."""

    __slots__ = ("member",)

    def __init__(self, member: MemberDescriptorType) -> None:
        self.member = member

    def __set__(self, instance: msgspec.Struct, value: object) -> None:
        self.member.__set__(instance, value)


class ValueSlot(Slot):
    """Returns its default while unset; for strings, numbers and booleans."""

    __slots__ = ("default",)

    def __init__(self, member: MemberDescriptorType, default: object) -> None:
        super().__init__(member)
        self.default = default

    def __get__(self, instance: msgspec.Struct | None, owner: type | None = None) -> object:
        if instance is None:
            return self
        value = self.member.__get__(instance)
        return self.default if value is UNSET or value is None else value


class ImplicitSlot(Slot):
    """Creates and keeps its value when it is read while unset; for lists, maps and nested types."""

    __slots__ = ("make",)

    def __init__(self, member: MemberDescriptorType, make: Callable[[], object]) -> None:
        super().__init__(member)
        self.make = make

    def __get__(self, instance: msgspec.Struct | None, owner: type | None = None) -> object:
        if instance is None:
            return self
        value = self.member.__get__(instance)
        if value is UNSET or value is None:
            value = self.make()
            self.member.__set__(instance, value)
        return value


class RequiredSlot(Slot):
    """Returns the empty value of its type while unset; lists, maps and nested types are stored."""

    __slots__ = ("make",)

    def __init__(self, member: MemberDescriptorType, make: Callable[[], object]) -> None:
        super().__init__(member)
        self.make = make

    def __get__(self, instance: msgspec.Struct | None, owner: type | None = None) -> object:
        if instance is None:
            return self
        value = self.member.__get__(instance)
        if value is UNSET or value is None:
            value = self.make()
            if is_implicit(value):
                self.member.__set__(instance, value)
        return value


class LazySlot(Slot):
    """Holds raw bytes until it is first read."""

    __slots__ = ("make", "name", "read")

    def __init__(self, member: MemberDescriptorType, name: str, make: Callable[[], object] | None) -> None:
        super().__init__(member)
        self.name = name
        self.make = make
        self.read: Callable[[Raw], object] | None = None

    def __get__(self, instance: msgspec.Struct | None, owner: type | None = None) -> object:
        if instance is None:
            return self
        value = self.member.__get__(instance)
        if type(value) is Raw:
            value = self._decode_raw(instance, value)
            self.member.__set__(instance, value)
        if value is not UNSET and value is not None:
            return value
        if self.make is None:
            return None
        value = self.make()
        if is_implicit(value):  # stored, so that assigning to a field of it modifies this object
            self.member.__set__(instance, value)
        return value

    def _decode_raw(self, instance: msgspec.Struct, raw: Raw) -> object:
        if self.read is None:  # created on demand: decoders are costly, and most fields are never read
            from masthead._meta import wire

            self.read = wire.reader_of(cast("ApiType", type(instance)).api_type, self.name).read
        try:
            return self.read(raw)
        except ShapeError as fault:
            names = dict(zip(type(instance).__struct_fields__, type(instance).__struct_encode_fields__, strict=True))
            fault.steps.append(f".{names[self.name]}")
            raise cast("Any", instance).decode_error(fault) from None


def is_lazy(cls: type, name: str) -> bool:
    """Whether a field is decoded lazily."""
    return any(isinstance(base.__dict__.get(name), LazySlot) for base in cls.__mro__)


def member_of(cls: type, name: str) -> MemberDescriptorType:
    """Return the slot of a field, bypassing its descriptor."""
    for base in cls.__mro__:
        if name in base.__dict__:
            found = base.__dict__[name]
            return cast("MemberDescriptorType", found.member if isinstance(found, Slot) else found)
    raise AttributeError(name)


def members(cls: type[msgspec.Struct]) -> tuple[tuple[str, MemberDescriptorType, object], ...]:
    """Return name, slot and unset value of every field of a class."""
    # Cached on the class itself: a global cache would keep all substitute classes alive.
    found = cls.__dict__.get("_members")
    if found is None:
        pairs = zip(cls.__struct_fields__, cls.__struct_defaults__, strict=True)
        found = tuple((name, member_of(cls, name), default) for name, default in pairs)
        type.__setattr__(cls, "_members", found)
    return cast("tuple[tuple[str, MemberDescriptorType, object], ...]", found)


def lazy_members(cls: type[msgspec.Struct]) -> tuple[MemberDescriptorType, ...]:
    """Return the slots of lazy fields."""
    # Cached on the class itself, as in `members`.
    found = cls.__dict__.get("_lazy_members")
    if found is None:
        found = tuple(member for name, member, _ in members(cls) if is_lazy(cls, name))
        type.__setattr__(cls, "_lazy_members", found)
    return cast("tuple[MemberDescriptorType, ...]", found)


class SlotPlan:
    """Plans a class' descriptors from its body, adapts the body to msgspec, and installs them."""

    def __init__(
        self,
        namespace: dict[str, Any],
        annotations: dict[str, Any],
        *,
        lazy: tuple[str, ...],
        in_parts: tuple[str, ...],
        plain: bool,
    ) -> None:
        self.makers: dict[str, Callable[[MemberDescriptorType, ApiType], Slot]] = {}
        self.nullable: tuple[str, ...] = (
            *namespace.get("NULLABLE", ()),
            *(name for name, given in annotations.items() if is_nullable(given, namespace.get(name, _ABSENT))),
        )
        if self.nullable:
            namespace["NULLABLE"] = self.nullable
        self.defaults: dict[str, object] = {}
        for name, annotation in annotations.items():
            on_wire = list[Raw] if name in in_parts else wire_type(annotation)
            if on_wire is not annotation:
                namespace["__annotations__"][name] = on_wire
            self._plan(namespace, name, on_wire, lazy=name in lazy, plain=plain)

    def _plan(self, namespace: dict[str, Any], name: str, annotation: object, *, lazy: bool, plain: bool) -> None:
        given, wire_name = _given_in(namespace, name)
        if type(given) is int and is_float(annotation):
            given = float(given)  # as the decoder does
        if given is not msgspec.NODEFAULT:
            self.defaults[name] = given
        make = maker_of(given, name)
        if lazy:
            self.makers[name] = lambda member, cls: LazySlot(member, name, make and make(cls))
            annotation = Raw
        elif make is not None:
            slot = RequiredSlot if given is msgspec.NODEFAULT else ImplicitSlot
            self.makers[name] = lambda member, cls: slot(member, make(cls))
            annotation = Union[scoped(annotation, namespace.get("__module__", "")), None, UnsetType]
        elif name in self.nullable or (given is not None and given is not UNSET and not plain):
            self.makers[name] = lambda member, _: ValueSlot(member, given)
            annotation = Union[scoped(annotation, namespace.get("__module__", "")), None, UnsetType]
        else:
            return
        namespace["__annotations__"][name] = annotation
        namespace[name] = field(default=UNSET, name=wire_name)

    def install(self, cls: ApiType) -> None:
        """Install the descriptors on the class that was created from the body."""
        for name, maker in self.makers.items():
            own = cls.__dict__.get(name)
            # A redeclared field keeps its slot in the base class.
            member = own if isinstance(own, types.MemberDescriptorType) else member_of(cls.__mro__[1], name)
            type.__setattr__(cls, name, maker(member, cls))


def is_nullable(annotation: object, default: object) -> bool:
    """Whether null differs from absent: by its metadata, or because the field is required and may be None."""
    metadata = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return any(getattr(entry, "nullable", False) for entry in metadata) or (
        default is _ABSENT and allows_none(annotation)
    )


def is_field(name: str, annotation: object) -> bool:
    """Whether an annotation of a class body makes a field."""
    return not name.startswith("__") and "ClassVar" not in str(annotation)


def annotations_in(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return the annotations of a class body; on Python 3.14 they are evaluated lazily."""
    if "__annotations__" not in namespace:
        namespace["__annotations__"] = _evaluated_annotations(namespace)
    found = cast("dict[str, Any]", namespace["__annotations__"])
    evaluate(found, namespace)
    return found


def _evaluated_annotations(namespace: dict[str, Any]) -> dict[str, Any]:
    annotate = namespace.pop("__annotate__", None) or namespace.pop("__annotate_func__", None)
    if annotate is None:
        return {}
    annotationlib: Any = importlib.import_module("annotationlib")
    return cast("dict[str, Any]", annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF))


def _given_in(namespace: dict[str, Any], name: str) -> tuple[object, str | None]:
    """Return the default of a field in a class body, or its factory as `Factory`, and its wire name."""
    given, wire_name = namespace.get(name, _ABSENT), None
    if hasattr(given, "default_factory"):  # what `field` returns; msgspec does not export its type
        wire_name = given.name
        has_factory = given.default_factory is not msgspec.NODEFAULT
        given = Factory(given.default_factory) if has_factory else given.default
    return given, wire_name

"""The base of every API type: a msgspec Struct that knows what was set.

A class body reads like a dataclass::

    class PodSpec(Struct):
        containers: list[Container] = []
        node_name: str | None = None
        security_context: PodSecurityContext = field(default_factory=PodSecurityContext)

and behaves as Go's types do, only more exactly:

* **A value type is never None.** Strings, numbers, lists, maps and nested types with a default read as that
  default when they are unset: ``Deployment().spec.template.spec.containers`` is an empty list.
* **What was not set is not written; what was set is.** The slot of an unset field holds msgspec's UNSET and a
  descriptor supplies the default. A list, map or nested type that reading has brought to life, and that is
  still empty, stays unwritten; an explicit ``[]`` or ``0``, from the wire or from code, is kept.
* **Fields that the type does not know are kept.** An instance that has some is an instance of a subclass made
  for them, so that msgspec's C code reads, writes and compares them like any other field.
* **Assignments are checked**: ``spec.node_name = 5`` raises, ``spec.containers = [{"name": "web"}]`` builds.
"""

from __future__ import annotations

import functools
import importlib
import keyword
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar, Union, cast, dataclass_transform

import msgspec
from msgspec import UNSET, Raw, UnsetType, field

from masthead.errors import DecodeError
from masthead.meta import shape, wire
from masthead.meta.merge import Merge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import MemberDescriptorType

__all__ = ["Struct", "StructType", "field", "unknown_fields"]


class ImplicitList(list[Any]):
    """A list that nobody set: reading an unset field brought it to life."""

    __slots__ = ()


class ImplicitDict(dict[str, Any]):
    """A map that nobody set: reading an unset field brought it to life."""

    __slots__ = ()


class Slot:
    """A descriptor over a Struct's own slot, which msgspec's C code reads and fills past it."""

    __slots__ = ("member",)

    def __init__(self, member: MemberDescriptorType) -> None:
        self.member = member

    def __get__(self, instance: Struct | None, owner: type | None = None) -> object:
        return self if instance is None else self.member.__get__(instance)

    def __set__(self, instance: Struct, value: object) -> None:
        self.member.__set__(instance, value)


class ValueSlot(Slot):
    """Reads as its default while unset; for strings, numbers and booleans."""

    __slots__ = ("default",)

    def __init__(self, member: MemberDescriptorType, default: object) -> None:
        super().__init__(member)
        self.default = default

    def __get__(self, instance: Struct | None, owner: type | None = None) -> object:
        if instance is None:
            return self
        value = self.member.__get__(instance)
        return self.default if value is UNSET or value is None else value


class LivingSlot(Slot):
    """Comes to life when it is read while unset, so that what is put into it stays; for lists, maps, types."""

    __slots__ = ("make",)

    def __init__(self, member: MemberDescriptorType, make: Callable[[], object]) -> None:
        super().__init__(member)
        self.make = make

    def __get__(self, instance: Struct | None, owner: type | None = None) -> object:
        if instance is None:
            return self
        value = self.member.__get__(instance)
        if value is UNSET or value is None:
            value = self.make()
            self.member.__set__(instance, value)
        return value


class LazySlot(Slot):
    """Holds the bytes off the wire until it is read for the first time."""

    __slots__ = ("decode", "make", "name")

    def __init__(self, member: MemberDescriptorType, name: str, make: Callable[[], object] | None) -> None:
        super().__init__(member)
        self.name = name
        self.make = make
        self.decode: Callable[[Raw], object] | None = None

    def __get__(self, instance: Struct | None, owner: type | None = None) -> object:
        if instance is None:
            return self
        value = self.member.__get__(instance)
        if type(value) is Raw:
            value = self.read(instance, value)
            self.member.__set__(instance, value)
        if value is not UNSET and value is not None:
            return value
        if self.make is None:
            return None
        value = self.make()
        self.member.__set__(instance, value)
        return value

    def read(self, instance: Struct, raw: Raw) -> object:
        """Decode the bytes, the fast way if they let us."""
        cls = type(instance).api_type
        if self.decode is None:
            self.decode = wire.decoder_of(cls, self.name).decode
        try:
            return self.decode(raw)
        except wire.MALFORMED:
            pass
        try:
            return decode_field(cls, self.name, raw)
        except shape.Fault as fault:
            raise instance.decode_error(fault) from None


def decode_field(cls: StructType, name: str, raw: Raw) -> object:
    """Decode the bytes of one field.

    Raises:
        Fault: if they do not fit.
    """
    this = shape.fields_by_attribute(cls)[name]
    try:
        return wire.decode_value(wire.decoder_of(cls, name), this.shape, raw)
    except shape.Fault as fault:
        fault.steps.append(f".{this.wire}")
        raise


def is_lazy(cls: StructType, name: str) -> bool:
    """Whether a field holds its bytes until it is read."""
    return any(isinstance(base.__dict__.get(name), LazySlot) for base in cls.__mro__)


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
class StructType(shape.ApiType):
    """The metaclass of API types: sees to defaults, unknown fields and checked construction."""

    api_type: StructType
    """The class as its author wrote it: itself, or what a subclass for unknown fields was made from."""

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        /,
        *,
        api_type: StructType | None = None,
        lazy: tuple[str, ...] = (),
        in_parts: tuple[str, ...] = (),
        plain: bool = False,
        **config: Any,  # noqa: ANN401 - msgspec's own
    ) -> StructType:
        """Make a type.

        Args:
            name: Its name.
            bases: Its bases.
            namespace: Its body.
            api_type: For a subclass that passes for another class: that class.
            lazy: Fields that keep their bytes until they are read.
            in_parts: Lists whose items are decoded one by one, by the class itself.
            plain: Strings and numbers are bare slots: fast to read, and a zero or "" counts as unset.
            config: What msgspec should know.
        """
        declared = {name: given for name, given in annotations_in(namespace).items() if is_field(name, given)}
        slots = _SlotPlan(namespace, declared, lazy=lazy, in_parts=in_parts, plain=plain)
        made = cast("StructType", cast("Any", super()).__new__(cls, name, bases, namespace, **config))
        type.__setattr__(made, "declared", {} if api_type else declared)
        type.__setattr__(made, "api_type", api_type or made)
        slots.install(made)
        return made

    if not TYPE_CHECKING:

        def __call__(cls, **values):  # noqa: ANN003, ANN204, D102
            try:
                built = {key: _build_argument(cls, key, value) for key, value in values.items()}
            except shape.Fault as fault:
                raise DecodeError(fault.problem, kind=cls.__name__, path=fault.path) from None
            return shape.construct(cls, built)

    def with_unknown(cls, keys: tuple[str, ...]) -> StructType:
        """Return the subclass that has these further fields of the wire."""
        return _with_unknown(cls.api_type, keys)


class _SlotPlan:
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
        self.makers: dict[str, Callable[[MemberDescriptorType], Slot]] = {}
        for name, annotation in annotations.items():
            on_wire = list[Raw] if name in in_parts else annotation
            self._plan(namespace, name, on_wire, lazy=name in lazy, plain=plain)

    def _plan(
        self, namespace: dict[str, Any], name: str, annotation: object, *, lazy: bool, plain: bool
    ) -> None:
        default, factory, wire_name = _default_in(namespace, name)
        make = _living(factory)
        if lazy:
            self.makers[name] = lambda member: LazySlot(member, name, make)
            annotation = Raw
        elif make is not None:
            self.makers[name] = lambda member: LivingSlot(member, make)
            annotation = Union[annotation, None, UnsetType]
        elif type(default) in {str, int, float, bool} and not plain:
            self.makers[name] = lambda member: ValueSlot(member, default)
            annotation = Union[annotation, None, UnsetType]
        else:
            return
        namespace["__annotations__"][name] = annotation
        namespace[name] = field(default=UNSET, name=wire_name)

    def install(self, cls: type) -> None:
        for name, maker in self.makers.items():
            type.__setattr__(cls, name, maker(cls.__dict__[name]))


def is_field(name: str, annotation: object) -> bool:
    """Whether an annotation of a class body makes a field."""
    return not name.startswith("__") and "ClassVar" not in str(annotation)


def annotations_in(namespace: dict[str, Any]) -> dict[str, Any]:
    """The annotations of a class body; on Python 3.14 they are a function until asked for."""
    if "__annotations__" not in namespace:
        namespace["__annotations__"] = _evaluated_annotations(namespace)
    return cast("dict[str, Any]", namespace["__annotations__"])


def _evaluated_annotations(namespace: dict[str, Any]) -> dict[str, Any]:
    annotate = namespace.pop("__annotate__", None) or namespace.pop("__annotate_func__", None)
    if annotate is None:
        return {}
    annotationlib: Any = importlib.import_module("annotationlib")
    return cast(
        "dict[str, Any]", annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF)
    )


def _default_in(namespace: dict[str, Any], name: str) -> tuple[object, object, str | None]:
    """The default, default factory and wire name that a class body gives a field."""
    factory: object = msgspec.NODEFAULT
    given, wire_name = namespace.get(name, msgspec.NODEFAULT), None
    if hasattr(given, "default_factory"):  # what `field` returns; msgspec does not export its type
        given, factory, wire_name = given.default, given.default_factory, given.name
    if isinstance(given, list | dict):
        return msgspec.NODEFAULT, list if isinstance(given, list) else dict, wire_name
    return given, factory, wire_name


def _living(factory: object) -> Callable[[], object] | None:
    """What to make when an unset field of this factory is read."""
    if factory is list:
        return ImplicitList
    if factory is dict:
        return ImplicitDict
    if isinstance(factory, StructType):
        return functools.partial(_implicit, factory)
    return None


def _implicit(cls: StructType) -> object:
    return shape.construct(_implicit_type(cls), {})


@functools.cache
def _implicit_type(cls: StructType) -> StructType:
    """The subclass whose instances nobody set."""
    return _subclass(cls, {})


def _subclass(cls: StructType, fields: Mapping[str, str]) -> StructType:
    """A subclass that passes for `cls` and has further fields, by attribute and wire name."""
    namespace = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__annotations__": dict.fromkeys(fields, Any),
        **dict.fromkeys(fields, UNSET),
    }
    make = cast("Any", type(cls))
    return cast(
        "StructType", make(cls.__name__, (cls,), namespace, api_type=cls, plain=True, rename=dict(fields))
    )


# Bounded: a server could send any number of different field names. A class that falls out lives on with
# its instances, and equality does not look at it.
@functools.lru_cache(maxsize=512)
def _with_unknown(cls: StructType, keys: tuple[str, ...]) -> StructType:
    return _subclass(cls, {_attribute_for(cls, key, index): key for index, key in enumerate(keys)})


def _attribute_for(cls: type, key: str, index: int) -> str:
    """An unknown field can be read under its own name, where that is a name and free."""
    free = key.isidentifier() and not keyword.iskeyword(key) and not hasattr(cls, key) and key[0] != "_"
    return key if free else f"unknown_{index}"


def _build_argument(cls: StructType, name: str, value: object) -> object:
    this = shape.fields_by_attribute(cls.api_type).get(name)
    if this is None:
        raise shape.Fault(shape.unknown_field(cls, name))
    return this.build(value, shape.FROM_CODE)


class Struct(
    msgspec.Struct,
    metaclass=StructType,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="camel",
    gc=False,
):
    """A type of the Kubernetes API.

    Made with keyword arguments, which are checked; nested types may be given as dicts, with the names of the
    wire or of Python. Equality compares what would be read: an unset list equals an empty one. The hash is
    the identity's, because instances change.

    Raises:
        DecodeError: if an argument does not fit its field.
    """

    # gc=False: an API object never contains itself, and the collector need not walk a cache of millions.

    MERGE: ClassVar[Mapping[str, Merge]] = {}
    """How lists and maps of this type merge, by the field's name on the wire; what is not here is atomic if a
    list, and granular if a map or a type."""
    ATOMIC: ClassVar[bool] = False
    """Whether server-side apply takes the type as one value."""
    DEFAULTS: ClassVar[Mapping[str, str | int | bool]] = {}
    """What the server fills in for an absent field, by its name on the wire."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct):
            return NotImplemented
        return same(self, other)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={show(value)}" for name, value in set_fields(self))
        return f"{type(self).__name__}({shown})"

    if not TYPE_CHECKING:

        def __setattr__(self, name, value):  # noqa: ANN001, ANN204
            try:
                built = _build_argument(type(self), name, value)
            except shape.Fault as fault:
                if name not in shape.fields_by_attribute(type(self).api_type):
                    raise AttributeError(fault.problem, name=name, obj=self) from None
                raise self.decode_error(fault) from None
            member_of(type(self), name).__set__(self, built)

        def __delattr__(self, name):  # noqa: ANN001, ANN204
            setattr(self, name, None)

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (type(self).api_type, self.to_json())

    def copy(self) -> Self:
        """Return an independent copy: what this one would write, read anew."""
        return cast("Self", _restore(cast("type[Struct]", type(self).api_type), self.to_json()))

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Read JSON text; fields that the type does not know are kept.

        Raises:
            DecodeError: if it is not JSON, has a key twice, or does not fit the type.
        """
        try:
            wire.refuse_duplicate_keys(data)
            return cast("Self", wire.decode_value(wire.decoder_for(cls), shape.StructOf(cls), data))
        except shape.Fault as fault:
            raise DecodeError(fault.problem, kind=cls.__name__, path=fault.path) from None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, strict: bool = False) -> Self:
        """Take plain data with the names of the wire, such as a parsed manifest.

        Args:
            data: Dicts, lists, strings and numbers; typed objects may stand among them.
            strict: Refuse fields that the type does not know instead of keeping them.

        Raises:
            DecodeError: if something does not fit the type.
        """
        rules = shape.STRICT if strict else shape.FROM_WIRE
        try:
            return cast("Self", shape.StructOf(cls).build(data, rules))
        except shape.Fault as fault:
            raise DecodeError(fault.problem, kind=cls.__name__, path=fault.path) from None

    @classmethod
    def from_yaml(cls, text: bytes | str, *, strict: bool = False) -> Self:
        """Read one YAML document.

        Args:
            text: The document; JSON is YAML too.
            strict: Refuse fields that the type does not know instead of keeping them.

        Raises:
            DecodeError: if it is not one YAML document, has a key twice, or does not fit the type.
        """
        from masthead.meta import yaml

        return cls.from_dict(cast("Any", yaml.load_one(text, kind=cls.__name__)), strict=strict)

    def to_json(self) -> bytes:
        """Write compact JSON.

        Raises:
            InvalidValueError: if something in it cannot be written as JSON.
        """
        return wire.encode(written(self))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data with the names of the wire."""
        return cast("dict[str, Any]", wire.decode_plain(self.to_json()))

    def to_yaml(self) -> str:
        """Write a YAML document."""
        from masthead.meta import yaml

        return yaml.dump(self.to_dict())

    def decode_error(self, fault: shape.Fault) -> DecodeError:
        """Say what is wrong with a field of this object."""
        return DecodeError(fault.problem, kind=type(self).__name__, path=fault.path)


S = TypeVar("S", bound=Struct)


def _restore(cls: type[Struct], data: bytes) -> Struct:
    return cast("Struct", wire.decode_value(wire.decoder_for(cls), shape.StructOf(cls), data))


def unknown_fields(instance: Struct) -> dict[str, Any]:
    """The fields of an object that its type does not know, by their names on the wire."""
    known = len(type(instance).api_type.__struct_fields__)
    names = type(instance).__struct_encode_fields__[known:]
    values = zip(names, _values(instance)[known:], strict=True)
    return {name: value for name, value in values if value is not UNSET}


# -- Walking objects ---------------------------------------------------------------------------------------


@functools.cache
def member_of(cls: type, name: str) -> MemberDescriptorType:
    """The slot of a field, past any descriptor over it."""
    for base in cls.__mro__:
        if name in base.__dict__:
            found = base.__dict__[name]
            return cast("MemberDescriptorType", found.member if isinstance(found, Slot) else found)
    raise AttributeError(name)


@functools.cache
def members(cls: type[Struct]) -> tuple[tuple[str, MemberDescriptorType, object], ...]:
    """Every field of a class: its name, its slot, and what the slot holds while unset."""
    names = cls.__struct_fields__
    return tuple(
        (name, member_of(cls, name), default)
        for name, default in zip(names, cls.__struct_defaults__, strict=True)
    )


def _values(instance: Struct) -> list[object]:
    return [member.__get__(instance) for _, member, _ in members(type(instance))]


def set_fields(instance: Struct) -> Iterator[tuple[str, object]]:
    """Yield the name and value of every field that is set, decoding what is still bytes."""
    for name, member, default in members(type(instance)):
        value = member.__get__(instance)
        if value is default or value is None or is_blank(value):
            continue
        yield name, _read(instance, name) if type(value) is Raw else value


def _read(instance: Struct, name: str) -> object:
    try:
        return getattr(instance, name)
    except DecodeError as error:
        return error


def show(value: object) -> str:
    """A value for a repr; bytes are left out, because they are mostly keys and passwords."""
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, DecodeError):
        return f"<undecodable: {value.path}: {value.problem}>"
    if isinstance(value, list):
        return f"[{', '.join(map(show, cast('list[object]', value)))}]"
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return "{" + ", ".join(f"{key!r}: {show(item)}" for key, item in items) + "}"
    return repr(value)


def is_blank(value: object) -> bool:
    """Whether reading alone brought this to life, and nothing has been put into it since."""
    if isinstance(value, ImplicitList | ImplicitDict):
        return not value
    if not isinstance(value, Struct):
        return False
    cls, api_type = cast("StructType", type(value)), type(value).api_type
    return (
        cls is not api_type
        and cls is _implicit_type(api_type)
        and all(
            held is default or held is None or is_blank(held)
            for held, (_, _, default) in zip(_values(value), members(type(value)), strict=True)
        )
    )


def shallow_copy(instance: S) -> S:
    """A new instance with the same values in its slots."""
    return cast("S", cast("Any", msgspec.Struct).__copy__(instance))


def written(value: Any) -> Any:  # noqa: ANN401 - a tree of anything that a field can hold
    """Return what is to be encoded: `value`, or a copy without what nobody set.

    Nothing is changed in place, because another thread may be reading the same object.
    """
    if isinstance(value, Struct):
        return _written_struct(value)
    if isinstance(value, list):
        old = cast("list[object]", value)
        new = [written(item) for item in old]
        return old if all(map(operator.is_, new, old)) else new
    if isinstance(value, dict):
        mapping = cast("dict[str, object]", value)
        changed = {key: new for key, old in mapping.items() if (new := written(old)) is not old}
        return {**mapping, **changed} if changed else mapping
    return value


_LEAVES: Final = frozenset({str, int, float, bool, bytes, type(None), UnsetType, Raw})


def _written_struct(instance: Struct) -> Struct:
    changes: list[tuple[MemberDescriptorType, object]] = []
    for _, member, _ in members(type(instance)):
        value = member.__get__(instance)
        if type(value) in _LEAVES:
            continue
        new = UNSET if is_blank(value) else written(value)
        if new is not value:
            changes.append((member, new))
    if not changes:
        return instance
    result = shallow_copy(instance)
    for member, new in changes:
        member.__set__(result, new)
    return result


def same(one: object, other: object) -> bool:
    """Whether two values read the same."""
    # Encoding in C is ten times faster than walking here, and equal text means equal values; unequal text
    # may yet mean them, because an unset list equals an empty one and the order of a map says nothing.
    return (
        one is other
        or (type(one) is type(other) and wire.encode(one) == wire.encode(other))
        or _same(one, other)
    )


def _same(one: object, other: object) -> bool:
    if one is other:
        return True
    if isinstance(one, Struct):
        return isinstance(other, Struct) and _same_structs(one, other)
    if isinstance(one, list):
        if not isinstance(other, list):
            return False
        ones, others = cast("list[object]", one), cast("list[object]", other)
        return len(ones) == len(others) and all(map(_same, ones, others))
    if isinstance(one, dict):
        if not isinstance(other, dict):
            return False
        left, right = cast("dict[str, object]", one), cast("dict[str, object]", other)
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return bool(one == other)


def _same_structs(one: Struct, other: Struct) -> bool:
    cls = type(one).api_type
    if cls is not type(other).api_type:
        return False
    for name, member, _ in members(cls):
        left, right = member.__get__(one), member.__get__(other)
        if left is right:
            continue
        if type(left) is Raw and type(right) is Raw and bytes(left) == bytes(right):
            continue
        compare = same if Raw in {type(left), type(right)} else _same
        if not compare(getattr(one, name), getattr(other, name)):
            return False
    return unknown_fields(one) == unknown_fields(other)

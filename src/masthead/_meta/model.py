"""The base of every API type: a msgspec Struct that tracks which fields are set.

A class body reads like a dataclass::

    class PodSpec(Struct):
        containers: list[Container] = []
        node_name: str | None = None
        security_context: PodSecurityContext = field(default_factory=PodSecurityContext)

and behaves as Go's types do, but tracks exactly which fields are set:

* **A value type is never None.** Lists, maps, nested types and scalars with a default read as that default when they
  are unset: ``Deployment().spec.template.spec.containers`` is an empty list. A field whose default is None, an
  optional scalar or a pointer in Go, reads as None.
* **Unset fields are not encoded; set ones are.** The slot of an unset field holds msgspec's UNSET and a descriptor
  supplies the default. A list, map or nested type that was created by reading it, and is still empty, is not encoded;
  an explicit ``[]`` or ``0``, from the wire or from code, is encoded.
* **Unknown fields are preserved.** An instance with unknown fields is an instance of a subclass that declares them, so
  that msgspec's C code decodes, encodes and compares them like any other field.
* **Assignments are checked**: ``spec.node_name = 5`` raises, ``spec.containers = [{"name": "web"}]`` builds.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Never, Self, cast, dataclass_transform

import msgspec
from msgspec import field

from masthead._meta import redacted_repr, shape, walk, wire
from masthead._meta.apitype import ApiType, construct
from masthead._meta.merge import Merge
from masthead._meta.pydantic_schemas import core_schemas, find_serializer
from masthead._meta.slots import SlotPlan, annotations_in, is_field, member_of
from masthead._meta.walk import unknown_fields
from masthead._module import set_module
from masthead.errors import DecodeError

__all__ = ["EMPTY", "Struct", "StructType", "field", "unknown_fields"]

if TYPE_CHECKING:
    EMPTY: Never
else:
    EMPTY = ""
    """The default of a required field with enumerated values. Type checkers accept it as any of them."""


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
class StructType(ApiType):
    """The metaclass of API types: adds defaults, unknown fields and checked construction."""

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        /,
        *,
        api_type: ApiType | None = None,
        lazy: tuple[str, ...] = (),
        in_parts: tuple[str, ...] = (),
        plain: bool = False,
        rules: Iterable[object] = (),
        **config: Any,  # noqa: ANN401 - msgspec's own
    ) -> StructType:
        """Create a type.

        Args:
            name: Its name.
            bases: Its bases.
            namespace: Its body.
            api_type: For a substitute of another class: that class.
            lazy: Fields that are decoded when they are first read.
            in_parts: Lists whose items are decoded one by one, by the class itself.
            plain: Strings and numbers are bare slots: fast to read, and a zero or "" counts as unset.
            rules: Validation rules in CEL (`masthead.crd.Rule`), whose ``self`` is a value of this type.
            config: The configuration for msgspec.
        """
        # Before SlotPlan changes the annotations for msgspec.
        declared = {name: given for name, given in annotations_in(namespace).items() if is_field(name, given)}
        if api_type is None:
            _refuse_reserved(name, bases, declared)
        slots = SlotPlan(namespace, declared, lazy=lazy, in_parts=in_parts, plain=plain)
        made = cast("StructType", cast("Any", super()).__new__(cls, name, bases, namespace, **config))
        type.__setattr__(made, "declared", {} if api_type else declared)
        type.__setattr__(made, "api_type", api_type or made)
        type.__setattr__(made, "module_globals", vars(sys.modules.get(made.__module__, types)))
        type.__setattr__(made, "is_implicit", False)
        type.__setattr__(made, "_implicit_default", None)
        type.__setattr__(made, "_defaults", slots.defaults)
        type.__setattr__(made, "_rules", tuple(rules))
        slots.install(made)
        return made

    if not TYPE_CHECKING:

        def __call__(cls, *positional, **values):  # noqa: ANN002, ANN003, ANN204
            # msgspec's own message would not name a field.
            if positional:
                example = next(iter(shape.fields_by_attribute(cls.api_type)), "field")
                raise TypeError(f"{cls.__name__} takes keyword arguments only, such as {cls.__name__}({example}=...)")
            try:
                built = {key: _build_argument(cls, key, value) for key, value in values.items()}
            except shape.ShapeError as fault:
                raise DecodeError(fault.problem, kind=cls.__name__, path=fault.path) from None
            except RecursionError:
                raise DecodeError("nested too deeply", kind=cls.__name__) from None
            return construct(cls, built)


def _refuse_reserved(name: str, bases: tuple[type, ...], declared: Iterable[str]) -> None:
    """Refuse fields that would hide what every type has, such as ``copy``.

    Raises:
        TypeError: If there is such a field.
    """
    for field_name in declared:
        for base in bases:
            is_field_of_base = field_name in getattr(base, "__struct_fields__", ())
            if not is_field_of_base and hasattr(base, field_name):
                raise TypeError(
                    f"{name}.{field_name} is a name that every type has; call the attribute {field_name}_, and name it "
                    f'on the wire: {field_name}_: ... = field(name="{field_name}")'
                )


def _build_argument(cls: ApiType, name: str, value: object) -> object:
    this = shape.fields_by_attribute(cls.api_type).get(name)
    if this is None:
        raise shape.ShapeError(_no_attribute(cls, name))
    return this.build(value, shape.FROM_CODE)


def _no_attribute(cls: ApiType, name: str) -> str:
    return shape.unknown_field(cls.api_type, name, shape.fields_by_attribute(cls.api_type))


# Here, too, because mypy asks base classes first, and msgspec's own has other defaults.
@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
@set_module("masthead.meta")
class Struct(
    msgspec.Struct,
    metaclass=StructType,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="camel",
    gc=False,
):
    """A type of the Kubernetes API.

    Created with keyword arguments, which are checked; nested types may be given as dicts, with wire names or Python
    names. Equality compares the values that attributes return: an unset list equals an empty one. Instances are mutable
    and have no hash: use a key, a uid or a name instead.

    Raises:
        DecodeError: If an argument is invalid for its field.
    """

    # gc=False: API objects have no reference cycles, and the garbage collector need not traverse a cache of millions.

    MERGE: ClassVar[Mapping[str, Merge]] = {}
    """Merge rules by wire name. Other lists are atomic; other maps and types are granular."""
    ATOMIC: ClassVar[bool] = False
    """Whether the type is atomic in server-side apply."""
    DEFAULTS: ClassVar[Mapping[str, str | float | bool]] = {}
    """The server's defaults for absent fields, by wire name."""
    SENSITIVE: ClassVar[tuple[str, ...]] = ()
    """Attributes that repr does not show."""
    NULLABLE: ClassVar[tuple[str, ...]] = ()
    """Attributes for which null differs from absent."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct):
            return NotImplemented
        try:
            return walk.same(self, other)
        except DecodeError:  # an undecodable object equals itself only
            return self is other

    if TYPE_CHECKING:
        # As in typeshed for list and dict: type checkers reject an instance as a member of a set.
        __hash__: ClassVar[None]  # type: ignore[assignment]
    else:

        def __hash__(self):  # noqa: ANN204
            raise TypeError(f"unhashable type: {type(self).__name__!r}, because it can change. {self._INSTEAD_OF_HASH}")

    _INSTEAD_OF_HASH: ClassVar[str] = "Use one of its fields, or its to_json(), as the key."

    _repr_body = redacted_repr.fields

    def __repr__(self) -> str:
        try:
            return f"{type(self).__name__}({self._repr_body()})"
        except RecursionError:
            return f"{type(self).__name__}(...)"

    def __dir__(self) -> Iterable[str]:
        """List the attributes of an instance, without class-level facts and internals."""
        return [
            name
            for name in super().__dir__()
            if not name.isupper() and name not in _INNER and (name[0] != "_" or name.startswith("__"))
        ]

    if not TYPE_CHECKING:

        def __getattr__(self, name):  # noqa: ANN001, ANN204 - called for what is not there
            # Protocols of Python probe for such names; their error needs no advice.
            if name.startswith("__"):
                raise AttributeError(name)
            if name in shape.fields_by_attribute(type(self).api_type):
                problem = f"{name} of this {type(self).__name__} is not set, although it is required"
                raise AttributeError(problem, name=name, obj=self)
            raise AttributeError(_no_attribute(type(self), name), name=name, obj=self)

        def __setattr__(self, name, value):  # noqa: ANN001, ANN204
            try:
                built = _build_argument(type(self), name, value)
            except shape.ShapeError as fault:
                if name not in shape.fields_by_attribute(type(self).api_type):
                    # Python expects this error of a name that does not exist.
                    raise AttributeError(fault.problem, name=name, obj=self) from None
                raise self.decode_error(fault) from None
            # Past the descriptor: the value is built and checked.
            member_of(type(self), name).__set__(self, built)

        def __delattr__(self, name):  # noqa: ANN001, ANN204
            if (this := shape.fields_by_attribute(type(self).api_type).get(name)) is None:
                raise AttributeError(_no_attribute(type(self), name), name=name, obj=self)
            member_of(type(self), name).__set__(self, this.default)

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[object, ...]:
        # As JSON, because a substitute class with unknown fields cannot be imported.
        return _restore, (type(self).api_type, self.to_json())

    def copy(self) -> Self:
        """Return an independent copy, decoded from the encoded form."""
        return cast("Self", _restore(cast("type[Struct]", type(self).api_type), self.to_json()))

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Decode JSON; unknown fields are preserved.

        Raises:
            DecodeError: If it is not JSON, has a duplicate key, or does not match the type.
        """
        try:
            text = wire.utf8(data)
            wire.refuse_duplicate_keys(text)
            return cast("Self", wire.reader_for(cls).read(text))
        except shape.ShapeError as fault:
            raise DecodeError(fault.problem, kind=cls.__name__, path=fault.path) from None

    @classmethod
    def from_dict(cls, data: Mapping[str, object], *, strict: bool = False) -> Self:
        """Convert plain data with wire names, such as a parsed manifest.

        Args:
            data: Dicts, lists, strings and numbers; it may contain typed objects.
            strict: Whether unknown fields are rejected instead of preserved.

        Raises:
            DecodeError: If the data does not match the type.
        """
        rules = shape.STRICT if strict else shape.FROM_WIRE
        try:
            return cast("Self", shape.StructShape(cls).build(data, rules))
        except shape.ShapeError as fault:
            raise DecodeError(fault.problem, kind=cls.__name__, path=fault.path) from None
        except RecursionError:
            raise DecodeError("nested too deeply", kind=cls.__name__) from None

    @classmethod
    def from_yaml(cls, text: bytes | str, *, strict: bool = False) -> Self:
        """Decode one YAML document.

        Args:
            text: The document; JSON is YAML too.
            strict: Whether unknown fields are rejected instead of preserved.

        Raises:
            DecodeError: If it is not one YAML document, has a duplicate key, or does not match the type.
        """
        from masthead._meta import yaml

        return cls.from_dict(cast("Any", yaml.load_one(text, kind=cls.__name__)), strict=strict)

    def to_json(self) -> bytes:
        """Encode to compact JSON.

        Raises:
            ArgumentError: If a value cannot be encoded as JSON.
        """
        return wire.encode(walk.to_encode(self))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data with wire names."""
        try:
            return cast("dict[str, Any]", wire.decode_plain(self.to_json()))
        except shape.ShapeError as fault:  # a lazy field may be invalid
            raise self.decode_error(fault) from None

    def to_yaml(self) -> str:
        """Encode to a YAML document."""
        from masthead._meta import yaml

        return yaml.dump(self.to_dict())

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> Any:  # noqa: ANN401 - pydantic's
        """Return the schema of the type for pydantic: fields of models, and parameters and results of FastAPI."""
        del handler  # nested types are validated by our decoder
        return core_schemas().struct_schema(cls, source)

    @property
    def __pydantic_serializer__(self) -> Any:  # noqa: ANN401 - pydantic's
        """The serializer by which pydantic writes an instance where a model has a field of any type."""
        return find_serializer("struct_serializer")

    def decode_error(self, fault: shape.ShapeError) -> DecodeError:
        """Create the error for an invalid field of this object."""
        return DecodeError(fault.problem, kind=type(self).__name__, path=fault.path)


_INNER: Final = frozenset(
    {"api_type", "checked", "declared", "decode_error", "is_implicit", "module_globals", "to_write"}
)
"""Attributes for the modules of this package only."""


def _restore(cls: type[Struct], data: bytes) -> Struct:
    try:
        return cast("Struct", wire.reader_for(cls).read(data))
    except shape.ShapeError as fault:
        raise DecodeError(fault.problem, kind=cls.__name__, path=fault.path) from None

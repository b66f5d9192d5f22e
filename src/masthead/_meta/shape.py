"""Shapes: the types of fields, compiled from the annotations of a Struct.

A shape builds a typed value from plain data (dicts, lists and numbers from JSON or YAML, or typed objects), and locates
invalid data exactly. msgspec does the same in C and is much faster, so it always goes first. Shapes do what it cannot:
keep unknown fields, accept typed objects inside of plain data, and name the invalid field in a readable message.
"""

from __future__ import annotations

import enum
import functools
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    Protocol,
    TypeAlias,
    Union,
    cast,
    get_args,
    get_origin,
)

import msgspec

from masthead._meta import typeinfo
from masthead._meta.annotations import UNIONS, wire_type
from masthead._meta.apitype import UNKNOWN_FIELDS, ApiType, construct, with_unknown
from masthead._meta.quantity import Quantity, parse_quantity, parse_text
from masthead._meta.time import (
    MicroTime,
    Time,
    format_micro_time,
    parse_micro_time,
    truncate_to_second,
)
from masthead._module import set_module
from masthead.errors import ArgumentError, TimeError

if TYPE_CHECKING:
    JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
    FieldsV1: TypeAlias = dict[str, JSON]
else:
    # msgspec does not support recursive aliases; there is nothing to check here anyway.
    JSON = Any
    """Any JSON value."""
    FieldsV1 = dict[str, Any]
    """A set of field paths in the encoding of managedFields."""

WORDS: Final[Mapping[object, str]] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    bytes: "base64 text",
    datetime: "an RFC 3339 time",
    MicroTime: "an RFC 3339 time",
    Quantity: "a quantity",
    type(None): "null",
    list: "a list",
    dict: "an object",
}


_MIN_BEGINNING: Final = 4
"""Characters of an unknown name that are compared with the beginnings of fields."""
# msgspec encodes field names without escaping, so it rejects names that need it.
_NO_NAME: Final = re.compile(r'["\\\x00-\x1f]')


@set_module("masthead.meta")
class ShapeError(Exception):
    """Invalid data. The path grows from the inside out as the exception propagates."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.steps: list[str] = []

    @property
    def path(self) -> str:
        """The field at fault, such as ``spec.containers[0].ports``."""
        return "".join(reversed(self.steps)).removeprefix(".")


@set_module("masthead.meta")
class Rules(msgspec.Struct, frozen=True):
    """The strictness of decoding plain data.

    Attributes:
        keep_unknown: Whether unknown fields are preserved; otherwise they are errors.
        attribute_names: Whether ``node_name`` is accepted as well as ``nodeName``.
        hides_values: Whether messages show the type of an invalid value instead of the value, which may be a password.
    """

    keep_unknown: bool
    attribute_names: bool
    hides_values: bool = False

    def describe(self, value: object) -> str:
        """Describe a value for an error message."""
        return describe_type(value) if self.hides_values else describe(value)


FROM_WIRE: Final = Rules(keep_unknown=True, attribute_names=False)
"""For responses and manifests: nothing is dropped."""
STRICT: Final = Rules(keep_unknown=False, attribute_names=False)
"""For strict decoding of manifests: unknown fields are errors."""
FROM_CODE: Final = Rules(keep_unknown=False, attribute_names=True)
"""For constructor arguments: unknown fields are errors, and Python names are accepted."""


class Shape(Protocol):
    """Builds a field's value from plain data."""

    def build(self, value: object, rules: Rules) -> object:
        """Return the typed value.

        Raises:
            ShapeError: If the data is invalid.
        """
        ...


class AnyShape(msgspec.Struct, frozen=True):
    """Free-form JSON."""

    def build(self, value: object, rules: Rules) -> object:
        """Return the data unchanged."""
        del rules
        return value


class ScalarShape(msgspec.Struct, frozen=True):
    """A string, number, time, quantity: anything that msgspec converts without help."""

    convert: Callable[[object], object]
    words: str
    exact: tuple[type, ...]

    def build(self, value: object, rules: Rules) -> object:
        """Check, and convert text into times, quantities and bytes."""
        if isinstance(value, float) and not math.isfinite(value):
            raise ShapeError(f"expected {self.words}, got {value}, which is not valid in JSON")
        if type(value) in self.exact:
            return value
        try:
            return self.convert(value)
        except (msgspec.ValidationError, ArgumentError) as error:
            is_explained = isinstance(error.__cause__, ArgumentError) and not rules.hides_values
            hint = f": {error.__cause__}" if is_explained else ""
            raise ShapeError(f"expected {self.words}, got {rules.describe(value)}{hint}") from None


class TimeShape(ScalarShape, frozen=True):
    """A time: whole seconds in UTC from code; text of responses and manifests keeps its fraction and offset."""

    def build(self, value: object, rules: Rules) -> object:
        """Check, convert text, and cut to the second."""
        is_aware = isinstance(value, datetime) and value.utcoffset() is not None
        # msgspec would refuse subclasses of datetime, such as MicroTime.
        built = value if is_aware else super().build(value, rules)
        if not is_aware and not rules.attribute_names:
            return built
        try:
            return truncate_to_second(cast("datetime", built))
        except TimeError as error:
            raise ShapeError(f"expected {self.words}, got {rules.describe(value)}: {error}") from None


class ListShape(msgspec.Struct, frozen=True):
    """A list whose items have one shape."""

    item: Shape

    def build(self, value: object, rules: Rules) -> object:
        """Build every item."""
        # A string is a sequence, too.
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            raise ShapeError(f"expected a list, got {rules.describe(value)}")
        built: list[object] = []
        for index, item in enumerate(cast("Sequence[object]", value)):
            try:
                built.append(self.item.build(item, rules))
            except ShapeError as fault:
                # From the inside out: each level adds its own step to the path.
                fault.steps.append(f"[{index}]")
                raise
        return built


class MapShape(msgspec.Struct, frozen=True):
    """A map from strings to values of one shape."""

    value: Shape

    def build(self, value: object, rules: Rules) -> object:
        """Build every value."""
        if not isinstance(value, Mapping):
            raise ShapeError(f"expected an object, got {rules.describe(value)}")
        built: dict[str, object] = {}
        for key, item in cast("Mapping[object, object]", value).items():
            try:
                built[check_key(key)] = self.value.build(item, rules)
            except ShapeError as fault:
                fault.steps.append(f'["{key}"]')
                raise
        return built


class StructShape(msgspec.Struct, frozen=True):
    """A nested API type."""

    cls: ApiType

    def build(self, value: object, rules: Rules) -> object:
        """Return an instance unchanged; build one from a mapping."""
        if isinstance(value, cast("type", self.cls)):
            return value
        if not isinstance(value, Mapping):
            raise ShapeError(f"expected an object ({self.cls.__name__}), got {rules.describe(value)}")
        if from_plain := getattr(self.cls, "from_plain", None):
            return from_plain(value, rules)
        if rules.keep_unknown:
            try:  # msgspec is much faster, and usually only one level of an object has unknown fields
                return _converter(self.cls)(cast("object", value))
            except msgspec.ValidationError:
                pass
        return build_struct(self.cls, cast("Mapping[object, object]", value), rules)


class UnionShape(msgspec.Struct, frozen=True):
    """One of several shapes: the first that accepts the value."""

    shapes: tuple[Shape, ...]

    def build(self, value: object, rules: Rules) -> object:
        """Try each in turn; raise the error of the last one."""
        for shape in self.shapes[:-1]:
            try:
                return shape.build(value, rules)
            except ShapeError:
                continue
        return self.shapes[-1].build(value, rules)


class NullableShape(msgspec.Struct, frozen=True):
    """A shape that accepts null."""

    shape: Shape

    def build(self, value: object, rules: Rules) -> object:
        """Return null unchanged."""
        return None if value is None else self.shape.build(value, rules)


class StructField(msgspec.Struct, frozen=True):
    """A field of an API type: attribute, wire name, shape, and whether messages hide its value."""

    attribute: str
    wire: str
    shape: Shape
    default: object
    is_nullable: bool
    is_secret: bool = False

    def build(self, value: object, rules: Rules) -> object:
        """Build the value. Null means unset, as for the API server, but an explicit null is preserved."""
        if value is None:
            is_kept = self.is_nullable or (rules.keep_unknown and self.default is msgspec.UNSET)
            return None if is_kept else self.default
        try:
            return self.shape.build(value, self.rules(rules))
        except ShapeError as fault:
            fault.steps.append(f".{self.wire}")
            raise

    def rules(self, rules: Rules) -> Rules:
        """Return the rules for this field, derived from those of its type."""
        return msgspec.structs.replace(rules, hides_values=True) if self.is_secret else rules


def build_struct(cls: ApiType, data: Mapping[object, object], rules: Rules) -> object:
    """Build an instance of `cls` from a mapping of wire names.

    Raises:
        ShapeError: If a field is invalid or, under strict rules, unknown.
    """
    fields = fields_of(cls)
    known: dict[str, object] = {}
    unknown: dict[str, object] = {}
    for raw_key, value in data.items():
        key = check_key(raw_key)
        field = fields.get(key) or (fields_by_attribute(cls).get(key) if rules.attribute_names else None)
        if field is None:
            unknown[key] = value
        else:
            known[field.attribute] = field.build(value, rules)
    if not unknown:
        return construct(cls, known)
    if not rules.keep_unknown:
        names = fields_by_attribute(cls) if rules.attribute_names else fields
        raise ShapeError(unknown_field(cls, next(iter(unknown)), names))
    return construct_with_unknown(cls, known, unknown)


def construct_with_unknown(cls: ApiType, known: Mapping[str, object], unknown: Mapping[str, object]) -> object:
    """Create an instance of the substitute of `cls` that has the unknown fields.

    Raises:
        ShapeError: If the name of a field needs escaping.
    """
    for key in unknown:
        if _NO_NAME.search(key):
            raise ShapeError(f"{describe(key)} is not a field name: it has a quote, backslash or control character")
    UNKNOWN_FIELDS.learn(cls.api_type, unknown)
    variant = with_unknown(cls.api_type, tuple(unknown))
    extra = dict(zip(variant.__struct_fields__[-len(unknown) :], unknown.values(), strict=True))
    return construct(variant, {**known, **extra})


def unknown_field(cls: ApiType, key: str, names: Iterable[str]) -> str:
    """Format the message for an unknown field, with the most similar name."""
    names = list(names)
    known = fields_of(cls).get(key)
    # Its sections may have any name, so that similar fields would mislead: data is no misspelled metadata.
    if known is None and (access := cast("str", getattr(cls, "_SECTION_ACCESS", ""))):
        return f'{cls.__name__} has no field "{key}"; {access.format(key=key)}'
    close = known.attribute if known else _similar_name(key, names)
    hint = f'did you mean "{close}"?' if close else f"it has {', '.join(names) or 'no fields'}"
    return f'{cls.__name__} has no field "{key}"; {hint}'


def _similar_name(key: str, names: Sequence[str]) -> str:
    """Return the most similar name, or the name with the most similar beginning; empty if none is similar."""
    import difflib

    if close := difflib.get_close_matches(key, names, n=1):
        return close[0]
    if len(key) < _MIN_BEGINNING:
        return ""
    beginnings = {name[: len(key)]: name for name in names}
    close = difflib.get_close_matches(key, beginnings, n=1, cutoff=0.75)
    return beginnings[close[0]] if close else ""


def check_key(key: object) -> str:
    """Return the key of a mapping if it is a string.

    Raises:
        ShapeError: If it is not a string.
    """
    if not isinstance(key, str):
        raise ShapeError(f"expected text as the key, got {describe(key)}; put it in quotes")
    return key


@functools.cache
def fields_of(cls: ApiType) -> Mapping[str, StructField]:
    """Return the fields of an API type by wire name."""
    hints = annotations_of(cls)
    wire_names = zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
    defaults = dict(zip(reversed(cls.__struct_fields__), reversed(cls.__struct_defaults__), strict=False))
    nullable: tuple[str, ...] = cast("Any", cls).NULLABLE
    sensitive: tuple[str, ...] = cast("Any", cls).SENSITIVE
    return {
        wire: StructField(
            attribute,
            wire,
            shape_of(hints[attribute]),
            defaults[attribute],
            attribute in nullable,
            # Base64 data is mostly passwords and keys.
            attribute in sensitive or _holds_bytes(hints[attribute]),
        )
        for attribute, wire in wire_names
        if attribute in hints
    }


def _holds_bytes(annotation: object) -> bool:
    return annotation is bytes or any(map(_holds_bytes, get_args(annotation)))


@functools.cache
def fields_by_attribute(cls: ApiType) -> Mapping[str, StructField]:
    """Return the fields of an API type by attribute."""
    return {field.attribute: field for field in fields_of(cls).values()}


@functools.cache
def annotations_of(cls: ApiType) -> Mapping[str, object]:
    """Return the annotations of an API type's fields, with forward references resolved in its module."""
    hints: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        if not isinstance(base, ApiType):
            continue
        holder = types.SimpleNamespace(__annotations__=dict(base.declared))
        scope = {**base.module_globals, base.__name__: base}
        hints |= typing.get_type_hints(cast("Any", holder), globalns=scope, include_extras=True)
    return hints


def shape_of(annotation: object) -> Shape:
    """Compile an annotation to a shape."""
    annotation = wire_type(annotation)
    if annotation is Any or annotation is object:
        return AnyShape()
    if isinstance(annotation, ApiType):
        return StructShape(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _shape_with_metadata(annotation, arguments[0])
    if origin is list:
        return ListShape(_inner_shape(arguments[0]))
    if origin is dict:
        return MapShape(_inner_shape(arguments[1]))
    if origin in UNIONS:
        return _union(tuple(argument for argument in arguments if argument not in {type(None), msgspec.UnsetType}))
    return _time() if annotation is datetime else _scalar((annotation,), annotation)


def _shape_with_metadata(annotation: object, inner: object) -> Shape:
    """Return the shape of an annotation with metadata; only msgspec's metadata constrains a scalar."""
    found = shape_of(inner)
    is_narrowed = any(isinstance(arg, msgspec.Meta) for arg in get_args(annotation)[1:])
    if not is_narrowed or not isinstance(found, ScalarShape) or isinstance(found, TimeShape):
        return found
    return msgspec.structs.replace(_scalar((inner,), annotation), exact=())


def allows_none(annotation: object) -> bool:
    """Whether None is a value of an annotation."""
    if get_origin(annotation) is Annotated:
        return allows_none(get_args(annotation)[0])
    return type(None) in get_args(annotation)


def is_float(annotation: object) -> bool:
    """Whether an annotation is that of a float, which may be optional."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return is_float(get_args(annotation)[0])
    return any(map(is_float, get_args(annotation))) if origin in UNIONS else annotation is float


def _inner_shape(annotation: object) -> Shape:
    """Return the shape of list items or map values, which may be null; fields handle null themselves."""
    shape = shape_of(annotation)
    return NullableShape(shape) if allows_none(annotation) else shape


def _union(members: tuple[object, ...]) -> Shape:
    if len(members) == 1:
        return shape_of(members[0])
    if Any in members:  # JSON, spelled out
        return AnyShape()
    if all(get_origin(member) is None and not isinstance(member, ApiType) for member in members):
        return _scalar(members, Union[members])
    return UnionShape(tuple(shape_of(member) for member in members))


def _scalar(members: tuple[object, ...], annotation: object) -> ScalarShape:
    words = " or ".join(_words(member) for member in members)
    # Always convert datetimes, so that naive ones are rejected.
    exact = tuple(member for member in members if isinstance(member, type) and member is not datetime)
    return ScalarShape(typeinfo.converter(cast("Any", annotation), dec_hook=dec_hook), words, exact)


def _time() -> TimeShape:
    """Return the shape of a time, which needs a time zone."""
    return TimeShape(typeinfo.converter(Time), WORDS[datetime], ())


def _words(annotation: object) -> str:
    if get_origin(annotation) is Literal:
        return " or ".join(f'"{choice}"' for choice in get_args(annotation))
    if isinstance(annotation, enum.EnumType):
        choices = cast("Iterable[enum.Enum]", annotation)
        return " or ".join(f'"{choice.value}"' for choice in choices)
    return WORDS.get(annotation, str(annotation))


def dec_hook(target: type, value: object) -> object:
    """Decode types that msgspec does not support.

    Raises:
        NotImplementedError: If the type is not supported.
    """
    if target is Quantity:  # the most frequent type, so it comes first
        return parse_text(value) if type(value) is str else parse_quantity(value)
    if target is MicroTime:
        return MicroTime.of(value) if isinstance(value, datetime) else parse_micro_time(cast("str", value))
    raise NotImplementedError(f"{target} is not a type of the Kubernetes API")


@functools.cache
def _converter(cls: ApiType) -> Callable[[object], object]:
    return typeinfo.converter(cast("object", cls), dec_hook=dec_hook)


def enc_hook(value: object) -> object:
    """Encode types that msgspec does not support.

    Raises:
        ArgumentError: If the value cannot be encoded as JSON.
    """
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, MicroTime):
        return format_micro_time(value)
    raise ArgumentError(f"{describe(value)} cannot be encoded as JSON", value=value)


def describe_type(value: object) -> str:
    """Describe the type of a value in a few words."""
    if isinstance(value, datetime) and value.tzinfo is None:
        return "a datetime without a time zone"
    return WORDS.get(type(value), f"a {type(value).__name__}")


def describe(value: object) -> str:
    """Describe a value in a few words for an error message."""
    words = describe_type(value)
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        text = repr(value)
        return f"{words} ({text if len(text) <= 40 else text[:37] + '...'})"
    return "true" if value is True else "false" if value is False else words

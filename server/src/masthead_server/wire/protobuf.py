"""Protobuf bodies, as Go's clients send them: decoded to the object's JSON.

kubectl sends them for ``create`` and some others, and does not fall back to JSON. A body is a prefix of four
bytes, and a message with the kind and the object. The fields of every message are in a generated table, which
is loaded with the first body and parsed message by message.

What Go's JSON would write as null is left out, which means the same. Fields that are not in the table are
skipped, as Go does. If a field occurs twice, the last one counts, where Go would merge objects; no client
sends that.
"""

from __future__ import annotations

import binascii
import functools
import math
import struct
from collections.abc import Callable
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import msgspec

from masthead._meta.quantity import parse_text
from masthead.errors import QuantityError
from masthead_server.wire.body_limits import (
    MAX_DEPTH,
    MAX_VALUES,
    LongNumberError,
    nests_too_deeply,
    refuse_long_numbers,
    refuse_many_values,
    too_large,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from masthead_server.wire.plain import Plain

_PREFIX: Final = b"k8s\0"
_MAX_DEPTH: Final = 100
"""How deeply messages may nest; only schemas of CustomResourceDefinitions have no limit of their own."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TRUNCATED: Final = "unexpected EOF"
_SCHEME: Final = "pkg/api/legacyscheme/scheme.go:30"
"""Go's name for the scheme of kube-apiserver."""
_NO_QUANTITY: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

_Held: TypeAlias = bytes | memoryview
"""The bytes of a field: a view, as a copy for each level would be many times the body."""
_Read: TypeAlias = Callable[[Any, int], object]
"""Decodes the content of a field, an int or bytes, at some depth."""
_Put: TypeAlias = Callable[["Plain", Any, int], None]
"""Adds the content of a field to the object that is being decoded."""


class ProtobufError(Exception):
    """A body cannot be decoded; the message has the reason.

    Attributes:
        api_version: The apiVersion in the body; empty if it is no such body.
        kind: Likewise.
    """

    def __init__(self, message: str, *, api_version: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.api_version = api_version
        self.kind = kind


class _Type(NamedTuple):
    """The wire type of a field's values, and their decoder."""

    wire: int
    read: _Read


class _Message(NamedTuple):
    """The decoder of each field, by its tag, and the numbers of all fields."""

    puts: Mapping[int, _Put]
    numbers: Mapping[int, str]


def decode(body: bytes, default: tuple[str, str] = ("", "")) -> Plain:
    """Decode a request's body.

    Args:
        body: The body.
        default: The apiVersion and the kind of a body that does not have them.

    Returns:
        The object as JSON.

    Raises:
        ProtobufError: If it is malformed, or of a kind that Kubernetes does not have.
        StatusFailure: If it has too many values.
    """
    if not body:
        raise ProtobufError("empty data")
    if not body.startswith(_PREFIX):
        expected = " ".join(str(byte) for byte in _PREFIX)
        raise ProtobufError(f"provided data does not appear to be a protobuf message, expected prefix [{expected}]")
    if len(body) == len(_PREFIX):
        raise ProtobufError("empty body")
    # One budget for the whole body, because messages nest and each of them may hold many values.
    token = _budget.set(_Budget())
    try:
        return _decode(memoryview(body)[len(_PREFIX) :], default)
    finally:
        _budget.reset(token)


class _Budget:
    """How many fields may still be decoded: a body can have millions, of two bytes each."""

    def __init__(self) -> None:
        self.left = MAX_VALUES

    def spend(self, count: int) -> None:
        """Count some fields.

        Raises:
            StatusFailure: If there are too many.
        """
        self.left -= count
        if self.left < 0:
            raise too_large(f"limit is {MAX_VALUES} values")


_budget: Final[ContextVar[_Budget]] = ContextVar("_budget")


def _decode(message: memoryview, default: tuple[str, str]) -> Plain:
    # As dict: of a repeated field the last one counts, as protobuf requires.
    envelope = dict(_parts(message))
    names = dict(_parts(_held(envelope, 1)))
    api_version = _text(_held(names, 1)) or default[0]
    kind = _text(_held(names, 2)) or default[1]
    try:
        fields = _object(_message_of(api_version, kind), _held(envelope, 2), 0)
    except (ProtobufError, RecursionError) as error:
        raise ProtobufError(str(error), api_version=api_version, kind=kind) from None
    return {"kind": kind, "apiVersion": api_version, **fields}


def _message_of(api_version: str, kind: str) -> str:
    from masthead_server.wire.protobuf_table import KINDS

    # Types such as Status and DeleteOptions are registered without a group for every version.
    for served in (api_version, ""):
        package, *kinds = KINDS.get(served, "").split(" ")
        if kind and kind in kinds:
            return f"{package}.{kind}"
    raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"')


def _parts(data: _Held) -> Iterator[tuple[int, int | _Held]]:
    """Iterate over the fields of a message: the tag of each (number and wire type), and its content.

    Raises:
        ProtobufError: If the data is truncated or malformed.
    """
    at, end = 0, len(data)
    budget = _budget.get()
    held: int | _Held
    while at < end:
        budget.spend(1)
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == _VARINT:
            held, at = _varint(data, at)
        else:
            length, at = _varint(data, at) if wire == _BYTES else (_fixed_size(wire), at)
            held = data[at : at + length]
            at += length
            # A slice beyond the end is short without an error, so that the length has to be checked.
            if at > end:
                raise ProtobufError(_TRUNCATED)
        yield tag, held


def _varint(data: _Held, at: int) -> tuple[int, int]:
    """Decode a varint; returns it and the position behind it."""
    try:
        value = data[at]
        if value < 0x80:  # most are, so that this is the fast path
            return value, at + 1
        value &= 0x7F
        for shift in range(7, 70, 7):
            at += 1
            byte = data[at]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                # Ten bytes hold 70 bits; Go drops those above 64.
                return value & 0xFFFF_FFFF_FFFF_FFFF, at + 1
    except IndexError:
        raise ProtobufError(_TRUNCATED) from None
    raise ProtobufError("proto: integer overflow")


def _fixed_size(wire: int) -> int:
    if wire == _FIXED64:
        return 8
    if wire == _FIXED32:
        return 4
    raise ProtobufError(f"proto: illegal wireType {wire}")


def _held(parts: Mapping[int, int | _Held], number: int) -> _Held:
    return cast("_Held", parts.get(number << 3 | _BYTES, b""))


def _read_integer(parts: Mapping[int, int | _Held], number: int) -> int:
    return _int64(cast("int", parts.get(number << 3 | _VARINT, 0)))


def _object(name: str, data: _Held, depth: int) -> Plain:
    made: Plain = {}
    _fill(made, name, data, depth)
    return made


def _fill(made: Plain, name: str, data: _Held, depth: int) -> None:
    """Add the fields of a message to an object."""
    if depth > _MAX_DEPTH:
        raise ProtobufError(f"objects lie in each other more than {_MAX_DEPTH} deep")
    message = _message(name)
    puts = message.puts
    for tag, held in _parts(data):
        # Unknown numbers are skipped, as protobuf requires: a client may be newer than the server.
        put = puts.get(tag)
        if put is not None:
            put(made, held, depth)
        elif tag >> 3 in message.numbers:
            raise ProtobufError(f"proto: wrong wireType = {tag & 7} for field {message.numbers[tag >> 3]}")
        # No message has a field 0; it is a sign of data that is no protobuf.
        elif tag >> 3 == 0:
            raise ProtobufError(f"proto: {name.rpartition('.')[2]}: illegal tag 0 (wire type {tag & 7})")


@functools.cache
def _message(name: str) -> _Message:
    """Parse a message's fields from the table; `tools.protobuf` describes their format."""
    from masthead_server.wire.protobuf_table import MESSAGES

    package = name.rpartition(".")[0]
    puts: dict[int, _Put] = {}
    numbers: dict[int, str] = {}
    for text in MESSAGES[name].split():
        number, field, written = text.split(":")
        numbers[int(number)] = field
        puts |= _puts_of(int(number) << 3, field, written, package)
    return _Message(puts, numbers)


def _puts_of(tag: int, field: str, written: str, package: str) -> dict[int, _Put]:
    """The decoders of a field, for each wire type."""
    form, drops = written.lstrip("*%>").rstrip("?"), written.endswith("?")
    message = package + form if form.startswith(".") else form
    if written.startswith(">"):
        return {tag | _BYTES: functools.partial(_put_inside, message)}
    kind = _TYPES.get(form) or _Type(_BYTES, _reader_of(message))
    if written.startswith("%"):
        return {tag | _BYTES: functools.partial(_put_entry, field, kind)}
    if not written.startswith("*"):
        put = _put_unless_zero if drops else _put_value
        return {tag | kind.wire: functools.partial(put, field, kind.read)}
    puts: dict[int, _Put] = {tag | kind.wire: functools.partial(_put_item, field, kind.read)}
    # Repeated numbers may be packed into one field; a decoder has to accept both forms.
    if kind.wire == _VARINT:
        puts[tag | _BYTES] = functools.partial(_put_packed, field, kind.read)
    return puts


def _reader_of(message: str) -> _Read:
    return lambda data, depth: _object(message, data, depth + 1)


def _put_value(field: str, read: _Read, made: Plain, held: int | _Held, depth: int) -> None:
    value = read(held, depth)
    if value is not None:
        made[field] = value


def _put_unless_zero(field: str, read: _Read, made: Plain, held: int | _Held, depth: int) -> None:
    value = read(held, depth)
    if value:
        made[field] = value


def _put_item(field: str, read: _Read, made: Plain, held: int | _Held, depth: int) -> None:
    made.setdefault(field, []).append(read(held, depth))


def _put_packed(field: str, read: _Read, made: Plain, held: _Held, depth: int) -> None:
    # Each byte may be a number, so that the length bounds the count before any is decoded.
    _budget.get().spend(len(held))
    at = 0
    while at < len(held):
        value, at = _varint(held, at)
        _put_item(field, read, made, value, depth)


def _put_entry(field: str, kind: _Type, made: Plain, held: _Held, depth: int) -> None:
    """A map is a list of messages, each with a key and a value."""
    entry = dict(_parts(held))
    value = entry.get(2 << 3 | kind.wire, b"" if kind.wire == _BYTES else 0)
    made.setdefault(field, {})[_text(_held(entry, 1))] = kind.read(value, depth)


def _put_inside(message: str, made: Plain, held: _Held, depth: int) -> None:
    """JSON has the fields of some messages in the object around them."""
    _fill(made, message, held, depth + 1)


def _text(held: _Held) -> str:
    # Go keeps invalid UTF-8 in strings; JSON cannot.
    return str(held, "utf-8", "replace")


def _int32(held: int) -> int:
    # A negative int32 is sent with ten bytes, sign-extended to 64 bits.
    held &= 0xFFFF_FFFF
    return held - (1 << 32) if held >> 31 else held


def _int64(held: int) -> int:
    return held - (1 << 64) if held >> 63 else held


def _double(held: _Held) -> float:
    value: float = struct.unpack("<d", held)[0]
    if not math.isfinite(value):
        raise ProtobufError(f"JSON has no number for {value}")
    return int(value) if value.is_integer() else value


def _base64(held: _Held) -> str:
    return binascii.b2a_base64(held, newline=False).decode("ascii")


def _quantity(held: _Held) -> str:
    text = _text(_held(dict(_parts(held)), 1))
    try:
        # The canonical form, as Go writes it: "1000m" becomes "1".
        return str(parse_text(text or "0"))
    except QuantityError:
        raise ProtobufError(_NO_QUANTITY) from None


def _int_or_string(held: _Held) -> int | str:
    parts = dict(_parts(held))
    return _text(_held(parts, 3)) if _read_integer(parts, 1) else _int32(_read_integer(parts, 2))


def _moment(held: _Held) -> datetime | None:
    # The zero time is an empty message, and null in JSON.
    if not held:
        return None
    parts = dict(_parts(held))
    try:
        return datetime(1970, 1, 1) + timedelta(  # noqa: DTZ001 - UTC is all there is, and is written by hand
            seconds=_read_integer(parts, 1), microseconds=_read_integer(parts, 2) // 1000
        )
    except OverflowError:
        raise ProtobufError("a time lies outside of the years 1 to 9999") from None


def _time(held: _Held) -> str | None:
    moment = _moment(held)
    return f"{moment.isoformat(timespec='seconds')}Z" if moment else None


def _micro_time(held: _Held) -> str | None:
    moment = _moment(held)
    return f"{moment.isoformat(timespec='microseconds')}Z" if moment else None


def _json(held: _Held) -> object:
    """A message that contains a JSON document."""
    document = _held(dict(_parts(held)), 1)
    if not document:
        return None
    try:
        text = bytes(document)
        # Checked on the text, because decoding is what takes memory.
        refuse_many_values(text)
        refuse_long_numbers(text)
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, LongNumberError) as error:
        raise ProtobufError(f"a field should hold JSON and does not: {error}") from None
    if nests_too_deeply(found):
        raise ProtobufError(f"a field holds JSON that nests more than {MAX_DEPTH} deep")
    return found


def _texts(held: _Held) -> list[str]:
    return [_text(value) for _, value in _parts(held) if not isinstance(value, int)]


def _schema_or(name: str, otherwise: str, held: _Held, depth: int) -> object:
    """A schema, or its alternative."""
    found = _object(f"apiextensions.v1.{name}", held, depth + 1)
    other = found.get(otherwise)
    return other if other and "schema" not in found else found.get("schema")


def _schema_or_bool(held: _Held, depth: int) -> object:
    found = _schema_or("JSONSchemaPropsOrBool", "allows", held, depth)
    return False if found is None else found


def _flat(read: Callable[[Any], object]) -> _Read:
    return lambda held, _depth: read(held)


_TYPES: Final[dict[str, _Type]] = {
    "s": _Type(_BYTES, _flat(_text)),
    "i": _Type(_VARINT, _flat(_int32)),
    "l": _Type(_VARINT, _flat(_int64)),
    "b": _Type(_VARINT, _flat(bool)),
    "d": _Type(_FIXED64, _flat(_double)),
    "y": _Type(_BYTES, _flat(_base64)),
    "ExtraValue": _Type(_BYTES, _flat(_texts)),
    "FieldsV1": _Type(_BYTES, _flat(_json)),
    "IntOrString": _Type(_BYTES, _flat(_int_or_string)),
    "JSON": _Type(_BYTES, _flat(_json)),
    "JSONSchemaPropsOrArray": _Type(_BYTES, functools.partial(_schema_or, "JSONSchemaPropsOrArray", "jSONSchemas")),
    "JSONSchemaPropsOrBool": _Type(_BYTES, _schema_or_bool),
    "JSONSchemaPropsOrStringArray": _Type(
        _BYTES, functools.partial(_schema_or, "JSONSchemaPropsOrStringArray", "property")
    ),
    "MicroTime": _Type(_BYTES, _flat(_micro_time)),
    "Quantity": _Type(_BYTES, _flat(_quantity)),
    "RawExtension": _Type(_BYTES, _flat(_json)),
    "Time": _Type(_BYTES, _flat(_time)),
    "Verbs": _Type(_BYTES, _flat(_texts)),
}
"""Every type that is no message, by the table's name for it."""

"""The document of OpenAPI v2 in protobuf, in the messages of gnostic, which older clients read.

A table for each message has the number and type of each field of the plain data. Values of any type, such as
extensions, are text in YAML; JSON is YAML, too.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from masthead_server.openapi.swagger import HEAD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._schema.schema import Schema
    from masthead_server.openapi.operations import PathItem

__all__ = ["PROTOBUF_SWAGGER", "ProtobufSwagger"]

Json = dict[str, Any]
_VARINT, _FIXED64, _BYTES = 0, 1, 2


def _varint(value: int) -> bytes:
    if value < 0:
        value += 1 << 64
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _encode_field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _string(number: int, value: str) -> bytes:
    return _encode_field(number, value.encode())


def _strings(number: int, value: list[str]) -> bytes:
    return b"".join(_string(number, item) for item in value)


def _bool(number: int, value: bool) -> bytes:
    return _varint(number << 3 | _VARINT) + (b"\x01" if value else b"\x00")


def _integer(number: int, value: float) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(int(value))


def _double(number: int, value: float) -> bytes:
    return _varint(number << 3 | _FIXED64) + struct.pack("<d", value)


def _any(number: int, value: object) -> bytes:
    return _encode_field(number, _encode_field(2, msgspec.json.encode(value)))


def _any_list(number: int, value: list[object]) -> bytes:
    return b"".join(_any(number, item) for item in value)


def _encode_named_value(number: int, name: str, value: bytes) -> bytes:
    return _encode_field(number, _string(1, name) + _encode_field(2, value))


def _extension(number: int, name: str, value: object) -> bytes:
    return _encode_named_value(number, name, _encode_field(2, msgspec.json.encode(value)))


def _encode(plain: Json, message: _Message) -> bytes:
    """Encode fields in the order of the message; extensions follow."""
    parts = [write(number, plain[key]) for key, (number, write) in message.fields.items() if key in plain]
    if message.extensions:
        parts += [_extension(message.extensions, key, value) for key, value in plain.items() if key.startswith("x-")]
    return b"".join(parts)


@dataclass(frozen=True, slots=True)
class _Message:
    """A message.

    Attributes:
        fields: The number and the encoder of each field, by its name in JSON.
        extensions: The number of extensions; 0 if it has none.
    """

    fields: dict[str, tuple[int, Callable[[int, Any], bytes]]]
    extensions: int = 0


def _encode_message(message: Callable[[], _Message]) -> Callable[[int, Any], bytes]:
    return lambda number, value: _encode_field(number, _encode(value, message()))


def _map_of(message: Callable[[], _Message]) -> Callable[[int, Any], bytes]:
    """Return the encoder of a map, which is a message with a list of names and values."""

    def write(number: int, value: Mapping[str, Json]) -> bytes:
        entries = (_encode_named_value(1, name, _encode(each, message())) for name, each in value.items())
        return _encode_field(number, b"".join(entries))

    return write


def _responses(number: int, value: Mapping[str, Json]) -> bytes:
    # A response is one alternative of a message, a reference to one the other.
    codes = (_encode_named_value(1, code, _encode_field(1, _encode(each, _RESPONSE))) for code, each in value.items())
    return _encode_field(number, b"".join(codes))


def _response_schema(number: int, value: Json) -> bytes:
    return _encode_field(number, _encode_field(1, _encode(value, _SCHEMA)))


def _parameters(number: int, value: list[Json]) -> bytes:
    return b"".join(_encode_field(number, _encode_field(1, _parameter(parameter))) for parameter in value)


def _parameter(plain: Json) -> bytes:
    match plain["in"]:
        case "body":
            return _encode_field(1, _encode(plain, _BODY_PARAMETER))
        case "query":
            return _encode_field(2, _encode_field(3, _encode(plain, _QUERY_PARAMETER)))
        case _:
            return _encode_field(2, _encode_field(4, _encode(plain, _PATH_PARAMETER)))


def _security(number: int, value: list[Mapping[str, list[str]]]) -> bytes:
    requirements = (
        b"".join(_encode_named_value(1, name, _strings(1, scopes)) for name, scopes in requirement.items())
        for requirement in value
    )
    return b"".join(_encode_field(number, requirement) for requirement in requirements)


def _security_definitions(number: int, value: Mapping[str, Json]) -> bytes:
    entries = (_encode_named_value(1, name, _encode_field(2, _encode(each, _API_KEY))) for name, each in value.items())
    return _encode_field(number, b"".join(entries))


def _type(number: int, value: str) -> bytes:
    return _encode_field(number, _string(1, value))


def _items(number: int, value: Json) -> bytes:
    return _encode_field(number, _encode_field(1, _encode(value, _SCHEMA)))


def _additional_properties(number: int, value: Json | bool) -> bytes:
    if isinstance(value, bool):
        return _encode_field(number, _bool(2, value))
    return _encode_field(number, _encode_field(1, _encode(value, _SCHEMA)))


_SCHEMA: Final[_Message] = _Message(
    {
        "$ref": (1, _string),
        "format": (2, _string),
        "title": (3, _string),
        "description": (4, _string),
        "multipleOf": (6, _double),
        "maximum": (7, _double),
        "exclusiveMaximum": (8, _bool),
        "minimum": (9, _double),
        "exclusiveMinimum": (10, _bool),
        "maxLength": (11, _integer),
        "minLength": (12, _integer),
        "pattern": (13, _string),
        "maxItems": (14, _integer),
        "minItems": (15, _integer),
        "uniqueItems": (16, _bool),
        "maxProperties": (17, _integer),
        "minProperties": (18, _integer),
        "required": (19, _strings),
        "enum": (20, _any_list),
        "additionalProperties": (21, _additional_properties),
        "type": (22, _type),
        "items": (23, _items),
        "properties": (25, _map_of(lambda: _SCHEMA)),
        "externalDocs": (29, _encode_message(lambda: _EXTERNAL_DOCS)),
        "example": (30, _any),
    },
    extensions=31,
)
_EXTERNAL_DOCS: Final[_Message] = _Message({"description": (1, _string), "url": (2, _string)})
_BODY_PARAMETER: Final = _Message(
    {
        "name": (2, _string),
        "in": (3, _string),
        "required": (4, _bool),
        "schema": (5, _encode_message(lambda: _SCHEMA)),
    }
)
_QUERY_PARAMETER: Final = _Message(
    {"in": (2, _string), "name": (4, _string), "type": (6, _string), "uniqueItems": (20, _bool)}
)
_PATH_PARAMETER: Final = _Message(
    {
        "required": (1, _bool),
        "in": (2, _string),
        "name": (4, _string),
        "type": (5, _string),
        "uniqueItems": (19, _bool),
    }
)
_RESPONSE: Final = _Message({"description": (1, _string), "schema": (2, _response_schema)})
_OPERATION: Final = _Message(
    {
        "tags": (1, _strings),
        "operationId": (5, _string),
        "produces": (6, _strings),
        "consumes": (7, _strings),
        "parameters": (8, _parameters),
        "responses": (9, _responses),
        "schemes": (10, _strings),
    },
    extensions=13,
)
_write_operation: Final = _encode_message(lambda: _OPERATION)
_PATH_ITEM: Final = _Message(
    {
        "get": (2, _write_operation),
        "put": (3, _write_operation),
        "post": (4, _write_operation),
        "delete": (5, _write_operation),
        "options": (6, _write_operation),
        "head": (7, _write_operation),
        "patch": (8, _write_operation),
        "parameters": (9, _parameters),
    }
)
_API_KEY: Final = _Message({"type": (1, _string), "name": (2, _string), "in": (3, _string)})
_INFO: Final = _Message({"title": (1, _string), "version": (2, _string)})
_DOCUMENT: Final = _Message(
    {
        "swagger": (1, _string),
        "info": (2, _encode_message(lambda: _INFO)),
        "security": (12, _security),
        "securityDefinitions": (13, _security_definitions),
    }
)


class ProtobufSwagger:
    """The document in protobuf."""

    def path(self, item: PathItem) -> bytes:
        """Encode a path."""
        return _encode(item.plain_in_version_2(), _PATH_ITEM)

    def definition(self, schema: Schema) -> bytes:
        """Encode a schema of version 2."""
        return _encode(msgspec.to_builtins(schema), _SCHEMA)

    def document(self, paths: Mapping[str, bytes], definitions: Mapping[str, bytes]) -> bytes:
        """Encode the document from its encoded paths and definitions, in their order."""
        whole_paths = b"".join(_encode_named_value(2, path, item) for path, item in paths.items())
        whole_definitions = b"".join(_encode_named_value(1, name, each) for name, each in definitions.items())
        return _encode(HEAD, _DOCUMENT) + _encode_field(8, whole_paths) + _encode_field(9, whole_definitions)


PROTOBUF_SWAGGER: Final = ProtobufSwagger()

"""The types of expressions, as the checker knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ANY",
    "BOOL",
    "BYTES",
    "CIDR",
    "DOUBLE",
    "DURATION",
    "DYN",
    "ERROR",
    "FORMAT",
    "INT",
    "IP",
    "NULL",
    "QUANTITY",
    "SEMVER",
    "STRING",
    "TIMESTAMP",
    "TYPE",
    "UINT",
    "URL",
    "Type",
    "list_of",
    "map_of",
    "object_type",
    "optional_of",
    "param",
    "type_of",
]


class Type:
    """A type: its kind, its name, and the types that it is made of.

    Attributes:
        kind: ``list``, ``map``, ``struct``, ``opaque``, ``type``, ``param``, ``dyn``, ``error``, or the name of a
            scalar.
        name: The name at run time, such as ``google.protobuf.Duration``.
        params: The types of items, or of keys and values.
        fields: The fields of an object, by their names in expressions.
    """

    __slots__ = ("fields", "kind", "name", "params")

    def __init__(
        self,
        kind: str,
        name: str = "",
        params: tuple[Type, ...] = (),
        fields: Mapping[str, Type] | None = None,
    ) -> None:
        self.kind = kind
        self.name = name or kind
        self.params = params
        self.fields: Mapping[str, Type] = fields if fields is not None else {}

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Type)
            and self.kind == other.kind
            and self.name == other.name
            and self.params == other.params
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.params))

    def __str__(self) -> str:
        if self.kind in _SHOWN:
            return _SHOWN[self.kind]
        if self.params:
            return f"{self.name}({', '.join(map(str, self.params))})"
        return self.name

    __repr__ = __str__

    @property
    def is_dynamic(self) -> bool:
        """Whether it is checked only at run time."""
        return self.kind == "dyn"

    @property
    def is_optional(self) -> bool:
        """Whether it is an optional value."""
        return self.name == "optional_type"


_SHOWN: Final = {
    "duration": "duration",
    "timestamp": "timestamp",
    "error": "!error!",
    "null": "null",
}

BOOL: Final = Type("bool")
INT: Final = Type("int")
UINT: Final = Type("uint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string")
BYTES: Final = Type("bytes")
NULL: Final = Type("null", "null_type")
DURATION: Final = Type("duration", "google.protobuf.Duration")
TIMESTAMP: Final = Type("timestamp", "google.protobuf.Timestamp")
DYN: Final = Type("dyn")
ANY: Final = Type("dyn", "any")
"""As `DYN`, for values of scalar types: loops over it do not compile."""
ERROR: Final = Type("error")
TYPE: Final = Type("type")
URL: Final = Type("struct", "kubernetes.URL")
QUANTITY: Final = Type("struct", "kubernetes.Quantity")
SEMVER: Final = Type("struct", "kubernetes.Semver")
FORMAT: Final = Type("struct", "kubernetes.NamedFormat")
IP: Final = Type("opaque", "net.IP")
CIDR: Final = Type("opaque", "net.CIDR")


def list_of(item: Type) -> Type:
    """The type of lists."""
    return Type("list", "list", (item,))


def map_of(key: Type, value: Type) -> Type:
    """The type of maps."""
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    """The type of optional values."""
    return Type("opaque", "optional_type", (value,))


def type_of(value: Type) -> Type:
    """The type of a type."""
    return Type("type", "type", (value,))


def param(name: str) -> Type:
    """A type that an overload leaves open."""
    return Type("param", name)


def object_type(name: str, fields: Mapping[str, Type]) -> Type:
    """The type of objects with these fields, by their names in expressions."""
    return Type("struct", name, (), fields)

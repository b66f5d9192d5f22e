"""Struct values: messages that an expression constructs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._cel.values import Opaque, equals

if TYPE_CHECKING:
    from masthead._cel.values import Value

__all__ = ["StructValue"]


class StructValue(Opaque):
    """A message: ``Object.spec{replicas: 3}``.

    Attributes:
        type_name: The name of its type.
        fields: Its fields, by name.
    """

    __slots__ = ("fields", "type_name")

    def __init__(self, type_name: str, fields: dict[str, Value]) -> None:
        self.type_name = type_name
        self.fields = fields

    def equals(self, other: Value) -> bool:
        """Whether the other has the same type and equal fields."""
        return (
            isinstance(other, StructValue)
            and self.type_name == other.type_name
            and self.fields.keys() == other.fields.keys()
            and all(equals(value, other.fields[name]) for name, value in self.fields.items())
        )

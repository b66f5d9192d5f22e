"""How strategic merge patches merge the fields of a kind, read from its schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from masthead._schema.merge_errors import StrategicMergeError

if TYPE_CHECKING:
    from masthead._schema.schema import Definitions, Schema

__all__ = ["FieldMerge", "MergeRules", "SchemaMergeRules"]

_MAX_STRATEGIES: Final = 2


class MergeRules(Protocol):
    """The rules of one type: of an object, or of the items of a list."""

    @property
    def kind(self) -> str:
        """The kind of the Go type: ``struct``, ``map``, ``string``."""
        ...

    def field(self, key: str) -> FieldMerge:
        """Return how a field that is an object is merged.

        Raises:
            StrategicMergeError: If there is no such field.
        """
        ...

    def list_field(self, key: str) -> FieldMerge:
        """Return how a field that is a list is merged; its rules are those of the items.

        Raises:
            StrategicMergeError: If there is no such field, or if it is no list.
        """
        ...


@dataclass(frozen=True, slots=True)
class FieldMerge:
    """How one field is merged.

    Attributes:
        rules: The rules of its value, or of its items.
        strategy: ``merge``, ``replace``, or empty for the default: objects merge, lists are replaced.
        retains_keys: Whether patches of the field list the keys to keep.
        merge_key: The field that identifies an item of the list; empty for none.
    """

    rules: MergeRules
    strategy: str = ""
    retains_keys: bool = False
    merge_key: str = ""


class SchemaMergeRules:
    """The rules of a type by its schema.

    Args:
        schema: The schema.
        definitions: What it refers to.
        name: The name of the type.
    """

    def __init__(self, schema: Schema, definitions: Definitions, name: str = "") -> None:
        self._definitions = definitions
        # A reference names the type.
        self._name = schema.target.rpartition(".")[2] or name
        self._schema = definitions.resolve(schema)

    @property
    def kind(self) -> str:
        """The kind of the Go type: ``struct``, ``map``, ``string``."""
        schema = self._schema
        match schema.type:
            case "array":
                return "slice"
            case "boolean":
                return "bool"
            case "integer":
                return schema.format or "int64"
            case "number":
                return "float64"
            case "string":
                return "string"
            case _:
                return "map" if schema.is_map else "struct"

    def field(self, key: str) -> FieldMerge:
        """Return how a field that is an object is merged.

        Raises:
            StrategicMergeError: If there is no such field.
        """
        found = self._find(key)
        return self._merge_of(found, found)

    def list_field(self, key: str) -> FieldMerge:
        """Return how a field that is a list is merged; its rules are those of the items.

        Raises:
            StrategicMergeError: If there is no such field, or if it is no list.
        """
        found = self._find(key)
        items = self._definitions.resolve(found).items
        if items is None:
            # kube-apiserver names the kind of the parent here.
            raise StrategicMergeError(f"expected slice or array type, but got: {self.kind}")
        return self._merge_of(found, items)

    def _find(self, key: str) -> Schema:
        if self.kind != "struct":
            problem = f"merging an object in json but data type is not struct, instead is: {self.kind}"
            raise StrategicMergeError(problem)
        properties = self._schema.properties
        if key in properties:
            return properties[key]
        # Go falls back to comparing names without regard to case.
        folded = key.casefold()
        for name, schema in properties.items():
            if name.casefold() == folded:
                return schema
        problem = f'unable to find api field in struct {self._name} for the json field "{key}"'
        raise StrategicMergeError(problem)

    def _merge_of(self, schema: Schema, value: Schema) -> FieldMerge:
        strategies = schema.patch_strategy.split(",") if schema.patch_strategy else []
        retains = "retainKeys" in strategies
        others = [strategy for strategy in strategies if strategy != "retainKeys"]
        if len(others) >= _MAX_STRATEGIES:
            raise StrategicMergeError(f"unexpected patch strategy: [{' '.join(strategies)}]")
        return FieldMerge(
            SchemaMergeRules(value, self._definitions),
            others[0] if others else "",
            retains,
            schema.patch_merge_key,
        )

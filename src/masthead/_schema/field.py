"""`Field`: constraints, documentation, merge rules and validation rules of a field, for its annotation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET

from masthead._module import set_module
from masthead._schema.schema import Rule, Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from masthead._meta.shape import JSON

__all__ = ["DefaultValue", "Field", "as_rules", "constraints_of_meta"]

DefaultValue: TypeAlias = "str | int | float | bool | Sequence[JSON] | Mapping[str, JSON] | None"
"""The default of a field: plain data."""
_IMMUTABLE: Final = Rule("self == oldSelf", message="is immutable")


@set_module("masthead.crd")
class Field:
    """Constraints, documentation, merge rules and validation rules of a custom resource's field.

    Put it into an annotation: ``replicas: Annotated[int, Field(minimum=0)] = 1``. In ``list[Annotated[str,
    Field(...)]]`` it constrains the items. An alias, ``Port = Annotated[int, Field(minimum=1, maximum=65535)]``, may be
    used for many fields. If several fields in one annotation set the same property, the last one wins.
    """

    __slots__ = ("default", "given", "immutable", "nullable", "preserve_unknown", "required", "rules")

    def __init__(  # noqa: PLR0913 - each is an option of its own
        self,
        *,
        description: str = "",
        title: str = "",
        minimum: float | None = None,
        maximum: float | None = None,
        exclusive_minimum: float | None = None,
        exclusive_maximum: float | None = None,
        multiple_of: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        pattern: str = "",
        format: str = "",  # noqa: A002 - its name in OpenAPI
        min_items: int | None = None,
        max_items: int | None = None,
        min_properties: int | None = None,
        max_properties: int | None = None,
        list_type: Literal["atomic", "set", "map"] | None = None,
        list_map_keys: Sequence[str] = (),
        map_type: Literal["atomic", "granular"] | None = None,
        nullable: bool = False,
        preserve_unknown: bool = False,
        required: bool | None = None,
        default: DefaultValue | msgspec.UnsetType = UNSET,
        immutable: bool = False,
        rules: Sequence[Rule | str] = (),
    ) -> None:
        """Describe a field.

        Args:
            description: The documentation; by default that of the class docstring.
            title: A short name for people.
            minimum: The smallest number.
            maximum: The largest number.
            exclusive_minimum: The largest number that is too small.
            exclusive_maximum: The smallest number that is too large.
            multiple_of: What a number is a multiple of.
            min_length: The fewest characters of a string.
            max_length: The most characters of a string.
            pattern: A regular expression (RE2) that a string matches somewhere.
            format: The format of a string or number, such as ``uri``, ``ipv4`` or ``int32``.
            min_items: The fewest items of a list.
            max_items: The most items of a list.
            min_properties: The fewest entries of a map.
            max_properties: The most entries of a map.
            list_type: How server-side apply merges a list: ``set`` of unique scalars, ``map`` by `list_map_keys`, or
                ``atomic`` as a whole, which is the default.
            list_map_keys: The fields, by wire name, that identify an item if `list_type` is ``map``.
            map_type: How server-side apply merges a map or nested type: ``granular``, the default, or ``atomic``.
            nullable: Whether null is a value that differs from an absent field.
            preserve_unknown: Whether the server keeps fields that the type does not have.
            required: Whether the field is required; by default it is if it has no default.
            default: The default that the server sets, if it is not the one in the class.
            immutable: Whether the field can be neither changed nor removed once it is set.
            rules: Validation rules in CEL, whose ``self`` is the value; a string is a rule without a message.
        """
        given: dict[str, object] = {
            "title": title,
            "description": description,
            "format": format,
            "pattern": pattern,
            "multiple_of": multiple_of,
            "min_length": min_length,
            "max_length": max_length,
            "min_items": min_items,
            "max_items": max_items,
            "min_properties": min_properties,
            "max_properties": max_properties,
            "list_type": list_type,
            "list_map_keys": tuple(list_map_keys),
            "map_type": map_type,
            "nullable": nullable,
            **_bounds("minimum", minimum, exclusive_minimum),
            **_bounds("maximum", maximum, exclusive_maximum),
        }
        blank = Schema()
        self.given: Final[Mapping[str, object]] = {
            name: value for name, value in given.items() if value != getattr(blank, name)
        }
        """The constraints that are set, by their names in a `Schema`."""
        self.nullable: Final = nullable
        self.preserve_unknown: Final = preserve_unknown
        self.required: Final = required
        self.default: Final = default
        self.immutable: Final = immutable
        own = (_IMMUTABLE,) if immutable else ()
        self.rules: Final[tuple[Rule, ...]] = (*own, *as_rules(rules))

    def __repr__(self) -> str:
        shown = {**self.given, **({"rules": [rule.rule for rule in self.rules]} if self.rules else {})}
        return f"Field({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def as_rules(given: Iterable[Rule | str]) -> tuple[Rule, ...]:
    """Return validation rules; a string is one without a message."""
    return tuple(Rule(rule) if isinstance(rule, str) else rule for rule in given)


def _bounds(name: str, inclusive: float | None, exclusive: float | None) -> dict[str, object]:
    if inclusive is not None and exclusive is not None:
        raise TypeError(f"give {name} or exclusive_{name}, not both")
    if exclusive is not None:
        return {name: exclusive, f"exclusive_{name}": True}
    return {name: inclusive}


def constraints_of_meta(meta: msgspec.Meta, schema: Schema) -> dict[str, Any]:
    """Return the constraints that msgspec's own metadata sets, by their names in a `Schema`."""
    size = {"array": "items", "object": "properties"}.get(schema.type, "length")
    found: dict[str, Any] = {
        "title": meta.title,
        "description": meta.description,
        "pattern": meta.pattern,
        "multiple_of": meta.multiple_of,
        f"min_{size}": meta.min_length,
        f"max_{size}": meta.max_length,
        "minimum": meta.ge if meta.gt is None else meta.gt,
        "exclusive_minimum": True if meta.gt is not None else None,
        "maximum": meta.le if meta.lt is None else meta.lt,
        "exclusive_maximum": True if meta.lt is not None else None,
    }
    return {name: value for name, value in found.items() if value is not None}

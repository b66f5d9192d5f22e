"""The internal form of a CustomResourceDefinition, which kube-apiserver validates and which its messages show.

Properties common to all versions, such as the only schema of a single version, are at the top there. So an error of
that schema is about ``spec.validation.openAPIV3Schema``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from masthead._schema.schema import Schema
from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "InternalSpec",
    "Version",
    "children",
    "same",
    "schemas_below",
    "set_fields",
    "shown_items",
    "shown_rule",
    "shown_schema",
    "shown_versions",
    "tree_of",
]


@dataclass(frozen=True, slots=True)
class Version:
    """One version, as far as it differs from the others.

    Attributes:
        plain: The version in the request.
        schema: Its schema; None if it has none or all versions have the same.
        subresources: Its subresources; None likewise.
        columns: Its printer columns; empty likewise.
        selectable: Its selectable fields; empty likewise.
    """

    plain: Plain
    schema: Plain | None
    subresources: Plain | None
    columns: list[Plain]
    selectable: list[Plain]

    @property
    def name(self) -> str:
        """The name."""
        return text(self.plain, "name")


@dataclass(frozen=True, slots=True)
class InternalSpec:
    """The spec of a definition.

    Attributes:
        plain: The spec in the request.
        versions: The versions.
        shared: What all versions have in common.
    """

    plain: Plain
    versions: list[Version]
    shared: Version

    @classmethod
    def of(cls, definition: Plain) -> InternalSpec:
        """Return the internal form of a definition's spec."""
        spec = part(definition, "spec")
        sent = [_version(version) for version in items(spec, "versions")]
        # kube-apiserver's internal type has one place for a value that all versions agree on.
        first = sent[0] if sent else Version({}, None, None, [], [])
        common = {
            name for name in _HOISTED if all(same(getattr(version, name), getattr(first, name)) for version in sent)
        }
        # Hoisted values are cleared in the versions, or every error would be reported twice.
        empty: dict[str, Any] = {"schema": None, "subresources": None, "columns": [], "selectable": []}
        versions = [
            Version(
                version.plain,
                **{name: empty[name] if name in common else getattr(version, name) for name in empty},
            )
            for version in sent
        ]
        shared = {name: getattr(first, name) if name in common else empty[name] for name in empty}
        return cls(spec, versions, Version({}, **shared))

    @property
    def preserves_unknown(self) -> bool:
        """Whether objects preserve unknown fields, a setting of old definitions only."""
        return self.plain.get("preserveUnknownFields") is True

    def schemas(self) -> Iterator[Plain]:
        """Yield the schema that is shared, or those of the versions."""
        for item in (self.shared, *self.versions):
            # A hoisted schema leaves none in the versions, so that no schema is yielded twice.
            if item.schema is not None:
                yield item.schema

    def schema_of(self, version: str) -> Plain | None:
        """Return the schema of a version; None if there is no such version or schema."""
        for other in self.versions:
            if other.name == version:
                # A version without a schema uses the hoisted one.
                return other.schema if other.schema is not None else self.shared.schema
        return None

    def has_schema_with(self, is_wanted: Callable[[Plain], object]) -> bool:
        """Tell whether any schema, at any depth, is as wanted."""
        return any(is_wanted(item) for schema in self.schemas() for item in schemas_below(schema))


_HOISTED: Final = ("schema", "subresources", "columns", "selectable")


def _version(plain: Plain) -> Version:
    schema = part(plain, "schema").get("openAPIV3Schema")
    return Version(
        plain,
        cast("Plain", schema) if isinstance(schema, dict) else None,
        part(plain, "subresources") if isinstance(plain.get("subresources"), dict) else None,
        items(plain, "additionalPrinterColumns"),
        items(plain, "selectableFields"),
    )


def same(one: object, other: object) -> bool:
    """Tell whether two schemas, or other parts, are equal in Go, where empty equals unset."""
    # Plain equality first: it is the common case, and much faster than the normalized comparison of large schemas.
    return one == other or _set_values(one) == _set_values(other)


def _set_values(value: object) -> object:
    if isinstance(value, dict):
        plain = cast("Plain", value)
        found = {
            # Values of the user, such as defaults, keep their nulls and empty lists.
            key: inner_value if key in _VERBATIM else _set_values(inner_value)
            for key, inner_value in plain.items()
        }
        return {key: nested for key, nested in found.items() if not _is_unset(key, nested)}
    if isinstance(value, list):
        return [_set_values(item) for item in cast("list[object]", value)]
    return value


_VERBATIM: Final = frozenset({"default", "enum", "example"})
"""The fields of a schema that hold any JSON."""

_POINTERS: Final = frozenset(
    [
        "$ref",
        "default",
        "example",
        "additionalProperties",
        "additionalItems",
        "items",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "reason",
        "optionalOldSelf",
        "labelSelectorPath",
    ]
)
"""The fields that are set even if they are empty or false."""


def _is_unset(key: str, value: object) -> bool:
    # A pointer to an empty value differs from nil in Go.
    if value is None or key in _POINTERS:
        return value is None
    # A zero number stays: minimum, maxLength and their like are pointers in Go.
    return value is False or value in ("", []) or (key == "properties" and value == {})


_CONTAINERS: Final = frozenset(
    [
        "items",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "properties",
        "additionalProperties",
        "patternProperties",
        "additionalItems",
        "definitions",
        "dependencies",
    ]
)
"""The fields of a schema that hold schemas."""


def schemas_below(schema: Plain) -> Iterator[Plain]:
    """Yield a schema and all schemas within it, wherever one may stand."""
    waiting = [schema]
    while waiting:
        found = waiting.pop()
        yield found
        # Reversed, because the last one is taken first: errors come in the order of the schema.
        waiting += reversed(children(found))


def children(schema: Plain) -> list[Plain]:
    """Return the schemas that stand directly within one."""
    # Most schemas are leaves, and a large definition has a hundred thousand of them.
    if schema.keys().isdisjoint(_CONTAINERS):
        return []
    listed: object = schema.get("items")
    # JSON schema allows a list of schemas for tuples; validation refuses it, but errors below it count.
    below = cast("list[object]", listed) if isinstance(listed, list) else [listed]
    for name in ("allOf", "anyOf", "oneOf"):
        below = [*below, *(schema.get(name) or ())]
    below.append(schema.get("not"))
    below += part(schema, "properties").values()
    below.append(schema.get("additionalProperties"))
    below += part(schema, "patternProperties").values()
    below.append(schema.get("additionalItems"))
    for name in ("definitions", "dependencies"):
        below += part(schema, name).values()
    return [cast("Plain", item) for item in below if isinstance(item, dict)]


def tree_of(schema: Plain) -> Schema:
    """Return the tree of a schema that has no unsupported fields."""
    try:
        return Schema.from_plain(schema)
    except msgspec.ValidationError:
        # An empty list of schemas for the items counts as unset, as does all that the tree cannot hold.
        return Schema.from_plain(cast("Plain", _without_empty_items(schema)))


def _without_empty_items(value: object) -> object:
    if isinstance(value, list):
        return [_without_empty_items(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    found = cast("Plain", value)
    return {key: _without_empty_items(nested) for key, nested in found.items() if (key, nested) != ("items", [])}


# What follows writes Go's structs as JSON: every field, in their order, under their Go names.

_SCHEMA_FIELDS: Final[dict[str, tuple[str, object]]] = {
    "ID": ("id", ""),
    "Schema": ("$schema", ""),
    "Ref": ("$ref", None),
    "Description": ("description", ""),
    "Type": ("type", ""),
    "Nullable": ("nullable", False),
    "Format": ("format", ""),
    "Title": ("title", ""),
    "Default": ("default", None),
    "Maximum": ("maximum", None),
    "ExclusiveMaximum": ("exclusiveMaximum", False),
    "Minimum": ("minimum", None),
    "ExclusiveMinimum": ("exclusiveMinimum", False),
    "MaxLength": ("maxLength", None),
    "MinLength": ("minLength", None),
    "Pattern": ("pattern", ""),
    "MaxItems": ("maxItems", None),
    "MinItems": ("minItems", None),
    "UniqueItems": ("uniqueItems", False),
    "MultipleOf": ("multipleOf", None),
    "Enum": ("enum", None),
    "MaxProperties": ("maxProperties", None),
    "MinProperties": ("minProperties", None),
    "Required": ("required", None),
    "Items": ("items", None),
    "AllOf": ("allOf", None),
    "OneOf": ("oneOf", None),
    "AnyOf": ("anyOf", None),
    "Not": ("not", None),
    "Properties": ("properties", None),
    "AdditionalProperties": ("additionalProperties", None),
    "PatternProperties": ("patternProperties", None),
    "Dependencies": ("dependencies", None),
    "AdditionalItems": ("additionalItems", None),
    "Definitions": ("definitions", None),
    "ExternalDocs": ("externalDocs", None),
    "Example": ("example", None),
    "XPreserveUnknownFields": ("x-kubernetes-preserve-unknown-fields", None),
    "XEmbeddedResource": ("x-kubernetes-embedded-resource", False),
    "XIntOrString": ("x-kubernetes-int-or-string", False),
    "XListMapKeys": ("x-kubernetes-list-map-keys", None),
    "XListType": ("x-kubernetes-list-type", None),
    "XMapType": ("x-kubernetes-map-type", None),
    "XValidations": ("x-kubernetes-validations", None),
}
"""The fields of a schema: the name in Go, the name in JSON, and the zero value."""


def set_fields(schema: Plain) -> Iterator[str]:
    """Yield the Go names of the fields of a schema that are set, in their order."""
    for name, (key, zero) in _SCHEMA_FIELDS.items():
        # An explicit zero value counts as unset, because Go cannot tell them apart for these fields.
        if schema.get(key, zero) != zero:
            yield name


def shown_schema(schema: Plain) -> Plain:
    """Return a schema as messages show it."""
    found = {name: schema.get(key, zero) for name, (key, zero) in _SCHEMA_FIELDS.items()}
    for name in ("AllOf", "OneOf", "AnyOf"):
        if found[name] is not None:
            found[name] = [shown_schema(item) for item in cast("list[Plain]", found[name])]
    for name in ("Properties", "PatternProperties", "Definitions"):
        if found[name] is not None:
            below = cast("dict[str, Plain]", found[name])
            # Go's encoder sorts the keys of maps; fields of structs keep their order.
            found[name] = {key: shown_schema(below[key]) for key in sorted(below)}
    if isinstance(found["Not"], dict):
        found["Not"] = shown_schema(cast("Plain", found["Not"]))
    for name in ("AdditionalProperties", "AdditionalItems"):
        found[name] = _shown_schema_or_bool(found[name])
    found["Items"] = shown_items(found["Items"])
    if found["Dependencies"] is not None:
        below = cast("dict[str, Any]", found["Dependencies"])
        found["Dependencies"] = {key: _shown_dependency(below[key]) for key in sorted(below)}
    if isinstance(found["ExternalDocs"], dict):
        docs = cast("Plain", found["ExternalDocs"])
        found["ExternalDocs"] = {"Description": text(docs, "description"), "URL": text(docs, "url")}
    if found["XValidations"] is not None:
        found["XValidations"] = [shown_rule(entry) for entry in cast("list[Plain]", found["XValidations"])]
    # Any JSON is held as decoded values, which Go writes with sorted keys at every level.
    for name in ("Default", "Enum", "Example"):
        found[name] = _sorted_keys(found[name])
    return found


def _shown_schema_or_bool(value: object) -> Plain | None:
    if value is None:
        return None
    schema = shown_schema(cast("Plain", value)) if isinstance(value, dict) else None
    # Go's decoder sets Allows together with a schema.
    return {"Allows": schema is not None or value is True, "Schema": schema}


def shown_items(value: object) -> Plain | None:
    """Return the ``items`` of a schema as messages print them: one schema, or a list of schemas."""
    if value is None:
        return None
    if isinstance(value, list):
        return {"Schema": None, "JSONSchemas": [shown_schema(item) for item in cast("list[Plain]", value)]}
    return {"Schema": shown_schema(cast("Plain", value)), "JSONSchemas": None}


def _shown_dependency(value: object) -> Plain:
    schema = shown_schema(cast("Plain", value)) if isinstance(value, dict) else None
    return {"Schema": schema, "Property": value if isinstance(value, list) else None}


def shown_rule(rule: Plain) -> Plain:
    """Return a validation rule as messages show it."""
    return {
        "Rule": text(rule, "rule"),
        "Message": text(rule, "message"),
        "MessageExpression": text(rule, "messageExpression"),
        "Reason": rule.get("reason"),
        "FieldPath": text(rule, "fieldPath"),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


def shown_versions(spec: InternalSpec) -> list[Plain] | None:
    """Return the versions as messages show them."""
    if spec.plain.get("versions") is None:
        return None
    return [_shown_version(version) for version in spec.versions]


def _shown_version(version: Version) -> Plain:
    plain = version.plain
    return {
        "Name": version.name,
        "Served": plain.get("served") is True,
        "Storage": plain.get("storage") is True,
        "Deprecated": plain.get("deprecated") is True,
        "DeprecationWarning": plain.get("deprecationWarning"),
        "Schema": None if version.schema is None else {"OpenAPIV3Schema": shown_schema(version.schema)},
        "Subresources": _shown_subresources(version.subresources),
        # Go's nil slices are null in messages, not empty lists.
        "AdditionalPrinterColumns": [_shown_column(column) for column in version.columns] or None,
        "SelectableFields": [{"JSONPath": text(item, "jsonPath")} for item in version.selectable] or None,
    }


def _shown_subresources(subresources: Plain | None) -> Plain | None:
    if subresources is None:
        return None
    scale = part(subresources, "scale")
    shown = {
        "SpecReplicasPath": text(scale, "specReplicasPath"),
        "StatusReplicasPath": text(scale, "statusReplicasPath"),
        "LabelSelectorPath": scale.get("labelSelectorPath"),
    }
    return {
        "Status": {} if subresources.get("status") is not None else None,
        "Scale": shown if subresources.get("scale") is not None else None,
    }


def _shown_column(column: Plain) -> Plain:
    return {
        "Name": text(column, "name"),
        "Type": text(column, "type"),
        "Format": text(column, "format"),
        "Description": text(column, "description"),
        "Priority": column.get("priority") or 0,
        "JSONPath": text(column, "jsonPath"),
    }


def _sorted_keys(value: object) -> object:
    if isinstance(value, dict):
        found = cast("Plain", value)
        return {key: _sorted_keys(found[key]) for key in sorted(found)}
    if isinstance(value, list):
        return [_sorted_keys(item) for item in cast("list[object]", value)]
    return value

"""Validation of the schemas of a definition: the OpenAPI that they may use, and how it must be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from masthead._schema.errors import forbidden, gather, invalid, not_supported, required
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.internal import (
    children,
    shown_items,
    tree_of,
)
from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors

__all__ = [
    "TYPES",
    "SchemaValidation",
    "has_bad_map_keys",
    "has_extensions",
    "has_invalid_type",
    "has_non_atomic_set",
    "unknown_format",
    "unsupported_problem",
]

TYPES: Final = frozenset({"array", "boolean", "integer", "number", "object", "string"})
_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_RULES: Final = "x-kubernetes-validations"
_META_FIELDS: Final = frozenset({"metadata", "kind", "apiVersion"})
_SIMPLE: Final = frozenset(
    [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "maximum",
        "minimum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "multipleOf",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "maxProperties",
        "minProperties",
        "enum",
        "required",
        "externalDocs",
        "example",
        "x-kubernetes-int-or-string",
    ]
)
"""The fields that nothing is wrong with whatever they are; most schemas have no others."""


class _Scope(NamedTuple):
    """Constraints on a schema from its position.

    Attributes:
        no_default: Why it may not have a default; empty if it may.
        is_meta: Whether it is within the metadata or type of an object.
    """

    no_default: str = ""
    is_meta: bool = False


_ANYWHERE: Final = _Scope()


class SchemaValidation:
    """Validates the schema of a version, or the common schema of all versions.

    Args:
        allows_any_type: Whether a type that does not exist is accepted.
        allows_any_set: Whether the items of a set need not be atomic.
        allows_any_keys: Whether keys of a list may be optional or null.

    Attributes:
        errors: The errors so far.
        sound: The paths of the schemas with rules that have no errors, nor those below them: rules of others cannot
            be compiled.
    """

    def __init__(
        self, *, allows_any_type: bool = False, allows_any_set: bool = False, allows_any_keys: bool = False
    ) -> None:
        self._allows_any_type = allows_any_type
        self._allows_any_set = allows_any_set
        self._allows_any_keys = allows_any_keys
        self.errors: Errors = []
        self.sound: set[str] = set()

    def check_root(self, schema: Plain, path: str) -> Errors:
        """Validate the schema of an object; returns its errors."""
        self._check(schema, path, _ANYWHERE, is_root=True)
        return self.errors

    def _check(self, schema: Plain, path: str, scope: _Scope, *, is_root: bool = False) -> None:
        kind = schema.get("type")
        # A shortcut for leaves, which are most schemas.
        if kind in TYPES and schema.keys() <= _SIMPLE:
            return
        before = len(self.errors)
        self._check_fields(schema, path, scope)
        self._check_properties(schema, path, scope, is_root=is_root)
        self._check_nested(schema, path, scope)
        if schema.get(_PRESERVE) is False:
            self.errors.append(invalid(f"{path}.{_PRESERVE}", False, "must be true or undefined"))
        if _MAP_TYPE in schema:
            self._check_map_type(schema, path)
        if _LIST_TYPE in schema or _LIST_KEYS in schema:
            self._check_list_type(schema, path)
        if schema.get(_RULES):
            self._check_rules(schema, path)
            # Rules compile only against a schema that is valid itself and below.
            if len(self.errors) == before:
                self.sound.add(path)

    def _check_fields(self, schema: Plain, path: str, scope: _Scope) -> None:
        kind = text(schema, "type")
        if kind and kind not in TYPES and not self._allows_any_type:
            self.errors.append(not_supported(f"{path}.type", kind, TYPES))
        if schema.get("default") is not None and scope.no_default:
            self.errors.append(forbidden(f"{path}.default", f"must not be set {scope.no_default}"))
        for name in ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"):
            value = schema.get(name)
            # Go's pointers tell an empty value from none; its slices and maps do not.
            is_set = value is not None if name in _SET_IF_PRESENT else bool(value)
            if is_set:
                self.errors.append(forbidden(f"{path}.{name}", f"{name} is not supported"))
        # Null is no type either, so that it gets two errors: an unsupported value above, and the advice here.
        if kind == "null":
            why = "type cannot be set to null, use nullable as an alternative"
            self.errors.append(forbidden(f"{path}.type", why))
        if isinstance(schema.get("items"), list) and schema["items"]:
            why = "items must be a schema object and not an array"
            self.errors.append(forbidden(f"{path}.items", why))
        if scope.is_meta and schema.get(_EMBEDDED):
            self.errors.append(forbidden(f"{path}.{_EMBEDDED}", "must not be used inside of resource meta"))
        if schema.get("uniqueItems"):
            why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            self.errors.append(forbidden(f"{path}.uniqueItems", why))

    def _check_properties(self, schema: Plain, path: str, scope: _Scope, *, is_root: bool) -> None:
        properties, values = part(schema, "properties"), schema.get("additionalProperties")
        # A struct has properties, a map has additionalProperties; pruning needs to know which one it is.
        if values is not None and values is not True and properties:
            why = "additionalProperties and properties are mutual exclusive"
            self.errors.append(forbidden(f"{path}.additionalProperties", why))
        if isinstance(values, dict):
            # Pruning cannot tell which key of a map it is about, so that a default there has no one value.
            below = scope
            if scope.is_meta:
                below = scope._replace(no_default="inside additionalProperties applying to object metadata")
            self._check(cast("Plain", values), f"{path}.additionalProperties", below)
        # Embedded objects have kind, apiVersion and metadata, too.
        is_object = is_root or bool(schema.get(_EMBEDDED))
        for name, field in properties.items():
            below = scope
            if is_object and name in _META_FIELDS:
                below = below._replace(is_meta=True)
                if is_root:
                    # The server itself writes these fields, and a default would compete with it.
                    below = below._replace(no_default=f"in top-level {name}")
            self._check(field, f"{path}.properties[{name}]", below)

    def _check_nested(self, schema: Plain, path: str, scope: _Scope) -> None:
        if isinstance(schema.get("not"), dict):
            self._check(schema["not"], f"{path}.not", scope)
        for name in ("allOf", "oneOf", "anyOf"):
            for index, subschema in enumerate(items(schema, name)):
                self._check(subschema, f"{path}.{name}[{index}]", scope)
        # Definitions and dependencies are forbidden, but checked all the same: the user sees every error.
        for name, value in part(schema, "definitions").items():
            self._check(value, f"{path}.definitions[{name}]", scope)
        listed: Any = schema.get("items")
        if isinstance(listed, dict):
            self._check(cast("Plain", listed), f"{path}.items", scope)
        elif isinstance(listed, list):
            for index, item in enumerate(cast("list[Plain]", listed)):
                self._check(item, f"{path}.items[{index}]", scope)
        for name in part(schema, "dependencies"):
            # A list of names instead has nothing to check.
            self._check(part(schema["dependencies"], name), f"{path}.dependencies[{name}]", scope)

    def _check_map_type(self, schema: Plain, path: str) -> None:
        map_type = schema.get(_MAP_TYPE)
        if map_type is None:
            return
        self._check_type(schema, path, "object", f"must be object if {_MAP_TYPE} is specified")
        if map_type not in ("atomic", "granular"):
            self.errors.append(not_supported(f"{path}.{_MAP_TYPE}", map_type, ("atomic", "granular")))

    def _check_list_type(self, schema: Plain, path: str) -> None:
        list_type, keys = schema.get(_LIST_TYPE), schema.get(_LIST_KEYS) or ()
        if list_type is not None and schema.get("type") != "array":
            self._check_type(schema, path, "array", f"must be array if {_LIST_TYPE} is specified")
        # A set compares items as wholes: a granular item could change and still be the same element.
        elif list_type == "set" and not self._allows_any_set:
            self.errors += _set_errors(schema, path)
        if list_type not in (None, "atomic", "set", "map"):
            self.errors.append(not_supported(f"{path}.{_LIST_TYPE}", list_type, ("atomic", "set", "map")))
        # Keys have a meaning in a list of type map only.
        if keys and list_type != "map":
            why = f"must be map if {_LIST_KEYS} is non-empty"
            at = f"{path}.{_LIST_TYPE}"
            self.errors.append(required(at, why) if list_type is None else invalid(at, list_type, why))
        if list_type == "map":
            self.errors += _map_errors(schema, path)
        if not self._allows_any_keys:
            self.errors += _key_errors(schema, path)

    def _check_type(self, schema: Plain, path: str, wanted: str, why: str) -> None:
        kind = text(schema, "type")
        if kind != wanted:
            self.errors.append(invalid(f"{path}.type", kind, why) if kind else required(f"{path}.type", why))

    def _check_rules(self, schema: Plain, path: str) -> None:
        """Check the rules of a schema, except for their expressions."""
        # The tree of a schema with unsupported fields cannot be built.
        if not unsupported_problem(schema):
            from masthead._schema.rule_definitions import rule_form_problems

            # The import is deferred, because it loads the CEL compiler, and most definitions have no rules.
            self.errors += rule_form_problems(tree_of(schema), path)


_SET_IF_PRESENT: Final = frozenset({"additionalItems", "dependencies", "$ref"})
"""The unsupported fields that count as set even if they are empty."""


def _set_errors(schema: Plain, path: str) -> Errors:
    """Check that the items of a set are compared as a whole."""
    # Without a type, or with a scalar one, an item is atomic by nature.
    item_schema = part(schema, "items")
    why = f"must be atomic as item of a list with {_LIST_TYPE}=set"
    list_type = item_schema.get(_LIST_TYPE)
    if item_schema.get("type") == "array" and list_type not in (None, "atomic"):
        return [invalid(f"{path}.items.{_LIST_TYPE}", list_type, why)]
    if item_schema.get("type") == "object" and item_schema.get(_MAP_TYPE) != "atomic":
        # kube-apiserver shows the type of the list here, too.
        return [invalid(f"{path}.items.{_MAP_TYPE}", list_type, why)]
    return []


def _map_errors(schema: Plain, path: str) -> Errors:
    """Check that a list whose items have keys has such items."""
    errors: Errors = []
    keys: list[str] = schema.get(_LIST_KEYS) or []
    if not keys:
        errors.append(required(f"{path}.{_LIST_KEYS}", f"must not be empty if {_LIST_TYPE} is map"))
    listed: Any = schema.get("items")
    if listed is None:
        return [*errors, required(f"{path}.items", f"must have a schema if {_LIST_TYPE} is map")]
    if isinstance(listed, list):
        why = f"must only have a single schema if {_LIST_TYPE} is map"
        return [*errors, invalid(f"{path}.items", shown_items(cast("object", listed)), why)]
    item_schema = cast("Plain", listed)
    # Merging by key needs objects; errors about the keys of other items would only repeat this one.
    if text(item_schema, "type") != "object":
        why = f"must be object if parent array's {_LIST_TYPE} is map"
        return [*errors, invalid(f"{path}.items.type", text(item_schema, "type"), why)]
    properties = part(item_schema, "properties")
    seen: set[str] = set()
    for key in keys:
        if key not in properties:
            why = "entries must all be names of item properties"
            errors.append(invalid(f"{path}.{_LIST_KEYS}", keys, why))
        elif properties[key].get("type") in ("array", "object"):
            why = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            # The value is "object" for arrays as well, as in kube-apiserver.
            errors.append(invalid(f"{path}.items.properties[{key}].type", "object", why))
        if key in seen:
            errors.append(invalid(f"{path}.{_LIST_KEYS}", keys, "must not contain duplicate entries"))
        seen.add(key)
    return errors


def _key_errors(schema: Plain, path: str) -> Errors:
    """Check that the items of a set or map are never null, and always have their keys."""
    list_type, item_schema = schema.get(_LIST_TYPE), schema.get("items")
    if list_type not in ("set", "map") or not isinstance(item_schema, dict):
        return []
    item = cast("Plain", item_schema)
    errors: Errors = []
    if item.get("nullable"):
        errors.append(forbidden(f"{path}.items.nullable", f"cannot be nullable when {_LIST_TYPE} is {list_type}"))
    if list_type == "set":
        return errors
    properties, needed = part(item, "properties"), item.get("required") or ()
    for key in schema.get(_LIST_KEYS) or ():
        # The error about an unknown key comes from `_map_errors`.
        if key not in properties:
            continue
        at, field = f"{path}.items.properties[{key}]", properties[key]
        why = f"this property is in {_LIST_KEYS}, so it"
        # An item without its key could not be identified in a merge.
        if key not in needed and field.get("default") is None:
            errors.append(required(f"{at}.default", f"{why} must have a default or be a required property"))
        if field.get("nullable"):
            errors.append(forbidden(f"{at}.nullable", f"{why} cannot be nullable"))
    return errors


def unsupported_problem(schema: Plain) -> str:
    """Return why a schema cannot be read as a structural one at all; empty if it can."""
    waiting: list[Plain] = [schema]
    while waiting:
        found = waiting.pop()
        for name in (
            "id",
            "$schema",
            "$ref",
            "patternProperties",
            "dependencies",
            "additionalItems",
            "definitions",
        ):
            # A boolean false for additionalItems is set, too: in Go it is a pointer to a struct.
            if found.get(name) or (name == "additionalItems" and found.get(name) is not None):
                # The message of Go writes 'schema', without the dollar sign of the field.
                return f"OpenAPIV3Schema '{name.removeprefix('$') if name == '$schema' else name}' is not supported"
        if found.get(_PRESERVE) is False:
            return f"internal error: '{_PRESERVE}' must be true or undefined"
        listed: Any = found.get("items")
        if isinstance(listed, list) and listed:
            return "OpenAPIV3Schema 'items' must be a schema, but is an array"
        waiting += children(found)
    return ""


def has_extensions(schema: Plain) -> bool:
    """Tell whether a schema uses Kubernetes' extensions of OpenAPI, except for the types of maps."""
    return bool(
        schema.get(_EMBEDDED)
        or schema.get(_PRESERVE) is not None
        or schema.get("x-kubernetes-int-or-string")
        or schema.get(_LIST_KEYS)
        or schema.get(_LIST_TYPE) is not None
        or schema.get(_RULES)
    )


def has_invalid_type(schema: Plain) -> bool:
    """Tell whether a schema has a type that does not exist."""
    return bool(text(schema, "type")) and schema["type"] not in TYPES


def has_non_atomic_set(schema: Plain) -> bool:
    """Tell whether a schema is a set whose items are not compared as a whole."""
    # The path is of no interest here, only whether there are errors.
    return schema.get(_LIST_TYPE) == "set" and bool(gather(lambda: _set_errors(schema, "")))


def has_bad_map_keys(schema: Plain) -> bool:
    """Tell whether a schema is a list with keys that may be missing or null."""
    return bool(gather(lambda: _key_errors(schema, "")))


_STRING_FORMATS: Final = frozenset(
    {
        "bsonobjectid",
        "byte",
        "cidr",
        "creditcard",
        "date",
        "datetime",
        "duration",
        "email",
        "hexcolor",
        "hostname",
        "ipv4",
        "ipv6",
        "isbn",
        "isbn10",
        "isbn13",
        "k8slongname",
        "k8sshortname",
        "mac",
        "password",
        "rgbcolor",
        "ssn",
        "uri",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
    }
)
"""The formats of text that mean something, without their dashes."""
_FORMATS: Final = {
    "": _STRING_FORMATS,
    "string": _STRING_FORMATS,
    "integer": frozenset({"int32", "int64"}),
    "number": frozenset({"float", "double"}),
}


def unknown_format(schema: Plain) -> str:
    """Return the format of a schema if it means nothing; empty if it does, or is not set."""
    name = text(schema, "format")
    if not name:
        return ""
    kind = text(schema, "type")
    # go-openapi ignores the dashes of string formats only.
    plain_name = name if kind in {"integer", "number"} else name.replace("-", "")
    return "" if plain_name in _FORMATS.get(kind, ()) else name

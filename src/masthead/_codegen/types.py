"""Turns schemas into definitions of modules, classes and fields.

Fields that are values, and fields that may be None:

* Lists and maps are values: unset, they are empty.
* A nested type is a value where the API's Go type is one, which its ``default: {}`` shows, and where it is
  required. ``spec`` and ``status`` of a custom resource are values by convention, whatever its schema is.
* A string, number or boolean is a value where its zero means the same as nothing: it is required, or its
  default is that zero.
* A required string with enumerated values is ``EMPTY``: type checkers take that for one of the values.
* All other fields are None while they are unset; nullable ones also when they are null.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._codegen import homes, identifiers
from masthead._codegen.definitions import ClassDef, FieldDef, ModuleDef, Reference, Values, in_dependency_order
from masthead._codegen.spec import is_class
from masthead._meta.merge import Merge
from masthead._schema.schema import Schema
from masthead.errors import GenerateError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from masthead._codegen.spec import Spec

MAPPING: Final = Reference("collections.abc", "Mapping")
SEQUENCE: Final = Reference("collections.abc", "Sequence")
TYPE_CHECKING_: Final = Reference("typing", "TYPE_CHECKING")
CLASS_VAR: Final = Reference("typing", "ClassVar")
LITERAL: Final = Reference("typing", "Literal")
SELF: Final = Reference("typing", "Self")
TYPE_ALIAS: Final = Reference("typing", "TypeAlias")
FINAL: Final = Reference("typing", "Final")
GVK: Final = homes.meta("GroupVersionKind")
MERGE: Final = homes.meta("Merge")
FIELD: Final = homes.meta("field")
STRUCT: Final = homes.meta("Struct")
DATA: Final = homes.meta("Data")
OBJECT: Final = homes.meta("Object")
OBJECT_LIST: Final = homes.meta("ObjectList")
EMPTY: Final = homes.meta("EMPTY")
RESOURCE: Final = homes.meta("Resource")
SUBRESOURCE: Final = homes.meta("Subresource")
FRAME: Final = (
    *(MAPPING, SEQUENCE, CLASS_VAR, FINAL, LITERAL, TYPE_ALIAS, TYPE_CHECKING_, SELF, GVK, MERGE, FIELD, STRUCT),
    *(DATA, EMPTY, OBJECT, OBJECT_LIST, RESOURCE, SUBRESOURCE),
)
"""The names that any module may import, whatever its fields are."""

_EVERY_OBJECT_HAS: Final = frozenset({"apiVersion", "kind", "metadata"})
_SECTIONS: Final = frozenset({"spec", "status"})
_ZEROES: Final = (None, "", 0, False)
_SCALARS: Final[Mapping[str, tuple[str, str]]] = {
    "string": ("str", '""'),
    "integer": ("int", "0"),
    "number": ("float", "0.0"),
    "boolean": ("bool", "False"),
}


def modules_of(spec: Spec, package: str, *, docs: bool = False) -> list[ModuleDef]:
    """Define a module for every group and version with kinds.

    Args:
        spec: The API to generate types for.
        package: The package that the modules go into.
        docs: Copy the API's documentation into docstrings.

    Raises:
        GenerateError: If a schema refers to a missing one.
    """
    places = homes.Homes(spec, package)
    scopes = {module.name: _Scope(module, spec, places, docs=docs) for module in places.modules.values()}
    # All names are reserved before the first class is defined, so that imports get the aliases.
    for name, (module, class_name) in places.classes.items():
        scopes[module.name].bind(class_name, name)
    for scope in scopes.values():
        scope.define()
    return [scopes[name].module for name in sorted(scopes)]


class _Scope:
    """Defines the classes of one module, and resolves names in it."""

    def __init__(self, module: ModuleDef, spec: Spec, places: homes.Homes, *, docs: bool) -> None:
        self.module = module
        self.spec = spec
        self.places = places
        self.docs = docs
        self.bound: dict[str, Reference] = {}
        self.own: dict[str, str] = {}  # class names by schema

    def bind(self, class_name: str, schema_name: str = "") -> None:
        """Reserve the name of a class of this module."""
        self.bound[class_name] = Reference(self.module.name, class_name)
        if schema_name:
            self.own[schema_name] = class_name

    def define(self) -> None:
        """Define every class with a reserved name, and nested classes as they are found."""
        # Reserved in every module, so that a class of that name does not shadow an import.
        for reference in FRAME:
            self.use(reference)
        for schema_name, class_name in list(self.own.items()):
            self._define_named(class_name, schema_name, self.spec.schemas[schema_name])
            hidden = homes.SENSITIVE.get(schema_name, frozenset())
            made = self.module.classes[-1]
            made.sensitive = tuple(field.attribute for field in made.fields if field.wire in hidden)
        module = self.module
        module.classes, module.early = in_dependency_order(module.classes, module.name)
        for definition in module.classes:
            # The default of a field cannot be an instance of a class that is defined later.
            late = {second for first, second in module.early if first == definition.name}
            definition.fields = [_optional(one) if one.default in late else one for one in definition.fields]

    def use(self, reference: Reference) -> str:
        """The local name of a reference; an alias if the name is taken."""
        if self.bound.setdefault(reference.name, reference) != reference:
            # Group and version make the alias unique: core_v1_Secret.
            origin = "_".join(reference.module.split(".")[-2:])
            self.module.aliases[reference] = f"{origin}_{reference.name}"
        return self.module.local(reference)

    def class_of(self, target: str) -> Reference:
        """The class of a schema.

        Raises:
            GenerateError: If the schema is missing.
        """
        if reference := homes.meta_class(target):
            return reference
        if target in self.own:
            return Reference(self.module.name, self.own[target])
        if target in self.places.classes:
            module, name = self.places.classes[target]
            return Reference(module.name, name)
        return self._adopt(target)

    def schema_of(self, target: str) -> Schema:
        """A schema by its full name.

        Raises:
            GenerateError: If it is missing.
        """
        if target not in self.spec.schemas:
            raise GenerateError(f"{self.module.name} refers to {target}; there is no schema of that name")
        return self.spec.schemas[target]

    def define_nested(self, path: tuple[str, ...], schema: Schema) -> Reference:
        """Define a class for an inline schema."""
        name = identifiers.numbered(identifiers.nested_class_name(path), self.bound)
        self.bind(name)
        definition = ClassDef(name, is_atomic=schema.map_type == "atomic", doc=self.doc_of(schema))
        self.module.classes.append(definition)
        self._fill(definition, path, schema)
        return Reference(self.module.name, name)

    def define_enumeration(self, name: str, values: Values) -> str:
        """Define an enumerated type, and return its name; fields with the same values may share it."""
        # A number is added until the name is free, or has the same values.
        while self.module.enumerations.get(name) != values:
            if name not in self.bound:
                self.bind(name)
                self.module.enumerations[name] = values
            else:
                name = identifiers.numbered(name, self.bound)
        return name

    def doc_of(self, schema: Schema) -> str:
        """The API's documentation; empty unless docstrings are requested."""
        return schema.description.strip() if self.docs else ""

    def _adopt(self, target: str) -> Reference:
        """Define a class in this module for a schema without a group and version."""
        schema = self.schema_of(target)
        name = identifiers.numbered(identifiers.class_name(target.rpartition(".")[2]), self.bound)
        # Before its fields are defined: a schema may refer to itself.
        self.bind(name, target)
        self._define_named(name, target, schema)
        return Reference(self.module.name, name)

    def _define_named(self, name: str, schema_name: str, schema: Schema) -> None:
        served = self.module.group_version
        gvk = next((kind for kind in schema.kinds if kind.group_version == served), None)
        definition = ClassDef(name, is_atomic=schema.map_type == "atomic", doc=self.doc_of(schema))
        self.module.classes.append(definition)
        if gvk is not None and _is_list(schema):
            if item := self._item(schema):
                definition.gvk, definition.item = gvk, item
                return
        elif gvk is not None:
            definition.gvk, definition.resource = gvk, self.spec.resources.get(gvk)
        self._fill(definition, (name,), schema, schema_name)

    def _item(self, schema: Schema) -> str:
        """The class of a list's items; empty unless they are a kind of this module."""
        items = schema.properties["items"].items
        target = items.target if items else ""
        return self.own[target] if target in self.own and self.spec.schemas[target].kinds else ""

    def _fill(self, into: ClassDef, path: tuple[str, ...], schema: Schema, schema_name: str = "") -> None:
        taken = set(identifiers.RESERVED_IN_KINDS if into.gvk else identifiers.RESERVED)
        skipped: AbstractSet[str] = _EVERY_OBJECT_HAS if into.gvk else frozenset()
        for wire, property_ in sorted(schema.properties.items()):
            # A name that msgspec does not accept on the wire remains an unknown field.
            if wire in skipped or not identifiers.is_wire_name(wire):
                continue
            attribute = identifiers.attribute_name(wire, taken)
            taken.add(attribute)
            # Nearly every custom resource has a spec and a status; None would be a nuisance.
            is_section = bool(into.gvk) and self.module.is_custom and wire in _SECTIONS and is_class(property_)
            is_needed = wire in schema.required or is_section
            enumeration = self.spec.enumerations.get(f"{schema_name}.{wire}", "")
            field = _Field(self, (*path, identifiers.class_name(wire)), enumeration)
            into.fields.append(field.define(attribute, wire, property_, is_needed=is_needed))


class _Field:
    """Defines one field, and collects the names in its annotation."""

    def __init__(self, scope: _Scope, path: tuple[str, ...], enumeration: str) -> None:
        self.scope = scope
        self.path = path
        self.enumeration = enumeration or identifiers.nested_class_name(path)
        self.references: set[Reference] = set()
        self.takes_data = False
        self.expanding: list[str] = []

    def define(self, attribute: str, wire: str, schema: Schema, *, is_needed: bool) -> FieldDef:
        annotation, empty = self._of(schema)
        defined = FieldDef(
            attribute,
            wire,
            annotation,
            empty,
            frozenset(self.references),
            self.takes_data,
            _merge_of(schema),
            schema.default if _is_worth_noting(schema.default) else None,
            self.scope.doc_of(schema),
            schema.nullable,
        )
        # Lists and maps are never None, required or not.
        if empty in {"[]", "{}"}:
            return defined
        if schema.nullable:
            return _optional(defined)
        # A nested type: ``default: {}`` in OpenAPI marks a Go struct that is not a pointer.
        if empty == annotation:
            return defined if is_needed or schema.default == {} else _optional(defined)
        # Another default is the server's: unset must not read as zero then.
        has_zero = schema.default in _ZEROES if schema.has_default else is_needed
        return defined if empty and has_zero else _optional(defined)

    def _of(self, schema: Schema) -> tuple[str, str]:
        """The annotation of a schema and its empty value: a class for a nested type; empty for no value."""
        if schema.target:
            return self._resolve_target(schema.target)
        if schema.int_or_string:
            return self._use(homes.QUANTITY if homes.is_quantity(schema) else homes.INT_OR_STRING), ""
        match schema.type or ("object" if schema.properties else ""):
            case "array":
                return f"list[{self._inner(schema.items or Schema())}]", "[]"
            case "object":
                return self._object(schema)
            case "string" if schema.format == "byte":
                return "bytes", ""
            case "string" if schema.format == "date-time":
                return self._use(homes.TIME), ""
            case str(scalar) if scalar in _SCALARS:
                enumerated = self._enumeration_name(_values_of(schema))
                return (enumerated, self.scope.use(EMPTY)) if enumerated else _SCALARS[scalar]
            case _:
                return self._use(homes.JSON), ""

    def _enumeration_name(self, values: Values) -> str:
        """The name of an enumerated type; empty without values."""
        if frozenset(values) == homes.CONDITION_STATUSES:
            return self._use(homes.CONDITION_STATUS)
        return self.scope.define_enumeration(self.enumeration, values) if values else ""

    def _inner(self, schema: Schema) -> str:
        """The annotation of a list's items or a map's values."""
        annotation, _ = self._of(schema)
        is_optional = schema.nullable and annotation != self.scope.module.local(homes.JSON)
        return f"{annotation} | None" if is_optional else annotation

    def _object(self, schema: Schema) -> tuple[str, str]:
        if homes.is_condition(schema):
            return self._class(homes.CONDITION)
        if schema.properties and not schema.embedded_resource:
            return self._class(self.scope.define_nested(self.path, schema))
        values = schema.additional_properties
        return (
            f"dict[str, {self._inner(values if isinstance(values, Schema) else Schema())}]",
            "{}",
        )

    def _resolve_target(self, target: str) -> tuple[str, str]:
        if target in homes.VALUES:
            return self._use(homes.VALUES[target]), ""
        if target in homes.UNIONS:
            member, pattern = homes.UNIONS[target]
            return pattern.format(self._class(self.scope.class_of(member))[0]), ""
        if homes.meta_class(target) or is_class(self.scope.schema_of(target)):
            return self._class(self.scope.class_of(target))
        # A named schema of a list, a map or a scalar.
        if target in self.expanding:
            return self._use(homes.JSON), ""
        self.expanding.append(target)
        found = self._of(self.scope.schema_of(target))
        self.expanding.remove(target)
        return found

    def _class(self, reference: Reference) -> tuple[str, str]:
        self.takes_data = True
        name = self._use(reference)
        return name, name

    def _use(self, reference: Reference) -> str:
        self.references.add(reference)
        return self.scope.use(reference)


def _optional(field: FieldDef) -> FieldDef:
    return dataclasses.replace(field, annotation=f"{field.annotation} | None", default="None")


def _is_worth_noting(default: object) -> bool:
    return isinstance(default, str | int | float) and default not in _ZEROES


def _values_of(schema: Schema) -> Values:
    """The values of an enumerated string; empty for other schemas."""
    # A nullable field lists null among its values.
    values = tuple(dict.fromkeys(value for value in schema.enum if value is not None))
    return values if all(isinstance(value, str) for value in values) else ()


def _is_list(schema: Schema) -> bool:
    metadata = schema.properties.get("metadata")
    return "items" in schema.properties and metadata is not None and metadata.target == homes.LIST_META


def _merge_of(schema: Schema) -> Merge | None:
    """How a field merges; None for the default of its type."""
    merge = Merge(
        list_type=cast("Any", schema.list_type or "atomic"),
        keys=schema.list_map_keys,
        map_type=cast("Any", schema.map_type or ""),
        strategy=cast("Any", tuple(filter(None, schema.patch_strategy.split(",")))),
        merge_key=schema.patch_merge_key,
    )
    return None if merge == Merge() else merge

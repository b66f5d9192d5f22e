"""From schemas to definitions of modules, classes and fields.

Only what Python needs is kept; how it is written down is `render`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from masthead.codegen import naming
from masthead.errors import GenerateError
from masthead.meta.gvk import GroupVersion, GroupVersionKind
from masthead.meta.merge import Merge

if TYPE_CHECKING:
    from masthead.codegen.spec import Schema, Spec
    from masthead.meta.resource import Resource

META: Final = "masthead.meta.v1"
SHAPE: Final = "masthead.meta.shape"

_META_PREFIX: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_APIEXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

SPECIAL: Final[Mapping[str, tuple[str, str]]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ("masthead.meta.quantity", "Quantity"),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ("masthead.meta.intstr", "IntOrString"),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": (SHAPE, "JSON"),
    f"{_META_PREFIX}Time": ("masthead.meta.time", "Time"),
    f"{_META_PREFIX}MicroTime": ("masthead.meta.time", "MicroTime"),
    f"{_META_PREFIX}FieldsV1": (SHAPE, "FieldsV1"),
    f"{_META_PREFIX}Patch": (SHAPE, "JSON"),
    f"{_APIEXTENSIONS}JSON": (SHAPE, "JSON"),
}
"""Schemas that are values, not classes of their own: the module and name that stands for each."""

UNIONS: Final[Mapping[str, str]] = {
    f"{_APIEXTENSIONS}JSONSchemaPropsOrArray": "JSONSchemaProps | list[JSONSchemaProps]",
    f"{_APIEXTENSIONS}JSONSchemaPropsOrBool": "JSONSchemaProps | bool",
    f"{_APIEXTENSIONS}JSONSchemaPropsOrStringArray": "JSONSchemaProps | list[str]",
}
"""Schemas that say nothing, of which the API's Go types know that they are one of two things."""

_SCALARS: Final[Mapping[str, tuple[str, object]]] = {
    "string": ("str", ""),
    "integer": ("int", 0),
    "number": ("float", 0.0),
    "boolean": ("bool", False),
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that an annotation uses: from another module, or, with an empty one, from its own."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class FieldDef:
    """A field.

    Attributes:
        attribute: Its Python name.
        wire: Its name on the wire.
        annotation: Its type, as Python writes it.
        default: ``None``, ``""``, ``[]``, or the name of the class to make for a nested value.
        references: The names that the annotation uses.
        merge: How it merges, where that is not the default.
        server_default: What the server fills in.
        doc: What the API's documentation says, where that is wanted.
    """

    attribute: str
    wire: str
    annotation: str
    default: str
    references: frozenset[Reference] = frozenset()
    merge: Merge | None = None
    server_default: str | int | bool | None = None
    doc: str = ""

    @property
    def is_nested_value(self) -> bool:
        """Whether it is a nested type that is never None."""
        return self.default == self.annotation


@dataclass(slots=True)
class ClassDef:
    """A class.

    Attributes:
        name: Its name.
        fields: Its fields, apart from those that every object has.
        gvk: What it is, for a kind or a list.
        resource: Where it is served, for a kind.
        item: What it lists, for a list.
        is_atomic: Whether it merges as one value.
        doc: What the API's documentation says, where that is wanted.
    """

    name: str
    fields: list[FieldDef] = field(default_factory=list[FieldDef])
    gvk: GroupVersionKind | None = None
    resource: Resource | None = None
    item: str = ""
    is_atomic: bool = False
    doc: str = ""

    def needs(self) -> set[str]:
        """The classes of its own module that it refers to."""
        used = {each.name for one in self.fields for each in one.references if not each.module}
        return used | ({self.item} if self.item else set())


@dataclass(slots=True)
class ModuleDef:
    """A module: one group at one version.

    Attributes:
        name: Its dotted name.
        group_version: What it holds.
        classes: In an order in which each class comes after those that it needs.
        recursive: Pairs of classes of which the first must name the second in quotes.
    """

    name: str
    group_version: GroupVersion
    classes: list[ClassDef] = field(default_factory=list[ClassDef])
    recursive: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])


def modules_of(spec: Spec, package: str, *, docs: bool = False) -> list[ModuleDef]:
    """Define a module for every group and version that the spec has kinds of.

    Args:
        spec: What to generate from.
        package: The package that the modules go into.
        docs: Take the API's documentation over into docstrings.

    Raises:
        GenerateError: if a schema refers to one that is not there.
    """
    return _Builder(spec, package, docs=docs).build()


class _Builder:
    def __init__(self, spec: Spec, package: str, *, docs: bool) -> None:
        self.spec = spec
        self.docs = docs
        self.homes = _homes(spec, package)
        self.taken: dict[str, set[str]] = {}

    def build(self) -> list[ModuleDef]:
        modules: dict[str, ModuleDef] = {}
        for schema_name in sorted(self.homes):
            self.taken.setdefault(self.homes[schema_name][0].name, set()).add(self.homes[schema_name][1])
        for schema_name, (module, class_name) in sorted(self.homes.items()):
            modules.setdefault(module.name, module)
            module.classes += self._classes(schema_name, class_name, module)
        for module in modules.values():
            module.classes, module.recursive = in_dependency_order(module.classes)
        return [modules[name] for name in sorted(modules)]

    def _classes(self, schema_name: str, class_name: str, module: ModuleDef) -> list[ClassDef]:
        """The class of a schema, and those of the schemas written out inside it."""
        made: list[ClassDef] = []
        schema = self.spec.schemas[schema_name]
        gvk = _gvk_in(schema, module.group_version)
        top = ClassDef(class_name, gvk=gvk, is_atomic=_is_atomic(schema), doc=self._doc(schema))
        made.append(top)
        if gvk is not None and _is_list(schema):
            top.item = self._item(schema_name, schema, module)
            return made
        if gvk is not None:
            top.resource = self.spec.resources.get(gvk)
        skipped = {"apiVersion", "kind", "metadata"} if gvk is not None else set[str]()
        self._fill(top, schema, module, made, skipped)
        return made

    def _item(self, schema_name: str, schema: Schema, module: ModuleDef) -> str:
        target = _reference_in(schema["properties"]["items"]["items"])
        if target not in self.homes or self.homes[target][0] is not module:
            raise GenerateError(
                f"{schema_name} lists {target or 'something'} that is not of its own group and version"
            )
        return self.homes[target][1]

    def _fill(
        self, into: ClassDef, schema: Schema, module: ModuleDef, made: list[ClassDef], skipped: set[str]
    ) -> None:
        required = frozenset(schema.get("required", ()))
        taken: set[str] = set()
        for wire, property_ in sorted(schema.get("properties", {}).items()):
            if wire in skipped:
                continue
            attribute = naming.attribute_name(wire)
            while attribute in taken:
                attribute += "_"
            taken.add(attribute)
            path = into.name + naming.class_name(wire)
            annotation = _Annotation(self, module, made, path)
            into.fields.append(annotation.field(attribute, wire, property_, required=wire in required))

    def inline(self, schema: Schema, module: ModuleDef, made: list[ClassDef], path: str) -> str:
        """Define a class for a schema that is written out inside another."""
        taken = self.taken.setdefault(module.name, set())
        name, number = path, 2
        while name in taken:
            name, number = f"{path}{number}", number + 1
        taken.add(name)
        definition = ClassDef(name, is_atomic=_is_atomic(schema), doc=self._doc(schema))
        made.append(definition)
        self._fill(definition, schema, module, made, set())
        return name

    def _doc(self, schema: Schema) -> str:
        return str(schema.get("description", "")).strip() if self.docs else ""

    def doc_of(self, schema: Schema) -> str:
        """A field's documentation, where that is wanted."""
        return self._doc(schema)

    def home_of(self, target: str, module: ModuleDef) -> Reference:
        """The class that stands for a schema, seen from a module."""
        if target in SPECIAL:
            return Reference(*SPECIAL[target])
        if target.startswith(_META_PREFIX):
            return Reference(META, target.removeprefix(_META_PREFIX))
        if target not in self.homes:
            raise GenerateError(f"{module.name} refers to {target}, of which there is no schema")
        home, name = self.homes[target]
        return Reference("" if home is module else home.name, name)


class _Annotation:
    """Works out the annotation of one field, collecting the names that it uses."""

    def __init__(self, builder: _Builder, module: ModuleDef, made: list[ClassDef], path: str) -> None:
        self.builder = builder
        self.module = module
        self.made = made
        self.path = path
        self.references: set[Reference] = set()

    def field(self, attribute: str, wire: str, schema: Schema, *, required: bool) -> FieldDef:
        annotation, empty = self._of(schema)
        given = schema.get("default")
        is_struct = empty == annotation
        server_default = None
        if empty in {"[]", "{}"}:
            default = empty
        elif is_struct and (given == {} or required):
            default = annotation
        elif not is_struct and empty and (required or given is not None) and given in {None, *_ZEROES}:
            default = empty
        else:
            annotation, default = f"{annotation} | None", "None"
        if isinstance(given, str | int) and given not in _ZEROES:
            server_default = given
        return FieldDef(
            attribute,
            wire,
            annotation,
            default,
            frozenset(self.references),
            _merge_in(schema),
            server_default,
            self.builder.doc_of(schema),
        )

    def _of(self, schema: Schema) -> tuple[str, str]:
        """The annotation of a schema and its empty value: the class' own name for a nested type, or nothing."""
        if target := _reference_in(schema):
            return self._named(target)
        if schema.get("x-kubernetes-int-or-string"):
            return self._use(Reference("masthead.meta.intstr", "IntOrString")), ""
        match schema.get("type"):
            case "array":
                return f"list[{self._of(schema.get('items', {}))[0]}]", "[]"
            case "object":
                return self._object(schema)
            case "string" if schema.get("format") == "byte":
                return "bytes", ""
            case "string" if schema.get("format") == "date-time":
                return self._use(Reference("masthead.meta.time", "Time")), ""
            case str(scalar) if scalar in _SCALARS:
                name, zero = _SCALARS[scalar]
                return name, '""' if zero == "" else repr(zero)
            case _:
                return self._use(Reference(SHAPE, "JSON")), ""

    def _object(self, schema: Schema) -> tuple[str, str]:
        if schema.get("properties"):
            if schema.get("x-kubernetes-embedded-resource"):
                return f"dict[str, {self._use(Reference(SHAPE, 'JSON'))}]", "{}"
            name = self.builder.inline(schema, self.module, self.made, self.path)
            return self._use(Reference("", name)), name
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping) and values:
            return f"dict[str, {self._of(cast('Schema', values))[0]}]", "{}"
        return f"dict[str, {self._use(Reference(SHAPE, 'JSON'))}]", "{}"

    def _named(self, target: str) -> tuple[str, str]:
        if target in UNIONS:
            self._use(Reference("", "JSONSchemaProps"))
            return UNIONS[target], ""
        name = self._use(self.builder.home_of(target, self.module))
        return name, "" if target in SPECIAL else name

    def _use(self, reference: Reference) -> str:
        self.references.add(reference)
        return reference.name


_ZEROES: Final = ("", 0, False)


def _homes(spec: Spec, package: str) -> dict[str, tuple[ModuleDef, str]]:
    """The module and class name of every schema that gets a class of its own."""
    modules: dict[GroupVersion, ModuleDef] = {}
    homes: dict[str, tuple[ModuleDef, str]] = {}
    packages = _group_versions_by_prefix(spec)
    for name in sorted(spec.schemas):
        prefix, _, class_name = name.rpartition(".")
        if (
            name in SPECIAL
            or name in UNIONS
            or name.startswith("io.k8s.apimachinery.")
            or prefix not in packages
        ):
            continue
        served = packages[prefix]
        if served not in modules:
            modules[served] = ModuleDef(
                f"{package}.{_short_group(prefix, served)}.{naming.module_name(served.version)}", served
            )
        homes[name] = (modules[served], naming.class_name(class_name))
    return homes


def _group_versions_by_prefix(spec: Spec) -> dict[str, GroupVersion]:
    """Which group and version the schemas under each prefix belong to, learnt from the kinds among them."""
    found: dict[str, GroupVersion] = {}
    for name, schema in spec.schemas.items():
        kinds = cast("list[dict[str, Any]]", schema.get("x-kubernetes-group-version-kind", []))
        if len(kinds) == 1 and not name.startswith("io.k8s.apimachinery."):
            found[name.rpartition(".")[0]] = GroupVersion(kinds[0]["group"], kinds[0]["version"])
    return found


def _short_group(prefix: str, served: GroupVersion) -> str:
    """The group's name as client-go shortens it, and a custom group's in full."""
    if prefix.startswith("io.k8s.") and (
        not served.group or served.group.endswith("k8s.io") or "." not in served.group
    ):
        return naming.module_name(prefix.split(".")[-2])
    return naming.module_name(served.group)


def _gvk_in(schema: Schema, served: GroupVersion) -> GroupVersionKind | None:
    for each in cast("list[dict[str, str]]", schema.get("x-kubernetes-group-version-kind", [])):
        if (each["group"], each["version"]) == (served.group, served.version):
            return served.kind(each["kind"])
    return None


def _is_list(schema: Schema) -> bool:
    properties = schema.get("properties", {})
    return (
        "items" in properties and _reference_in(properties.get("metadata", {})) == f"{_META_PREFIX}ListMeta"
    )


def _reference_in(schema: Schema) -> str:
    """The full name of the schema that this one refers to, or nothing."""
    target = schema.get("$ref")
    if target is None and len(schema.get("allOf", ())) == 1:
        target = schema["allOf"][0].get("$ref")
    return str(target).rpartition("/")[2] if target else ""


def _is_atomic(schema: Schema) -> bool:
    return schema.get("x-kubernetes-map-type") == "atomic"


def _merge_in(schema: Schema) -> Merge | None:
    """How a field merges; None where it merges as its type would by itself."""
    strategies = str(schema.get("x-kubernetes-patch-strategy", "")).split(",")
    merge = Merge(
        list_type=schema.get("x-kubernetes-list-type", "atomic"),
        keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
        map_type=schema.get("x-kubernetes-map-type", ""),
        strategy=cast("Any", tuple(filter(None, strategies))),
        merge_key=schema.get("x-kubernetes-patch-merge-key", ""),
    )
    return None if merge == Merge() else merge


def in_dependency_order(classes: list[ClassDef]) -> tuple[list[ClassDef], set[tuple[str, str]]]:
    """Sort classes so that each comes after those that it needs, by name where there is a choice.

    Returns:
        The classes in order, and the pairs of which the first needs the second before it is defined.
    """
    by_name = {each.name: each for each in sorted(classes, key=lambda each: each.name)}
    ordered: list[ClassDef] = []
    done: set[str] = set()
    recursive: set[tuple[str, str]] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in done:
            return
        for needed in sorted(by_name[name].needs()):
            if needed in above or needed == name:
                recursive.add((name, needed))
            else:
                visit(needed, (*above, name))
        done.add(name)
        ordered.append(by_name[name])

    for name in by_name:
        visit(name, ())
    return ordered, recursive

"""The generated types of Kubernetes, and the hand-written ones of meta/v1, against the documents of 1.36."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tests.unit.codegen.kubernetes import (
    EXTENSIONS,
    LEGACY,
    META,
    attributes,
    class_for,
    class_schemas,
    discovered,
    documents,
    needs_documents,
    schemas,
    target_of,
)

from masthead._codegen import identifiers
from masthead._meta import v1
from masthead._meta.gvk import GroupVersion, GroupVersionKind
from masthead._meta.merge import Merge
from masthead._meta.model import Struct
from masthead._meta.object import Object, ObjectList
from masthead._meta.registry import BUILT_IN, REMOVED, Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = needs_documents

REGISTRY = Registry(BUILT_IN, REMOVED)

# Values that no zero stands for, so that an unset one is None even where Go has a value.
NO_ZERO = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    f"{META}MicroTime",
    f"{META}Time",
    f"{META}FieldsV1",
    f"{EXTENSIONS}JSON",
    f"{EXTENSIONS}JSONSchemaPropsOrArray",
    f"{EXTENSIONS}JSONSchemaPropsOrBool",
    f"{EXTENSIONS}JSONSchemaPropsOrStringArray",
}


def meta_schemas() -> Iterator[tuple[type[Struct], dict[str, Any]]]:
    for name, schema in schemas().items():
        written = getattr(v1, name.removeprefix(META), None)
        if name.startswith(META) and isinstance(written, type) and issubclass(written, Struct):
            yield written, schema


def all_schemas() -> Iterator[tuple[type[Struct], dict[str, Any]]]:
    yield from ((class_for(name), schema) for name, schema in class_schemas())
    yield from meta_schemas()


def merge_of(schema: dict[str, Any]) -> Merge:
    strategy = schema.get("x-kubernetes-patch-strategy", "")
    return Merge(
        list_type=schema.get("x-kubernetes-list-type", "atomic"),
        keys=tuple(schema.get("x-kubernetes-list-map-keys", [])),
        map_type=schema.get("x-kubernetes-map-type", ""),
        strategy=tuple(strategy.split(",")) if strategy else (),
        merge_key=schema.get("x-kubernetes-patch-merge-key", ""),
    )


def test_every_group_version_has_a_module_with_its_kinds() -> None:
    missing = [
        f"{file}: {each}"
        for file, document in (*documents().items(), *documents(LEGACY).items())
        for name, schema in document["components"]["schemas"].items()
        for each in schema.get("x-kubernetes-group-version-kind", [])
        if not name.startswith("io.k8s.apimachinery.")
        and GroupVersionKind(each["group"], each["version"], each["kind"]) not in set(REGISTRY.kinds())
    ]

    assert (len(documents()), len(documents(LEGACY))) == (36, 25)
    assert missing == []


def test_every_kind_is_the_class_that_the_registry_finds() -> None:
    kinds = list(REGISTRY.kinds())

    assert len(kinds) > 150
    for gvk in kinds:
        assert gvk == REGISTRY.class_of(gvk).GVK
        assert REGISTRY.class_of(gvk).__name__ == gvk.kind


def test_every_list_is_of_its_kind() -> None:
    for gvk in REGISTRY.kinds():
        found = REGISTRY.class_of(gvk)
        if issubclass(found, ObjectList):
            assert gvk.group_version.kind(gvk.kind.removesuffix("List")) == found.ITEM.GVK


def test_every_property_is_a_field_under_exactly_that_name() -> None:
    count = 0
    for cls, schema in all_schemas():
        # The one kind without metadata, which Kubernetes no longer serves.
        extra = {"metadata"} if cls.__name__ == "DeploymentRollback" else set()
        assert set(attributes(cls)) == set(schema.get("properties", {})) | extra, cls
        count += len(schema.get("properties", {}))

    assert count > 2500


def test_every_attribute_is_the_fields_name_in_words() -> None:
    for cls, _ in all_schemas():
        for wire, attribute in attributes(cls).items():
            assert attribute.rstrip("_") == identifiers.attribute_name(wire).rstrip("_"), cls


def test_no_field_hides_what_every_type_has() -> None:
    for cls, _ in all_schemas():
        base = next(base for base in (Object, ObjectList, Struct) if issubclass(cls, base))
        own = set(cls.__struct_fields__) - set(base.__struct_fields__)
        assert not own & set(dir(base)), cls


def test_merge_facts_are_those_of_the_schemas() -> None:
    facts = 0
    for cls, schema in all_schemas():
        properties = schema.get("properties", {})
        expected = {wire: merge for wire in properties if (merge := merge_of(properties[wire])) != Merge()}
        if issubclass(cls, ObjectList):
            expected.pop("items", None)  # lists are never patched, whatever one document says
        assert dict(cls.MERGE) == expected, cls
        assert (schema.get("x-kubernetes-map-type") == "atomic") is cls.ATOMIC, cls
        facts += len(expected) + cls.ATOMIC

    assert facts > 140


def test_defaults_are_those_of_the_schemas_except_zeroes() -> None:
    found = 0
    for cls, schema in all_schemas():
        defaults = {wire: each.get("default") for wire, each in schema.get("properties", {}).items()}
        expected = {wire: given for wire, given in defaults.items() if given and isinstance(given, str | int | float)}
        assert dict(cls.DEFAULTS) == expected, cls
        found += len(expected)

    assert found > 10


def test_every_resource_is_as_discovery_describes_it() -> None:
    count = 0
    for group, version, described in discovered():
        served = GroupVersion(group, version)
        cls = REGISTRY.object_class(kind_in(served, described["responseKind"]))
        resource = cls.RESOURCE
        assert resource is not None
        assert resource.name == described["resource"]
        assert resource.singular == described.get("singularResource", "")
        assert resource.namespaced is (described["scope"] == "Namespaced")
        assert resource.verbs == tuple(sorted(described["verbs"]))
        assert resource.short_names == tuple(described.get("shortNames", []))
        assert resource.categories == tuple(described.get("categories", []))
        assert [(subresource.name, subresource.kind, subresource.verbs) for subresource in resource.subresources] == [
            (each["subresource"], kind_in(served, each["responseKind"]), tuple(sorted(each["verbs"])))
            for each in described.get("subresources", [])
        ]
        assert REGISTRY.kind_of(served.resource(resource.name)) == cls.GVK
        count += 1

    assert count > 70


def kind_in(served: GroupVersion, described: dict[str, str]) -> GroupVersionKind:
    if described.get("version"):
        return GroupVersionKind(described.get("group", ""), described["version"], described["kind"])
    return served.kind(described["kind"])


def test_a_kind_that_no_resource_serves_has_no_resource() -> None:
    served = {
        kind_in(GroupVersion(group, version), described["responseKind"]) for group, version, described in discovered()
    }

    for gvk in REGISTRY.kinds():
        found = REGISTRY.class_of(gvk)
        if issubclass(found, Object):
            assert (found.RESOURCE is not None) is (gvk in served)


def test_an_unset_field_reads_as_go_reads_it() -> None:
    for name, schema in class_schemas():
        cls = class_for(name)
        if issubclass(cls, ObjectList):
            continue
        unset = cls()
        for wire, property_ in schema.get("properties", {}).items():
            if issubclass(cls, Object) and wire in {"apiVersion", "kind"}:
                continue  # the class knows them
            read = getattr(unset, attributes(cls)[wire])
            assert is_as_go_has_it(read, property_, required=wire in schema.get("required", [])), (cls, wire)


def is_as_go_has_it(read: object, schema: dict[str, Any], *, required: bool) -> bool:
    default = schema.get("default")
    match schema.get("type"):
        case "array":
            return read == []
        case "object":
            return read == {}
        case None if target_of(schema) in NO_ZERO:
            return read is None
        case None:
            return isinstance(read, Struct) if required or default == {} else read is None
        case "string" if schema.get("format") == "byte":
            return read is None
    if default:
        return read is None  # and DEFAULTS has what the server makes of it
    is_value = required or default is not None
    return read in ("", 0, False) if is_value else read is None


def test_documents_agree_on_the_types_that_they_share() -> None:
    # What the generator takes from the first document that has a type holds for all of them.
    differing = {
        name
        for document in documents().values()
        for name, schema in document["components"]["schemas"].items()
        if {**schema, "x-kubernetes-group-version-kind": 0} != {**schemas()[name], "x-kubernetes-group-version-kind": 0}
    }

    assert differing == set()


def test_every_shared_type_is_written_by_hand_or_is_a_value() -> None:
    shared = {name for name in schemas() if name.startswith(META)}
    written = {f"{META}{cls.__name__}" for cls, _ in meta_schemas()}

    values = {"FieldsV1", "MicroTime", "Patch", "Time"}
    envelopes = {"WatchEvent"}  # decoded by the watch itself
    assert shared - written == {f"{META}{name}" for name in values | envelopes}


def test_a_recursive_type_names_itself() -> None:
    props = cast("Any", class_for(f"{EXTENSIONS}JSONSchemaProps"))

    read = props.from_dict({"items": {"type": "string"}, "not": {"properties": {"a": {"type": "integer"}}}})

    assert read.items.type == "string"
    assert read.not_.properties["a"].type == "integer"
    assert props.from_dict({"items": [{"type": "string"}]}).items[0].type == "string"
    assert props.from_dict({"additionalProperties": False}).additional_properties is False
    assert props.from_dict({"dependencies": {"a": ["b"]}}).dependencies == {"a": ["b"]}

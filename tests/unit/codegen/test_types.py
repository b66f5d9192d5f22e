"""From schemas to definitions: what each corner of a schema becomes."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.unit.codegen.tools import reformatted

from masthead._codegen import generate, types
from masthead._codegen.spec import Spec
from masthead._schema.schema import Schema
from masthead.errors import GenerateError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from masthead._codegen.definitions import FieldDef, ModuleDef

REF = "#/components/schemas/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
GO = "io.example.api.fruit.v1."  # as a Go package is called
CUSTOM = "com.example.fruit.v1."  # as a server calls the schemas of custom resources


def gvk(kind: str, group: str = "fruit.example.com", version: str = "v1") -> dict[str, Any]:
    return {"x-kubernetes-group-version-kind": [{"group": group, "version": version, "kind": kind}]}


def ref(name: str, **more: Any) -> dict[str, Any]:
    return {"allOf": [{"$ref": f"{REF}{name}"}], **more} if more else {"$ref": f"{REF}{name}"}


def spec_of(schemas: Mapping[str, Mapping[str, Any]]) -> Spec:
    return Spec(schemas=msgspec.convert(schemas, dict[str, Schema]))


def apple(properties: Mapping[str, Any], *, prefix: str = GO, **more: Any) -> dict[str, Any]:
    """A spec's schemas with one kind, which has these properties."""
    return {f"{prefix}Apple": {"type": "object", "properties": properties, **gvk("Apple"), **more}}


def modules_of(schemas: Mapping[str, Mapping[str, Any]]) -> dict[str, ModuleDef]:
    return {module.name: module for module in types.modules_of(spec_of(schemas), "made")}


def fields_of(schemas: Mapping[str, Mapping[str, Any]], name: str = "Apple") -> dict[str, FieldDef]:
    (module,) = modules_of(schemas).values()
    (found,) = [each for each in module.classes if each.name == name]
    return {field.wire: field for field in found.fields}


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """Generates a package, and imports one module of it."""

    def load(schemas: Mapping[str, Mapping[str, Any]], module: str = "fruit_example_com.v1") -> ModuleType:
        for name in [name for name in sys.modules if name.split(".")[0] == "made"]:
            monkeypatch.delitem(sys.modules, name)
        generate.write(generate.files_for(spec_of(schemas), "made"), tmp_path / "made")
        monkeypatch.syspath_prepend(str(tmp_path))
        return importlib.import_module(f"made.{module}")

    return load


@pytest.mark.parametrize(
    ("schema", "annotation", "default"),
    [
        ({"type": "string"}, "str | None", "None"),
        ({"type": "string", "default": ""}, "str", '""'),
        ({"type": "string", "default": "x"}, "str | None", "None"),
        ({"type": "integer", "default": 0}, "int", "0"),
        ({"type": "number", "default": 0.0}, "float", "0.0"),
        ({"type": "number"}, "float | None", "None"),
        ({"type": "boolean", "default": False}, "bool", "False"),
        ({"type": "boolean", "default": True}, "bool | None", "None"),
        ({"type": "string", "format": "byte"}, "bytes | None", "None"),
        ({"type": "string", "format": "date-time"}, "Time | None", "None"),
        ({"type": "string", "format": "email"}, "str | None", "None"),
        ({"type": "array"}, "list[JSON]", "[]"),
        ({"type": "array", "items": {}}, "list[JSON]", "[]"),
        ({"type": "array", "items": {"nullable": True}}, "list[JSON]", "[]"),
        ({"type": "array", "items": {"type": "string", "nullable": True}}, "list[str | None]", "[]"),
        ({"type": "array", "nullable": True, "items": {"type": "integer"}}, "list[int]", "[]"),
        (
            {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
            "list[list[int]]",
            "[]",
        ),
        ({"type": "array", "default": ["a"], "items": {"type": "string"}}, "list[str]", "[]"),
        ({"type": "object"}, "dict[str, JSON]", "{}"),
        ({"type": "object", "additionalProperties": True}, "dict[str, JSON]", "{}"),
        ({"type": "object", "additionalProperties": {}}, "dict[str, JSON]", "{}"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]", "{}"),
        (
            {"type": "object", "additionalProperties": {"type": "integer", "nullable": True}},
            "dict[str, int | None]",
            "{}",
        ),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "dict[str, JSON]", "{}"),
        (
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "properties": {"a": {"type": "string"}},
            },
            "dict[str, JSON]",
            "{}",
        ),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "ApplePart | None", "None"),
        ({"type": "object", "default": {}, "properties": {"a": {}}}, "ApplePart", "ApplePart"),
        ({"type": "object", "default": {"a": 1}, "properties": {"a": {}}}, "ApplePart | None", "None"),
        ({"properties": {"a": {"type": "string"}}}, "ApplePart | None", "None"),  # no type, but it has one
        (
            {"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}], "not": {}},
            "ApplePart | None",
            "None",
        ),
        ({"x-kubernetes-int-or-string": True}, "IntOrString | None", "None"),
        ({"x-kubernetes-int-or-string": True, "type": "string", "default": 0}, "IntOrString | None", "None"),
        ({"x-kubernetes-preserve-unknown-fields": True}, "JSON | None", "None"),
        ({}, "JSON | None", "None"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "JSON | None", "None"),
        ({"type": "null"}, "JSON | None", "None"),
        (ref(f"{META}Time"), "Time | None", "None"),
        (ref("io.k8s.apimachinery.pkg.api.resource.Quantity"), "Quantity | None", "None"),
        (ref(f"{META}LabelSelector", default={}), "LabelSelector", "LabelSelector"),
        (ref(f"{META}LabelSelector"), "LabelSelector | None", "None"),
    ],
)
def test_a_schema_becomes_an_annotation_and_a_default(schema: Any, annotation: str, default: str) -> None:
    field = fields_of(apple({"part": schema}))["part"]

    assert (field.annotation, field.default) == (annotation, default)


@pytest.mark.parametrize(
    ("schema", "annotation", "default"),
    [
        ({"type": "string"}, "str", '""'),
        ({"type": "integer"}, "int", "0"),
        ({"type": "string", "default": "x"}, "str | None", "None"),  # the server fills it in
        ({"type": "string", "format": "date-time"}, "Time | None", "None"),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "ApplePart", "ApplePart"),
        ({"type": "string", "nullable": True}, "str | None", "None"),  # null is a value of its own
        ({}, "JSON | None", "None"),
    ],
)
def test_what_is_required_is_a_value_if_it_has_a_zero(schema: Any, annotation: str, default: str) -> None:
    field = fields_of(apple({"part": schema}, required=["part"]))["part"]

    assert (field.annotation, field.default) == (annotation, default)


@pytest.mark.parametrize(
    ("default", "kept"),
    [
        ("x", "x"),
        (3, 3),
        (True, True),
        (0.5, 0.5),
        ("", None),
        (0, None),
        (False, None),
        ({}, None),
        (["a"], None),
    ],
)
def test_a_default_is_kept_if_it_is_a_scalar_and_not_zero(default: Any, kept: object) -> None:
    assert fields_of(apple({"part": {"default": default}}))["part"].server_default == kept


def test_spec_and_status_of_a_custom_resource_are_values() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "string"}}}
    properties = {"spec": inner, "status": inner, "other": inner}

    custom, of_go = fields_of(apple(properties, prefix=CUSTOM)), fields_of(apple(properties))

    assert [custom[name].default for name in properties] == ["AppleSpec", "AppleStatus", "None"]
    assert [of_go[name].default for name in properties] == ["None", "None", "None"]


def test_a_status_that_is_no_type_of_its_own_may_be_none() -> None:
    fields = fields_of(apple({"spec": {"type": "string"}, "status": {"type": "integer"}}, prefix=CUSTOM))

    assert [field.default for field in fields.values()] == ["None", "None"]


def test_a_property_that_msgspec_cannot_name_is_left_to_be_an_unknown_field() -> None:
    assert set(fields_of(apple({'a"b': {"type": "string"}, "c\\d": {}, "e\nf": {}, "fine": {}}))) == {"fine"}


def test_a_type_may_hold_itself(load: Callable[..., ModuleType]) -> None:
    node = {
        "type": "object",
        "required": ["must"],
        "properties": {
            "next": ref(f"{GO}Node"),
            "must": ref(f"{GO}Node"),
            "list": {"type": "array", "items": ref(f"{GO}Node")},
            "map": {"type": "object", "additionalProperties": ref(f"{GO}Node")},
        },
    }

    made = load({**apple({"root": ref(f"{GO}Node", default={})}), f"{GO}Node": node})

    assert made.Apple().root.must is None  # a value would be without end
    assert made.Apple.from_dict({"root": {"next": {"list": [{}]}}}).root.next.list_[0].map == {}


def test_two_types_may_hold_each_other(load: Callable[..., ModuleType]) -> None:
    one = {"type": "object", "properties": {"two": ref(f"{GO}Two", default={})}}
    two = {"type": "object", "properties": {"one": ref(f"{GO}One", default={}), "n": {"type": "integer"}}}

    made = load({**apple({"one": ref(f"{GO}One")}), f"{GO}One": one, f"{GO}Two": two})

    assert made.Apple.from_dict({"one": {"two": {"one": {"two": {"n": 1}}}}}).one.two.one.two.n == 1


def test_a_name_for_a_scalar_list_or_map_is_no_class() -> None:
    schemas = {
        **apple(
            {
                "size": ref(f"{GO}Size"),
                "sizes": ref(f"{GO}Sizes"),
                "by": ref(f"{GO}By"),
                "any": ref(f"{GO}Any"),
                "wait": ref(f"{META}Duration"),
                "endless": ref(f"{GO}Endless"),
            }
        ),
        f"{GO}Size": {"type": "integer"},
        f"{GO}Sizes": {"type": "array", "items": ref(f"{GO}Size")},
        f"{GO}By": {"type": "object", "additionalProperties": ref(f"{GO}Size")},
        f"{GO}Any": {},
        f"{META}Duration": {"type": "string"},
        f"{GO}Endless": {"type": "array", "items": ref(f"{GO}Endless")},
    }

    fields = fields_of(schemas)

    assert {wire: field.annotation for wire, field in fields.items()} == {
        "size": "int | None",
        "sizes": "list[int]",
        "by": "dict[str, int]",
        "any": "JSON | None",
        "wait": "str | None",
        "endless": "list[JSON]",
    }


def test_a_type_of_no_group_becomes_part_of_each_module_that_uses_it(load: Callable[..., ModuleType]) -> None:
    shared = {"type": "object", "properties": {"self": ref("org.shared.Thing"), "n": {"type": "integer"}}}
    pear = {"io.example.api.nut.v1.Pecan": {**apple({"thing": ref("org.shared.Thing")})[f"{GO}Apple"]}}
    pear["io.example.api.nut.v1.Pecan"] |= gvk("Pecan", "nut.example.com")
    schemas = {**apple({"thing": ref("org.shared.Thing")}), **pear, "org.shared.Thing": shared}

    assert load(schemas).Apple.from_dict({"thing": {"self": {"n": 1}}}).thing.self_.n == 1
    assert load(schemas, "nut_example_com.v1").Pecan.from_dict({"thing": {"n": 1}}).thing.n == 1


def test_a_type_of_meta_that_we_do_not_have_is_made_where_it_is_used(load: Callable[..., ModuleType]) -> None:
    schemas = {
        **apple({"new": ref(f"{META}BrandNew")}),
        f"{META}BrandNew": {"type": "object", "properties": {"n": {"type": "integer"}}},
    }

    assert load(schemas).Apple.from_dict({"new": {"n": 1}}).new_.n == 1


def test_a_reference_to_nothing_is_an_error() -> None:
    with pytest.raises(GenerateError, match=rf"made\.fruit_example_com\.v1 refers to {GO}Missing"):
        modules_of(apple({"part": ref(f"{GO}Missing")}))


def test_types_of_one_name_from_two_modules_get_aliases(load: Callable[..., ModuleType]) -> None:
    part = {"type": "object", "properties": {"n": {"type": "integer"}}}
    schemas = {
        **apple({"own": ref(f"{GO}Part"), "old": ref("io.example.api.fruit.v0.Part"), "when": ref(f"{META}Time")}),
        f"{GO}Part": part,
        f"{GO}Time": part,
        "io.example.api.fruit.v0.Part": part,
        "io.example.api.fruit.v0.Apple": {**part, **gvk("Apple", version="v0")},
    }

    made = load(schemas)
    apple_ = made.Apple.from_dict({"own": {"n": 1}, "old": {"n": 2}, "when": "2026-01-02T03:04:05Z"})

    assert type(apple_.own) is made.Part
    assert type(apple_.old).__module__ == "made.fruit_example_com.v0"
    assert apple_.when.year == 2026


def test_an_import_of_many_names_is_spread_over_lines(load: Callable[..., ModuleType]) -> None:
    names = [f"PartNumber{number}" for number in range(12)]
    old = "io.example.api.fruit.v0."
    schemas = {
        **apple({name: ref(f"{old}{name}") for name in names}),
        f"{old}Apple": {"type": "object", **gvk("Apple", version="v0")},
        **{f"{old}{name}": {"type": "object", "properties": {"n": {}}} for name in names},
    }

    made = load(schemas)

    assert made.Apple.from_dict({"PartNumber7": {"n": 1}}).part_number7.n == 1
    text = Path(str(made.__file__)).read_text("utf-8")
    assert "from made.fruit_example_com.v0 import (\n    PartNumber0,\n" in text
    assert reformatted(text) == text


def test_a_list_of_another_modules_kind_is_a_plain_type() -> None:
    listed = {
        "type": "object",
        "properties": {
            "metadata": ref(f"{META}ListMeta"),
            "items": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        },
        **gvk("AppleList"),
    }

    (module,) = modules_of({**apple({}), f"{GO}AppleList": listed}).values()

    assert {each.name: bool(each.gvk) for each in module.classes} == {
        "Apple": True,
        "AppleList": False,
        "AppleListItems": False,
    }


def test_a_schema_with_several_kinds_is_the_one_of_its_own_group_and_version() -> None:
    both = {"x-kubernetes-group-version-kind": [*gvk("Apple", "other")["x-kubernetes-group-version-kind"]]}
    both["x-kubernetes-group-version-kind"] += gvk("Cherry")["x-kubernetes-group-version-kind"]

    (module,) = modules_of({**apple({}), f"{GO}Cherry": {"type": "object", **both}}).values()

    assert [str(each.gvk) for each in module.classes] == [
        "fruit.example.com/v1, kind Apple",
        "fruit.example.com/v1, kind Cherry",
    ]


def test_groups_whose_names_come_to_the_same_get_folders_of_their_own() -> None:
    schemas = {
        "com.example.a-b.v1.One": {"type": "object", **gvk("One", "a-b.example.com")},
        "com.example.b.a.v1.Two": {"type": "object", **gvk("Two", "a.b.example.com")},
        "com.example.b.a.v2.Two": {"type": "object", **gvk("Two", "a.b.example.com", "v2")},
        "io.k8s.api.index.v1.Three": {"type": "object", **gvk("Three", "index.k8s.io")},
        "io.k8s.api.policy.v1.Four": {"type": "object", **gvk("Four", "policy")},
        "io.k8s.x.policy.v1.Five": {"type": "object", **gvk("Five", "policy.x.k8s.io")},
    }

    assert {name: str(module.group_version) for name, module in modules_of(schemas).items()} == {
        "made.a_b_example_com.v1": "a-b.example.com/v1",
        "made.a_b_example_com2.v1": "a.b.example.com/v1",
        "made.a_b_example_com2.v2": "a.b.example.com/v2",
        "made.index2.v1": "index.k8s.io/v1",
        "made.policy.v1": "policy/v1",
        "made.policy_x_k8s_io.v1": "policy.x.k8s.io/v1",
    }


def test_an_invalid_group_or_version_is_an_error() -> None:
    for group, version in (('"""\nimport os', "v1"), ("example.com", "1\nx")):
        with pytest.raises(GenerateError, match="is not a valid group and version"):
            modules_of({f"{GO}Apple": {"type": "object", **gvk("Apple", group, version)}})


QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)


def test_what_controller_gen_makes_of_a_quantity_and_a_condition_is_recognised() -> None:
    text = {"type": "string"}
    names = ["type", "status", "lastTransitionTime", "reason", "message"]
    condition = {
        "type": "object",
        "required": names,
        "properties": {**dict.fromkeys(names, text), "observedGeneration": {"type": "integer"}},
    }
    fields = fields_of(
        apple(
            {
                "amount": {"x-kubernetes-int-or-string": True, "pattern": QUANTITY_PATTERN},
                "port": {"x-kubernetes-int-or-string": True},
                "conditions": {"type": "array", "items": condition},
            }
        )
    )

    assert fields["amount"].annotation == "Quantity | None"
    assert fields["port"].annotation == "IntOrString | None"
    assert fields["conditions"].annotation == "list[Condition]"

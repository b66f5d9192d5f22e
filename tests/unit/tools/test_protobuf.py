"""The table of protobuf messages: what becomes of a field, as derived from three sources."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.unit.codegen.tools import reformatted
from tools import protobuf

from masthead._codegen.spec import Spec
from masthead._schema.schema import Schema
from masthead.errors import GenerateError

if TYPE_CHECKING:
    from pathlib import Path

FRUIT = "k8s.io.api.fruit.v1."
META = "k8s.io.apimachinery.pkg.apis.meta.v1."
QUANTITY = "k8s.io.apimachinery.pkg.api.resource.Quantity"


def schemas_of(properties: dict[str, Any], *, kind: str = "Apple") -> dict[str, Any]:
    named = [{"group": "fruit.k8s.io", "version": "v1", "kind": kind}]
    return {f"io.k8s.api.fruit.v1.{kind}": {"properties": properties, "x-kubernetes-group-version-kind": named}}


def text_of(schemas: dict[str, Any], fields: protobuf.Fields) -> str:
    return protobuf.table_of(Spec(schemas=msgspec.convert(schemas, dict[str, Schema])), fields)


def table_of(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """The kinds and the messages of a generated module."""
    found = [
        ast.literal_eval(each.value) for each in ast.parse(text).body if isinstance(each, ast.AnnAssign) and each.value
    ]
    return found[0], found[1]


def apple(properties: dict[str, Any], row: list[str], **more: dict[str, list[str]]) -> str:
    """The table's entry for an Apple with one field."""
    others = {f"{FRUIT}{name}": fields for name, fields in more.items()}
    text = text_of(schemas_of(properties), {f"{FRUIT}Apple": {"1": row}, **others})
    return table_of(text)[1]["fruit.v1.Apple"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [("string", "s"), ("int32", "i"), ("int64", "l"), ("bool", "b"), ("double", "d"), ("bytes", "y")],
)
def test_a_scalar_is_a_letter_and_its_zero_is_left_out(written: str, expected: str) -> None:
    assert apple({"color": {}}, ["color", written]) == f"1:color:{expected}?"


@pytest.mark.parametrize("zero", ["", 0, False])
def test_a_zero_that_openapi_has_as_the_default_is_kept(zero: object) -> None:
    assert apple({"color": {"default": zero}}, ["color", "string"]) == "1:color:s"


def test_other_defaults_do_not_affect_zeroes() -> None:
    assert apple({"color": {"default": "red"}}, ["color", "string"]) == "1:color:s?"


def test_a_pointer_is_kept_whatever_it_holds() -> None:
    fields: protobuf.Fields = {"k8s.io.api.apps.v1.DeploymentSpec": {"1": ["replicas", "int32"]}}
    schemas = {"io.k8s.api.apps.v1.DeploymentSpec": schemas_of({"replicas": {}})["io.k8s.api.fruit.v1.Apple"]}

    assert table_of(text_of(schemas, fields))[1] == {"apps.v1.DeploymentSpec": "1:replicas:i"}


def test_lists_and_maps_are_marked() -> None:
    assert apple({"a": {}}, ["a", "string", "repeated"]) == "1:a:*s"
    assert apple({"a": {}}, ["a", "map<string,bytes>"]) == "1:a:%y"


def test_a_message_of_the_same_package_goes_by_its_own_name() -> None:
    assert apple({"core": {}}, ["core", f"{FRUIT}Core"], Core={}) == "1:core:.Core"


def test_a_message_with_its_own_json_form_goes_by_its_bare_name() -> None:
    assert apple({"weight": {}}, ["weight", QUANTITY]) == "1:weight:Quantity"
    assert apple({"weights": {}}, ["weights", f"map<string,{QUANTITY}>"]) == "1:weights:%Quantity"


def test_a_message_that_json_has_no_field_for_is_inside_of_the_other() -> None:
    fields = {"1": ["seeds", "int32"]}

    found = text_of(
        schemas_of({"seeds": {"default": 0}}),
        {f"{FRUIT}Apple": {"1": ["core", f"{FRUIT}Core"]}, f"{FRUIT}Core": fields},
    )

    assert table_of(found)[1] == {"fruit.v1.Apple": "1::>.Core", "fruit.v1.Core": "1:seeds:i"}


@pytest.mark.parametrize(
    ("name", "in_json"), [("Color", "color"), ("uID", "uid"), ("ref", "$ref"), ("xFruitType", "x-fruit-type")]
)
def test_json_may_spell_a_name_otherwise(name: str, in_json: str) -> None:
    assert apple({in_json: {}}, [name, "string"]) == f"1:{in_json}:s?"


def test_a_message_may_hold_itself() -> None:
    assert apple({"child": {}}, ["child", f"{FRUIT}Apple"]) == "1:child:.Apple"


def test_kinds_are_named_with_their_package() -> None:
    kinds, _ = table_of(text_of(schemas_of({}), {f"{FRUIT}Apple": {}, f"{FRUIT}Seed": {}}))

    assert kinds == {"fruit.k8s.io/v1": "fruit.v1 Apple"}


def test_options_are_kinds_of_every_group() -> None:
    named = [{"group": group, "version": "v1", "kind": "DeleteOptions"} for group in ("", "apps")]
    schemas = {"io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions": {"x-kubernetes-group-version-kind": named}}

    assert table_of(text_of(schemas, {f"{META}DeleteOptions": {}}))[0] == {"": "meta.v1 DeleteOptions"}


def test_a_message_that_is_missing_is_named() -> None:
    with pytest.raises(GenerateError, match=r"the numbers of k8s\.io\.api\.fruit\.v1\.Core are missing"):
        apple({"core": {}}, ["core", f"{FRUIT}Core"])


def test_two_messages_of_one_name_are_refused() -> None:
    other = "k8s.io.other.fruit.v1.Apple"

    with pytest.raises(GenerateError, match=r"would be called fruit\.v1\.Apple"):
        text_of(schemas_of({"a": {}}), {f"{FRUIT}Apple": {"1": ["a", other]}, other: {}})


def test_the_generated_module_is_already_formatted() -> None:
    text = text_of(schemas_of({"a": {}}), {f"{FRUIT}Apple": {"1": ["a", "string"]}})

    assert reformatted(text) == text


def test_the_command_names_missing_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = tmp_path / "protobuf-fields.json"
    status = protobuf.main(["--openapi", str(tmp_path), "--fields", str(numbers), "--out", str(tmp_path / "table.py")])

    assert status == 2
    assert "protobuf-fields.json does not have the fields of messages" in capsys.readouterr().err
    assert not (tmp_path / "table.py").exists()


def test_the_command_writes_the_table(tmp_path: Path) -> None:
    served = [{"resource": "apples", "responseKind": {"kind": "Apple"}, "scope": "Namespaced", "verbs": []}]
    groups = [{"metadata": {"name": "fruit.k8s.io"}, "versions": [{"version": "v1", "resources": served}]}]
    openapi = {"openapi": "3.0.0", "components": {"schemas": schemas_of({"a": {}})}}
    documents = {
        "protobuf-fields.json": {f"{FRUIT}Apple": {"1": ["a", "string"]}},
        "openapi.json": openapi,
        "discovery.json": {"kind": "APIGroupDiscoveryList", "items": groups},
    }
    for name, document in documents.items():
        (tmp_path / name).write_text(json.dumps(document), "utf-8")

    arguments = ["--openapi", str(tmp_path), "--out", str(tmp_path / "table.py")]
    assert protobuf.main(arguments) == 2
    assert protobuf.main([*arguments, "--fields", str(tmp_path / "protobuf-fields.json")]) == 0
    assert table_of((tmp_path / "table.py").read_text("utf-8"))[1] == {"fruit.v1.Apple": "1:a:s?"}

"""Enumerated strings of an API become types that can be imported, and that a type checker knows the values of."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.codegen.tools import reformatted

from masthead._codegen import crds, render, types
from masthead._codegen.spec import Spec


def module_for(**fields: Any) -> str:
    """The module of a custom resource whose spec has these fields."""
    return rendered({"properties": fields})


def rendered(spec: dict[str, Any]) -> str:
    found = Spec()
    definition = {
        "metadata": {"name": "ships.sea.example.org"},
        "spec": {
            "group": "sea.example.org",
            "names": {"kind": "Ship", "plural": "ships"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"spec": {"type": "object", **spec}}}}}
            ],
        },
    }
    crds.add_definition(found, definition, "test")
    (module,) = types.modules_of(found, "ships")
    text = render.render_module(module)
    assert reformatted(text) == text
    return text


def test_an_enumerated_field_is_a_literal_with_a_name() -> None:
    text = module_for(size={"type": "string", "enum": ["small", "large"]})

    assert 'ShipSpecSize: TypeAlias = Literal["small", "large"]' in text
    assert "    size: ShipSpecSize | None = None\n" in text
    assert '"ShipSpecSize",' in text or '"ShipSpecSize"]' in text


def test_a_required_enumerated_field_is_empty_until_it_is_set() -> None:
    text = rendered({"required": ["size"], "properties": {"size": {"type": "string", "enum": ["small"]}}})

    assert "    size: ShipSpecSize = EMPTY\n" in text
    assert "EMPTY" in text.partition("__all__")[0]


def test_items_and_values_are_enumerated() -> None:
    text = module_for(
        sails={"type": "array", "items": {"type": "string", "enum": ["jib"]}},
        flags={"type": "object", "additionalProperties": {"type": "string", "enum": ["up", "down"]}},
    )

    assert "    flags: dict[str, ShipSpecFlags] = {}\n" in text
    assert "    sails: list[ShipSpecSails] = []\n" in text


def test_the_status_of_a_condition_has_the_type_of_all_conditions() -> None:
    text = module_for(ready={"type": "string", "enum": ["True", "False", "Unknown"]})

    assert "    ready: ConditionStatus | None = None\n" in text
    assert "import ConditionStatus" in text


def test_null_is_no_value() -> None:
    text = module_for(size={"type": "string", "nullable": True, "enum": ["small", None]})

    assert 'ShipSpecSize: TypeAlias = Literal["small"]' in text


@pytest.mark.parametrize(
    ("schema", "annotation"),
    [
        ({"type": "integer", "enum": [1, 2]}, "int | None"),
        ({"type": "string", "enum": []}, "str | None"),
        ({"type": "string", "format": "byte", "enum": ["YQ=="]}, "bytes | None"),
    ],
)
def test_other_enumerations_keep_their_type(schema: dict[str, Any], annotation: str) -> None:
    text = module_for(size=schema)

    assert f"    size: {annotation} = None\n" in text
    assert "Literal" not in text


def test_a_name_that_is_taken_gets_a_number() -> None:
    text = module_for(
        size={"type": "string", "enum": ["small"]},
        Size={"type": "object", "properties": {"a": {"type": "string"}}},
    )

    assert "class ShipSpecSize(Struct):" in text
    assert 'ShipSpecSize2: TypeAlias = Literal["small"]' in text


def test_long_enumerations_stand_on_lines_of_their_own() -> None:
    text = module_for(size={"type": "string", "enum": ["x" * 30 + str(number) for number in range(5)]})

    assert f'ShipSpecSize: TypeAlias = Literal[\n    "{"x" * 30}0",\n' in text

"""Every kind of Kubernetes reads what its schema allows, and writes it back the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.codegen.filler import Filler
from tests.unit.codegen.kubernetes import needs_documents, schemas

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.model import Struct
from masthead._meta.registry import BUILT_IN, REMOVED, Registry

if TYPE_CHECKING:
    from masthead._meta.registry import ObjectClass

pytestmark = needs_documents

REGISTRY = Registry(BUILT_IN, REMOVED)

KINDS: dict[str, tuple[GroupVersionKind, dict[str, Any]]] = {
    f"{gvk.api_version} {gvk.kind}": (gvk, schema)
    for name, schema in sorted(schemas().items())
    for gvk in (GroupVersionKind(**each) for each in schema.get("x-kubernetes-group-version-kind", []))
    if not name.startswith("io.k8s.apimachinery.")
}


def touch_everything(value: object) -> None:
    """Read every field, down to the last."""
    if isinstance(value, Struct):
        for name in value.__struct_fields__:
            touch_everything(getattr(value, name))
    elif isinstance(value, list):
        for item in value:
            touch_everything(item)
    elif isinstance(value, dict):
        for item in value.values():
            touch_everything(item)


def filled(kind: str, *, zeroes: bool = False) -> tuple[ObjectClass, dict[str, Any]]:
    gvk, schema = KINDS[kind]
    return REGISTRY.class_of(gvk), Filler(schemas(), zeroes=zeroes).fill(schema)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_with_every_field_filled_in_survives_dict_json_and_yaml(kind: str) -> None:
    cls, data = filled(kind)

    from_dict, from_json = cls.from_dict(data), cls.from_json(json.dumps(data))
    touch_everything(from_json)

    assert from_dict.to_dict() == data
    assert from_json.to_dict() == data
    assert from_json == from_dict
    assert cls.from_yaml(from_dict.to_yaml()).to_dict() == data
    assert cls.from_dict(data, strict=True).to_dict() == data


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.endswith("List")])
def test_explicit_zeroes_are_written(kind: str) -> None:
    cls, data = filled(kind, zeroes=True)

    from_dict, from_json = cls.from_dict(data), cls.from_json(json.dumps(data))
    touch_everything(from_json)

    assert from_dict.to_dict() == data
    assert from_json.to_dict() == data

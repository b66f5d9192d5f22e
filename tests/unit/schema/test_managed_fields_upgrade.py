"""From client-side to server-side apply; the vectors were produced by client-go's csaupgrade of 1.36."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from masthead._meta.unstructured import Unstructured
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ArgumentError, DecodeError
from masthead.managed_fields import find_fields_owners, upgrade_managed_fields, upgrade_managed_fields_patch

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "managed_fields_upgrade_vectors.json").read_text(encoding="utf-8")
)
CSA = "kubectl-client-side-apply"


def entry(manager: str, operation: str, *names: str, version: str = "v1", subresource: str = "") -> dict[str, Any]:
    fields: dict[str, Any] = {"f:data": {f"f:{name}": {} for name in names}} if names else {}
    below = {"subresource": subresource} if subresource else {}
    return {"manager": manager, "operation": operation, "apiVersion": version, "fieldsV1": fields, **below}


def managed(*entries: dict[str, Any]) -> ConfigMap:
    return ConfigMap.from_dict({"metadata": {"name": "m", "resourceVersion": "7", "managedFields": list(entries)}})


def owners(entries: list[Any]) -> list[tuple[str, str, list[str]]]:
    return [(each.manager, each.operation, [*each.to_dict()["fieldsV1"]["f:data"]]) for each in entries]


def test_the_vectors_are_there() -> None:
    assert len(VECTORS) > 50


@pytest.mark.parametrize("cls", [ConfigMap, Unstructured])
@pytest.mark.parametrize("vector", VECTORS, ids=range(len(VECTORS)))
def test_upgrades_are_those_of_client_go(vector: dict[str, Any], cls: type[Any]) -> None:
    obj = cls.from_dict(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "m", "managedFields": vector["managedFields"]},
        }
    )

    upgraded = upgrade_managed_fields(obj, [vector["csa"]], vector["ssa"], subresource=vector.get("subresource", ""))

    assert [each.to_dict() for each in upgraded] == vector["upgraded"]


def test_the_newest_update_becomes_the_apply_and_takes_in_no_other_version() -> None:
    obj = managed(entry(CSA, "Update", "new", version="v2"), entry(CSA, "Update", "old"))

    assert owners(upgrade_managed_fields(obj, CSA, "us")) == [("us", "Apply", ["f:new"])]


def test_the_fields_of_several_managers_are_joined() -> None:
    obj = managed(
        entry("us", "Apply", "a"),
        entry(CSA, "Update", "b"),
        entry("before", "Update", "c"),
        entry("x", "Update"),
    )

    upgraded = upgrade_managed_fields(obj, ["before", CSA], "us")

    assert owners(upgraded[:1]) == [("us", "Apply", ["f:a", "f:b", "f:c"])]
    assert [each.manager for each in upgraded] == ["us", "x"]


def test_the_object_itself_is_left_alone() -> None:
    obj = managed(entry(CSA, "Update", "a"))
    before = obj.to_json()

    upgrade_managed_fields(obj, CSA, "us")

    assert obj.to_json() == before


def test_an_upgrade_is_a_patch_of_the_version_that_was_read() -> None:
    patch = upgrade_managed_fields_patch(managed(entry(CSA, "Update", "a")), CSA, "us")

    assert patch is not None
    assert json.loads(patch.body) == [
        {"op": "replace", "path": "/metadata/managedFields", "value": [entry("us", "Apply", "a")]},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"},
    ]


def test_there_is_no_patch_if_there_is_nothing_to_upgrade() -> None:
    done = managed(entry("us", "Apply", "a"), entry(CSA, "Update", "b", subresource="status"))

    assert upgrade_managed_fields_patch(done, CSA, "us") is None
    assert upgrade_managed_fields_patch(done, [], "us") is None
    assert upgrade_managed_fields_patch(done, CSA, "us", subresource="status") is not None


def test_the_owners_of_fields_own_all_of_them() -> None:
    broken = {**entry("broken", "Update"), "fieldsV1": {"f:data": {"x:y": {}}}}
    obj = managed(
        entry("both", "Update", "a", "b", "c"),
        entry("one", "Update", "a"),
        entry("applied", "Apply", "a", "b"),
        broken,
    )

    def found(operation: Any) -> list[str | None]:
        fields: dict[str, Any] = {"f:data": {"f:a": {}, "f:b": {}}}
        return [fields_owner.manager for fields_owner in find_fields_owners(obj, operation, fields)]

    assert (found("Update"), found("Apply")) == (["both"], ["applied"])


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ArgumentError, match="ssa_manager"):
        upgrade_managed_fields(managed(), CSA, "")
    with pytest.raises(DecodeError):
        upgrade_managed_fields(managed({**entry(CSA, "Update"), "fieldsV1": {"what": {}}}), CSA, "us")
    with pytest.raises(DecodeError):
        find_fields_owners(managed(), "Update", {"what": {}})

"""The schemas of Kubernetes' own types are those of the real server's documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from masthead._schema.builtin.definitions import DEFINITIONS, name_of, schema_of_kind
from masthead._schema.schema import REF_PREFIX
from masthead.api.core.v1 import ConfigMap, Pod
from masthead.meta import v1

DOCUMENTS = Path(__file__).parents[4] / "shared" / "kubernetes-1.36" / "openapi-v3"
FILES = sorted(DOCUMENTS.glob("*.json"))
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
SHARED_KINDS = {f"{META}.DeleteOptions", f"{META}.WatchEvent"}
"""Types whose kinds depend on the document that they are in."""


@pytest.mark.skipif(not FILES, reason=f"there is no {DOCUMENTS}")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_schema_is_the_one_of_the_real_server(file: Path) -> None:
    wanted: dict[str, dict[str, Any]] = msgspec.json.decode(file.read_bytes())["components"]["schemas"]
    made = {name: msgspec.to_builtins(DEFINITIONS.require(name)) for name in wanted}
    for each in (wanted, made):
        for name in each.keys() & SHARED_KINDS:
            each[name].pop("x-kubernetes-group-version-kind")

    assert msgspec.json.decode(msgspec.json.encode(made)) == wanted


def test_references_lead_to_other_schemas() -> None:
    spec = schema_of_kind(Pod).properties["spec"]

    assert spec.target == "io.k8s.api.core.v1.PodSpec"
    assert DEFINITIONS.resolve(spec).properties["containers"].patch_merge_key == "name"


def test_types_of_meta_are_found_by_the_names_of_the_package_in_go() -> None:
    assert name_of(v1.LabelSelector) == f"{META}.LabelSelector"
    assert name_of(v1.ObjectMeta) == f"{META}.ObjectMeta"


def test_a_schema_is_made_once() -> None:
    assert schema_of_kind(ConfigMap) is schema_of_kind(ConfigMap)


@pytest.mark.parametrize("name", ["io.k8s.api.core.v1.Nothing", "com.example.v1.Thing", ""])
def test_an_unknown_name_has_no_schema(name: str) -> None:
    assert DEFINITIONS.get(name) is None
    with pytest.raises(KeyError):
        DEFINITIONS.require(name)


def test_every_reference_can_be_resolved() -> None:
    seen: set[str] = set()
    queue = [
        "io.k8s.api.core.v1.Pod",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
    ]
    while queue:
        name = queue.pop()
        if name not in seen:
            seen.add(name)
            text = msgspec.json.encode(DEFINITIONS.require(name)).decode()
            queue += [each.partition('"')[0] for each in text.split(REF_PREFIX)[1:]]

    assert "io.k8s.apimachinery.pkg.util.intstr.IntOrString" in seen

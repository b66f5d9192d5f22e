"""The documents of OpenAPI v3 are those of the real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from masthead._meta.gvk import GroupVersion
from masthead_server.openapi.operations import identifier
from masthead_server.openapi.service import OpenApiService
from masthead_server.resources.catalog import Catalog

DOCUMENTS = Path(__file__).parents[4] / "shared" / "kubernetes-1.36" / "openapi-v3"
FILES = sorted(DOCUMENTS.glob("*.json"))


@pytest.fixture(scope="module")
def service() -> OpenApiService:
    return OpenApiService(Catalog.builtin())


def comparable(plain: Any, *, is_properties: bool = False) -> Any:
    """Drop what the recorded documents lack, descriptions and enumerations, and CBOR, which is off by default."""
    if isinstance(plain, list):
        return [comparable(each) for each in plain]
    if not isinstance(plain, dict):
        return plain
    return {
        key: comparable(value, is_properties=key == "properties" and not is_properties)
        for key, value in plain.items()
        if is_properties or (key not in {"description", "enum"} and "cbor" not in key)
    }


def document(service: OpenApiService, name: str) -> Any:
    found = service.get(name)
    assert found is not None
    return msgspec.json.decode(found.body)


@pytest.mark.skipif(not FILES, reason=f"there is no {DOCUMENTS}")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_document_is_the_one_of_the_real_server(file: Path, service: OpenApiService) -> None:
    wanted = msgspec.json.decode(file.read_bytes())
    made = document(service, file.stem.replace("__", "/"))

    assert made.pop("info") == {"title": "Kubernetes", "version": "1.36"}
    assert wanted.pop("info")["title"] == "Kubernetes"
    assert comparable(made) == comparable(wanted)


def test_enumerated_fields_list_their_values(service: OpenApiService) -> None:
    schemas = document(service, "api/v1")["components"]["schemas"]

    def field(kind: str, name: str) -> Any:
        return schemas[f"io.k8s.api.core.v1.{kind}"]["properties"][name]

    assert field("Container", "imagePullPolicy")["enum"] == ["Always", "IfNotPresent", "Never"]
    assert field("ServiceSpec", "ipFamilies")["items"]["enum"] == ["", "IPv4", "IPv6"]
    assert len(field("PersistentVolumeClaimStatus", "allocatedResourceStatuses")["additionalProperties"]["enum"]) == 5
    assert len(field("Lifecycle", "stopSignal")["enum"]) == 65
    assert "enum" not in field("PodCondition", "type")


def test_every_group_version_has_a_document(service: OpenApiService) -> None:
    catalog = Catalog.builtin()
    listed = msgspec.json.decode(service.index().body)["paths"]

    paths = {GroupVersion(group, version).path[1:] for group in catalog.groups() for version in catalog.versions(group)}
    assert paths <= listed.keys()
    assert listed.keys() - paths >= {"api", "apis", "apis/apps", "version"}


def test_the_index_has_the_hash_of_each_document(service: OpenApiService) -> None:
    listed = msgspec.json.decode(service.index().body)["paths"]
    found = service.get("apis/apps/v1")

    assert found is not None
    assert listed["apis/apps/v1"]["serverRelativeURL"] == f"/openapi/v3/apis/apps/v1?hash={found.hash}"


def test_documents_of_servers_in_one_process_are_the_same(service: OpenApiService) -> None:
    assert OpenApiService(Catalog.builtin()).get("api/v1") is service.get("api/v1")


@pytest.mark.parametrize(
    "name", ["", "v1", "api/v2", "apis/", "apis/nothing", "apis/apps/v9", "apis/apps/v1/", "apis//v1"]
)
def test_other_names_have_no_document(service: OpenApiService, name: str) -> None:
    assert service.get(name) is None
    assert service.has(name)


@pytest.mark.parametrize(
    ("name", "operation", "tag"),
    [
        ("api", "getCoreAPIVersions", "core"),
        ("apis", "getAPIVersions", "apis"),
        ("apis/rbac.authorization.k8s.io", "getRbacAuthorizationAPIGroup", "rbacAuthorization"),
        ("version", "getCodeVersion", "version"),
    ],
)
def test_discovery_and_version_are_described(service: OpenApiService, name: str, operation: str, tag: str) -> None:
    found = document(service, name)["paths"][f"/{name}/"]["get"]

    assert (found["operationId"], found["tags"]) == (operation, [tag])


@pytest.mark.parametrize(
    ("text", "is_capital", "wanted"),
    [
        ("rbac.authorization", True, "RbacAuthorization"),
        ("rbac.authorization", False, "rbacAuthorization"),
        ("v1beta1", True, "V1beta1"),
        ("my-group.example.com", False, "myGroupExampleCom"),
        ("1st.example.com", True, "StExampleCom"),
    ],
)
def test_identifiers_are_in_camel_case(text: str, is_capital: bool, wanted: str) -> None:
    assert identifier(text, is_capital=is_capital) == wanted

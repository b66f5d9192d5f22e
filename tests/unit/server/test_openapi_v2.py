"""The document of OpenAPI v2, in JSON and in protobuf."""

from __future__ import annotations

import gzip
from typing import Any

import msgspec
import pytest

from masthead._schema.schema import Schema
from masthead_server.openapi.gnostic import PROTOBUF_SWAGGER
from masthead_server.openapi.service import OpenApiService
from masthead_server.resources.catalog import Catalog

Fields = list[tuple[int, Any]]
DEPLOYMENT = "io.k8s.api.apps.v1.Deployment"


@pytest.fixture(scope="module")
def service() -> OpenApiService:
    return OpenApiService(Catalog.builtin())


@pytest.fixture(scope="module")
def document(service: OpenApiService) -> Any:
    return msgspec.json.decode(service.swagger(is_protobuf=False, is_gzip=False).body)


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(data: bytes) -> Fields:
    """Decode a message of protobuf, one level deep."""
    found: Fields = []
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
            found.append((tag >> 3, value))
        elif tag & 7 == 1:
            found.append((tag >> 3, data[at : at + 8]))
            at += 8
        else:
            size, at = varint(data, at)
            found.append((tag >> 3, data[at : at + size]))
            at += size
    return found


def one(data: bytes, *numbers: int) -> bytes:
    """The field at a path of numbers."""
    for number in numbers:
        data = next(value for key, value in fields(data) if key == number)
    return data


def named(data: bytes, name: str, number: int = 1) -> bytes:
    """The value of a name in a list of names and values."""
    entries = (value for key, value in fields(data) if key == number)
    return next(one(entry, 2) for entry in entries if one(entry, 1) == name.encode())


def test_every_reference_leads_to_a_definition(document: Any) -> None:
    text = msgspec.json.encode(document).decode()
    targets = {each.partition('"')[0] for each in text.split('"$ref":"')[1:]}

    assert {target.removeprefix("#/definitions/") for target in targets} <= document["definitions"].keys()
    assert all(target.startswith("#/definitions/") for target in targets)


def test_bodies_are_parameters(document: Any) -> None:
    created = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["post"]

    assert created["parameters"][0] == {
        "name": "body",
        "in": "body",
        "required": True,
        "schema": {"$ref": f"#/definitions/{DEPLOYMENT}"},
    }
    assert created["consumes"] == ["*/*"]


def test_quantities_are_strings(document: Any) -> None:
    assert document["definitions"]["io.k8s.apimachinery.pkg.api.resource.Quantity"] == {"type": "string"}


def test_protobuf_has_the_same_definitions(service: OpenApiService, document: Any) -> None:
    encoded = service.swagger(is_protobuf=True, is_gzip=False).body

    assert one(encoded, 1) == b"2.0"
    names = [one(value, 1).decode() for key, value in fields(one(encoded, 9)) if key == 1]
    assert names == list(document["definitions"])


def test_protobuf_has_types_references_and_extensions(service: OpenApiService) -> None:
    definitions = one(service.swagger(is_protobuf=True, is_gzip=False).body, 9)
    schema = named(definitions, DEPLOYMENT)
    properties = one(schema, 25)

    assert one(schema, 22, 1) == b"object"
    assert one(named(properties, "spec"), 1) == f"#/definitions/{DEPLOYMENT}Spec".encode()
    kinds = msgspec.json.decode(one(named(schema, "x-kubernetes-group-version-kind", 31), 2))
    assert kinds == [{"group": "apps", "version": "v1", "kind": "Deployment"}]


def test_protobuf_has_operations(service: OpenApiService) -> None:
    paths = one(service.swagger(is_protobuf=True, is_gzip=False).body, 8)
    item = named(paths, "/api/v1/namespaces/{namespace}/pods/{name}", number=2)

    assert one(item, 2, 5) == b"readCoreV1NamespacedPod"
    assert named(one(item, 2), "x-kubernetes-action", 13).endswith(b'"get"')
    parameters = [one(value, 1, 2) for key, value in fields(item) if key == 9]
    assert [one(next(iter(fields(parameter)))[1], 4) for parameter in parameters] == [
        b"name",
        b"namespace",
        b"pretty",
    ]


def test_numbers_and_flags_are_encoded() -> None:
    schema = {
        "maximum": 2.5,
        "maxLength": 300,
        "uniqueItems": True,
        "additionalProperties": False,
        "enum": [1],
    }

    found = dict(fields(PROTOBUF_SWAGGER.definition(Schema.from_plain(schema))))

    assert found[7] == b"\x00\x00\x00\x00\x00\x00\x04@"
    assert (found[11], found[16], found[21]) == (300, 1, b"\x10\x00")
    assert one(found[20], 2) == b"1"


def test_it_is_kept_in_every_form(service: OpenApiService) -> None:
    forms = [
        service.swagger(is_protobuf=is_protobuf, is_gzip=is_gzip)
        for is_protobuf in (False, True)
        for is_gzip in (False, True)
    ]

    assert len({form.hash for form in forms}) == 1
    assert gzip.decompress(forms[1].body) == forms[0].body
    assert gzip.decompress(forms[3].body) == forms[2].body
    assert service.has_swagger(is_protobuf=True, is_gzip=True)
    assert service.swagger(is_protobuf=False, is_gzip=False) is forms[0]

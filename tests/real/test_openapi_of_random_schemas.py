"""OpenAPI of custom resources with random structural schemas: the embedded server and a real one have the same.

``MASTHEAD_RANDOM_SCHEMAS`` is the number of schemas, ``MASTHEAD_RANDOM_SEED`` what they are made from.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.target import Target, embedded_target, real_target
from tests.real.random_schemas import Generator, Plain
from tests.real_server import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]

SCHEMAS = int(os.environ.get("MASTHEAD_RANDOM_SCHEMAS", "80"))
SEED = int(os.environ.get("MASTHEAD_RANDOM_SEED", "1"))
SCHEMAS_OF_A_DEFINITION = 40
GROUP = "documents.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DOCUMENT = f"/openapi/v3/apis/{GROUP}/v1"
SWAGGER = "/openapi/v2"
PROSE = re.compile(r"(?i)apiversion defines|kind is a|standard (object's|list) metadata|list of|\w+List is a list")
"""The beginning of what the real server says of the fields of every object."""


class Documents:
    """The documents of one server."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._connection = target.connect()

    def send(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self._target.token}", "Content-Type": "application/json"}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = self._connection.getresponse()
        data = response.read()
        is_json = response.headers.get_content_type() == "application/json"
        return response.status, json.loads(data) if is_json and data else {}

    def schemas_of(self, kind: str) -> tuple[Plain, Plain]:
        """The schema of a kind in version 3 and in version 2, as soon as there is one."""
        name = ".".join([*reversed(GROUP.split(".")), "v1", kind])
        found: list[Plain | None] = []

        def is_described() -> bool:
            third = self.send("GET", DOCUMENT)[1].get("components", {}).get("schemas", {}).get(name)
            found[:] = [third, self.send("GET", SWAGGER)[1]["definitions"].get(name) if third else None]
            return all(found)

        assert wait_until(is_described), f"there is no document of {kind}"
        return without_prose(found[0]), without_prose(found[1])

    def close(self) -> None:
        self._connection.close()


def without_prose(value: Any, *, is_properties: bool = False) -> Any:
    if isinstance(value, list):
        return [without_prose(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_prose(each, is_properties=key == "properties" and not is_properties)
        for key, each in value.items()
        if is_properties or key != "description" or not PROSE.match(str(each))
    }


def definition(kind: str, schemas: Plain) -> Plain:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": schemas}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }


@pytest.fixture
def servers(real_server: RealServer) -> Iterator[tuple[Documents, Documents]]:
    with (
        embedded_target() as embedded,
        closing(Documents(real_target(real_server))) as real,
        closing(Documents(embedded)) as other,
    ):
        yield real, other


def accepted_by(real: Documents, kind: str, schemas: Plain) -> Plain:
    """Create a definition on the real server, without the schemas that it does not accept; returns the definition."""
    while True:
        body = definition(kind, schemas)
        status, found = real.send("POST", DEFINITIONS, body)
        if status == 201:
            return body
        causes = found.get("details", {}).get("causes") or []
        refused = {name for caus in causes for name in re.findall(r"\[(f\d+)\]", caus.get("field", ""))}
        assert refused, found
        schemas = {name: each for name, each in schemas.items() if name not in refused}


@pytest.mark.timeout(120 + SCHEMAS)
def test_random_schemas_are_described_alike(servers: tuple[Documents, Documents]) -> None:
    real, embedded = servers
    generator = Generator(Random(SEED))
    for number in range(-(-SCHEMAS // SCHEMAS_OF_A_DEFINITION)):
        kind = f"Random{number}"
        schemas = {f"f{index}": generator.schema() for index in range(SCHEMAS_OF_A_DEFINITION)}
        body = accepted_by(real, kind, schemas)
        assert embedded.send("POST", DEFINITIONS, body)[0] == 201

        wanted, made = real.schemas_of(kind), embedded.schemas_of(kind)

        for version, one, other in zip((3, 2), wanted, made, strict=True):
            fields = one["properties"]["spec"]["properties"]
            others = other["properties"]["spec"]["properties"]
            for name in fields:
                assert others.get(name) == fields[name], f"seed {SEED}, version {version}: {schemas[name]}"
            assert other == one
        real.send("DELETE", f"{DEFINITIONS}/{body['metadata']['name']}")

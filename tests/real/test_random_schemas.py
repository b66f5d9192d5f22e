"""Custom resources with random structural schemas: the embedded server and a real one respond alike.

Each definition has many fields, each with a schema of its own, so that one request tests them all. Objects that were
stored before their fields had schemas are read and updated afterwards, too.

``MASTHEAD_RANDOM_SCHEMAS`` is the number of schemas, ``MASTHEAD_RANDOM_SEED`` what they are made from.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.target import Target, embedded_target, real_target
from tests.real.random_schemas import Generator, Plain

from masthead._schema.constraints import same_value
from masthead._schema.defaulting import apply_defaults
from masthead._schema.list_types import list_errors
from masthead._schema.prune import drop_nulls, prune
from masthead._schema.schema import Schema
from masthead._schema.validation import compile_validator

if TYPE_CHECKING:
    import http.client
    from collections.abc import Iterator

    from tests.real_server import RealServer

SCHEMAS = int(os.environ.get("MASTHEAD_RANDOM_SCHEMAS", "80"))
SEED = int(os.environ.get("MASTHEAD_RANDOM_SEED", "1"))
SCHEMAS_OF_A_DEFINITION = 50
BROKEN = (0.0, 0.03, 0.1, 0.3)
"""How much of the objects of a definition is broken."""
MOST_DIFFERENCES = 20
GROUP = "random.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ATTEMPTS = 20_000
"""Requests until a definition is served; each of them takes a while."""


@dataclass
class Response:
    """The parts of a response that are compared; lists whose order is random on the real server are sorted."""

    status: int
    errors: list[tuple[str, str, str]]
    message: str
    unknown: list[str]
    spec: Plain

    @classmethod
    def read(cls, response: http.client.HTTPResponse) -> Response:
        data = response.read()
        body = json.loads(data, parse_int=_number) if response.headers.get_content_type() == "application/json" else {}
        causes = body.get("details", {}).get("causes") or []
        errors = sorted((caus["reason"], caus.get("field", ""), caus["message"]) for caus in causes)
        unknown = sorted(response.headers.get_all("Warning") or [])
        # The order of errors in the message of a refused object is that of the causes.
        message = body.get("message", "") if response.status not in {201, 200, 422} else ""
        spec: Any = body.get("spec") if body.get("kind") != "CustomResourceDefinition" else None
        return cls(response.status, errors, message, unknown, spec if isinstance(spec, dict) else {})

    def refused_path(self) -> str:
        """The path of the first value that cannot be decoded."""
        found = re.search(r"cannot be handled as a \w+: (\S+): ", self.message)
        return found[1] if found else ""

    def mentioned(self) -> set[str]:
        """The fields of the spec that errors are about."""
        texts = [self.message, *(f"{field} {message}" for _, field, message in self.errors)]
        return {name for text in texts for name in re.findall(r"spec\.(f\d+)", text)}


def _number(digits: str) -> float:
    """Integers of more than 64 bits are floats; servers write them in several ways."""
    number = int(digits)
    return number if -(2**63) <= number < 2**63 else float(number)


class Connection:
    """A connection to one server."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._connection = target.connect()

    def send(self, method: str, path: str, body: object = None) -> Response:
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self._target.token}", "Content-Type": content_type}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        return Response.read(self._connection.getresponse())

    def close(self) -> None:
        self._connection.close()


@dataclass
class Servers:
    """The real and the embedded server, and how their responses differ."""

    real: Connection
    embedded: Connection
    differences: list[str] = field(default_factory=list)
    responses: int = 0
    errors: int = 0
    values: int = 0

    def send(self, method: str, path: str, body: Plain, schemas: Plain) -> Response:
        """Send a request to both, compare, and return the real one's response."""
        real, embedded = (each.send(method, path, body) for each in (self.real, self.embedded))
        self.responses += 1
        self.errors += len(real.errors)
        self.values += len(real.spec)
        self._compare(real, embedded, body["spec"], schemas)
        return real

    def _compare(self, real: Response, embedded: Response, sent: Plain, schemas: Plain) -> None:
        if real.errors != embedded.errors:
            odd = [("real only", each) for each in real.errors if each not in embedded.errors]
            odd += [("embedded only", each) for each in embedded.errors if each not in real.errors]
            for where, error in odd or [("not as often", real.errors[0])]:
                self._report(f"{where}: {error}", f"{error}", sent, schemas)
        elif real.status == embedded.status == 400 and real.refused_path() != embedded.refused_path():
            pass  # Only one field is reported, and which one is random.
        elif (real.status, real.message, real.unknown) != (
            embedded.status,
            embedded.message,
            embedded.unknown,
        ):
            facts = [(each.status, each.message, each.unknown) for each in (real, embedded)]
            self._report(f"real {facts[0]}, embedded {facts[1]}", facts[0][1], sent, schemas)
        for name in real.spec.keys() | embedded.spec.keys():
            one, other = real.spec.get(name), embedded.spec.get(name)
            if not same_value(one, other):
                self._report(f"real {json.dumps(one)}, embedded {json.dumps(other)}", f"spec.{name}", sent, schemas)

    def _report(self, text: str, path: str, sent: Plain, schemas: Plain) -> None:
        found = re.search(r"spec\.(f\d+)", path)
        name = found[1] if found else ""
        context = f"\n  schema {json.dumps(schemas.get(name))}\n  value {json.dumps(sent.get(name))}" if name else ""
        self.differences.append(f"{text}{context}")

    def both(self) -> Iterator[Connection]:
        yield self.real
        yield self.embedded


@pytest.fixture
def servers(real_server: RealServer) -> Iterator[Servers]:
    with (
        embedded_target() as embedded,
        closing(Connection(real_target(real_server))) as one,
        closing(Connection(embedded)) as other,
    ):
        yield Servers(one, other)


@pytest.mark.timeout(120 + SCHEMAS)
def test_random_schemas_have_the_same_effect(servers: Servers) -> None:
    random = Random(SEED)
    for number in range(-(-SCHEMAS // SCHEMAS_OF_A_DEFINITION)):
        _Definition(number, random).compare(servers)
        shown = "\n".join(servers.differences[:MOST_DIFFERENCES])
        assert not servers.differences, f"seed {SEED}, definition {number}:\n{shown}"
    assert servers.errors > SCHEMAS
    assert servers.values > SCHEMAS
    print(f"{SCHEMAS} schemas, {servers.responses} responses, {servers.values} values, {servers.errors} errors")


class _Definition:
    """A definition with random schemas."""

    def __init__(self, number: int, random: Random) -> None:
        self._random = random
        self._generator = Generator(random)
        self._kind = f"Random{number}"
        self._plural = f"random{number}s"
        self._path = f"/apis/{GROUP}/v1/{self._plural}"
        self._schemas = {f"f{index}": self._schema() for index in range(SCHEMAS_OF_A_DEFINITION)}

    def _schema(self) -> Plain:
        schema = self._generator.schema()
        self._generator.add_defaults({"properties": {"x": schema}}, _is_valid)
        return schema

    def compare(self, servers: Servers) -> None:
        """Compare what both servers make of objects."""
        self._create(servers, {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
        stored = [self._values(broken) for broken in BROKEN]
        for number, values in enumerate(stored):
            servers.send("POST", self._path, self._object(values, number), self._schemas)
        self._set_schemas(servers)
        for number, values in enumerate(stored):
            found = servers.send("GET", f"{self._path}/o{number}", self._object(values, number), self._schemas)
            self._compare_update(servers, number, found.spec)
        for broken in BROKEN:
            self._compare_creation(servers, self._values(broken))
        for server in servers.both():
            server.send("DELETE", f"{DEFINITIONS}/{self._plural}.{GROUP}")

    def _values(self, broken: float) -> Plain:
        return {name: self._generator.sent_value(schema, broken) for name, schema in self._schemas.items()}

    def _object(self, values: Plain, number: int) -> Plain:
        metadata = {"name": f"o{number}"}
        return {"apiVersion": f"{GROUP}/v1", "kind": self._kind, "metadata": metadata, "spec": values}

    def _compare_update(self, servers: Servers, number: int, old: Plain) -> None:
        """Change a part of an object: what stays is not validated again."""
        values = deepcopy(old)
        for name, schema in self._schemas.items():
            if self._random.random() < 0.4:
                values[name] = self._changed(values.get(name), schema)
        self._compare_valid_part(servers, "PUT", f"{self._path}/o{number}", values, number)

    def _changed(self, value: Any, schema: Plain) -> Any:
        """Change a value, or only a part of it."""
        if isinstance(value, dict) and value and self._random.random() < 0.5:
            key = self._random.choice(list(value))
            part = schema.get("properties", {}).get(key, {})
            return {**value, key: self._changed(value[key], part)}
        if isinstance(value, list) and value and self._random.random() < 0.5:
            index = self._random.randrange(len(value))
            changed = [*value]
            changed[index] = self._changed(value[index], schema.get("items", {}))
            self._random.shuffle(changed)
            return changed
        return self._generator.value(schema, 0.1)

    def _compare_creation(self, servers: Servers, values: Plain) -> None:
        self._compare_valid_part(servers, "POST", self._path, values, 99)

    def _compare_valid_part(self, servers: Servers, method: str, path: str, values: Plain, number: int) -> None:
        """Send an object, then again without the fields that are invalid."""
        for _ in range(4):
            sent = self._object(values, number)
            found = servers.send(method, f"{path}?dryRun=All&fieldValidation=Warn", sent, self._schemas)
            invalid = found.mentioned()
            if found.status in {200, 201} or not invalid:
                return
            values = {name: each for name, each in values.items() if name not in invalid}

    def _create(self, servers: Servers, spec: Plain) -> None:
        definition = self._definition(spec)
        for server in servers.both():
            assert server.send("POST", DEFINITIONS, definition).status == 201
            _wait_until(lambda server=server: server.send("GET", self._path).status == 200)

    def _set_schemas(self, servers: Servers) -> None:
        """Give the fields their schemas; those that a real server does not accept are left out."""
        path = f"{DEFINITIONS}/{self._plural}.{GROUP}"
        while True:
            properties = {**self._schemas, "served": {"type": "boolean", "default": True}}
            versions = self._definition({"type": "object", "properties": properties})["spec"]["versions"]
            patch = {"spec": {"versions": versions}}
            found = servers.send("PATCH", path, patch, self._schemas)
            if found.status == 200:
                break
            refused = {name for _, where, _ in found.errors for name in re.findall(r"\[(f\d+)\]", where)}
            assert refused, found
            self._schemas = {name: each for name, each in self._schemas.items() if name not in refused}
        for server in servers.both():
            _wait_until(lambda server=server: "served" in server.send("GET", f"{self._path}/o0").spec)

    def _definition(self, spec: Plain) -> Plain:
        schema = {"type": "object", "properties": {"spec": spec}}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        names = {"plural": self._plural, "kind": self._kind}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{self._plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Cluster", "names": names, "versions": [version]},
        }


def _is_valid(plain: Plain, value: Any) -> bool:
    """Tell whether a value may be a default."""
    schema, pruned = Schema.from_plain(plain), deepcopy(value)
    if prune(pruned, schema, is_object=False):
        return False
    drop_nulls(pruned, schema)
    if not same_value(pruned, value):
        return False
    apply_defaults(pruned, schema)
    return compile_validator(schema).is_valid(pruned) and not list_errors(pruned, schema)


def _wait_until(holds: Any) -> None:
    for _ in range(ATTEMPTS):
        if holds():
            return
    raise TimeoutError("the definition is not served")

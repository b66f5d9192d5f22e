"""Validation rules: the real server and the embedded one say the same of objects, and what was recorded.

A seeded sample of the expressions in ``tests/data/rules`` becomes the rules of one definition, each of a field of its
own. ``MASTHEAD_RANDOM_SEED`` is the seed, ``MASTHEAD_RANDOM_RULES`` the number of expressions.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from tests.conformance.target import Target, embedded_target, real_target

if TYPE_CHECKING:
    from tests.real_server import RealServer

Plain = dict[str, Any]

DATA = Path(__file__).parents[1] / "data" / "rules"
SEED = int(os.environ.get("MASTHEAD_RANDOM_SEED", "1"))
COUNT = int(os.environ.get("MASTHEAD_RANDOM_RULES", "20"))
GROUP = "rules.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ATTEMPTS = 20_000
"""Requests until a definition is served; each of them takes a while."""

SCHEMA: Plain = json.loads((DATA / "schema.json").read_text())
VALUES: list[Plain] = json.loads((DATA / "values.json").read_text())


def sample() -> list[Plain]:
    vectors = [json.loads(line) for line in (DATA / "vectors.jsonl").read_text().splitlines()]
    # Expressions at which the real server's own code panics are left out.
    valid = [vector for vector in vectors if "messages" in vector and "internal error" not in str(vector["messages"])]
    valid = [each for each in valid if each["expression"] != "{[1]: 'a'}"]
    return Random(SEED).sample(valid, min(COUNT, len(valid)))


def definition(expressions: list[str]) -> Plain:
    fields: Plain = {}
    for index, each in enumerate(expressions):
        rule = {
            "rule": f"dyn({each}) == dyn(null)",
            "message": "novalue",
            "messageExpression": f"'%s'.format([{each}])",
        }
        fields[f"f{index}"] = {**SCHEMA, "x-kubernetes-validations": [rule]}
    spec = {"type": "object", "properties": fields}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"judges.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": "judges", "kind": "Judge"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def messages(target: Target, expressions: list[str]) -> list[list[list[str]]]:
    """What a server says: for each expression, and each of the objects."""
    with closing(target.connect()) as connection:

        def send(method: str, path: str, body: object = None) -> Plain:
            headers = {"Authorization": f"Bearer {target.token}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            data = connection.getresponse().read()
            return json.loads(data) if data.startswith(b"{") else {}

        created = send("POST", DEFINITIONS, definition(expressions))
        assert created["kind"] == "CustomResourceDefinition", created
        path = f"/apis/{GROUP}/v1/judges"
        assert any(send("GET", path).get("kind") == "JudgeList" for _ in range(ATTEMPTS)), "it is not served"
        said: list[list[list[str]]] = [[] for _ in expressions]
        for value in VALUES:
            spec = {f"f{index}": value for index in range(len(expressions))}
            judge = {"apiVersion": f"{GROUP}/v1", "kind": "Judge", "metadata": {"name": "a"}, "spec": spec}
            causes = send("POST", f"{path}?dryRun=All", judge).get("details", {}).get("causes", [])
            by_field = {caus["field"]: caus["message"] for caus in causes}
            for index, each in enumerate(said):
                each.append([by_field[f"spec.f{index}"]] if f"spec.f{index}" in by_field else [])
        send("DELETE", f"{DEFINITIONS}/judges.{GROUP}")
        return said


def test_rules_say_the_same_of_objects(real_server: RealServer) -> None:
    vectors = sample()
    expressions = [vector["expression"] for vector in vectors]
    recorded = {vector["expression"]: vector["messages"] for vector in vectors}
    real = dict(zip(expressions, messages(real_target(real_server), expressions), strict=True))
    with embedded_target() as embedded:
        ours = dict(zip(expressions, messages(embedded, expressions), strict=True))
    assert real == recorded
    assert ours == recorded


def test_rules_that_do_not_compile_have_the_same_problems(real_server: RealServer) -> None:
    vectors = [json.loads(line) for line in (DATA / "vectors.jsonl").read_text().splitlines()]
    rules = Random(SEED).sample([vector["rule"] for vector in vectors if "rule" in vector], 20)
    fields = {
        f"f{index}": {"type": "integer", "x-kubernetes-validations": [{"rule": each, "message": "m"}]}
        for index, each in enumerate(rules)
    }
    body = definition([])
    schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"] = fields
    with embedded_target() as embedded:
        found = [problems(each, body) for each in (real_target(real_server), embedded)]
    assert found[0] == found[1]


def problems(target: Target, body: Plain) -> list[tuple[str, str]]:
    with closing(target.connect()) as connection:
        headers = {"Authorization": f"Bearer {target.token}", "Content-Type": "application/json"}
        connection.request("POST", f"{DEFINITIONS}?dryRun=All", json.dumps(body), headers)
        status = json.loads(connection.getresponse().read())
    # The real server numbers the types of objects.
    texts = [
        (each["field"], re.sub(r"selfType\d+", "selfType", each["message"])) for each in status["details"]["causes"]
    ]
    return sorted(texts)

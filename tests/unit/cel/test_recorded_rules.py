"""Expressions whose problems, values, errors and costs are recorded from the real server.

``tests/data/rules`` has the schema, the objects and, line by line, what kube-apiserver 1.36.4 made of each expression:
the problems of its definition, or the messages for each object. Costs are what its estimates come to.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from masthead._cel.program import Program
from masthead._schema.rule_definitions import rule_problems
from masthead._schema.rule_types import declare
from masthead._schema.rules import compile_rules
from masthead._schema.schema import Schema

DATA = Path(__file__).parents[2] / "data" / "rules"
VECTORS = [json.loads(line) for line in (DATA / "vectors.jsonl").read_text().splitlines()]
SCHEMA = json.loads((DATA / "schema.json").read_text())
VALUES = json.loads((DATA / "values.json").read_text())
SMALL = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 10}, "n": {"type": "integer"}}}
# Where Go's code panics, and the server reports an internal error.
DIFFERENT = {"{[1]: 'a'}", "dyn(1).distinct()", "self.ml.sortBy(x, -x.v).map(x, x.k)"}

INVALID = [each for each in VECTORS if "problems" in each]
VALID = [each for each in VECTORS if "messages" in each]


def showing(expression: str) -> dict[str, str]:
    """A rule that fails, and whose message shows what an expression comes to."""
    return {
        "rule": f"dyn({expression}) == dyn(null)",
        "message": "novalue",
        "messageExpression": f"'%s'.format([{expression}])",
    }


def ruled(schema: dict[str, Any], rule: dict[str, str]) -> Schema:
    field = {**schema, "x-kubernetes-validations": [rule]}
    return Schema.from_plain({"type": "object", "properties": {"spec": field}})


def own_problems(problems: list[list[str]]) -> list[list[str]]:
    """Those of the rule alone: those of all rules together depend on the others. The real server numbers types."""
    return sorted(
        [field, re.sub(r"selfType\d*", "selfType", text)]
        for field, text in problems
        if field.startswith(".") and "contributed to estimated rule cost total" not in text
    )


def problems_of(vector: dict[str, Any]) -> list[list[str]]:
    if "rule" in vector:
        schema = ruled(SMALL, {"rule": vector["rule"], "message": "m"})
    else:
        schema = ruled(SCHEMA, showing(vector["expression"]))
    prefix = "root.properties[spec].x-kubernetes-validations[0]"
    return own_problems(
        [[rule_problem.field.removeprefix(prefix), rule_problem.body] for rule_problem in rule_problems(schema, "root")]
    )


def test_definitions_have_the_recorded_problems() -> None:
    different = [each for each in INVALID if problems_of(each) != own_problems(each["problems"])]
    assert different == []


def messages_of(vector: dict[str, Any]) -> list[list[str]]:
    rules = compile_rules(ruled(SCHEMA, showing(vector["expression"])))
    return [[error.body for error in rules.errors({"spec": value})] for value in VALUES]


@pytest.mark.slow
def test_objects_get_the_recorded_messages() -> None:
    different = [each["expression"] for each in VALID if messages_of(each) != each["messages"]]
    assert sorted(different) == sorted(DIFFERENT)


def test_rules_have_the_recorded_estimates() -> None:
    declared = declare(Schema.from_plain(SCHEMA), is_root=False)
    assert declared is not None
    self_type = declared.named("selfType")
    for vector in VALID:
        program = Program(showing(vector["expression"])["rule"], {"self": self_type, "oldSelf": self_type})
        assert program.estimate(declared.size_of) == vector["cost"], vector["expression"]

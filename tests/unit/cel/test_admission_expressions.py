"""What expressions of admission have beyond those of validation rules: messages, an authorizer, names with a dot."""

from __future__ import annotations

from typing import Any

import pytest

from masthead._cel.environment import patch_environment
from masthead._cel.errors import CompileError, CostError, EvaluationError
from masthead._cel.library.authorization import (
    AUTHORIZER,
    RESOURCE_CHECK,
    AccessDecision,
    AccessRequest,
    AuthorizerValue,
    ResourceCheckValue,
)
from masthead._cel.program import Outcome, Program
from masthead._cel.structs import StructValue
from masthead._cel.types import DYN


class Reviewer:
    """Allows everything to a service account, and nothing to anybody else."""

    def __init__(self, user: str = "") -> None:
        self.user = user
        self.asked: list[tuple[AccessRequest, str]] = []

    def review(self, request: AccessRequest, verb: str) -> AccessDecision:
        self.asked.append((request, verb))
        return AccessDecision(bool(self.user), "" if self.user else "nobody may")

    def as_service_account(self, namespace: str, name: str) -> Reviewer:
        return Reviewer(f"{namespace}/{name}")


def patch(source: str, found: Any = None) -> Outcome:
    return Program(source, {"object": DYN}, environment=patch_environment()).evaluate(found)


def ask(source: str, reviewer: Reviewer) -> Outcome:
    program = Program(source, {"authorizer": AUTHORIZER, "authorizer.requestResource": RESOURCE_CHECK})
    request = AccessRequest(resource="pods", namespace="web")
    return program.evaluate(AuthorizerValue(reviewer), ResourceCheckValue(reviewer, request))


def test_a_message_has_its_fields() -> None:
    outcome = patch("Object{spec: Object.spec{replicas: object.n + 1, ?paused: object.?paused}}", {"n": 2})
    assert isinstance(outcome.value, StructValue)
    spec = outcome.value.fields["spec"]
    assert (outcome.value.type_name, spec.type_name, spec.fields) == ("Object", "Object.spec", {"replicas": 3})


def test_a_message_costs_as_on_the_real_server() -> None:
    assert patch("Object{}").cost == 40
    assert patch("Object{spec: Object.spec{}}").cost == 80


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("Object{a: 1}", "Object{a: 1}", True),
        ("Object{a: 1}", "Object{a: 2}", False),
        ("Object{a: 1}", "Object{b: 1}", False),
        ("dyn(Object{})", "dyn(Object.spec{})", False),
        ("dyn(Object{})", "dyn(1)", False),
    ],
)
def test_messages_are_equal_by_type_and_fields(left: str, right: str, equal: bool) -> None:
    assert patch(f"{left} == {right}").value is equal


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("JSONPatch{op: 1}", "expected type of field 'op' is 'string' but provided type is 'int'"),
        ("Unknown{}", "undeclared reference to 'Unknown' (in container '')"),
        ("object{}", "'dyn' is not a type"),
        ("Object{?a: 1}", "expected type 'optional_type(int)' but found 'int'"),
    ],
)
def test_messages_are_type_checked(source: str, problem: str) -> None:
    with pytest.raises(CompileError) as caught:
        patch(source)
    assert problem in str(caught.value)


def test_there_are_no_messages_without_their_environment() -> None:
    with pytest.raises(CompileError, match="undeclared reference to 'Object'"):
        Program("Object{}", {})


def test_keys_of_patches_are_escaped() -> None:
    assert patch("jsonpatch.escapeKey('a/b~c')").value == "a~1b~0c"


def test_macros_copy_messages() -> None:
    outcome = patch("[1, 2].map(n, Object{a: n})")
    assert [item.fields for item in outcome.value] == [{"a": 1}, {"a": 2}]


def test_an_authorizer_is_asked() -> None:
    reviewer = Reviewer()
    source = "authorizer.group('apps').resource('deployments').subresource('scale').name('a').check('get').allowed()"
    assert ask(source, reviewer).value is False
    request = AccessRequest(group="apps", resource="deployments", subresource="scale", name="a")
    assert reviewer.asked == [(request, "get")]


def test_a_name_with_a_dot_is_a_variable() -> None:
    reviewer = Reviewer()
    assert ask("authorizer.requestResource.check('list').reason()", reviewer).value == "nobody may"
    assert reviewer.asked == [(AccessRequest(resource="pods", namespace="web"), "list")]


def test_a_service_account_has_its_own_answers() -> None:
    source = "authorizer.serviceAccount('web', 'default').path('/metrics').check('get').allowed()"
    assert ask(source, Reviewer()).value is True


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("authorizer.path(' ').check('get').allowed()", "path must not be empty"),
        ("authorizer.group('').resource('').check('get').allowed()", "resource must not be empty"),
        ("authorizer.serviceAccount('A', 'a').path('/').check('get').allowed()", "Invalid service account namespace"),
        ("authorizer.serviceAccount('a', 'A').path('/').check('get').allowed()", "Invalid service account name"),
    ],
)
def test_questions_that_cannot_be_asked(source: str, problem: str) -> None:
    error = ask(source, Reviewer()).error
    assert isinstance(error, EvaluationError)
    assert str(error) == problem


def test_a_third_question_costs_too_much() -> None:
    check = "authorizer.requestResource.check('get').allowed()"
    assert ask(f"{check} || {check}", Reviewer()).error is None
    assert isinstance(ask(f"{check} || {check} || {check}", Reviewer()).error, CostError)

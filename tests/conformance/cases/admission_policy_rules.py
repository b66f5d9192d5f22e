"""Admission policies and their bindings: which of them the server refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.policies import applying, binding, create, mutating, name_of, patching, rule_of, validating

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Rules of admission policies")


def _judge(api: Api, *found: Plain) -> None:
    """Create policies or bindings, without storing them."""
    for policy in found:
        create(api, policy, dryRun="All")


def _validations(api: Api, *validations: str | Plain, **spec: Any) -> None:
    """Judge a policy for each of some validations."""
    _judge(api, *(validating(api, validation, **spec) for validation in validations))


def _constraints(api: Api, **fields: Any) -> Plain:
    return validating(api, "true", matchConstraints={"resourceRules": [rule_of()]} | fields)


@case("a policy gets its defaults")
def _(api: Api) -> None:
    create(api, validating(api, "true"))
    create(api, validating(api, "true", version="v1beta1", name="beta"))
    create(api, binding(api))
    create(api, mutating(api, applying("Object{}")))
    create(api, mutating(api, applying("Object{}"), name="beta", version="v1beta1"))
    create(api, mutating(api, applying("Object{}"), name="alpha", version="v1alpha1"))
    create(api, binding(api, "mutating", kind="Mutating"))
    create(api, binding(api, "alpha", kind="Mutating", version="v1alpha1", paramRef={"name": "a"}))


@case("a policy needs constraints, rules, and something to do")
def _(api: Api) -> None:
    bare = validating(api)
    _judge(
        api,
        bare,
        bare | {"spec": {}},
        {key: value for key, value in bare.items() if key != "spec"},
        _constraints(api, resourceRules=[]),
        validating(api, "true", failurePolicy="Maybe"),
        validating(api, "true", matchConstraints=None),
    )


@case("names of policies")
def _(api: Api) -> None:
    named = validating(api, "true")
    for name in ("A", "a/b", "a.static.k8s.io", ""):
        create(api, named | {"metadata": {"name": name}}, dryRun="All")
    create(api, named | {"metadata": {"generateName": "a-"}}, dryRun="All")


@case("rules of a policy")
def _(api: Api) -> None:
    rules = (
        rule_of(operations=[]),
        rule_of(operations=["CREATE", "*"]),
        rule_of(operations=["PATCH"]),
        rule_of(apiGroups=[], apiVersions=[], resources=[]),
        rule_of(apiGroups=["*", "apps"], apiVersions=["*", "v1"], resources=["*", "pods"]),
        rule_of(apiVersions=[""], resources=[""]),
        rule_of(resources=["pods/*", "pods/log", "*/*"]),
        rule_of(scope="Everywhere"),
        rule_of(resourceNames=["a", "b/c", "a", ".."]),
    )
    for rule in rules:
        _judge(api, _constraints(api, resourceRules=[rule]))
    _judge(api, _constraints(api, excludeResourceRules=[rule_of(resources=[], resourceNames=["a", "a"])]))


@case("selectors and the match policy of a policy")
def _(api: Api) -> None:
    wrong = {"matchExpressions": [{"key": "a", "operator": "In"}, {"key": "-", "operator": "Is"}]}
    _judge(
        api,
        _constraints(api, matchPolicy="Fuzzy"),
        _constraints(api, namespaceSelector=wrong, objectSelector={"matchLabels": {"a": "-"}}),
    )


@case("match conditions of a policy")
def _(api: Api) -> None:
    conditions: tuple[list[Plain], ...] = (
        [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}],
        [{"name": "", "expression": ""}, {"name": "a b", "expression": "  "}],
        [{"name": "a", "expression": " 1 "}],
        [{"name": "a", "expression": "object.a ="}],
        [{"name": "a", "expression": "params == null"}],
        [{"name": "a", "expression": "variables.a"}],
        [{"name": f"a{number}", "expression": "true"} for number in range(65)],
    )
    for listed in conditions:
        _judge(api, validating(api, "true", matchConditions=listed))
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    _judge(
        api, validating(api, "true", matchConditions=[{"name": "a", "expression": "params == null"}], paramKind=kind)
    )


@case("expressions that do not compile")
def _(api: Api) -> None:
    _validations(
        api,
        "",
        "  ",
        "object.a ==",
        "objekt.a == 1",
        "1 + 1",
        "object",
        "object.a",
        "'a'",
        "[1]",
        "{'a': 1}",
        "duration('1s')",
        "request",
        "request.objekt == null",
        "request.object == null",
        "request.name == 1",
        "namespaceObject.metadata.managedFields == null",
        "authorizer.requestResource.check('get')",
        "authorizer.allowed()",
        "params == null",
        "variables.a",
        "Object{} == null",
        "jsonpatch.escapeKey('a') == 'a'",
        "duration('x') == null",
        "object.a.matches('[')",
        " object.a ==\n  1 + 'a'",
    )


@case("messages, expressions of messages, and reasons")
def _(api: Api) -> None:
    _validations(
        api,
        {"expression": "true", "message": "  "},
        {"expression": "true", "message": "a\nb"},
        {"expression": "true\n", "message": " a \n"},
        {"expression": "true", "messageExpression": "  "},
        {"expression": "true", "messageExpression": "1"},
        {"expression": "true", "messageExpression": "object.a"},
        {"expression": "true", "messageExpression": "'a' + object.a"},
        {"expression": "true", "messageExpression": "authorizer.path('/a').check('get').reason()"},
        {"expression": "true", "messageExpression": "params.a"},
        {"expression": "true", "reason": "Unauthorized"},
        {"expression": "true", "reason": "Forbidden"},
        {"expression": "true", "reason": ""},
    )


@case("variables of a policy")
def _(api: Api) -> None:
    variables: tuple[list[Plain], ...] = (
        [{"name": "", "expression": ""}, {"name": " ", "expression": " "}],
        [{"name": "1a", "expression": "1"}, {"name": "in", "expression": "1"}, {"name": "a-b", "expression": "1"}],
        [{"name": "a", "expression": "1"}, {"name": "a", "expression": "'x'"}],
        [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}],
        [{"name": "a", "expression": "1 +"}, {"name": "b", "expression": "variables.a + 1"}],
        [{"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a + 'x'"}],
        [{"name": "a", "expression": "'x'"}, {"name": "b", "expression": "variables.a + 'x'"}],
        [{"name": "a", "expression": "authorizer.group('')"}, {"name": "b", "expression": "variables.a.x"}],
        [{"name": "a", "expression": "[1]"}, {"name": "b", "expression": "variables.a.exists(i, i == 'x')"}],
        [{"name": "a", "expression": "params"}],
    )
    for listed in variables:
        _judge(api, validating(api, "variables.b == 1", variables=listed))


@case("audit annotations of a policy")
def _(api: Api) -> None:
    def annotate(*annotations: Plain) -> None:
        _judge(api, validating(api, auditAnnotations=list(annotations)))

    annotate({"key": "a", "valueExpression": "'x'"}, {"key": "a", "valueExpression": "'y'"})
    annotate({"key": "", "valueExpression": ""})
    annotate({"key": "a/b", "valueExpression": " 1 "}, {"key": "a b", "valueExpression": "object.a"})
    annotate({"key": "k" * 64, "valueExpression": "null"})
    annotate({"key": "k", "valueExpression": f"'{'x' * 5200}'"})
    annotate({"key": "k", "valueExpression": "authorizer.path('/a').check('get').reason()"})
    annotate(*({"key": f"k{number}", "valueExpression": "'x'"} for number in range(21)))


@case("kinds of parameters")
def _(api: Api) -> None:
    kinds: tuple[Plain, ...] = (
        {},
        {"apiVersion": "v1"},
        {"apiVersion": "a/b/c", "kind": "A"},
        {"apiVersion": "/v1", "kind": "A_b"},
        {"apiVersion": "apps/", "kind": "aB"},
        {"apiVersion": "A_b/V1", "kind": "-"},
        {"apiVersion": "example.com/v1", "kind": "Widget"},
    )
    for kind in kinds:
        _judge(api, validating(api, "params != null", paramKind=kind))


@case("bindings of validating policies")
def _(api: Api) -> None:
    actions: tuple[list[str], ...] = ([], ["Deny", "Warn"], ["Deny", "Deny"], ["Scold"], ["Audit", "Warn"], ["Audit"])
    _judge(api, *(binding(api, validationActions=listed) for listed in actions))
    _judge(api, binding(api, policyName=""), binding(api, policyName="A b"), binding(api) | {"spec": {}})
    _judge(api, binding(api, matchResources={}), binding(api, matchResources={"matchPolicy": "x"}))
    _judge(api, binding(api, matchResources={"resourceRules": [rule_of(operations=[])]}))


@case("references to parameters")
def _(api: Api) -> None:
    references: tuple[Plain, ...] = (
        {},
        {"name": "a"},
        {"name": "a", "parameterNotFoundAction": ""},
        {"name": "a", "parameterNotFoundAction": "Scold"},
        {"name": "a/b", "parameterNotFoundAction": "Deny"},
        {"name": "a", "selector": {}, "parameterNotFoundAction": "Allow"},
        {"selector": {"matchLabels": {"a": "-"}}, "parameterNotFoundAction": "Allow"},
        {"selector": {}, "namespace": "-", "parameterNotFoundAction": "Allow"},
        {"namespace": "a", "parameterNotFoundAction": "Allow"},
    )
    for kind in ("Validating", "Mutating"):
        _judge(api, *(binding(api, kind=kind, paramRef=reference) for reference in references))


@case("mutations of a policy")
def _(api: Api) -> None:
    whole = applying("Object{}")
    mutations: tuple[Plain, ...] = (
        {},
        {"patchType": "Merge"},
        {"patchType": "JSONPatch"},
        {"patchType": "ApplyConfiguration"},
        whole | {"patchType": "JSONPatch"},
        patching("[]") | {"patchType": "ApplyConfiguration"},
        whole | {"jsonPatch": {"expression": "[]"}},
        applying(""),
        patching("  "),
        {"patchType": "JSONPatch", "jsonPatch": {}},
    )
    _judge(api, mutating(api), *(mutating(api, mutation) for mutation in mutations))


@case("expressions of mutations")
def _(api: Api) -> None:
    expressions = (
        "1",
        "object",
        "{}",
        "{'spec': 1}",
        "Object.spec{}",
        "Objekt{}",
        "Object{metadata: Object.metadata{labels: {'a': 1, 'b': 'x'}}}",
        "Object{metadata: Object.metadata{labels: {'a': 'x'}}}",
        "object.a ? Object{} : Object{data: {}}",
        "Object{?data: object.?data}",
        "Object{?data: object.data}",
        "Object{?data: 1}",
        "variables.a",
        "params.a",
    )
    _judge(api, *(mutating(api, applying(expression)) for expression in expressions))
    patches = (
        "[]",
        "1",
        "[1]",
        "[JSONPatch{}]",
        "JSONPatch{}",
        "[JSONPatch{op: 1}]",
        "[JSONPatch{op: 'add', path: '/' + jsonpatch.escapeKey('a/b'), value: Object.data{}}]",
        "object.a ? [JSONPatch{op: 'test'}] : []",
        "[JSONPatch{op: 'add', path: object.a, value: object.b}] + [JSONPatch{}]",
        "[Object{}]",
        "jsonpatch.escapeKey(1)",
    )
    _judge(api, *(mutating(api, patching(expression)) for expression in patches))


@case("what is special about mutating policies")
def _(api: Api) -> None:
    whole = applying("Object{}")
    _judge(
        api,
        mutating(api, whole, reinvocationPolicy=""),
        mutating(api, whole, reinvocationPolicy="Always"),
        mutating(api, whole, reinvocationPolicy=None),
        mutating(api, whole, matchConstraints={"resourceRules": [rule_of(operations=["DELETE", "CREATE"])]}),
        mutating(api, whole, matchConstraints={"resourceRules": [rule_of(operations=["*"])]}),
        mutating(api, whole, matchConditions=[{"name": "a", "expression": "variables.a"}]),
        mutating(api, whole, variables=[{"name": "a", "expression": "Object{}"}]),
        mutating(api, applying("variables.a"), variables=[{"name": "a", "expression": "object"}]),
        binding(api, kind="Mutating", policyName=""),
        binding(api, kind="Mutating", matchResources={"resourceRules": [rule_of(operations=["DELETE"])]}),
        binding(api, kind="Mutating", validationActions=["Deny"]),
    )


@case("updates are validated, too")
def _(api: Api) -> None:
    policy = validating(api, "true", matchConditions=[{"name": "a", "expression": "true"}])
    create(api, policy)
    resource, name = "admissionregistration.k8s.io/v1/validatingadmissionpolicies", name_of(api)
    api.patch(resource, name, {"spec": {"validations": [{"expression": "1"}]}})
    api.patch(resource, name, {"spec": {"validations": [{"expression": "false"}]}})
    api.patch(resource, name, {"spec": {"matchConditions": [{"name": "a", "expression": "x"}]}})
    api.patch(resource, name, {"metadata": {"labels": {"a": "b"}}})
    api.patch(resource, f"{name}/status", {"status": {"observedGeneration": 7}})
    wrong = [
        {"fieldRef": "", "warning": ""},
        {"fieldRef": "spec[", "warning": "x"},
        {"fieldRef": "a.b", "warning": "y"},
    ]
    api.patch(resource, f"{name}/status", {"status": {"typeChecking": {"expressionWarnings": wrong}}})
    api.patch(resource, f"{name}/status", {"status": {"conditions": [{"type": "A b", "status": "x"}]}})
    api.get(resource, name)

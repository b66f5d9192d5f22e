"""Admission policies: what they refuse, warn about and let pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.definitions import definition, object_of, resource_of, version_of
from tests.conformance.definitions import install as define
from tests.conformance.policies import (
    VALIDATING,
    add,
    await_config,
    await_params,
    await_policies,
    binding,
    config,
    create,
    install,
    name_of,
    rule_of,
    validating,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Admission policies")

CONFIG_KIND = {"apiVersion": "v1", "kind": "ConfigMap"}
POD: Plain = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "a", "image": "a"}]},
}


def _attempt(api: Api, policy: Plain, *objects: Plain, **spec: Any) -> None:
    """Put a policy in force, and create ConfigMaps without storing them."""
    install(api, policy, **spec)
    for found in objects or (config(),):
        api.create("configmaps", found, dryRun="All")


def _show(api: Api, *expressions: str, found: Plain | None = None, **spec: Any) -> None:
    """Show what expressions come to: in the messages of policies that each refuse one ConfigMap."""
    for number, expression in enumerate(expressions):
        shown = {
            "expression": "false",
            "message": f"no value: {expression}",
            "messageExpression": f"'%s'.format([{expression}])",
        }
        rules = {"resourceRules": [rule_of(resourceNames=[f"a{number}"])]}
        add(api, validating(api, shown, name=f"p{number}", matchConstraints=rules, **spec))
    await_policies(api)
    for number, _ in enumerate(expressions):
        new = config(f"a{number}") if found is None else found | {"metadata": {"name": f"a{number}"}}
        api.create("configmaps", new, dryRun="All")


def _fail(api: Api, *expressions: str, **spec: Any) -> None:
    """Show how expressions fail, each in the policy of one ConfigMap."""
    for number, expression in enumerate(expressions):
        rules = {"resourceRules": [rule_of(resourceNames=[f"a{number}"])]}
        add(api, validating(api, expression, name=f"p{number}", matchConstraints=rules, **spec))
    await_policies(api)
    for number, _ in enumerate(expressions):
        api.create("configmaps", config(f"a{number}", data={"a": "x"}), dryRun="All")


@case("a validation that fails refuses a request, one that holds does not")
def _(api: Api) -> None:
    _attempt(api, validating(api, "object.metadata.name == 'a'"), config("a"), config("b"))


@case("messages, and what replaces them")
def _(api: Api) -> None:
    validations: list[Plain] = [
        {"expression": " object.metadata.name != 'a0' "},
        {"expression": "object.metadata.name != 'a1'", "message": "  not one "},
        {"expression": "object.metadata.name != 'a2'", "messageExpression": "'not ' + object.metadata.name + ' '"},
        {"expression": "object.metadata.name != 'a3'", "message": "m", "messageExpression": "''"},
        {"expression": "object.metadata.name != 'a4'", "message": "m", "messageExpression": "'a\\nb'"},
        {"expression": "object.metadata.name != 'a5'", "message": "m", "messageExpression": "string(object.x)"},
        {"expression": "object.metadata.name != 'a6'", "messageExpression": "'x'.replace('x', '" + "y" * 5200 + "')"},
        {"expression": "object.metadata.name != 'a7'", "messageExpression": "variables.a"},
        {"expression": "object.metadata.name != 'a8'", "messageExpression": "variables.b"},
    ]
    variables = [
        {"name": "a", "expression": "'from a variable'"},
        {"name": "b", "expression": "authorizer.path('/a').check('get').reason()"},
    ]
    _attempt(api, validating(api, *validations, variables=variables), *(config(f"a{number}") for number in range(9)))


@case("reasons decide the status")
def _(api: Api) -> None:
    validations = [
        {"expression": f"object.metadata.name != '{reason.lower()}'", "message": "no", "reason": reason}
        for reason in ("Forbidden", "Invalid", "RequestEntityTooLarge")
    ]
    _attempt(
        api, validating(api, *validations), config("forbidden"), config("invalid"), config("requestentitytoolarge")
    )


@case("the first of several failures is reported")
def _(api: Api) -> None:
    _attempt(api, validating(api, {"expression": "true"}, {"expression": "1 > 2", "message": "two"}, "3 > 4"))


@case("warnings instead of refusals")
def _(api: Api) -> None:
    _attempt(
        api,
        validating(api, {"expression": "false", "message": 'one, "two"'}, "1 > 2", "object.x > 1"),
        validationActions=["Warn", "Audit"],
    )


@case("audits do not show")
def _(api: Api) -> None:
    annotations = [{"key": "a", "valueExpression": "'x'"}]
    _attempt(api, validating(api, "false", auditAnnotations=annotations), validationActions=["Audit"])


@case("errors of expressions")
def _(api: Api) -> None:
    _fail(
        api,
        "object.x == 1",
        "object.data.a > 1",
        "object.data.a == 1",
        "has(object.x.y)",
        "oldObject.metadata.name == 'a'",
        "object.data['b'] == 'x'",
        "int(object.data.a) == 1",
        "object.metadata.name.x == 1",
        "object.data.map(k, k)[7] == 'a'",
        "namespaceObject.metadata.UID == ''",
        "namespaceObject.metadata.creationTimestamp > timestamp('2001-01-01T00:00:00Z')",
        "request.subResource == ''",
        "request.options.x == 1",
        "variables.a == 1",
        variables=[{"name": "a", "expression": "object.x.y"}],
    )


@case("errors that are ignored")
def _(api: Api) -> None:
    _fail(api, "object.x == 1", "false", "object.x == 1 || true", failurePolicy="Ignore")


@case("variables of a request")
def _(api: Api) -> None:
    _show(
        api,
        "object",
        "oldObject",
        "dyn(request.kind)",
        "dyn(request.resource)",
        "dyn(request.requestKind)",
        "dyn(request.requestResource)",
        "request.name",
        "request.operation",
        "request.dryRun",
        "request.options",
        "request.userInfo.groups",
        "request.userInfo.username",
        "has(request.subResource)",
        "has(request.userInfo.extra)",
        "has(request.userInfo.uid)",
        "namespaceObject.metadata.labels.size()",
        "has(dyn(namespaceObject).metadata.managedFields)",
        "dyn(namespaceObject.spec)",
        "dyn(namespaceObject.status)",
        "dyn(request.userInfo)",
        "type(object)",
        "type(request)",
        "type(namespaceObject)",
        "type(object.metadata)",
        "size(object)",
        "object.kind + object.apiVersion",
        found=config(data={"a": "x"}),
    )


@case("match conditions")
def _(api: Api) -> None:
    conditions = [
        {"name": "named", "expression": "object.metadata.name.startsWith('a')"},
        {"name": "labelled", "expression": "object.metadata.labels.a == 'b'"},
        {"name": "fails", "expression": "object.metadata.annotations.a == 'b'"},
    ]
    labelled = config("a") | {"metadata": {"name": "a", "labels": {"a": "b"}}}
    annotated = config("a") | {"metadata": {"name": "a", "labels": {"a": "b"}, "annotations": {"a": "b"}}}
    unlabelled = config("a") | {"metadata": {"name": "a", "labels": {"a": "c"}}}
    policy = validating(api, "false", matchConditions=conditions)
    _attempt(api, policy, config("b"), config("a"), labelled, annotated, unlabelled)


@case("match conditions that fail are ignored with their policy")
def _(api: Api) -> None:
    conditions = [{"name": "fails", "expression": "object.x == 1"}]
    _attempt(api, validating(api, "false", matchConditions=conditions, failurePolicy="Ignore"))


@case("variables are computed once, and may use others")
def _(api: Api) -> None:
    variables = [
        {"name": "name", "expression": "object.metadata.name"},
        {"name": "data", "expression": "object.?data.orValue({'none': 'x'})"},
        {"name": "keys", "expression": "variables.data.map(k, variables.name + k)"},
        {"name": "wrong", "expression": "object.x"},
        {"name": "worse", "expression": "variables.wrong + 1"},
    ]
    validations = [
        {"expression": "variables.keys.size() != 1", "messageExpression": "string(variables.keys[0])"},
        {"expression": "variables.name != 'b' || variables.worse == 1"},
        {"expression": "variables.name != 'c' || has(variables.wrong)"},
    ]
    policy = validating(api, *validations, variables=variables)
    two = {"k": "v", "l": "w"}
    _attempt(api, policy, config(data={"k": "v"}), config(), config("b", data=two), config("c", data=two))


@case("rules decide about operations, subresources and names")
def _(api: Api) -> None:
    rules = [
        rule_of("pods", operations=["CREATE"]),
        rule_of("pods/status", operations=["UPDATE"]),
        rule_of("configmaps", operations=["DELETE"], resourceNames=["a"]),
    ]
    shown = {"expression": "false", "messageExpression": "request.operation + ' ' + request.?subResource.orValue('-')"}
    create(api, validating(api, shown, matchConstraints={"resourceRules": rules}))
    api.create("configmaps", config("a"))
    api.create("configmaps", config("b"))
    api.create("pods", POD)
    create(api, binding(api))
    await_policies(api)
    api.create("pods", POD | {"metadata": {"name": "b"}})
    api.patch("pods", "a", {"metadata": {"labels": {"a": "b"}}})
    api.patch("pods", "a/status", {"status": {"message": "x"}})
    api.delete("configmaps", "b")
    api.delete("configmaps", "a")
    api.delete_all("configmaps")


@case("excluded rules and selectors of objects")
def _(api: Api) -> None:
    constraints = {
        "resourceRules": [rule_of("*")],
        "excludeResourceRules": [rule_of("secrets"), rule_of(resourceNames=["free"])],
        "objectSelector": {"matchExpressions": [{"key": "free", "operator": "DoesNotExist"}]},
    }
    install(api, validating(api, "false", matchConstraints=constraints))
    api.create("secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}, dryRun="All")
    for name, labels in (("a", {}), ("free", {}), ("b", {"free": "yes"})):
        api.create("configmaps", config() | {"metadata": {"name": name, "labels": labels}}, dryRun="All")


@case("updates see both states")
def _(api: Api) -> None:
    api.create("configmaps", config(data={"a": "x"}))
    shown = "'%s to %s'.format([oldObject.data, object.data])"
    install(api, validating(api, {"expression": "object.data == oldObject.data", "messageExpression": shown}))
    api.patch("configmaps", "a", {"metadata": {"labels": {"a": "b"}}})
    api.patch("configmaps", "a", {"data": {"b": "y"}})
    api.apply("configmaps", "a", config(data={"c": "z"}), manager="me")


@case("deletions have only the old object")
def _(api: Api) -> None:
    api.create("configmaps", config(data={"a": "x"}))
    rules = {"resourceRules": [rule_of(operations=["DELETE"])]}
    shown = "'%s %s %s'.format([object, oldObject.data, request.options.kind])"
    policy = validating(api, {"expression": "object != null", "messageExpression": shown}, matchConstraints=rules)
    install(api, policy)
    api.delete("configmaps", "a", gracePeriodSeconds=5)
    api.delete("configmaps", "a")


@case("other versions match as equivalents")
def _(api: Api) -> None:
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}},
    }
    rule = rule_of("horizontalpodautoscalers", apiGroups=["autoscaling"])
    shown = {
        "expression": "false",
        "messageExpression": "'%s %s %s'.format([object.apiVersion, request.kind.version, object.spec])",
    }
    for policy in ("Equivalent", "Exact"):
        constraints = {"resourceRules": [rule], "matchPolicy": policy}
        add(api, validating(api, shown, name=policy.lower(), matchConstraints=constraints))
        await_policies(api)
        api.create("horizontalpodautoscalers", scaler, dryRun="All")
        api.request("DELETE", f"/apis/admissionregistration.k8s.io/v1/{VALIDATING}/{name_of(api, policy.lower())}")
        await_policies(api)


@case("parameters by name")
def _(api: Api) -> None:
    api.create("configmaps", config("params", data={"prefix": "a"}))
    shown = {
        "expression": "object.metadata.name.startsWith(params.data.prefix)",
        "messageExpression": "'not %s of %s %s'.format([params.data.prefix, params.kind, params.apiVersion])",
    }
    policy = validating(api, shown, paramKind=CONFIG_KIND)
    install(api, policy, paramRef={"name": "params", "parameterNotFoundAction": "Deny"})
    await_params(api)
    api.create("configmaps", config("a"), dryRun="All")
    api.create("configmaps", config("b"), dryRun="All")
    api.patch("configmaps", "params", {"data": {"prefix": "b"}})


@case("parameters that are missing")
def _(api: Api) -> None:
    for name, action in (("deny", "Deny"), ("allow", "Allow")):
        rules = {"resourceRules": [rule_of(resourceNames=[name])]}
        policy = validating(api, "false", name=name, paramKind=CONFIG_KIND, matchConstraints=rules)
        add(api, policy, paramRef={"name": "gone", "parameterNotFoundAction": action})
    rules = {"resourceRules": [rule_of(resourceNames=["none"])]}
    policy = validating(api, "params != null", name="none", paramKind=CONFIG_KIND, matchConstraints=rules)
    add(api, policy)
    rules = {"resourceRules": [rule_of(resourceNames=["ignored"])]}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    policy = validating(api, "false", name="ignored", paramKind=kind, matchConstraints=rules, failurePolicy="Ignore")
    add(api, policy, paramRef={"name": "gone", "parameterNotFoundAction": "Deny"})
    await_policies(api)
    for name in ("deny", "allow", "none", "ignored"):
        api.create("configmaps", config(name), dryRun="All")


@case("parameters by selector")
def _(api: Api) -> None:
    # Not ConfigMaps: kube-apiserver stops watching a kind when no policy refers to it, and never starts again.
    kind = {"apiVersion": "v1", "kind": "Secret"}
    for name, limit in (("one", "1"), ("two", "2")):
        labels = {"limited": "yes", "limit": limit}
        api.create("secrets", kind | {"metadata": {"name": name, "labels": labels}})
    shown = {
        "expression": "object.?data.orValue({}).size() <= int(params.metadata.labels.limit)",
        "messageExpression": "'at most %s'.format([params.metadata.labels.limit])",
    }
    reference = {"selector": {"matchLabels": {"limited": "yes"}}, "parameterNotFoundAction": "Deny"}
    install(api, validating(api, shown, paramKind=kind), paramRef=reference)
    await_params(api)
    api.create("configmaps", config(), dryRun="All")
    api.create("configmaps", config(data={"a": "x", "b": "y"}), dryRun="All")


@case("kinds of parameters that cannot be used")
def _(api: Api) -> None:
    kinds = {
        "unknown": {"apiVersion": "example.com/v1", "kind": "Missing"},
        "cluster": {"apiVersion": "v1", "kind": "Node"},
    }
    for name, kind in kinds.items():
        rules = {"resourceRules": [rule_of(resourceNames=[name])]}
        policy = validating(api, "true", name=name, paramKind=kind, matchConstraints=rules)
        add(api, policy, paramRef={"name": "a", "namespace": "default", "parameterNotFoundAction": "Allow"})
    await_policies(api)
    for name in kinds:
        api.create("configmaps", config(name), dryRun="All")


@case("parameters of a custom kind")
def _(api: Api) -> None:
    define(api, definition(api, object_of(spec=object_of(prefix={"type": "string"}))))
    group = resource_of(api).split("/")[0]
    kind = {"apiVersion": f"{group}/v1", "kind": "Widget"}
    api.create(resource_of(api), kind | {"metadata": {"name": "params"}, "spec": {"prefix": "a"}})
    shown = {
        "expression": "object.metadata.name.startsWith(params.spec.prefix)",
        "messageExpression": "'not %s of %s'.format([params.spec.prefix, params.kind])",
    }
    reference = {"name": "params", "parameterNotFoundAction": "Deny"}
    add(api, validating(api, shown, paramKind=kind), paramRef=reference)
    # kube-apiserver finds new kinds about every ten seconds.
    await_config(api, config("b"), lambda _, text: "not a of" in text)
    api.create("configmaps", config("a"), dryRun="All")
    api.create("configmaps", config("b"), dryRun="All")


@case("objects of custom resources")
def _(api: Api) -> None:
    schema = object_of(spec=object_of(size={"type": "integer"}, kept={"type": "string"}))
    define(api, definition(api, schema))
    resource = resource_of(api)
    group = resource.split("/")[0]
    rules = {"resourceRules": [rule_of("widgets", apiGroups=[group])]}
    shown = {"expression": "object.spec.size < 5", "messageExpression": "'%s %s'.format([object.kind, object.spec])"}
    install(api, validating(api, shown, matchConstraints=rules))
    for size in (3, 7):
        widget = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": size}}
        api.create(resource, widget, dryRun="All")


@case("the authorizer answers for the user and for service accounts")
def _(api: Api) -> None:
    account = "authorizer.serviceAccount('default', 'default')"
    _fail(
        api,
        "!authorizer.group('').resource('pods').namespace('default').check('create').allowed()",
        "!authorizer.requestResource.check('create').allowed()",
        "!authorizer.path('/healthz').check('get').allowed()",
        f"{account}.group('').resource('secrets').namespace('default').name('a').check('get').allowed()",
        f"{account}.path('/healthz').check('get').allowed()",
        f"{account}.group('').resource('pods').check('list').errored()",
        f"{account}.group('').resource('pods').check('list').reason() != ''",
        "authorizer.serviceAccount('A', 'b').path('/').check('get').allowed()",
        "authorizer.serviceAccount('a', 'B').path('/').check('get').allowed()",
        "authorizer.path('').check('get').allowed()",
        "authorizer.group('').resource(' ').check('get').allowed()",
        "[1, 2, 3].all(i, authorizer.requestResource.check('create').allowed())",
    )


@case("expressions that cost too much")
def _(api: Api) -> None:
    large = {"a": "x" * 10_000}
    loop = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
    nested = f"{loop}.all(a, {loop}.all(b, {loop}.all(c, {loop}.all(d, object.data.a.contains('y') == false))))"
    for name, policy in (("fail", "Fail"), ("ignore", "Ignore")):
        rules = {"resourceRules": [rule_of(resourceNames=[name])]}
        add(api, validating(api, nested, name=name, failurePolicy=policy, matchConstraints=rules))
    rules = {"resourceRules": [rule_of(resourceNames=["all"])]}
    costly = f"{loop}.all(a, {loop}.all(b, {loop}.all(c, object.data.a.contains('yy') == false)))"
    add(
        api,
        validating(api, *(f"{costly} || {number} == 0" for number in range(20)), name="all", matchConstraints=rules),
    )
    await_policies(api)
    for name in ("fail", "ignore", "all"):
        api.create("configmaps", config(name, data=large), dryRun="All")


@case("audit annotations that fail refuse a request")
def _(api: Api) -> None:
    for name, expression in (("a", "object.x"), ("b", "string(object.x)"), ("c", "'x'"), ("d", "' '")):
        rules = {"resourceRules": [rule_of(resourceNames=[name])]}
        annotations = [{"key": "k", "valueExpression": f"{expression} + ''"}]
        add(api, validating(api, name=name, auditAnnotations=annotations, matchConstraints=rules))
    await_policies(api)
    for name in "abcd":
        api.create("configmaps", config(name), dryRun="All")


@case("policies do not decide about policies")
def _(api: Api) -> None:
    rule = rule_of("*", apiGroups=["*"], apiVersions=["*"], operations=["*"])
    everything = binding(api, matchResources={"resourceRules": [rule | {"resourceNames": [name_of(api, "other")]}]})
    create(api, validating(api, "false", matchConstraints={"resourceRules": [rule]}))
    create(api, everything)
    await_policies(api)
    create(api, validating(api, "true", name="other"), dryRun="All")
    create(api, binding(api, "other"), dryRun="All")
    hooks = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name_of(api, "other")},
    }
    api.request("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", hooks)


@case("policies without a binding, and bindings without a policy, do nothing")
def _(api: Api) -> None:
    create(api, validating(api, "false", name="unbound"))
    create(api, binding(api, "lonely", policy="missing"))
    await_policies(api)
    api.create("configmaps", config(), dryRun="All")


@case("the namespaces of cluster-scoped objects")
def _(api: Api) -> None:
    name = api.namespace + "-other"
    rules = {"resourceRules": [rule_of("namespaces")]}
    shown = {"expression": "false", "messageExpression": "'%s'.format([namespaceObject == null])"}
    create(api, validating(api, shown, matchConstraints=rules))
    bound = binding(api, matchResources={"namespaceSelector": {"matchLabels": {"case": name}}})
    create(api, bound)
    await_policies(api)
    for labels in ({}, {"case": name}):
        found = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        api.create("namespaces", found, dryRun="All")


@case("a policy that changes takes effect again")
def _(api: Api) -> None:
    _attempt(api, validating(api, "object.metadata.name != 'a'"), config("a"), config("b"))
    api.patch(VALIDATING, name_of(api), {"spec": {"validations": [{"expression": "object.metadata.name != 'b'"}]}})
    await_policies(api)
    api.create("configmaps", config("a"), dryRun="All")
    api.create("configmaps", config("b"), dryRun="All")
    api.delete("validatingadmissionpolicybindings", name_of(api))
    await_policies(api)
    api.create("configmaps", config("b"), dryRun="All")


@case("connections to pods")
def _(api: Api) -> None:
    rule = rule_of("pods/exec", "pods/portforward", "pods/attach", operations=["CONNECT"])
    shown = {
        "expression": "false",
        "messageExpression": "'%s %s %s'.format([request.name, request.subResource, object])",
    }
    install(api, validating(api, shown, matchConstraints={"resourceRules": [rule]}))
    pods = f"/api/v1/namespaces/{api.namespace}/pods"
    api.create("pods", POD)
    api.request("POST", f"{pods}/a/exec", query={"command": ["ls", "-l"], "container": "a", "stdout": True})
    api.request("POST", f"{pods}/a/portforward")
    api.request("GET", f"{pods}/a/attach", query={"stdin": True})


@case("versions of a custom resource match as equivalents")
def _(api: Api) -> None:
    schema = object_of(spec=object_of(size={"type": "integer"}))
    define(api, definition(api, schema, versions=[version_of(schema), version_of(schema, "v2")]))
    group = resource_of(api).split("/")[0]
    rules = {"resourceRules": [rule_of("widgets", apiGroups=[group])]}
    text = "'%s %s %s'.format([object.apiVersion, request.kind.version, request.requestKind.version])"
    install(
        api, validating(api, {"expression": "object.spec.size < 5", "messageExpression": text}, matchConstraints=rules)
    )
    for version in ("v1", "v2"):
        widget = {"apiVersion": f"{group}/{version}", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 7}}
        api.create(resource_of(api, version=version), widget, dryRun="All")


@case("the same warning appears once")
def _(api: Api) -> None:
    validations: list[Plain] = [{"expression": f"{number} > 5", "message": "same"} for number in range(3)]
    _attempt(api, validating(api, *validations), validationActions=["Warn"])


@case("generated names")
def _(api: Api) -> None:
    shown = {"expression": "false", "messageExpression": "'%s'.format([has(request.name)])"}
    install(api, validating(api, shown))
    api.create("configmaps", config() | {"metadata": {"generateName": "made-"}}, dryRun="All")


@case("objects that are applied for the first time are created")
def _(api: Api) -> None:
    shown = {"expression": "false", "messageExpression": "request.operation + ' ' + request.options.kind"}
    install(api, validating(api, shown))
    api.apply("configmaps", "a", config("a", data={"a": "x"}), manager="me")
    api.update("configmaps", "a", config("a", data={"a": "x"}))

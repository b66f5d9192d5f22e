"""Mutating policies: what they make of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.definitions import definition, object_of, resource_of
from tests.conformance.definitions import install as define
from tests.conformance.policies import (
    MUTATING,
    add,
    applying,
    await_params,
    await_policies,
    binding,
    config,
    create,
    install,
    mutating,
    name_of,
    patching,
    rule_of,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Mutating policies")

CONFIG_KIND = {"apiVersion": "v1", "kind": "ConfigMap"}
DEPLOYMENT: Plain = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "a"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]},
        },
    },
}
DEPLOYMENTS = {"resourceRules": [rule_of("deployments", apiGroups=["apps"])]}


def _label(value: str, name: str = "a") -> Plain:
    return applying(f"Object{{metadata: Object.metadata{{labels: {{'{name}': {value}}}}}}}")


def _attempt(api: Api, *mutations: Plain, found: Plain | None = None, **spec: Any) -> None:
    """Put a policy in force, and create a ConfigMap without storing it."""
    install(api, mutating(api, *mutations, **spec))
    api.create("configmaps", config(data={"a": "x"}) if found is None else found, dryRun="All")


def _each(api: Api, *mutations: Plain, found: Plain | None = None, **spec: Any) -> None:
    """Create a ConfigMap for each of some mutations, in the policy of its name."""
    for number, mutation in enumerate(mutations):
        rules = {"resourceRules": [rule_of(resourceNames=[f"a{number}"])]}
        add(api, mutating(api, mutation, name=f"p{number}", matchConstraints=rules, **spec))
    await_policies(api, "Mutating")
    for number, _ in enumerate(mutations):
        new = config(data={"a": "x"}) if found is None else found
        api.create("configmaps", new | {"metadata": {"name": f"a{number}"}}, dryRun="All")


def _deploy(api: Api, *mutations: Plain, **spec: Any) -> None:
    """Create a Deployment for each of some mutations, in the policy of its name."""
    for number, mutation in enumerate(mutations):
        rules = {"resourceRules": [rule_of("deployments", apiGroups=["apps"], resourceNames=[f"a{number}"])]}
        add(api, mutating(api, mutation, name=f"p{number}", matchConstraints=rules, **spec))
    await_policies(api, "Mutating")
    for number, _ in enumerate(mutations):
        api.create("deployments", DEPLOYMENT | {"metadata": {"name": f"a{number}"}}, dryRun="All")


@case("a label by an apply configuration")
def _(api: Api) -> None:
    _attempt(api, _label("'from ' + request.operation".replace(" ", "")))


@case("apply configurations merge maps and lists with keys")
def _(api: Api) -> None:
    containers = (
        "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [%s]}}}}"
    )
    kind = "Object.spec.template.spec.containers"
    _deploy(
        api,
        applying(containers % f"{kind}{{name: 'a', imagePullPolicy: 'Always'}}"),
        applying(containers % f"{kind}{{name: 'c', image: 'c'}}"),
        applying(containers % f"{kind}{{name: 'b', env: [{kind}.env{{name: 'X', value: object.metadata.name}}]}}"),
        applying("Object{spec: Object.spec{replicas: 3}}"),
        applying(
            "Object{spec: Object.spec{replicas: 3, paused: true}, metadata: Object.metadata{annotations: {'a': 'b'}}}"
        ),
        applying("Object{}"),
    )


@case("apply configurations that do not fit")
def _(api: Api) -> None:
    _deploy(
        api,
        applying("Object{spec: Object.spec{replicas: 'three'}}"),
        applying("Object{spec: Object.spec{unknown: 1}}"),
        applying("Object{spec: Object.wrong{replicas: 3}}"),
        applying("Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'c'}}}}"),
        applying(
            "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{"
            "containers: [Object.spec.template.spec.containers{name: 'a', args: ['x']}]}}}}"
        ),
        applying(
            "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{"
            "containers: [Object.spec.template.spec.containers{image: 'x'}]}}}}"
        ),
        applying("Object{spec: Object.spec{replicas: object.x}}"),
        applying("Object{spec: {'replicas': 3}}"),
        applying("Object{metadata: Object.metadata{name: 'other'}}"),
        applying("Object{kind: 'Other'}"),
        applying("Object{metadata: Object.metadata{labels: {'a': 1}}}"),
        applying("Object{spec: null}"),
    )


@case("operations of JSON patches")
def _(api: Api) -> None:
    _each(
        api,
        patching("[JSONPatch{op: 'add', path: '/data/b', value: 'y'}]"),
        patching("[JSONPatch{op: 'replace', path: '/data', value: {'c': 'z'}}]"),
        patching("[JSONPatch{op: 'remove', path: '/data/a'}]"),
        patching("[JSONPatch{op: 'copy', from: '/data/a', path: '/data/b'}]"),
        patching("[JSONPatch{op: 'move', from: '/data/a', path: '/data/b'}]"),
        patching("[JSONPatch{op: 'test', path: '/data/a', value: 'x'}, JSONPatch{op: 'remove', path: '/data/a'}]"),
        patching("[JSONPatch{op: 'test', path: '/data/a', value: 'y'}, JSONPatch{op: 'remove', path: '/data/a'}]"),
        patching(
            "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {}},"
            " JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('a.b/c~d'), value: 'x'}]"
        ),
        patching("[JSONPatch{op: 'add', path: '/immutable', value: true}]"),
        patching("object.data.size() > 5 ? [JSONPatch{op: 'remove', path: '/data'}] : []"),
    )


@case("JSON patches that do not apply")
def _(api: Api) -> None:
    _each(
        api,
        patching("[JSONPatch{op: 'remove', path: '/data/b'}]"),
        patching("[JSONPatch{op: 'replace', path: '/x/y', value: 1}]"),
        patching("[JSONPatch{op: 'add', path: '/x', value: 1}]"),
        patching("[JSONPatch{op: 'add', path: '/data/b', value: 1}]"),
        patching("[JSONPatch{op: 'add', path: '/metadata/labels/a', value: 'x'}]"),
        patching("[JSONPatch{op: 'jump', path: '/data'}]"),
        patching("[JSONPatch{op: 'add', path: 'data', value: {}}]"),
        patching("[JSONPatch{op: 'add', path: '/data/b'}]"),
        patching("[JSONPatch{op: 'test', path: '/data/b', value: 'x'}]"),
        patching("[JSONPatch{op: 'add', path: '/data/b', value: object.x}]"),
        patching("[JSONPatch{op: 'copy', path: '/data/b'}]"),
    )


@case("values of JSON patches")
def _(api: Api) -> None:
    values = (
        "string(1)",
        "'%d'.format([9007199254740993])",
        "timestamp('2001-01-01T00:00:00Z')",
        "duration('90s')",
        "b'abc'",
        "object.metadata.name",
        "null",
        "optional.of('x')",
        "type('x')",
        "9007199254740993",
    )
    _each(api, *(patching(f"[JSONPatch{{op: 'add', path: '/data/b', value: {value}}}]") for value in values))


@case("objects as values of JSON patches")
def _(api: Api) -> None:
    path = "/spec/template/spec/containers/-"
    _deploy(
        api,
        patching(
            f"[JSONPatch{{op: 'add', path: '{path}', value: Object.spec.template.spec.containers{{"
            "name: 'c', image: 'c', ports: [Object.spec.template.spec.containers.ports{containerPort: 80}]}}]"
        ),
        patching(f"[JSONPatch{{op: 'add', path: '{path}', value: {{'name': 'c', 'image': 'c'}}}}]"),
        patching(f"[JSONPatch{{op: 'add', path: '{path}', value: Object.spec.wrong{{name: 'c', image: 'c'}}}}]"),
        patching("[JSONPatch{op: 'replace', path: '/spec/replicas', value: object.spec.replicas + 4}]"),
        patching("[JSONPatch{op: 'replace', path: '/spec/replicas', value: double(object.spec.replicas) + 0.5}]"),
        patching("[JSONPatch{op: 'replace', path: '/spec/replicas', value: 'x'}]"),
    )


@case("several mutations see each other's changes")
def _(api: Api) -> None:
    second = "'%d' + object.metadata.labels.one"
    _attempt(
        api,
        _label("'x'", "one"),
        patching("[JSONPatch{op: 'add', path: '/metadata/labels/two', value: object.metadata.labels.one + 'y'}]"),
        _label(second.replace("%d", "z"), "three"),
    )


@case("updates and applies are changed, too")
def _(api: Api) -> None:
    api.create("configmaps", config(data={"a": "x"}))
    install(api, mutating(api, _label("has(oldObject.data) && oldObject.data.a == 'x' ? 'was' : 'new'")))
    api.patch("configmaps", "a", {"data": {"b": "y"}})
    api.get("configmaps", "a")
    api.update("configmaps", "a", config(data={"a": "z"}), dryRun="All")
    api.apply("configmaps", "a", config(data={"a": "w"}), manager="me", force=True, dryRun="All")


@case("who manages fields that a policy sets")
def _(api: Api) -> None:
    install(api, mutating(api, _label("'b'")))
    api.create("configmaps", config(data={"a": "x"}))
    api.apply("configmaps", "b", config("b", data={"a": "x"}), manager="me")


@case("match conditions, variables and parameters")
def _(api: Api) -> None:
    # Not a ConfigMap: kube-apiserver stops watching a kind when no policy refers to it, and never starts again.
    kind = {"apiVersion": "v1", "kind": "ServiceAccount"}
    api.create("serviceaccounts", kind | {"metadata": {"name": "params", "labels": {"label": "from-params"}}})
    policy = mutating(
        api,
        _label("variables.label"),
        variables=[{"name": "label", "expression": "params.metadata.labels.label + '-' + object.metadata.name"}],
        matchConditions=[{"name": "a", "expression": "object.metadata.name != 'skipped'"}],
        paramKind=kind,
    )
    install(api, policy, paramRef={"name": "params", "parameterNotFoundAction": "Deny"})
    await_params(api)
    api.create("configmaps", config("a"), dryRun="All")
    api.create("configmaps", config("skipped"), dryRun="All")


@case("failures of policies")
def _(api: Api) -> None:
    spec: dict[str, dict[str, Any]] = {
        "fails": {"variables": [{"name": "x", "expression": "object.x"}], "mutations": [_label("variables.x")]},
        "ignores": {"mutations": [_label("object.x")], "failurePolicy": "Ignore"},
        "condition": {"mutations": [_label("'x'")], "matchConditions": [{"name": "a", "expression": "object.x == 1"}]},
        "ignored": {
            "mutations": [_label("'x'")],
            "matchConditions": [{"name": "a", "expression": "object.x == 1"}],
            "failurePolicy": "Ignore",
        },
        "twice": {"mutations": [_label("object.x"), _label("object.y")]},
        "params": {"mutations": [_label("'x'")], "paramKind": CONFIG_KIND},
        "unknown": {"mutations": [_label("'x'")], "paramKind": {"apiVersion": "example.com/v1", "kind": "Missing"}},
        "costs": {
            "mutations": [_label("[1, 2, 3].all(i, authorizer.requestResource.check('a').allowed()) ? 'x' : 'y'")]
        },
    }
    for name, fields in spec.items():
        rules = {"resourceRules": [rule_of(resourceNames=[name])]}
        bound = {"paramRef": {"name": "gone", "parameterNotFoundAction": "Deny"}} if "paramKind" in fields else {}
        add(api, mutating(api, name=name, matchConstraints=rules, **fields), **bound)
    await_policies(api, "Mutating")
    for name in spec:
        api.create("configmaps", config(name), dryRun="All")


@case("the result is validated and has its defaults")
def _(api: Api) -> None:
    _deploy(
        api,
        applying("Object{spec: Object.spec{replicas: -1}}"),
        patching("[JSONPatch{op: 'remove', path: '/spec/replicas'}]"),
        patching("[JSONPatch{op: 'remove', path: '/spec/template/spec/containers/0/image'}]"),
    )


@case("objects of custom resources")
def _(api: Api) -> None:
    schema = object_of(spec=object_of(size={"type": "integer"}, tags={"type": "array", "items": {"type": "string"}}))
    define(api, definition(api, schema))
    resource = resource_of(api)
    group = resource.split("/")[0]
    head = {"apiVersion": f"{group}/v1", "kind": "Widget"}
    mutations = (
        applying("Object{spec: Object.spec{size: object.spec.size + 1}}"),
        patching("[JSONPatch{op: 'add', path: '/spec/tags', value: ['a', 'b']}]"),
        patching("[JSONPatch{op: 'add', path: '/spec/pruned', value: 1}]"),
        applying("Object{spec: Object.spec{tags: ['a']}}"),
        applying("Object{spec: Object.spec{size: 'x'}}"),
    )
    for number, mutation in enumerate(mutations):
        rules = {"resourceRules": [rule_of("widgets", apiGroups=[group], resourceNames=[f"a{number}"])]}
        add(api, mutating(api, mutation, name=f"p{number}", matchConstraints=rules))
    await_policies(api, "Mutating")
    widget = head | {"metadata": {"name": "a0"}, "spec": {"size": 1}}
    path = f"/apis/{resource.rpartition('/')[0]}/namespaces/{api.namespace}/widgets?dryRun=All"
    # The server takes a while to know the schema of a new kind.
    api.await_response(path, lambda status, _: status == 201, method="POST", body=widget)
    for number, _ in enumerate(mutations):
        api.create(resource, widget | {"metadata": {"name": f"a{number}"}}, dryRun="All")


@case("reinvocation")
def _(api: Api) -> None:
    # Policies run in no particular order. Both orders lead to the same object if both are called again.
    first = "[JSONPatch{op: 'add', path: '/data/first', value: 'second' in object.data ? 'seen' : 'unseen'}]"
    second = "[JSONPatch{op: 'add', path: '/data/second', value: 'first' in object.data ? 'seen' : 'unseen'}]"
    for name, expression in (("first", first), ("second", second)):
        add(api, mutating(api, patching(expression), name=name, reinvocationPolicy="IfNeeded"))
    await_policies(api, "Mutating")
    api.create("configmaps", config(data={"a": "x"}), dryRun="All")


@case("subresources and other versions")
def _(api: Api) -> None:
    api.create("deployments", DEPLOYMENT)
    rules = {"resourceRules": [rule_of("deployments/scale", apiGroups=["apps"], operations=["UPDATE"])]}
    install(api, mutating(api, applying("Object{spec: Object.spec{replicas: 7}}"), matchConstraints=rules))
    api.patch("deployments", "a/scale", {"spec": {"replicas": 2}})
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}},
    }
    rules = {"resourceRules": [rule_of("horizontalpodautoscalers", apiGroups=["autoscaling"])]}
    install(
        api,
        mutating(
            api,
            applying("Object{spec: Object.spec{targetCPUUtilizationPercentage: 50}}"),
            name="scaler",
            matchConstraints=rules,
        ),
    )
    api.create("horizontalpodautoscalers", scaler, dryRun="All")


@case("bindings decide about policies")
def _(api: Api) -> None:
    create(api, mutating(api, _label("'x'")))
    rules = {"resourceRules": [rule_of(resourceNames=["bound"])]}
    selector = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}}}
    create(api, binding(api, kind="Mutating", matchResources=rules | selector))
    await_policies(api, "Mutating")
    for name in ("bound", "unbound"):
        api.create("configmaps", config(name), dryRun="All")
    api.delete(MUTATING, name_of(api))
    await_policies(api, "Mutating")
    api.create("configmaps", config("bound"), dryRun="All")


@case("scales by JSON patches")
def _(api: Api) -> None:
    api.create("deployments", DEPLOYMENT)
    rules = {"resourceRules": [rule_of("deployments/scale", apiGroups=["apps"], operations=["UPDATE"])]}
    patch = patching("[JSONPatch{op: 'replace', path: '/spec/replicas', value: object.spec.replicas + 5}]")
    install(api, mutating(api, patch, matchConstraints=rules))
    api.patch("deployments", "a/scale", {"spec": {"replicas": 2}})
    api.get("deployments", "a")


@case("a second policy sees the changes of the first, in whatever order")
def _(api: Api) -> None:
    for name in ("one", "two"):
        expression = f"Object{{metadata: Object.metadata{{labels: {{'{name}': 'yes'}}}}}}"
        add(api, mutating(api, applying(expression), name=name))
    count = (
        "Object{metadata: Object.metadata{annotations: {'count': string(object.metadata.?labels.orValue({}).size())}}}"
    )
    add(api, mutating(api, applying(count), name="count", reinvocationPolicy="IfNeeded"))
    await_policies(api, "Mutating")
    api.create("configmaps", config(), dryRun="All")

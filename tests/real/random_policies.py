"""Random admission policies with their bindings, and requests that each is for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tests.real.random_expressions import RandomExpressions

if TYPE_CHECKING:
    from random import Random

__all__ = ["GROUP", "NAMESPACE", "PARAMS", "Plain", "PolicyCase", "make_case", "stored_objects"]

Plain = dict[str, Any]

GROUP: Final = "admissionregistration.k8s.io"
NAMESPACE: Final = "random-policies"
PARAMS: Final = "random-params"
"""The label of parameters."""
_CONFIG_KIND: Final = {"apiVersion": "v1", "kind": "ConfigMap"}
_PATHS: Final = {
    "ConfigMap": f"/api/v1/namespaces/{NAMESPACE}/configmaps",
    "Service": f"/api/v1/namespaces/{NAMESPACE}/services",
    "Deployment": f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments",
}
_CONTAINERS: Final = "Object.spec.template.spec.containers"
_NEW_CONTAINER: Final = "/spec/template/spec/containers/-"
_WITH_CONTAINERS: Final = (
    "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [%s]}}}}"
)


@dataclass
class PolicyCase:
    """A policy, its binding, and requests that match both.

    Attributes:
        policy: The policy.
        binding: The binding.
        stored: Objects that are stored before.
        requests: Method, path and body of each request; all are dry runs.
    """

    policy: Plain
    binding: Plain
    stored: list[tuple[str, Plain]] = field(default_factory=list[tuple[str, Plain]])
    requests: list[tuple[str, str, Plain | None]] = field(default_factory=list[tuple[str, str, Plain | None]])


def stored_objects() -> list[tuple[str, Plain]]:
    """The namespace and the parameters that all policies share."""
    params = [
        ("one", {"a": "a", "b": "1"}),
        ("two", {"a": "b1"}),
    ]
    namespace = {"metadata": {"name": NAMESPACE, "labels": {"team": "a"}}}
    return [
        ("/api/v1/namespaces", namespace),
        *(
            (_PATHS["ConfigMap"], {"metadata": {"name": name, "labels": {PARAMS: "yes", "name": name}}, "data": data})
            for name, data in params
        ),
    ]


def make_case(random: Random, name: str) -> PolicyCase:
    """Make a policy with its binding and some requests.

    Args:
        random: Where the choices come from.
        name: The name of the policy, which no other has.
    """
    is_mutating = random.random() < 0.35
    has_params = random.random() < 0.25
    expressions = RandomExpressions(random, has_params=has_params)
    spec = _spec(random, expressions, has_params=has_params)
    spec |= _mutations(random, expressions) if is_mutating else _validations(random, expressions, has_params=has_params)
    kind = "Mutating" if is_mutating else "Validating"
    policy = _object(f"{kind}AdmissionPolicy", name, spec)
    made = PolicyCase(policy, _object(f"{kind}AdmissionPolicyBinding", name, _binding(random, name, kind, has_params)))
    for number in range(random.randint(2, 4)):
        _add_request(random, made, f"{name}-{number}", name)
    return made


def _object(kind: str, name: str, spec: Plain) -> Plain:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _spec(random: Random, expressions: RandomExpressions, *, has_params: bool) -> Plain:
    rule: Plain = {
        "apiGroups": random.choice((["*"], ["", "apps"], [""])),
        "apiVersions": ["*"],
        "operations": random.choice((["*"], ["CREATE", "UPDATE"], ["CREATE"], ["UPDATE"])),
        "resources": random.choice((["*"], ["configmaps", "services", "deployments"], ["configmaps"])),
    }
    first = RandomExpressions(random, has_params=has_params, has_variables=False)
    spec: Plain = {
        "matchConstraints": {"resourceRules": [rule]},
        "variables": [
            {"name": "one", "expression": first.anything()},
            {"name": "two", "expression": random.choice(("variables.one", "object.data", expressions.condition()))},
        ],
    }
    if random.random() < 0.2:
        spec["failurePolicy"] = "Ignore"
    if has_params:
        spec["paramKind"] = _CONFIG_KIND
    if random.random() < 0.2:
        conditions = [first.condition(2) for _ in range(random.randint(1, 2))]
        spec["matchConditions"] = [
            {"name": f"c{index}", "expression": source} for index, source in enumerate(conditions)
        ]
    return spec


def _validations(random: Random, expressions: RandomExpressions, *, has_params: bool) -> Plain:
    messages = RandomExpressions(random, has_params=has_params, has_authorizer=False)
    validations: list[Plain] = []
    for _ in range(random.randint(1, 3)):
        validation: Plain = {"expression": expressions.condition(random.randint(1, 4))}
        if random.random() < 0.3:
            validation["message"] = random.choice(("no", " spaced ", "é"))
        if random.random() < 0.4:
            validation["messageExpression"] = messages.text()
        if random.random() < 0.2:
            validation["reason"] = random.choice(("Forbidden", "Invalid", "RequestEntityTooLarge"))
        validations.append(validation)
    spec: Plain = {"validations": validations}
    if random.random() < 0.15:
        spec["auditAnnotations"] = [{"key": "k", "valueExpression": expressions.text()}]
    return spec


def _mutations(random: Random, expressions: RandomExpressions) -> Plain:
    mutations = [_mutation(random, expressions) for _ in range(random.randint(1, 2))]
    return {"mutations": mutations, "reinvocationPolicy": random.choice(("Never", "IfNeeded"))}


def _mutation(random: Random, expressions: RandomExpressions) -> Plain:
    if random.random() < 0.5:
        return {"patchType": "JSONPatch", "jsonPatch": {"expression": _json_patch(random, expressions)}}
    return {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": _configuration(random, expressions)},
    }


def _json_patch(random: Random, expressions: RandomExpressions) -> str:
    value = random.choice((expressions.text, expressions.number, expressions.anything))(1)
    operation = random.choice(
        (
            f"JSONPatch{{op: 'add', path: '/data/x', value: {value}}}",
            f"JSONPatch{{op: 'replace', path: '/data/a', value: {value}}}",
            "JSONPatch{op: 'remove', path: '/data/a'}",
            "JSONPatch{op: 'copy', from: '/metadata/name', path: '/data/copied'}",
            "JSONPatch{op: 'test', path: '/metadata/name', value: object.metadata.name}",
            f"JSONPatch{{op: 'test', path: '/data/a', value: {value}}}",
            f"JSONPatch{{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('k/l'), value: {value}}}",
            f"JSONPatch{{op: 'replace', path: '/spec/replicas', value: {value}}}",
            f"JSONPatch{{op: 'add', path: '{_NEW_CONTAINER}', value: {_container('new', expressions)}}}",
        )
    )
    if random.random() < 0.2:
        return f"{expressions.condition(1)} ? [{operation}] : []"
    return f"[{operation}]"


def _container(name: str, expressions: RandomExpressions) -> str:
    return f"{_CONTAINERS}{{name: '{name}', image: {expressions.text(1)}}}"


def _configuration(random: Random, expressions: RandomExpressions) -> str:
    return random.choice(
        (
            f"Object{{metadata: Object.metadata{{labels: {{'k': {expressions.text(1)}}}}}}}",
            f"Object{{metadata: Object.metadata{{annotations: {{'k': {expressions.text(2)}}}}}}}",
            f"Object{{data: {{'x': {expressions.text(1)}}}}}",
            f"Object{{spec: Object.spec{{replicas: {expressions.number(1)}}}}}",
            f"Object{{spec: Object.spec{{replicas: {expressions.number(1)}, ?paused: object.?spec.?paused}}}}",
            f"({expressions.condition(1)} ? Object{{}} : Object{{immutable: {expressions.condition(1)}}})",
            _WITH_CONTAINERS % _container("a", expressions),
            "Object{spec: Object.spec{ports: [Object.spec.ports{port: 80, name: 'web'}]}}",
            "Object{spec: Object.spec{selector: {'a': 'c'}}}",
        )
    )


def _binding(random: Random, name: str, kind: str, has_params: bool) -> Plain:
    resources: Plain = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}},
        "objectSelector": {"matchLabels": {"policy": name}},
    }
    if random.random() < 0.1:
        resources["excludeResourceRules"] = [
            {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["services"]}
        ]
    spec: Plain = {"policyName": name, "matchResources": resources}
    if kind == "Validating":
        spec["validationActions"] = random.choice((["Deny"], ["Deny"], ["Deny", "Audit"], ["Warn"], ["Warn", "Audit"]))
    if has_params and random.random() < 0.9:
        # A selector that finds one: the real server takes several in random order.
        chosen: Plain = random.choice(
            ({"name": "one"}, {"name": "two"}, {"name": "gone"}, {"selector": {"matchLabels": {"name": "two"}}})
        )
        spec["paramRef"] = chosen | {
            "namespace": random.choice((NAMESPACE, NAMESPACE, "default")),
            "parameterNotFoundAction": random.choice(("Deny", "Allow")),
        }
    return spec


def _add_request(random: Random, made: PolicyCase, name: str, label: str) -> None:
    new = _new_object(random, name, label)
    path = _PATHS[new["kind"]]
    chance = random.random()
    if chance < 0.65:
        made.requests.append(("POST", path, new))
        return
    made.stored.append((path, new))
    if chance < 0.75:
        made.requests.append(("DELETE", f"{path}/{name}", None))
        return
    change = _new_object(random, name, label)
    while change["kind"] != new["kind"]:
        change = _new_object(random, name, label)
    patch = {key: value for key, value in change.items() if key in {"data", "metadata"}}
    made.requests.append(("PATCH", f"{path}/{name}", patch))


def _new_object(random: Random, name: str, label: str) -> Plain:
    kind = random.choice(("ConfigMap", "ConfigMap", "ConfigMap", "Service", "Deployment"))
    metadata: Plain = {"name": name, "labels": {"policy": label}}
    if random.random() < 0.4:
        metadata["labels"]["size"] = random.choice(("1", "a", "b1"))
    if random.random() < 0.3:
        metadata["annotations"] = {"a": random.choice(("a", "", "ab"))}
    head: Plain = {"apiVersion": "apps/v1" if kind == "Deployment" else "v1", "kind": kind, "metadata": metadata}
    if kind == "ConfigMap":
        values = {key: random.choice(("a", "b1", "", "1", "12")) for key in ("a", "b") if random.random() < 0.7}
        return head | ({"data": values} if values else {})
    if kind == "Service":
        return head | {"spec": {"selector": {"a": "b"}, "ports": [{"port": random.choice((80, 8080))}]}}
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "a", "image": random.choice(("a", "b1"))}]},
    }
    spec: Plain = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    if random.random() < 0.5:
        spec["replicas"] = random.choice((0, 1, 7))
    return head | {"spec": spec}

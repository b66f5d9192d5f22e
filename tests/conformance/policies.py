"""Admission policies for cases: how they are made, and how cases wait until they are in effect.

kube-apiserver picks policies up about once a second, all at a time and in the order of its watches. A case therefore
adds a probe behind its own policies, and waits until that one is in effect. Every policy is bound to the namespace of
its case, so that cases do not disturb each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.api import Api, Plain

GROUP = "admissionregistration.k8s.io"
VALIDATING = "validatingadmissionpolicies"
MUTATING = "mutatingadmissionpolicies"
_PROBE = "probe"


def name_of(api: Api, name: str = "policy") -> str:
    """The name of a policy of a case, which no other case has."""
    return f"{name}.{api.namespace}"


def rule_of(*resources: str, **fields: Any) -> Plain:
    """A rule about writes of resources of the core group."""
    return {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": list(resources or ("configmaps",)),
    } | fields


def _object(api: Api, kind: str, name: str, spec: Plain, version: str = "v1") -> Plain:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": kind,
        "metadata": {"name": name_of(api, name)},
        "spec": spec,
    }


def validating(api: Api, *validations: str | Plain, name: str = "policy", version: str = "v1", **spec: Any) -> Plain:
    """A validating policy; a validation that is only text is its expression."""
    listed = [{"expression": given} if isinstance(given, str) else given for given in validations]
    rules = {"matchConstraints": {"resourceRules": [rule_of()]}}
    fields = rules | ({"validations": listed} if listed else {}) | spec
    return _object(api, "ValidatingAdmissionPolicy", name, fields, version)


def binding(
    api: Api, name: str = "policy", *, policy: str = "", version: str = "v1", kind: str = "Validating", **spec: Any
) -> Plain:
    """The binding of a policy to the namespace of the case."""
    selector = {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}}
    fields: Plain = {"policyName": name_of(api, policy or name), "matchResources": {"namespaceSelector": selector}}
    if kind == "Validating":
        fields["validationActions"] = ["Deny"]
    return _object(api, f"{kind}AdmissionPolicyBinding", name, fields | spec, version)


def applying(expression: str) -> Plain:
    """A mutation by an apply configuration."""
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patching(expression: str) -> Plain:
    """A mutation by a JSON patch."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def mutating(api: Api, *mutations: Plain, name: str = "policy", version: str = "v1", **spec: Any) -> Plain:
    """A mutating policy."""
    rules = {"matchConstraints": {"resourceRules": [rule_of()]}, "reinvocationPolicy": "Never"}
    fields = rules | ({"mutations": list(mutations)} if mutations else {}) | spec
    return _object(api, "MutatingAdmissionPolicy", name, fields, version)


def install(api: Api, policy: Plain, **spec: Any) -> None:
    """Create a policy and its binding, and wait until both are in effect.

    Args:
        api: The API of the case.
        policy: The policy.
        spec: Fields of the binding, or its name.
    """
    add(api, policy, **spec)
    await_policies(api, policy["kind"].removesuffix("AdmissionPolicy"))


def add(api: Api, policy: Plain, **spec: Any) -> None:
    """Create a policy and its binding."""
    kind = policy["kind"].removesuffix("AdmissionPolicy")
    name = policy["metadata"]["name"].removesuffix(f".{api.namespace}")
    create(api, policy)
    create(api, binding(api, spec.pop("name", name), policy=name, kind=kind, **spec))


def create(api: Api, found: Plain, **query: Any) -> None:
    """Create a policy or a binding, in the version that it names."""
    version = found["apiVersion"].partition("/")[2]
    kind = str(found["kind"])
    resource = kind.lower() + "s" if kind.endswith("Binding") else kind.lower().removesuffix("y") + "ies"
    api.create(f"{GROUP}/{version}/{resource}", found, **query)


def config(name: str = "a", **fields: Any) -> Plain:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} | fields


def await_policies(api: Api, kind: str = "Validating") -> None:
    """Wait until all policies that the case has made are in effect: until a probe made after them is."""
    names = (f"{_PROBE}{number}" for number in range(100))
    # A case may wait several times, each time for a new probe.
    name = next(name for name in names if api.quietly("GET", f"{_path(kind)}/{name_of(api, name)}")[0] == 404)
    rules = {"resourceRules": [rule_of(resourceNames=[name])]}
    if kind == "Validating":
        policy = validating(api, "false", name=name, matchConstraints=rules)
    else:
        mark = "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'probe': 'yes'}}]"
        policy = mutating(api, patching(mark), name=name, matchConstraints=rules)
    for path, found in ((_path(kind), policy), (_path(kind, "bindings"), binding(api, name, kind=kind))):
        api.quietly("POST", path, found)
        api.remove_at_the_end(f"{path}/{name_of(api, name)}")
    # With data, so that mutations of the case that change it do not fail.
    await_config(api, config(name, data={"probe": "x"}), lambda status, text: status == 422 or "'probe': 'yes'" in text)


def await_params(api: Api) -> None:
    """Wait until the server knows the parameters of policies, which it watches as soon as a policy refers to them."""
    await_config(api, config("params-probe"), lambda _, text: "no params found" not in text)


def await_config(api: Api, body: Plain, is_met: Callable[[int, str], bool]) -> None:
    """Wait until the response to a new ConfigMap is as wanted; it is not stored."""
    path = f"/api/v1/namespaces/{api.namespace}/configmaps?dryRun=All"
    api.await_response(path, lambda status, found: is_met(status, str(found)), method="POST", body=body)


def _path(kind: str, suffix: str = "") -> str:
    plural = f"{kind.lower()}admissionpolic{'y' if suffix else 'ies'}{suffix}"
    return f"/apis/{GROUP}/v1/{plural}"

"""Other users for cases: their headers, their roles, and waiting until a server knows of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.conformance.api import Api, Plain

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1"


def acting_as(user: str, group: str = "") -> dict[str, str]:
    """The headers of a request that an administrator sends as somebody else."""
    return {"Impersonate-User": user, "Impersonate-Group": group}


def rule(verbs: str, resources: str = "", *, groups: str = "core", names: str = "", urls: str = "") -> Plain:
    """A rule of a role; every argument is a list of words."""
    if urls:
        return {"verbs": verbs.split(), "nonResourceURLs": urls.split()}
    made: Plain = {
        "verbs": verbs.split(),
        "apiGroups": ["" if group == "core" else group for group in groups.split()],
        "resources": resources.split(),
    }
    return {**made, "resourceNames": names.split()} if names else made


def role(name: str, rules: Sequence[Plain], *, kind: str = "Role") -> Plain:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "rules": list(rules),
    }


def subject(name: str, *, kind: str = "User", namespace: str = "") -> Plain:
    if kind == "ServiceAccount":
        return {"kind": kind, "name": name, "namespace": namespace}
    return {"kind": kind, "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def binding(name: str, reference: str, *subjects: Plain, kind: str = "RoleBinding") -> Plain:
    """A binding of ``Role/NAME`` or ``ClusterRole/NAME``."""
    role_kind, _, role_name = reference.partition("/")
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role_name},
        "subjects": list(subjects),
    }


def put_quietly(api: Api, path: str, body: Plain) -> None:
    """Create something that is not part of the case."""
    status, document = api.quietly("POST", path, body)
    assert status == 201, document
    api.remove_at_the_end(f"{path}/{body['metadata']['name']}")


def grant(api: Api, who: str | Plain, *rules: Plain, name: str = "granted", everywhere: bool = False) -> None:
    """Give a user a role in the namespace of the case, or a ClusterRole, and wait until the server knows.

    Args:
        api: The server.
        who: A user by name, or any subject.
        rules: The rules.
        name: The end of the name of role and binding.
        everywhere: Whether the role holds in all namespaces.
    """
    full = f"{api.namespace}-{name}"
    member = subject(who) if isinstance(who, str) else who
    kind, place = ("ClusterRole", "") if everywhere else ("Role", f"/namespaces/{api.namespace}")
    put_quietly(api, f"{RBAC}{place}/{kind.lower()}s", role(full, rules, kind=kind))
    bound = binding(full, f"{kind}/{full}", member, kind=f"{kind}Binding")
    put_quietly(api, f"{RBAC}{place}/{kind.lower()}bindings", bound)
    # One rule shows that the server knows both objects.
    await_access(api, member, probe(rules[-1], "" if everywhere else api.namespace))


def probe(given: Plain, namespace: str = "") -> Plain:
    """A question that a rule answers with yes."""
    verb = given["verbs"][0].replace("*", "get")
    if "nonResourceURLs" in given:
        path = given["nonResourceURLs"][0].replace("*", "any")
        return {"nonResourceAttributes": {"verb": verb, "path": path}}
    resource, _, subresource = given["resources"][0].partition("/")
    attributes = {
        "verb": verb,
        "group": given["apiGroups"][0].replace("*", "any"),
        "resource": resource.replace("*", "any"),
        "subresource": subresource,
        "namespace": namespace,
        "name": (given.get("resourceNames") or [""])[0],
    }
    return {"resourceAttributes": attributes}


def await_access(api: Api, member: Plain, question: Plain, *, allowed: bool = True) -> None:
    """Wait, unrecorded, until a subject may do something, or may not any more."""
    name = member["name"]
    if member["kind"] == "ServiceAccount":
        name = f"system:serviceaccount:{member['namespace']}:{name}"
    who: Plain = {"groups": [name]} if member["kind"] == "Group" else {"user": name}
    api.await_response(
        f"{REVIEWS}/subjectaccessreviews",
        lambda _, review: review.get("status", {}).get("allowed") is allowed,
        method="POST",
        body={"spec": {**who, **question}},
    )

"""Access reviews: what the server says about permissions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.access import (
    RBAC,
    REVIEWS,
    acting_as,
    await_access,
    binding,
    grant,
    probe,
    put_quietly,
    role,
    rule,
    subject,
)
from tests.conformance.case import area

if TYPE_CHECKING:
    from tests.conformance.api import Api, CallResponse, Plain

case = area("Access reviews")
PODS: Plain = {"verb": "get", "resource": "pods"}


def jane(api: Api) -> str:
    return f"{api.namespace}-jane"


def review(api: Api, kind: str, spec: Plain, user: str = "", **more: Any) -> CallResponse:
    """Send a review of a kind."""
    local = f"/namespaces/{api.namespace}" if kind == "LocalSubjectAccessReview" else ""
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec, **more}
    headers = acting_as(user) if user else None
    return api.request("POST", f"{REVIEWS}{local}/{kind.lower()}s", body, headers=headers, pick=_without_managers)


def _without_managers(body: Any) -> Any:
    if isinstance(body, dict) and isinstance(body.get("metadata"), dict):
        body["metadata"].pop("managedFields", None)
    return body


def ask(api: Api, user: str, groups: list[str] | None = None, **attributes: str) -> CallResponse:
    spec: Plain = {"user": user, "resourceAttributes": {"namespace": api.namespace, **attributes}}
    return review(api, "SubjectAccessReview", {**spec, "groups": groups} if groups else spec)


@case("nobody knows the user")
def _(api: Api) -> None:
    ask(api, jane(api), **PODS)


@case("a Role is the reason")
def _(api: Api) -> None:
    grant(api, jane(api), rule("get", "pods"))
    ask(api, jane(api), verb="get", resource="pods")
    ask(api, jane(api), verb="get", resource="pods", subresource="log")
    ask(api, jane(api), verb="get", resource="pods", name="web", version="v7")
    ask(api, jane(api), verb="get", resource="pods", group="example.com")


@case("a ClusterRole is the reason")
def _(api: Api) -> None:
    grant(api, jane(api), rule("get", "pods"), everywhere=True)
    ask(api, jane(api), verb="get", resource="pods")


@case("the first subject of a binding is the reason")
def _(api: Api) -> None:
    name = f"{api.namespace}-many"
    members = [
        subject("x"),
        subject(f"{api.namespace}-team", kind="Group"),
        subject("robot", kind="ServiceAccount", namespace=api.namespace),
        subject(jane(api)),
    ]
    put_quietly(api, f"{RBAC}/clusterroles", role(name, [rule("get", "pods")], kind="ClusterRole"))
    grant(api, jane(api), rule("get", "services"))
    local = f"{RBAC}/namespaces/{api.namespace}/rolebindings"
    put_quietly(api, local, binding(name, f"ClusterRole/{name}", *members))
    await_access(api, subject(jane(api)), probe(rule("get", "pods"), api.namespace))
    ask(api, jane(api), verb="get", resource="pods")
    ask(api, jane(api), [f"{api.namespace}-team"], verb="get", resource="pods")
    ask(api, f"system:serviceaccount:{api.namespace}:robot", verb="get", resource="pods")
    ask(api, "", [f"{api.namespace}-team"], verb="get", resource="pods")


@case("the superuser needs no reason")
def _(api: Api) -> None:
    ask(api, jane(api), ["system:masters"], verb="anything", resource="unicorns", group="example.com")
    review(api, "SelfSubjectAccessReview", {"resourceAttributes": PODS})


@case("an unnamed resource is still a resource")
def _(api: Api) -> None:
    grant(api, jane(api), rule("*", "*", groups="*"))
    ask(api, jane(api), verb="get")
    ask(api, jane(api))
    ask(api, jane(api), verb="*", resource="*", group="*")


@case("paths without a resource are asked by path and verb")
def _(api: Api) -> None:
    # Two roles allow everyone who is authenticated to read the health, and the order of bindings is undefined.
    for path, group in (("/api", "system:authenticated"), ("/healthz", "system:unauthenticated"), ("/metrics", "x")):
        attributes = {"path": path, "verb": "get"}
        spec = {"user": jane(api), "groups": [group], "nonResourceAttributes": attributes}
        review(api, "SubjectAccessReview", spec)


@case("a user may ask about itself")
def _(api: Api) -> None:
    grant(api, jane(api), rule("get", "pods"))
    for verb in ("get", "list"):
        wanted = {"verb": verb, "resource": "pods", "namespace": api.namespace}
        review(api, "SelfSubjectAccessReview", {"resourceAttributes": wanted}, jane(api))
    review(api, "SelfSubjectAccessReview", {"nonResourceAttributes": {"path": "/api", "verb": "get"}}, jane(api))


@case("a user may not ask about others")
def _(api: Api) -> None:
    review(api, "SubjectAccessReview", {"user": "other", "resourceAttributes": PODS}, jane(api))
    review(api, "LocalSubjectAccessReview", {"user": "other", "resourceAttributes": PODS}, jane(api))


@case("an anonymous client may not ask about itself")
def _(api: Api) -> None:
    path = f"{REVIEWS}/selfsubjectaccessreviews"
    body = {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "spec": {"resourceAttributes": PODS},
    }
    api.request("POST", path, body, headers={"Authorization": ""})


@case("a local review is about its namespace")
def _(api: Api) -> None:
    grant(api, jane(api), rule("get", "pods"))
    for namespace in (api.namespace, "default", ""):
        wanted = {"verb": "get", "resource": "pods", "namespace": namespace}
        review(api, "LocalSubjectAccessReview", {"user": jane(api), "resourceAttributes": wanted})


@case("a local review is not about paths")
def _(api: Api) -> None:
    spec = {"user": "x", "nonResourceAttributes": {"path": "/healthz", "verb": "get"}}
    review(api, "LocalSubjectAccessReview", spec)


@case("a review needs a user and one question")
def _(api: Api) -> None:
    for kind in ("SubjectAccessReview", "SelfSubjectAccessReview", "LocalSubjectAccessReview"):
        review(api, kind, {})
        both = {"resourceAttributes": PODS, "nonResourceAttributes": {"path": "/a", "verb": "get"}}
        review(api, kind, {"user": "x", **both} if kind != "SelfSubjectAccessReview" else both)


@case("a missing role is an evaluation error in words")
def _(api: Api) -> None:
    me = subject(jane(api))
    put_quietly(api, f"{RBAC}/namespaces/{api.namespace}/rolebindings", binding("a", "Role/lost", me))
    grant(api, jane(api), rule("get", "services"))
    ask(api, jane(api), verb="get", resource="pods")
    ask(api, jane(api), verb="get", resource="services")


@case("field selectors are read")
def _(api: Api) -> None:
    for selector in (
        {"rawSelector": "spec.nodeName=one"},
        {"rawSelector": "spec.nodeName in one"},
        {"requirements": [{"key": "a", "operator": "In", "values": ["b"]}]},
        {"requirements": [{"key": "a", "operator": "In", "values": ["b", "c"]}]},
        {"requirements": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "NotIn", "values": ["c"]}]},
        {"requirements": [{"key": "a", "operator": "Near"}]},
    ):
        wanted = {**PODS, "verb": "list", "fieldSelector": selector}
        review(api, "SubjectAccessReview", {"user": jane(api), "resourceAttributes": wanted})


@case("label selectors are read")
def _(api: Api) -> None:
    for selector in (
        {"rawSelector": "a in (b, c),!d"},
        {"rawSelector": "a in"},
        {"requirements": [{"key": "a", "operator": "In", "values": ["b", "c"]}]},
        {"requirements": [{"key": "a", "operator": "Near"}, {"key": "b", "operator": "Exists"}]},
        {"requirements": [{"key": "a", "operator": "Near"}]},
    ):
        wanted = {**PODS, "verb": "list", "labelSelector": selector}
        review(api, "SubjectAccessReview", {"user": jane(api), "resourceAttributes": wanted})


@case("bad selectors are refused")
def _(api: Api) -> None:
    bad = [{"key": "", "operator": "In"}, {"key": "a", "operator": "Exists", "values": ["b"]}]
    for kind in ("fieldSelector", "labelSelector"):
        for selector in ({}, {"rawSelector": "a=b", "requirements": bad}, {"requirements": bad}):
            wanted = {**PODS, kind: selector}
            review(api, "SelfSubjectAccessReview", {"resourceAttributes": wanted})


@case("a rules review lists the rules of a user")
def _(api: Api) -> None:
    grant(api, jane(api), rule("get list", "pods pods/log", names="a b"), rule("*", "*", groups="*"))
    path = f"{REVIEWS}/selfsubjectrulesreviews"
    body = {
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "spec": {"namespace": api.namespace},
    }
    api.request("POST", path, body, headers=acting_as(jane(api)), pick=_sorted_rules)
    grant(api, jane(api), rule("get", urls="/some/* /other"), rule("get", "nodes"), everywhere=True)
    api.request("POST", path, body, headers=acting_as(jane(api)), pick=_sorted_rules)
    api.request("POST", path, body, pick=_sorted_rules)


@case("a rules review names missing roles")
def _(api: Api) -> None:
    me = subject(jane(api))
    put_quietly(api, f"{RBAC}/namespaces/{api.namespace}/rolebindings", binding("a", "Role/lost", me))
    grant(api, jane(api), rule("get", "services"))
    review_rules(api, {"namespace": api.namespace})
    review_rules(api, {})


def review_rules(api: Api, spec: Plain) -> None:
    body = {"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "spec": spec}
    path = f"{REVIEWS}/selfsubjectrulesreviews"
    api.request("POST", path, body, headers=acting_as(jane(api)), pick=_sorted_rules)


def _sorted_rules(body: Any) -> Any:
    """The bindings of the real server have no order."""
    status = body.get("status", {}) if isinstance(body, dict) else {}
    if isinstance(status, dict):
        for key in ("resourceRules", "nonResourceRules"):
            status[key] = sorted(status.get(key) or [], key=str)
    return body


@case("the metadata of a review is empty")
def _(api: Api) -> None:
    for kind in ("SubjectAccessReview", "SelfSubjectAccessReview", "LocalSubjectAccessReview"):
        spec = {"user": "x", "resourceAttributes": {**PODS, "namespace": api.namespace}}
        if kind == "SelfSubjectAccessReview":
            del spec["user"]
        review(api, kind, spec, metadata={"name": "one"})
        review(api, kind, spec, metadata={"namespace": api.namespace})
        review(api, kind, spec, metadata={"labels": {"a": "b"}, "finalizers": ["example.com/x"]})


@case("a local review names no other namespace")
def _(api: Api) -> None:
    spec = {"user": "x", "resourceAttributes": {**PODS, "namespace": api.namespace}}
    review(api, "LocalSubjectAccessReview", spec, metadata={"namespace": "default"})


@case("the uid and extra values of a user are accepted")
def _(api: Api) -> None:
    spec = {"user": "x", "uid": "1", "extra": {"a": ["b"], "c": []}, "resourceAttributes": PODS}
    review(api, "SubjectAccessReview", spec)

"""Escalation: nobody grants permissions that they do not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.access import RBAC, acting_as, binding, grant, put_quietly, role, rule, subject
from tests.conformance.case import area

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Escalation")
GROUP = "rbac.authorization.k8s.io"
WRITE = "create update patch delete"


def jane(api: Api) -> str:
    return f"{api.namespace}-jane"


def may_write(api: Api, *more: Plain, everywhere: bool = False) -> dict[str, str]:
    """Let a user write roles and bindings, and more; returns the headers of that user."""
    resources = "clusterroles clusterrolebindings" if everywhere else "roles rolebindings"
    grant(api, jane(api), rule(WRITE, resources, groups=GROUP), *more, everywhere=everywhere)
    return acting_as(jane(api))


def create_role(api: Api, me: dict[str, str], *rules: Plain, name: str = "one") -> None:
    api.request("POST", api.path("roles"), role(name, rules), headers=me)


def create_cluster_role(api: Api, me: dict[str, str], *rules: Plain, **more: object) -> None:
    body = {**role(f"{api.namespace}-one", rules, kind="ClusterRole"), **more}
    api.request("POST", api.path("clusterroles"), body, headers=me)


@case("a role without rules grants nothing")
def _(api: Api) -> None:
    create_role(api, may_write(api))


@case("a role with the rules of its author is created")
def _(api: Api) -> None:
    create_role(api, may_write(api, rule("get list", "pods")), rule("get", "pods"))


@case("missing verbs are joined")
def _(api: Api) -> None:
    create_role(api, may_write(api, rule("get", "pods")), rule("get list watch", "pods pods/log"))


@case("missing rules are sorted")
def _(api: Api) -> None:
    create_role(
        api,
        may_write(api),
        rule("list get", "secrets configmaps", groups="core apps"),
        rule("get", "secrets", names="b a"),
        rule("get", "secrets", names="a"),
        rule("delete", "secrets"),
    )


@case("names cover only themselves")
def _(api: Api) -> None:
    me = may_write(api, rule("get", "secrets", names="a b"))
    create_role(api, me, rule("get", "secrets", names="a"))
    create_role(api, me, rule("get", "secrets", names="a c"), name="two")
    create_role(api, me, rule("get", "secrets"), name="three")


@case("asterisks cover what they stand for")
def _(api: Api) -> None:
    me = may_write(api, rule("get", "*/status"), rule("*", "configmaps"), rule("get", "secrets", groups="*"))
    create_role(api, me, rule("get", "pods/status nodes/status"), rule("get delete", "configmaps"), name="one")
    create_role(api, me, rule("*", "configmaps"), rule("get", "secrets", groups="apps *"), name="two")
    create_role(api, me, rule("get", "*/status"), rule("get", "*"), name="three")
    create_role(api, me, rule("get", "pods/status/x"), rule("*", "secrets"), name="four")


@case("paths are covered by patterns")
def _(api: Api) -> None:
    me = may_write(api, rule("get", urls="/a/* /b"), everywhere=True)
    create_cluster_role(api, me, rule("get", urls="/a/b /a/* /b"))
    api.delete("clusterroles", f"{api.namespace}-one")
    create_cluster_role(api, me, rule("get post", urls="/a/b /a /b/* *"))


@case("a rule with a strange text is quoted")
def _(api: Api) -> None:
    create_role(api, may_write(api), {"verbs": ['g"et'], "apiGroups": ["\t"], "resources": ["a\\b"]})


@case("an escalation hides an invalid role")
def _(api: Api) -> None:
    me = may_write(api)
    create_role(api, me, {"verbs": [], "apiGroups": [""], "resources": ["pods"]})
    create_role(api, me, {"verbs": ["get"], "apiGroups": [""]}, rule("get", "pods"))
    create_role(api, me, rule("get", "pods"), name="Not%Valid/")


@case("an escalation of a generated name")
def _(api: Api) -> None:
    body = {**role("", [rule("get", "pods")]), "metadata": {"generateName": "one-"}}
    api.request("POST", api.path("roles"), body, headers=may_write(api))


@case("the verb escalate permits everything")
def _(api: Api) -> None:
    me = may_write(api, rule("escalate", "roles", groups=GROUP))
    create_role(api, me, rule("*", "*", groups="*"))
    grant(api, jane(api), rule(WRITE, "clusterroles", groups=GROUP), everywhere=True, name="all")
    create_cluster_role(api, me, rule("get", "pods"))


@case("the verb escalate for a name permits no create")
def _(api: Api) -> None:
    me = may_write(api, rule("escalate", "roles", groups=GROUP, names="one"))
    create_role(api, me, rule("get", "pods"))
    api.create("roles", role("one", []))
    api.request("PUT", api.path("roles", "one"), role("one", [rule("get", "pods")]), headers=me)
    api.create("roles", role("two", []))
    api.request("PUT", api.path("roles", "two"), role("two", [rule("get", "pods")]), headers=me)


@case("updates and patches are checked")
def _(api: Api) -> None:
    me = may_write(api)
    api.create("roles", role("one", [rule("get", "pods")]))
    api.request("PUT", api.path("roles", "one"), role("one", [rule("get", "pods")]), headers=me)
    merge = {**me, "Content-Type": "application/merge-patch+json"}
    api.request("PATCH", api.path("roles", "one"), {"metadata": {"labels": {"a": "b"}}}, headers=merge)
    api.request("PATCH", api.path("roles", "one"), {"rules": [rule("list", "pods")]}, headers=merge)
    api.request("PATCH", api.path("roles", "one"), {"rules": []}, headers=merge)


@case("a patch of finalizers and owners is not checked")
def _(api: Api) -> None:
    merge = {**may_write(api), "Content-Type": "application/merge-patch+json"}
    api.create("roles", role("one", [rule("get", "pods")]))
    api.request("PATCH", api.path("roles", "one"), {"metadata": {"finalizers": ["example.com/a"]}}, headers=merge)
    api.request("PATCH", api.path("roles", "one"), {"metadata": {"finalizers": None}}, headers=merge)
    api.request("PATCH", api.path("roles", "one"), {}, headers=merge)


@case("applies are checked")
def _(api: Api) -> None:
    headers = {**may_write(api), "Content-Type": "application/apply-patch+yaml"}
    query = {"fieldManager": "me"}
    api.request("PATCH", api.path("roles", "one"), role("one", [rule("get", "pods")]), query=query, headers=headers)
    api.request("PATCH", api.path("roles", "one"), role("one", []), query=query, headers=headers)


@case("an update that creates is checked")
def _(api: Api) -> None:
    me = may_write(api)
    api.request("PUT", api.path("roles", "one"), role("one", [rule("get", "pods")]), headers=me)
    api.request("PUT", api.path("roles", "one"), role("one", []), headers=me)


@case("an update that creates needs the verb create, too")
def _(api: Api) -> None:
    grant(api, jane(api), rule("update patch", "roles", groups=GROUP))
    api.request("PUT", api.path("roles", "one"), role("one", []), headers=acting_as(jane(api)))
    api.request("PUT", api.path("roles", "one"), role("one", [rule("get", "pods")]), headers=acting_as(jane(api)))


@case("an escalation hides a conflict")
def _(api: Api) -> None:
    me = may_write(api)
    api.create("roles", role("one", []))
    body = role("one", [rule("get", "pods")])
    body["metadata"]["resourceVersion"] = "1"
    api.request("PUT", api.path("roles", "one"), body, headers=me)


@case("a dry run is checked")
def _(api: Api) -> None:
    body = role("one", [rule("get", "pods")])
    api.request("POST", api.path("roles"), body, query={"dryRun": "All"}, headers=may_write(api))


@case("an aggregation rule needs all permissions")
def _(api: Api) -> None:
    me = may_write(api, everywhere=True)
    aggregation = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    create_cluster_role(api, me, aggregationRule=aggregation)
    create_cluster_role(api, me, aggregationRule={"clusterRoleSelectors": []})
    name = f"{api.namespace}-aggregated"
    api.create("clusterroles", {**role(name, [], kind="ClusterRole"), "aggregationRule": aggregation})
    api.request("PUT", api.path("clusterroles", name), role(name, [], kind="ClusterRole"), headers=me)


@case("a cluster administrator may aggregate")
def _(api: Api) -> None:
    me = may_write(api, rule("*", "*", groups="*"), rule("*", urls="*"), everywhere=True)
    create_cluster_role(api, me, aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]})


def _role_of_others(api: Api, *rules: Plain) -> None:
    put_quietly(api, f"{RBAC}/namespaces/{api.namespace}/roles", role("others", rules))


@case("a binding to the permissions of its author is created")
def _(api: Api) -> None:
    _role_of_others(api, rule("get", "pods"))
    me = may_write(api, rule("get", "pods"))
    api.request("POST", api.path("rolebindings"), binding("one", "Role/others", subject("x")), headers=me)


@case("a binding to more permissions is refused")
def _(api: Api) -> None:
    _role_of_others(api, rule("get list", "pods"))
    me = may_write(api, rule("get", "pods"))
    api.request("POST", api.path("rolebindings"), binding("one", "Role/others", subject("x")), headers=me)


@case("a binding to a missing role is not found")
def _(api: Api) -> None:
    me = may_write(api)
    api.request("POST", api.path("rolebindings"), binding("one", "Role/lost", subject("x")), headers=me)
    api.request(
        "POST", api.path("rolebindings"), binding("one", f"ClusterRole/{api.namespace}", subject("x")), headers=me
    )


@case("the superuser binds missing roles")
def _(api: Api) -> None:
    api.create("rolebindings", binding("one", "Role/lost", subject("x")))


@case("the verb bind permits a binding")
def _(api: Api) -> None:
    _role_of_others(api, rule("get", "pods"))
    me = may_write(api, rule("bind", "roles", groups=GROUP, names="others lost"))
    for name in ("others", "lost", "third"):
        api.request("POST", api.path("rolebindings"), binding(name, f"Role/{name}", subject("x")), headers=me)


@case("a binding to a ClusterRole in a namespace")
def _(api: Api) -> None:
    name = f"{api.namespace}-reader"
    put_quietly(
        api, f"{RBAC}/clusterroles", role(name, [rule("get", "pods"), rule("get", urls="/a")], kind="ClusterRole")
    )
    me = may_write(api, rule("get", "pods"))
    api.request("POST", api.path("rolebindings"), binding("one", f"ClusterRole/{name}", subject("x")), headers=me)


@case("a ClusterRoleBinding needs permissions in all namespaces")
def _(api: Api) -> None:
    name = f"{api.namespace}-reader"
    put_quietly(api, f"{RBAC}/clusterroles", role(name, [rule("get", "pods")], kind="ClusterRole"))
    grant(api, jane(api), rule("get", "pods"), name="local")
    me = may_write(api, everywhere=True)
    body = binding(f"{api.namespace}-one", f"ClusterRole/{name}", subject("x"), kind="ClusterRoleBinding")
    api.request("POST", api.path("clusterrolebindings"), body, headers=me)
    grant(api, jane(api), rule("bind", "clusterroles", groups=GROUP, names=name), name="binder", everywhere=True)
    api.request("POST", api.path("clusterrolebindings"), body, headers=me)


@case("updates of bindings are checked")
def _(api: Api) -> None:
    _role_of_others(api, rule("get", "pods"))
    me = may_write(api)
    api.create("rolebindings", binding("one", "Role/others", subject("x")))
    merge = {**me, "Content-Type": "application/merge-patch+json"}
    api.request("PATCH", api.path("rolebindings", "one"), {"subjects": [subject("y")]}, headers=merge)
    api.request(
        "PATCH", api.path("rolebindings", "one"), {"metadata": {"finalizers": ["example.com/a"]}}, headers=merge
    )
    api.request("PUT", api.path("rolebindings", "one"), binding("one", "Role/lost", subject("x")), headers=me)
    api.request("DELETE", api.path("rolebindings", "one"), headers=me)


@case("an invalid binding")
def _(api: Api) -> None:
    me = may_write(api)
    body = binding("one", "Duck/others", subject("x"))
    api.request("POST", api.path("rolebindings"), body, headers=me)
    unnamed = {**body, "roleRef": {"kind": "Role", "name": ""}}
    api.request("POST", api.path("rolebindings"), unnamed, headers=me)


@case("a missing role of the author is part of the message")
def _(api: Api) -> None:
    put_quietly(
        api,
        f"{RBAC}/namespaces/{api.namespace}/rolebindings",
        binding("lost", "Role/lost", subject(jane(api))),
    )
    create_role(api, may_write(api), rule("get", "pods"))


@case("groups of the author are part of the message")
def _(api: Api) -> None:
    team = f"{api.namespace}-team"
    grant(api, subject(team, kind="Group"), rule("create", "roles", groups=GROUP))
    create_role(api, acting_as(jane(api), team), rule("get", "pods"))


@case("a missing ClusterRole of the author has the name of the written resource")
def _(api: Api) -> None:
    name = f"{api.namespace}-lost"
    bound = binding(name, f"ClusterRole/{name}", subject(jane(api)), kind="ClusterRoleBinding")
    put_quietly(api, f"{RBAC}/clusterrolebindings", bound)
    me = may_write(api)
    create_role(api, me, rule("get", "pods"))
    _role_of_others(api, rule("get", "pods"))
    api.request("POST", api.path("rolebindings"), binding("one", "Role/others", subject("x")), headers=me)

"""RBAC: what users may do by their roles, and how they are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.access import (
    RBAC,
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
from tests.conformance.objects import config_map, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("RBAC")


def jane(api: Api) -> str:
    """A user that no other case knows."""
    return f"{api.namespace}-jane"


def _refused(method: str, path: str, sentence: str) -> None:
    @case(f"without a role, {sentence} is refused")
    def _(api: Api) -> None:
        full = path.replace("NAMESPACE", api.namespace)
        body: Plain | None = {} if method in {"POST", "PUT"} else None
        api.request(method, full, body, headers=acting_as(jane(api)))


for _method, _path, _sentence in (
    ("GET", "/api/v1/namespaces/NAMESPACE/pods", "a list in a namespace"),
    ("GET", "/api/v1/pods", "a list of all namespaces"),
    ("GET", "/api/v1/namespaces/NAMESPACE/pods/web", "the read of an object"),
    ("GET", "/api/v1/namespaces/NAMESPACE/pods/web/log", "the read of a subresource"),
    ("GET", "/api/v1/namespaces/NAMESPACE/pods?watch=1", "a watch"),
    ("GET", "/api/v1/watch/namespaces/NAMESPACE/pods", "a watch of the old form"),
    ("GET", "/api/v1/watch/namespaces/NAMESPACE/pods/web", "a watch of the old form of one object"),
    ("POST", "/apis/apps/v1/namespaces/NAMESPACE/deployments", "a create"),
    ("PUT", "/apis/apps/v1/namespaces/NAMESPACE/deployments/web/scale", "an update of a subresource"),
    ("DELETE", "/apis/apps/v1/namespaces/NAMESPACE/deployments/web", "a deletion"),
    ("DELETE", "/apis/apps/v1/namespaces/NAMESPACE/deployments", "the deletion of a collection"),
    ("GET", "/api/v1/namespaces", "a list of namespaces"),
    ("GET", "/api/v1/namespaces/NAMESPACE", "the read of a namespace"),
    ("PUT", "/api/v1/namespaces/NAMESPACE/finalize", "a subresource of a namespace"),
    ("GET", "/api/v1/nodes/one", "the read of a cluster-scoped object"),
    ("GET", "/api/v1/namespaces/NAMESPACE/unicorns", "an unknown resource"),
    ("GET", "/apis/example.com/v1/unicorns/one", "an unknown group"),
    ("GET", "/apis/apps/v7/deployments", "an unknown version"),
    ("GET", "/metrics", "a path without a resource"),
    ("POST", "/logs/<b>&amp;", "a path that looks like HTML"),
    ("GET", "/nowhere", "an unknown path"),
    ("HEAD", "/api/v1/namespaces/NAMESPACE/pods", "a HEAD of a collection"),
    ("OPTIONS", "/api/v1/namespaces/NAMESPACE/pods", "an unknown method"),
    ("POST", "/api/v1/namespaces/NAMESPACE/pods/web/exec?command=ls", "an exec"),
    ("GET", "/api/v1/namespaces/NAMESPACE/services/web:80/proxy/some/path", "a proxy"),
    ("POST", "/api/v1/namespaces/NAMESPACE/pods/web/eviction", "an eviction"),
    ("POST", "/api/v1/namespaces/NAMESPACE/serviceaccounts/default/token", "a token"),
    ("GET", "/api/v1/namespaces/NAMESPACE/pods?fieldSelector=metadata.name%3Dweb", "a list of one name"),
):
    _refused(_method, _path, _sentence)


@case("patches and applies are refused as patches")
def _(api: Api) -> None:
    for media in ("application/merge-patch+json", "application/apply-patch+yaml"):
        headers = {**acting_as(jane(api)), "Content-Type": media}
        api.request("PATCH", api.path("configmaps", "one"), {}, headers=headers)


@case("a refusal has the type that the client accepts")
def _(api: Api) -> None:
    for accepted in ("application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io", "text/html"):
        headers = {**acting_as(jane(api)), "Accept": accepted}
        api.request("GET", api.path("pods"), headers=headers, pick=_in_one_line)


def _in_one_line(body: Any) -> Any:
    """YAML is folded at another width."""
    return " ".join(body.split()) if isinstance(body, str) else body


@case("a refusal quotes strange names")
def _(api: Api) -> None:
    for name in ('a "b"', "<script>", "back\\slash"):
        api.request("GET", api.path("pods"), headers=acting_as(name))


@case("everyone who is authenticated may ask about the server")
def _(api: Api) -> None:
    for path in ("/healthz", "/readyz", "/version", "/version/", "/api", "/apis/apps", "/healthz/ping", "/readyz/ping"):
        api.request("GET", path, headers=acting_as(jane(api)), pick=lambda _: "any")


@case("an anonymous client may read health and version alone")
def _(api: Api) -> None:
    nobody = {"Authorization": ""}
    for path in ("/healthz", "/version", "/api", "/apis/apps/v1", "/openapi/v2", "/api/v1/namespaces", "/livez/ping"):
        api.request("GET", path, headers=nobody, pick=lambda body: body if "kind" in body else "any")


@case("a Role allows its verbs in its namespace")
def _(api: Api) -> None:
    grant(api, jane(api), rule("get list", "configmaps"))
    me = acting_as(jane(api))
    api.create("configmaps", config_map("one"))
    api.request("GET", api.path("configmaps", "one"), headers=me)
    api.request("GET", api.path("configmaps"), query={"limit": 1}, headers=me)
    api.request("GET", api.path("configmaps"), query={"watch": True}, headers=me)
    api.request("GET", "/api/v1/namespaces/default/configmaps", headers=me)
    api.request("GET", "/api/v1/configmaps", headers=me)
    api.request("DELETE", api.path("configmaps", "one"), headers=me)


@case("a ClusterRole with a RoleBinding holds in one namespace")
def _(api: Api) -> None:
    name = f"{api.namespace}-reader"
    put_quietly(api, f"{RBAC}/clusterroles", role(name, [rule("get", "secrets")], kind="ClusterRole"))
    bound = binding(name, f"ClusterRole/{name}", subject(jane(api)))
    put_quietly(api, f"{RBAC}/namespaces/{api.namespace}/rolebindings", bound)
    await_access(api, subject(jane(api)), probe(rule("get", "secrets"), api.namespace))
    api.request("GET", api.path("secrets", "none"), headers=acting_as(jane(api)))
    api.request("GET", "/api/v1/namespaces/default/secrets/none", headers=acting_as(jane(api)))


@case("a ClusterRoleBinding holds in all namespaces")
def _(api: Api) -> None:
    grant(api, jane(api), rule("get", "secrets"), everywhere=True)
    api.request("GET", api.path("secrets", "none"), headers=acting_as(jane(api)))
    api.request("GET", "/api/v1/namespaces/default/secrets/none", headers=acting_as(jane(api)))
    api.request("GET", "/api/v1/secrets", headers=acting_as(jane(api)))


@case("names limit a rule to some objects")
def _(api: Api) -> None:
    grant(api, jane(api), rule("get list watch create update deletecollection", "configmaps", names="one"))
    me = acting_as(jane(api))
    api.create("configmaps", config_map("one"))
    api.request("GET", api.path("configmaps", "one"), headers=me)
    api.request("GET", api.path("configmaps", "two"), headers=me)
    api.request("GET", api.path("configmaps"), headers=me)
    api.request("POST", api.path("configmaps"), config_map("one"), headers=me)
    api.request("DELETE", api.path("configmaps"), headers=me)


@case("a list of one name is allowed to those who may list that name")
def _(api: Api) -> None:
    grant(api, jane(api), rule("list deletecollection", "configmaps", names="one"))
    me, path = acting_as(jane(api)), api.path("configmaps")
    api.create("configmaps", config_map("one"))
    for selector in (
        "metadata.name=one",
        "metadata.name==one,metadata.namespace!=x",
        "metadata.name=two",
        "metadata.name!=one",
    ):
        api.request("GET", path, query={"fieldSelector": selector}, headers=me, pick=lambda body: body.get("message"))
    api.request("DELETE", path, query={"fieldSelector": "metadata.name=one"}, headers=me)
    api.request("GET", path, query={"fieldSelector": "metadata.name=one", "limit": "x"}, headers=me)


@case("subresources need rules of their own")
def _(api: Api) -> None:
    grant(api, jane(api), rule("get", "deployments", groups="apps"))
    api.request("GET", api.path("deployments", "none"), headers=acting_as(jane(api)))
    api.request("GET", api.path("deployments", "none/scale"), headers=acting_as(jane(api)))


@case("a rule may name a subresource of every resource")
def _(api: Api) -> None:
    grant(api, jane(api), rule("get", "*/scale", groups="apps"))
    me = acting_as(jane(api))
    for path in ("deployments/none/scale", "statefulsets/none/scale", "deployments/none/status", "deployments/none"):
        api.request("GET", f"/apis/apps/v1/namespaces/{api.namespace}/{path}", headers=me)
    api.request("GET", api.path("replicationcontrollers", "none/scale"), headers=me)


@case("asterisks stand for every verb, group and resource")
def _(api: Api) -> None:
    grant(api, jane(api), rule("*", "*", groups="*"))
    me = acting_as(jane(api))
    api.request("DELETE", api.path("configmaps", "none"), headers=me)
    api.request("PUT", api.path("deployments", "none/scale"), {}, headers=me)
    api.request("GET", f"/apis/example.com/v1/namespaces/{api.namespace}/unicorns", headers=me)
    api.request("GET", "/metrics", headers=me)


@case("an asterisk at the end of a resource is no pattern")
def _(api: Api) -> None:
    grant(api, jane(api), rule("get", "pods/*"), rule("get", "config*"), rule("get", "services"))
    api.request("GET", api.path("pods", "none/log"), headers=acting_as(jane(api)))
    api.request("GET", api.path("configmaps", "none"), headers=acting_as(jane(api)))


@case("paths without a resource end with an asterisk or are exact")
def _(api: Api) -> None:
    grant(api, jane(api), rule("get", urls="/none/* /exact /half*"), everywhere=True)
    for path in ("/none/one", "/none/one/two", "/none", "/none/", "/exact", "/exact/", "/halfway", "/other"):
        api.request("GET", path, headers=acting_as(jane(api)))
    api.request("POST", "/exact", headers=acting_as(jane(api)))


@case("a Namespace is an object within itself")
def _(api: Api) -> None:
    grant(api, jane(api), rule("get patch", "namespaces"))
    me = acting_as(jane(api))
    api.request("GET", f"/api/v1/namespaces/{api.namespace}", headers=me)
    api.request("GET", "/api/v1/namespaces/default", headers=me)
    api.request("GET", "/api/v1/namespaces", headers=me)


@case("a group is a subject")
def _(api: Api) -> None:
    team = f"{api.namespace}-team"
    grant(api, subject(team, kind="Group"), rule("get", "secrets"))
    api.request("GET", api.path("secrets", "none"), headers=acting_as("anyone", team))
    api.request("GET", api.path("secrets", "none"), headers=acting_as("anyone", f"{team}-b"))


@case("a service account is a subject")
def _(api: Api) -> None:
    grant(api, subject("robot", kind="ServiceAccount", namespace=api.namespace), rule("get", "secrets"))
    account = f"system:serviceaccount:{api.namespace}"
    for name in (f"{account}:robot", f"{account}:other", "system:serviceaccount:default:robot", "robot"):
        api.request("GET", api.path("secrets", "none"), headers=acting_as(name))


@case("a service account is a user and has groups")
def _(api: Api) -> None:
    account = f"system:serviceaccount:{api.namespace}:robot"
    grant(api, account, rule("get", "secrets"), name="user")
    every = f"system:serviceaccounts:{api.namespace}"
    grant(api, subject(every, kind="Group"), rule("get", "services"), name="group")
    for resource in ("secrets", "services", "configmaps"):
        api.request("GET", api.path(resource, "none"), headers=acting_as(account))


@case("a missing role is the reason of a refusal")
def _(api: Api) -> None:
    me, local = subject(jane(api)), f"{RBAC}/namespaces/{api.namespace}/rolebindings"
    name = f"{api.namespace}-lost"
    put_quietly(api, local, binding("a", f"ClusterRole/{name}", me))
    grant(api, jane(api), rule("get", "services"))
    api.request("GET", api.path("secrets"), headers=acting_as(jane(api)))
    api.request("GET", api.path("services", "none"), headers=acting_as(jane(api)))
    put_quietly(api, f"{RBAC}/clusterrolebindings", binding(name, f"ClusterRole/{name}", me, kind="ClusterRoleBinding"))
    grant(api, jane(api), rule("list", "services"), everywhere=True)
    # The same error twice is one error.
    api.request("GET", api.path("secrets"), headers=acting_as(jane(api)))


@case("a missing role and a missing ClusterRole are both reasons")
def _(api: Api) -> None:
    me, name = subject(jane(api)), f"{api.namespace}-lost"
    put_quietly(api, f"{RBAC}/clusterrolebindings", binding(name, f"ClusterRole/{name}", me, kind="ClusterRoleBinding"))
    local = f"{RBAC}/namespaces/{api.namespace}/rolebindings"
    put_quietly(api, local, binding("a", "Role/lost", me))
    grant(api, jane(api), rule("get", "services"), everywhere=True, name="all")
    grant(api, jane(api), rule("get", "configmaps"))
    api.request("GET", api.path("secrets"), headers=acting_as(jane(api)))
    api.request("GET", "/api/v1/secrets", headers=acting_as(jane(api)))


@case("a change of a role takes effect")
def _(api: Api) -> None:
    grant(api, jane(api), rule("get", "secrets"))
    me, name = subject(jane(api)), f"{api.namespace}-granted"
    api.request("GET", api.path("secrets", "none"), headers=acting_as(jane(api)))
    api.quietly("PUT", f"{RBAC}/namespaces/{api.namespace}/roles/{name}", role(name, [rule("get", "services")]))
    await_access(api, me, probe(rule("get", "secrets"), api.namespace), allowed=False)
    api.request("GET", api.path("secrets", "none"), headers=acting_as(jane(api)))
    api.request("GET", api.path("services", "none"), headers=acting_as(jane(api)))
    api.quietly("DELETE", f"{RBAC}/namespaces/{api.namespace}/rolebindings/{name}")
    await_access(api, me, probe(rule("get", "services"), api.namespace), allowed=False)
    api.request("GET", api.path("services", "none"), headers=acting_as(jane(api)))


@case("an apply that creates needs the verb create")
def _(api: Api) -> None:
    grant(api, jane(api), rule("patch", "configmaps"))
    headers = {**acting_as(jane(api)), "Content-Type": "application/apply-patch+yaml"}
    path, query = api.path("configmaps", "one"), {"fieldManager": "me"}
    api.request("PATCH", path, config_map("one"), query=query, headers=headers)
    api.request("PATCH", path, {**config_map("one"), "data": {"not valid!": ""}}, query=query, headers=headers)
    api.create("configmaps", config_map("one"))
    api.request("PATCH", path, config_map("one", data={"a": "b"}), query=query, headers=headers)


@case("an update that creates needs the verb create")
def _(api: Api) -> None:
    grant(api, jane(api), rule("update", "endpoints"), rule("update", "configmaps"))
    endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "one"}}
    api.request("PUT", api.path("endpoints", "one"), endpoints, headers=acting_as(jane(api)))
    api.request("PUT", api.path("configmaps", "one"), config_map("one"), headers=acting_as(jane(api)))
    grant(api, jane(api), rule("create", "endpoints"), name="creator")
    api.request("PUT", api.path("endpoints", "one"), endpoints, headers=acting_as(jane(api)))


@case("an exec by GET needs the verb create as well")
def _(api: Api) -> None:
    everything = "pods/exec pods/attach pods/portforward pods/proxy pods/log"
    grant(api, jane(api), rule("get", everything))
    me = acting_as(jane(api))
    api.create("pods", pod("web"))
    for sub in ("exec?command=ls&stdout=1", "attach?stdout=1", "portforward"):
        api.request("GET", f"{api.path('pods', 'web')}/{sub}", headers=me)
    api.request("GET", f"{api.path('pods', 'none')}/exec?command=ls&stdout=1", headers=me)
    api.request("POST", f"{api.path('pods', 'web')}/exec?command=ls&stdout=1", headers=me)


@case("a dry run needs the same permission")
def _(api: Api) -> None:
    api.request(
        "POST", api.path("configmaps"), config_map("one"), query={"dryRun": "All"}, headers=acting_as(jane(api))
    )
    grant(api, jane(api), rule("create", "configmaps"))
    api.request(
        "POST", api.path("configmaps"), config_map("one"), query={"dryRun": "All"}, headers=acting_as(jane(api))
    )


@case("a refusal comes before the errors of a body")
def _(api: Api) -> None:
    api.request("POST", api.path("configmaps"), "{", headers=acting_as(jane(api)))
    grant(api, jane(api), rule("create", "configmaps"))
    api.request("POST", api.path("configmaps"), "{", headers=acting_as(jane(api)))


@case("members of system:masters may do everything")
def _(api: Api) -> None:
    api.request("GET", api.path("secrets", "none"), headers=acting_as(jane(api), "system:masters"))
    api.request("GET", "/nowhere", headers=acting_as(jane(api), "system:masters"))


@case("components have the roles of every cluster")
def _(api: Api) -> None:
    for user in ("system:kube-scheduler", "system:kube-controller-manager", "system:kube-proxy"):
        for path in (
            "/api/v1/nodes?limit=1",
            "/api/v1/secrets?limit=1",
            f"/api/v1/namespaces/{api.namespace}/endpoints",
        ):
            api.request("GET", path, headers=acting_as(user), pick=lambda body: body.get("message", "allowed"))

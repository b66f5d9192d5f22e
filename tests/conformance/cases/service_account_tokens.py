"""Tokens of service accounts: requests for them, their claims, and their use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.access import grant, rule, subject
from tests.conformance.case import area
from tests.conformance.identities import (
    account,
    as_user,
    bearer,
    quiet_token,
    request_token,
    settle,
    show_claims,
    who_am_i,
)
from tests.conformance.objects import config_map, named, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Service account tokens")


def ref(kind: str, name: str, **more: str) -> Plain:
    return {"kind": kind, "apiVersion": "v1", "name": name, **more}


def ask(api: Api, body: Any, **query: Any) -> None:
    api.create("serviceaccounts", body, "robot/token", **query)


@case("a token without wishes")
def _(api: Api) -> None:
    account(api)
    show_claims(api, request_token(api))


@case("a request that is empty")
def _(api: Api) -> None:
    account(api)
    ask(api, {})
    ask(api, {"spec": None})
    ask(api, {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {"audiences": None}})
    ask(api, None)


@case("a token for audiences")
def _(api: Api) -> None:
    account(api)
    show_claims(api, request_token(api, audiences=["vault"]))
    show_claims(api, request_token(api, audiences=["vault", "other", "vault"]))
    show_claims(api, request_token(api, audiences=[""]))


@case("an empty list of audiences")
def _(api: Api) -> None:
    account(api)
    show_claims(api, request_token(api, audiences=[]))


@case("the lifetime of a token")
def _(api: Api) -> None:
    account(api)
    for seconds in (600, 601, 86400, 2**32):
        show_claims(api, request_token(api, expirationSeconds=seconds))


@case("a lifetime that is too short or too long")
def _(api: Api) -> None:
    account(api)
    for seconds in (599, 0, -1, 2**32 + 1):
        request_token(api, expirationSeconds=seconds)


@case("a lifetime that is no number")
def _(api: Api) -> None:
    account(api)
    for seconds in (None, "600", 600.5, True):
        request_token(api, expirationSeconds=seconds)


@case("a token that is bound to a pod without a node")
def _(api: Api) -> None:
    account(api)
    api.create("pods", pod("web", spec={"serviceAccountName": "robot"}))
    token = request_token(api, boundObjectRef=ref("Pod", "web"))
    show_claims(api, token)
    who_am_i(api, bearer(token))


@case("a token that is bound to a pod on an unknown node")
def _(api: Api) -> None:
    account(api)
    api.create("pods", pod("web", spec={"serviceAccountName": "robot", "nodeName": "somewhere"}))
    token = request_token(api, boundObjectRef=ref("Pod", "web"))
    show_claims(api, token)
    who_am_i(api, bearer(token))


@case("a token that is bound to a pod on a node")
def _(api: Api) -> None:
    account(api)
    node = f"{api.namespace}-node"
    api.create("nodes", named("v1", "Node", node))
    api.create("pods", pod("web", spec={"serviceAccountName": "robot", "nodeName": node}))
    token = request_token(api, boundObjectRef=ref("Pod", "web"))
    show_claims(api, token)
    who_am_i(api, bearer(token))


@case("a token that is bound to a secret")
def _(api: Api) -> None:
    account(api)
    api.create("secrets", named("v1", "Secret", "keys"))
    token = request_token(api, boundObjectRef=ref("Secret", "keys"))
    show_claims(api, token)
    who_am_i(api, bearer(token))


@case("a token that is bound to a node")
def _(api: Api) -> None:
    account(api)
    node = f"{api.namespace}-node"
    api.create("nodes", named("v1", "Node", node))
    token = request_token(api, boundObjectRef=ref("Node", node))
    show_claims(api, token)
    who_am_i(api, bearer(token))


@case("a token that is bound by uid, too")
def _(api: Api) -> None:
    account(api)
    made = api.create("secrets", named("v1", "Secret", "keys"))
    request_token(api, boundObjectRef=ref("Secret", "keys", uid=made.uid))
    request_token(api, boundObjectRef=ref("Secret", "keys", uid="nonsense"))


@case("a token for the pod of another account")
def _(api: Api) -> None:
    account(api)
    api.create("pods", pod("web", spec={"serviceAccountName": "somebody"}))
    api.create("pods", pod("web2"))
    request_token(api, boundObjectRef=ref("Pod", "web"))
    request_token(api, boundObjectRef=ref("Pod", "web2"))


@case("a token that is bound to a missing object")
def _(api: Api) -> None:
    account(api)
    for kind in ("Pod", "Secret", "Node"):
        request_token(api, boundObjectRef=ref(kind, "missing"))


@case("a token that is bound to another kind")
def _(api: Api) -> None:
    account(api)
    api.create("configmaps", config_map("a"))
    request_token(api, boundObjectRef=ref("ConfigMap", "a"))
    request_token(api, boundObjectRef={"kind": "Deployment", "apiVersion": "apps/v1", "name": "a"})
    request_token(api, boundObjectRef={"kind": "Pod", "apiVersion": "apps/v1", "name": "a"})
    request_token(api, boundObjectRef={"kind": "pod", "apiVersion": "v1", "name": "a"})
    request_token(api, boundObjectRef={})


@case("a reference without a version or a name")
def _(api: Api) -> None:
    account(api)
    api.create("secrets", named("v1", "Secret", "keys"))
    request_token(api, boundObjectRef={"kind": "Secret", "name": "keys"})
    request_token(api, boundObjectRef={"kind": "Secret", "apiVersion": "v7", "name": "keys"})
    request_token(api, boundObjectRef={"kind": "Secret", "apiVersion": "v1"})


@case("what kubelets ask for lives for a year")
def _(api: Api) -> None:
    account(api)
    api.create("pods", pod("web", spec={"serviceAccountName": "robot"}))
    show_claims(api, request_token(api, boundObjectRef=ref("Pod", "web"), expirationSeconds=3607))
    show_claims(api, request_token(api, expirationSeconds=3607))
    bound = ref("Pod", "web")
    show_claims(api, request_token(api, boundObjectRef=bound, expirationSeconds=3607, audiences=["vault"]))


@case("a request with a name and a namespace")
def _(api: Api) -> None:
    account(api)
    ask(api, {"metadata": {"name": "robot", "namespace": api.namespace}, "spec": {}})
    ask(api, {"metadata": {"name": "other"}, "spec": {}})
    ask(api, {"metadata": {"namespace": "other"}, "spec": {}})


@case("a request with a uid")
def _(api: Api) -> None:
    uid = account(api)
    ask(api, {"metadata": {"uid": uid}, "spec": {}})
    ask(api, {"metadata": {"uid": "nonsense"}, "spec": {}})


@case("a request with labels and a status")
def _(api: Api) -> None:
    account(api)
    meta = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "generateName": "x"}
    ask(api, {"metadata": meta, "spec": {}, "status": {"token": "mine"}})


@case("a request of another kind")
def _(api: Api) -> None:
    account(api)
    ask(api, {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "spec": {}})
    ask(api, {"kind": "TokenRequest", "apiVersion": "v1", "spec": {}})
    ask(api, {"spec": {"nonsense": 1}}, fieldValidation="Strict")
    ask(api, {"spec": {"nonsense": 1}})


@case("a request for a missing account")
def _(api: Api) -> None:
    ask(api, {"spec": {}})
    api.request("POST", "/api/v1/namespaces/missing/serviceaccounts/robot/token", {"spec": {}})


@case("a token is nothing to read")
def _(api: Api) -> None:
    account(api)
    api.request("GET", api.path("serviceaccounts", "robot/token"))
    api.request("PUT", api.path("serviceaccounts", "robot/token"), {})
    api.request("DELETE", api.path("serviceaccounts", "robot/token"))


@case("a dry run of a request")
def _(api: Api) -> None:
    account(api)
    ask(api, {"spec": {}}, dryRun="All")


@case("a request needs permission")
def _(api: Api) -> None:
    account(api)
    path = api.path("serviceaccounts", "robot/token")
    api.request("POST", path, {"spec": {}}, headers=as_user("jane"))


@case("a token is a user with groups")
def _(api: Api) -> None:
    account(api)
    who_am_i(api, bearer(quiet_token(api)))


@case("an account without roles may not read objects")
def _(api: Api) -> None:
    account(api)
    api.request("GET", api.path("configmaps"), headers=bearer(quiet_token(api)))


@case("an account may do what its role allows")
def _(api: Api) -> None:
    account(api)
    grant(api, subject("robot", kind="ServiceAccount", namespace=api.namespace), rule("get list", "configmaps"))
    token = quiet_token(api)
    api.request("GET", api.path("configmaps"), headers=bearer(token), pick=lambda body: body["kind"])
    api.request("POST", api.path("configmaps"), config_map("a"), headers=bearer(token))


@case("the token of another audience is no credential")
def _(api: Api) -> None:
    account(api)
    who_am_i(api, bearer(quiet_token(api, audiences=["vault"])))


@case("a token among several audiences is a credential")
def _(api: Api) -> None:
    account(api)
    who_am_i(api, bearer(quiet_token(api, audiences=["vault", "https://kubernetes.default.svc"])))


@case("a token of a deleted account is no credential")
def _(api: Api) -> None:
    account(api)
    first, second = quiet_token(api), quiet_token(api)
    api.delete("serviceaccounts", "robot")
    settle(api)
    who_am_i(api, bearer(first))
    account(api)
    settle(api)
    who_am_i(api, bearer(second))


@case("a token of a deleted pod is no credential")
def _(api: Api) -> None:
    account(api)
    api.create("pods", pod("web", spec={"serviceAccountName": "robot"}))
    token = quiet_token(api, boundObjectRef=ref("Pod", "web"))
    api.delete("pods", "web", gracePeriodSeconds=0)
    settle(api)
    who_am_i(api, bearer(token))


@case("a token with another signature is no credential")
def _(api: Api) -> None:
    account(api)
    token = quiet_token(api)
    who_am_i(api, bearer(f"{token.rpartition('.')[0]}.AAAA"))
    who_am_i(api, bearer(token[:-4]))
    who_am_i(api, bearer(f"{token}.more"))


@case("a secret for a token needs an account")
def _(api: Api) -> None:
    kind = "kubernetes.io/service-account-token"
    api.create("secrets", {"metadata": {"name": "a"}, "type": kind})
    annotations = {"kubernetes.io/service-account.name": "robot"}
    api.create("secrets", {"metadata": {"name": "b", "annotations": annotations}, "type": kind})

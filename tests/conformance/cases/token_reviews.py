"""Reviews of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.identities import (
    TOKEN_REVIEWS,
    account,
    alter,
    as_user,
    encode_part,
    quiet_token,
    review,
    settle,
)
from tests.conformance.objects import named, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Token reviews")
API = "https://kubernetes.default.svc"


@case("the token of a user")
def _(api: Api) -> None:
    for name in ("jane", "ann", "root", "odd"):
        review(api, f"{name}-token")


@case("a wrong token")
def _(api: Api) -> None:
    for token in ("nonsense", "jane-token2", "Bearer jane-token", "-"):
        review(api, token)


@case("a token with spaces around it")
def _(api: Api) -> None:
    for token in (" jane-token", "jane-token ", "  jane-token", "jane-token and more", "\tjane-token", "jane-token\n"):
        review(api, token)


@case("no token")
def _(api: Api) -> None:
    api.request("POST", TOKEN_REVIEWS, {})
    api.request("POST", TOKEN_REVIEWS, {"spec": {}})
    api.request("POST", TOKEN_REVIEWS, {"spec": {"token": ""}})
    api.request("POST", TOKEN_REVIEWS, {"spec": {"token": None, "audiences": ["a"]}})


@case("a token that is no text")
def _(api: Api) -> None:
    api.request("POST", TOKEN_REVIEWS, {"spec": {"token": 7}})
    api.request("POST", TOKEN_REVIEWS, {"spec": {"token": "a", "audiences": "b"}})


@case("the token of a user for the audience of the server")
def _(api: Api) -> None:
    review(api, "jane-token", API)
    review(api, "jane-token", "vault", API, "more")


@case("the token of a user for another audience")
def _(api: Api) -> None:
    review(api, "jane-token", "vault")
    review(api, "jane-token", "")


@case("the token of a service account")
def _(api: Api) -> None:
    account(api)
    review(api, quiet_token(api))


@case("the token of a service account for the audience of the server")
def _(api: Api) -> None:
    account(api)
    token = quiet_token(api)
    review(api, token, API)
    review(api, token, "vault", API)


@case("the token of a service account for another audience")
def _(api: Api) -> None:
    account(api)
    token = quiet_token(api)
    review(api, token, "vault")
    review(api, token, "vault", "other")


@case("a token with an audience of its own")
def _(api: Api) -> None:
    account(api)
    token = quiet_token(api, audiences=["vault"])
    review(api, token)
    review(api, token, "vault")
    review(api, token, "other", "vault")
    review(api, token, API)


@case("a token with several audiences")
def _(api: Api) -> None:
    account(api)
    token = quiet_token(api, audiences=["vault", API, "other"])
    review(api, token)
    review(api, token, "other", "vault")
    review(api, token, "other", "nobody")


@case("a token that is bound to a pod")
def _(api: Api) -> None:
    account(api)
    api.create("pods", pod("web", spec={"serviceAccountName": "robot", "nodeName": "somewhere"}))
    token = quiet_token(api, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "web"})
    review(api, token)


@case("a token whose pod is gone")
def _(api: Api) -> None:
    account(api)
    api.create("pods", pod("web", spec={"serviceAccountName": "robot"}))
    token = quiet_token(api, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "web"})
    api.delete("pods", "web", gracePeriodSeconds=0)
    settle(api)
    review(api, token)


@case("a token whose pod was created again")
def _(api: Api) -> None:
    account(api)
    api.create("pods", pod("web", spec={"serviceAccountName": "robot"}))
    token = quiet_token(api, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "web"})
    api.delete("pods", "web", gracePeriodSeconds=0)
    api.create("pods", pod("web", spec={"serviceAccountName": "robot"}))
    settle(api)
    review(api, token)


@case("a token whose secret is gone")
def _(api: Api) -> None:
    account(api)
    api.create("secrets", named("v1", "Secret", "keys"))
    token = quiet_token(api, boundObjectRef={"kind": "Secret", "apiVersion": "v1", "name": "keys"})
    api.delete("secrets", "keys")
    settle(api)
    review(api, token)


@case("a token whose secret was created again")
def _(api: Api) -> None:
    account(api)
    api.create("secrets", named("v1", "Secret", "keys"))
    token = quiet_token(api, boundObjectRef={"kind": "Secret", "apiVersion": "v1", "name": "keys"})
    api.delete("secrets", "keys")
    api.create("secrets", named("v1", "Secret", "keys"))
    settle(api)
    review(api, token)


@case("a token whose node is gone or was created again")
def _(api: Api) -> None:
    account(api)
    name = f"{api.namespace}-node"
    api.create("nodes", named("v1", "Node", name))
    reference = {"kind": "Node", "apiVersion": "v1", "name": name}
    first, second, third = (quiet_token(api, boundObjectRef=reference) for _ in range(3))
    review(api, first)
    api.delete("nodes", name)
    settle(api)
    review(api, second)
    api.create("nodes", named("v1", "Node", name))
    settle(api)
    review(api, third)


@case("a token whose account is gone")
def _(api: Api) -> None:
    account(api)
    token = quiet_token(api)
    api.delete("serviceaccounts", "robot")
    settle(api)
    review(api, token)


@case("a token whose account was created again")
def _(api: Api) -> None:
    account(api)
    token = quiet_token(api)
    api.delete("serviceaccounts", "robot")
    account(api)
    settle(api)
    review(api, token)


@case("a token whose pod and account are being deleted is still valid")
def _(api: Api) -> None:
    account(api)
    finalizers = ["example.com/a"]
    api.create("pods", pod("web", spec={"serviceAccountName": "robot"}, finalizers=finalizers))
    token = quiet_token(api, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "web"})
    api.delete("pods", "web", gracePeriodSeconds=0)
    settle(api)
    review(api, token)


@case("a token with another signature")
def _(api: Api) -> None:
    account(api)
    token = quiet_token(api)
    review(api, alter(token, signature=encode_part(b"x" * 64)))
    review(api, alter(token, signature=""))
    review(api, alter(token, signature=encode_part(b"x")))


@case("a token with other claims")
def _(api: Api) -> None:
    account(api)
    token = quiet_token(api)
    review(api, alter(token, claims={"sub": "system:serviceaccount:kube-system:admin"}))
    review(api, alter(token, claims={"exp": 1}))
    review(api, alter(token, claims={"aud": ["vault"]}))


@case("a token of another issuer")
def _(api: Api) -> None:
    account(api)
    token = quiet_token(api)
    for issuer in ("https://example.com", "", "kubernetes/serviceaccount", 7, None):
        review(api, alter(token, claims={"iss": issuer}))


@case("a token with another algorithm")
def _(api: Api) -> None:
    account(api)
    token = quiet_token(api)
    for algorithm in ("none", "HS256", "RS512", "", "nonsense"):
        review(api, alter(token, header={"alg": algorithm}))
    review(api, alter(token, header={"alg": "none"}, signature=""))


@case("a token with another key")
def _(api: Api) -> None:
    account(api)
    token = quiet_token(api)
    review(api, alter(token, header={"kid": "nonsense"}))
    review(api, alter(token, header={"kid": ""}))
    review(api, alter(token, header={"kid": None}))


@case("a token whose header is no header")
def _(api: Api) -> None:
    account(api)
    _, payload, signature = quiet_token(api).split(".")
    for header in (b"", b"nonsense", b"[]", b"{", b'{"alg":7}'):
        review(api, f"{encode_part(header)}.{payload}.{signature}")


@case("texts that are nearly tokens")
def _(api: Api) -> None:
    account(api)
    head, payload, signature = quiet_token(api).split(".")
    for token in (
        "a.b.c",
        "..",
        ".",
        f"{head}.{payload}",
        f"{head}.{payload}.{signature}.more",
        f"{head}.{payload}=.{signature}",
        f"{head}.!{payload}.{signature}",
        f"{head}.{encode_part(b'[]')}.{signature}",
        f"{head}.{encode_part(b'')}.{signature}",
    ):
        review(api, token)


@case("a token in the form of JSON")
def _(api: Api) -> None:
    review(api, '{"payload":"e30","signatures":[]}')


@case("a review that has a status already")
def _(api: Api) -> None:
    sent = {"spec": {"token": "nonsense"}, "status": {"authenticated": True, "user": {"username": "root"}}}
    api.request("POST", TOKEN_REVIEWS, sent)


@case("a review with metadata")
def _(api: Api) -> None:
    meta = {"name": "a", "namespace": api.namespace, "labels": {"a": "b"}}
    api.request("POST", TOKEN_REVIEWS, {"metadata": meta, "spec": {"token": "jane-token"}})
    api.request("POST", TOKEN_REVIEWS, {"metadata": {"name": "a"}, "spec": {"token": "jane-token"}})


@case("a review needs permission")
def _(api: Api) -> None:
    api.request("POST", TOKEN_REVIEWS, {"spec": {"token": "jane-token"}}, headers=as_user("jane"))


@case("a review is nothing to read")
def _(api: Api) -> None:
    api.request("GET", f"{TOKEN_REVIEWS}/a")
    api.request("PUT", f"{TOKEN_REVIEWS}/a", {})
    api.request("POST", f"/apis/authentication.k8s.io/v1/namespaces/{api.namespace}/tokenreviews", {})


@case("a dry run of a review")
def _(api: Api) -> None:
    api.request("POST", TOKEN_REVIEWS, {"spec": {"token": "jane-token"}}, query={"dryRun": "All"})

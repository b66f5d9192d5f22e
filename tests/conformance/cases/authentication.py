"""Who sends a request: users of a token file, anonymous requests, and what the server says about itself."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.identities import SELF, account, as_user, bearer, quiet_token, who_am_i
from tests.conformance.objects import config_map

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Authentication")
NOBODY = {"Authorization": ""}
JWKS = "/openid/v1/jwks"
DISCOVERY = "/.well-known/openid-configuration"


@case("users of a token file")
def _(api: Api) -> None:
    for name in ("jane", "ann", "root", "node"):
        who_am_i(api, as_user(name))


@case("a user with an empty group")
def _(api: Api) -> None:
    who_am_i(api, as_user("odd"))


@case("a user without roles may not read objects")
def _(api: Api) -> None:
    api.request("GET", api.path("configmaps"), headers=as_user("jane"))
    api.request("GET", "/api/v1/nodes/one", headers=as_user("ann"))
    api.request("POST", api.path("configmaps"), config_map("a"), headers=as_user("jane"))


@case("a member of system:masters may do everything")
def _(api: Api) -> None:
    api.request("POST", api.path("configmaps"), config_map("a"), headers=as_user("root"))
    api.request("DELETE", api.path("configmaps", "a"), headers=as_user("root"))


@case("every authenticated user may read discovery and ask about itself")
def _(api: Api) -> None:
    api.request("GET", "/api", headers=as_user("jane"), pick=lambda body: body["kind"])
    api.request("GET", "/apis/apps/v1", headers=as_user("jane"), pick=lambda body: body["kind"])
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    api.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, headers=as_user("jane"))


@case("the name of the scheme in any case")
def _(api: Api) -> None:
    for scheme in ("bearer", "BEARER", "bEaReR"):
        who_am_i(api, {"Authorization": f"{scheme} jane-token"})


@case("words behind the token are ignored")
def _(api: Api) -> None:
    who_am_i(api, {"Authorization": "Bearer jane-token and more"})
    who_am_i(api, {"Authorization": "Bearer nonsense jane-token"})


@case("two spaces before the token")
def _(api: Api) -> None:
    who_am_i(api, {"Authorization": "Bearer  jane-token"})
    api.request("GET", "/version", headers={"Authorization": "Bearer  jane-token"}, pick=lambda _: "")
    api.request("GET", api.path("configmaps"), headers={"Authorization": "Bearer   jane-token"})


@case("a tab between scheme and token")
def _(api: Api) -> None:
    who_am_i(api, {"Authorization": "Bearer\tjane-token"})


@case("a scheme without a token")
def _(api: Api) -> None:
    who_am_i(api, {"Authorization": "Bearer"})
    who_am_i(api, {"Authorization": "Bearer "})


@case("a token without a scheme")
def _(api: Api) -> None:
    who_am_i(api, {"Authorization": "jane-token"})


@case("other schemes are ignored")
def _(api: Api) -> None:
    password = base64.b64encode(b"jane:secret").decode()
    for value in (f"Basic {password}", "Digest username=jane", "Token jane-token", "Negotiate abc"):
        who_am_i(api, {"Authorization": value})


@case("a wrong token")
def _(api: Api) -> None:
    for token in ("jane-token2", "jane-toke", "JANE-TOKEN", "jane", "-"):
        who_am_i(api, bearer(token))


@case("a wrong token is refused on every path")
def _(api: Api) -> None:
    for path in ("/", "/api", "/healthz", "/version", "/metrics", JWKS, DISCOVERY, "/nonsense"):
        api.request("GET", path, headers=bearer("nonsense"))


@case("a wrong token with impersonation")
def _(api: Api) -> None:
    who_am_i(api, {**bearer("nonsense"), "Impersonate-User": "jane"})


@case("an anonymous user may not ask who it is")
def _(api: Api) -> None:
    who_am_i(api, NOBODY)


@case("an anonymous user may read health and version alone")
def _(api: Api) -> None:
    for path in ("/healthz", "/livez", "/readyz", "/version", "/version/"):
        api.request("GET", path, headers=NOBODY, pick=lambda _: "")
    for path in ("/", "/api", "/apis", "/apis/apps/v1", "/openapi/v2", "/openapi/v3", "/metrics", "/healthz/etcd"):
        api.request("GET", path, headers=NOBODY)


@case("an anonymous user may not write")
def _(api: Api) -> None:
    api.request("POST", "/version", {}, headers=NOBODY)
    api.request("DELETE", api.path("configmaps"), headers=NOBODY)
    api.request("PATCH", api.path("configmaps", "a"), {}, headers=NOBODY)
    api.request("POST", api.path("serviceaccounts", "a/token"), {}, headers=NOBODY)


@case("front-proxy headers of anyone are ignored")
def _(api: Api) -> None:
    front = {"X-Remote-User": "root", "X-Remote-Group": "system:masters", "X-Remote-Extra-a": "b"}
    who_am_i(api, {**as_user("jane"), **front})
    who_am_i(api, {**NOBODY, **front})


@case("a token in the query is ignored")
def _(api: Api) -> None:
    api.request("POST", SELF, {}, query={"access_token": "jane-token", "token": "jane-token"}, headers=NOBODY)


@case("a token among the protocols of a WebSocket")
def _(api: Api) -> None:
    encoded = base64.urlsafe_b64encode(b"jane-token").rstrip(b"=").decode()
    upgrade = {**NOBODY, "Connection": "Upgrade", "Upgrade": "websocket"}
    for protocols in (
        f"base64url.bearer.authorization.k8s.io.{encoded}, v4.channel.k8s.io",
        f"v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.{encoded}",
    ):
        api.request("GET", api.path("configmaps"), headers={**upgrade, "Sec-WebSocket-Protocol": protocols})


@case("a bad token among the protocols of a WebSocket")
def _(api: Api) -> None:
    encoded = base64.urlsafe_b64encode(b"nonsense").rstrip(b"=").decode()
    good = base64.urlsafe_b64encode(b"jane-token").rstrip(b"=").decode()
    upgrade = {**NOBODY, "Connection": "Upgrade", "Upgrade": "websocket"}
    for protocols in (
        f"base64url.bearer.authorization.k8s.io.{encoded}, v4.channel.k8s.io",
        f"base64url.bearer.authorization.k8s.io.{good}",
        "base64url.bearer.authorization.k8s.io.???, v4.channel.k8s.io",
        "base64url.bearer.authorization.k8s.io., v4.channel.k8s.io",
    ):
        api.request("GET", api.path("configmaps"), headers={**upgrade, "Sec-WebSocket-Protocol": protocols})


@case("a token among the protocols of a request that is no WebSocket")
def _(api: Api) -> None:
    encoded = base64.urlsafe_b64encode(b"jane-token").rstrip(b"=").decode()
    protocols = f"base64url.bearer.authorization.k8s.io.{encoded}, v4.channel.k8s.io"
    api.request("GET", api.path("configmaps"), headers={**NOBODY, "Sec-WebSocket-Protocol": protocols})


@case("a review of oneself with more than it needs")
def _(api: Api) -> None:
    sent = {"metadata": {"name": "a", "labels": {"a": "b"}}, "status": {"userInfo": {"username": "somebody"}}}
    api.request("POST", SELF, sent, headers=as_user("ann"))
    api.request("POST", SELF, {"spec": {}}, headers=as_user("ann"), query={"fieldValidation": "Strict"})
    api.request("POST", SELF, {"kind": "ConfigMap", "apiVersion": "v1"}, headers=as_user("ann"))
    api.request("POST", SELF, {}, query={"dryRun": "All"}, headers=as_user("ann"))


@case("a review of oneself is nothing to read")
def _(api: Api) -> None:
    api.request("GET", SELF)
    api.request("GET", f"{SELF}/a")
    api.request("DELETE", SELF)


@case("a certificate request has the user who sent it")
def _(api: Api) -> None:
    name = f"{api.namespace}-csr"
    made = {
        "metadata": {"name": name},
        "spec": {
            "signerName": "kubernetes.io/kube-apiserver-client",
            "request": CERTIFICATE_REQUEST,
            "usages": ["client auth"],
            "username": "somebody",
            "groups": ["system:masters"],
            "uid": "7",
        },
    }
    api.request("POST", api.path("certificatesigningrequests"), made, headers=as_user("root"))


@case("the issuer of tokens describes itself")
def _(api: Api) -> None:
    compare = ("Cache-Control",)
    api.request("GET", DISCOVERY, compare=compare)
    api.request("GET", JWKS, compare=compare, pick=_without_key)
    for method in ("POST", "PUT", "DELETE"):
        api.request(method, JWKS)
        api.request(method, DISCOVERY)


@case("the issuer of tokens is for service accounts to read")
def _(api: Api) -> None:
    account(api)
    token = quiet_token(api)
    for path in (DISCOVERY, JWKS):
        api.request("GET", path, headers=bearer(token), pick=lambda _: "")
        api.request("GET", path, headers=as_user("jane"))
        api.request("GET", path, headers=NOBODY)


@case("the issuer of tokens has one media type for each document")
def _(api: Api) -> None:
    for accept in ("text/html", "nonsense", "*/*", "text/html, */*;q=0.1", "application/jwk-set+json"):
        api.request("GET", JWKS, headers={"Accept": accept}, pick=_without_key)
        api.request("GET", DISCOVERY, headers={"Accept": accept})


@case("paths near those of the issuer")
def _(api: Api) -> None:
    for path in ("/openid", "/openid/v1", "/openid/v1/jwks/", "/.well-known", "/.well-known/openid-configuration/"):
        api.request("GET", path, headers={"Accept": "application/json"}, pick=lambda _: "")


def _without_key(body: dict[str, list[dict[str, str]]]) -> object:
    if "keys" not in body:
        return body
    keys = [{name: value if name in _PUBLIC else "<text>" for name, value in key.items()} for key in body["keys"]]
    return {**body, "keys": keys}


_PUBLIC = {"use", "kty", "crv", "alg"}
CERTIFICATE_REQUEST = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWk1JR0FBZ0VBTUI0eERUQUxCZ05WQkFvTUJHUmxkbk14RFRB"
    "TEJnTlZCQU1NQkdwaGJtVXdXVEFUQmdjcQpoa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVJXUXNib29KcExqUHA2T2JDVmNHdm0v"
    "bFcxZTk2U00zMFVVRWhpCk9uMUJONE5DNFczL3V0OGpwU1VGM1hEeHlKWTVLdkFTVnBFRDF6aFJHQzIySzJXQ29BQXdDZ1lJS29a"
    "SXpqMEUKQXdJRFNBQXdSUUloQUxuRTNxY2Nqd0l2TGZOMFNjeDBqR2VhbW56ZjVvdS85M0VFM1VRYURFMmlBaUJ6MU1NTQovUXlV"
    "bFhydVBDeUhOQWo1ZDhCK1E4OUtKdHpvNjhFN1A0eEs0UT09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo="
)

"""Requests that act as somebody else.

The real server remembers the mode that last allowed a user to impersonate, and the old mode, once used, stays. So
boss does here what the newer modes allow, and root the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.access import grant, rule, subject
from tests.conformance.case import area
from tests.conformance.identities import as_user, who_am_i
from tests.conformance.objects import config_map

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Impersonation")
AUTHENTICATION = "authentication.k8s.io"


def act(user: str = "", group: str = "", uid: str = "", **extra: str) -> dict[str, str]:
    headers = {"Impersonate-User": user, "Impersonate-Group": group, "Impersonate-Uid": uid}
    named = {f"Impersonate-Extra-{key}": value for key, value in extra.items()}
    return {name: value for name, value in {**headers, **named}.items() if value}


@case("a user")
def _(api: Api) -> None:
    who_am_i(api, act("bob"))
    who_am_i(api, act("a user with spaces"))


@case("a user with a group and a uid")
def _(api: Api) -> None:
    who_am_i(api, act("bob", "devs"))
    who_am_i(api, act("bob", uid="7"))
    who_am_i(api, act("bob", "devs", "7"))


@case("a user with extra values")
def _(api: Api) -> None:
    who_am_i(api, {"Impersonate-User": "bob", "Impersonate-Extra-example.com%2fscopes": "read"})
    who_am_i(api, {"Impersonate-User": "bob", "Impersonate-Extra-Example.com%2FScopes": "read"})


@case("extra keys of the old mode")
def _(api: Api) -> None:
    for key in ("scopes", "a%2", "%41", "a%20b", "acme.io%2F"):
        who_am_i(api, {**as_user("root"), "Impersonate-User": "bob", f"Impersonate-Extra-{key}": "read"})


@case("an extra value that is empty")
def _(api: Api) -> None:
    who_am_i(api, {**as_user("root"), "Impersonate-User": "bob", "Impersonate-Extra-example.com%2fa": " "})


@case("a group, a uid or extra values without a user")
def _(api: Api) -> None:
    who_am_i(api, {"Impersonate-Group": "devs"})
    who_am_i(api, {"Impersonate-Uid": "7"})
    who_am_i(api, {"Impersonate-Extra-a": "b"})
    who_am_i(api, {"Impersonate-Group": "devs", "Impersonate-Uid": "7", "Impersonate-Extra-a": "b"})


@case("groups without a user, from a user without roles")
def _(api: Api) -> None:
    who_am_i(api, {**as_user("jane"), "Impersonate-Group": "devs"})


@case("headers that only look like impersonation")
def _(api: Api) -> None:
    who_am_i(api, {"Impersonate-Nonsense": "a", "Impersonate-": "b", "Impersonate-Users": "c"})


@case("a service account")
def _(api: Api) -> None:
    who_am_i(api, act("system:serviceaccount:default:robot"))


@case("a service account with groups")
def _(api: Api) -> None:
    who_am_i(api, {**as_user("root"), **act("system:serviceaccount:default:robot", "devs")})


@case("names that are nearly service accounts")
def _(api: Api) -> None:
    for name in (
        "system:serviceaccount:default",
        "system:serviceaccount:default:",
        "system:serviceaccount::robot",
        "system:serviceaccount:Default:robot",
        "system:serviceaccount:default:robot:more",
        "system:serviceaccounts:default:robot",
    ):
        who_am_i(api, act(name))


@case("a node")
def _(api: Api) -> None:
    who_am_i(api, {**as_user("boss"), **act("system:node:n1")})


@case("a node with groups")
def _(api: Api) -> None:
    who_am_i(api, {**as_user("root"), **act("system:node:n1", "system:nodes")})


@case("names that are nearly nodes")
def _(api: Api) -> None:
    for name in ("system:node:", "system:node:N_1", "system:nodes:n1"):
        who_am_i(api, {**as_user("boss"), **act(name)})


@case("the anonymous user")
def _(api: Api) -> None:
    who_am_i(api, act("system:anonymous"))
    who_am_i(api, act("system:anonymous", "system:authenticated"))
    api.request("GET", "/version", headers=act("system:anonymous"), pick=lambda _: "")


@case("groups of everyone")
def _(api: Api) -> None:
    who_am_i(api, act("bob", "system:authenticated"))
    who_am_i(api, act("bob", "system:unauthenticated"))


@case("system:masters")
def _(api: Api) -> None:
    who_am_i(api, {**as_user("root"), **act("bob", "system:masters")})


@case("the permissions of the impersonated user count")
def _(api: Api) -> None:
    api.request("GET", api.path("configmaps"), headers=act("bob"))
    api.request("POST", api.path("configmaps"), config_map("a"), headers=act("system:serviceaccount:default:robot"))
    api.request("GET", "/metrics", headers=act("bob"))


@case("a certificate request has the impersonated user")
def _(api: Api) -> None:
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    api.request("POST", path, review, headers=act("bob", "devs"))


@case("a user without roles may impersonate nobody")
def _(api: Api) -> None:
    who_am_i(api, {**as_user("jane"), **act("bob")})
    who_am_i(api, {**as_user("jane"), **act("system:serviceaccount:default:robot")})
    who_am_i(api, {**as_user("jane"), **act("system:node:n1")})
    who_am_i(api, {**as_user("jane"), **act("jane")})
    who_am_i(api, {**as_user("jane"), **act("system:anonymous")})


@case("a user without roles may impersonate on no path")
def _(api: Api) -> None:
    api.request("GET", "/version", headers={**as_user("jane"), **act("bob")})
    api.request("GET", "/nonsense", headers={**as_user("jane"), **act("system:serviceaccount:a:b")})
    api.request("GET", api.path("configmaps", "a"), headers={**as_user("jane"), **act("bob", "devs", "7")})


@case("an anonymous request may impersonate nobody")
def _(api: Api) -> None:
    who_am_i(api, {"Authorization": "", **act("bob")})
    api.request("GET", "/version", headers={"Authorization": "", **act("bob")})


@case("a role for users allows no groups, uids or extra values")
def _(api: Api) -> None:
    grant(api, "impersonator", rule("impersonate", "users"), everywhere=True)
    me = as_user("impersonator")
    who_am_i(api, {**me, **act("bob")})
    who_am_i(api, {**me, **act("bob", "devs")})
    who_am_i(api, {**me, **act("bob", uid="7")})
    who_am_i(api, {**me, "Impersonate-User": "bob", "Impersonate-Extra-example.com%2fa": "b"})
    who_am_i(api, {**me, **act("system:serviceaccount:default:robot")})
    who_am_i(api, {**me, **act("system:node:n1")})


@case("a role for one user")
def _(api: Api) -> None:
    grant(api, "impersonator", rule("impersonate", "users", names="bob"), everywhere=True)
    me = as_user("impersonator")
    who_am_i(api, {**me, **act("bob")})
    who_am_i(api, {**me, **act("alice")})


@case("a role for groups and uids")
def _(api: Api) -> None:
    grant(
        api,
        "impersonator",
        rule("impersonate", "users"),
        rule("impersonate", "groups", names="devs"),
        rule("impersonate", "uids", groups=AUTHENTICATION, names="7"),
        everywhere=True,
    )
    me = as_user("impersonator")
    who_am_i(api, {**me, **act("bob", "devs", "7")})
    who_am_i(api, {**me, **act("bob", "admins", "7")})
    who_am_i(api, {**me, **act("bob", "devs", "8")})


@case("a role for extra values")
def _(api: Api) -> None:
    grant(
        api,
        "impersonator",
        rule("impersonate", "users"),
        rule("impersonate", "userextras/scopes", groups=AUTHENTICATION, names="read"),
        everywhere=True,
    )
    me = as_user("impersonator")
    who_am_i(api, {**me, **act("bob", scopes="read")})
    who_am_i(api, {**me, **act("bob", scopes="write")})
    who_am_i(api, {**me, **act("bob", other="read")})


@case("a role for the service accounts of a namespace")
def _(api: Api) -> None:
    grant(api, "impersonator", rule("impersonate", "serviceaccounts"))
    me = as_user("impersonator")
    who_am_i(api, {**me, **act(f"system:serviceaccount:{api.namespace}:robot")})
    who_am_i(api, {**me, **act("system:serviceaccount:default:robot")})


@case("a role of a group")
def _(api: Api) -> None:
    grant(api, subject("testers", kind="Group"), rule("impersonate", "users"), everywhere=True)
    who_am_i(api, {**as_user("ann"), **act("bob")})


def _constrained(api: Api, mode: str, resource: str, *verbs: str) -> None:
    """Let ann's group impersonate in a mode, for reviews of oneself alone."""
    grant(
        api,
        subject("devs", kind="Group"),
        rule(f"impersonate:{mode}", resource, groups=AUTHENTICATION),
        *(rule(f"impersonate-on:{mode}:{verb}", "selfsubjectreviews", groups=AUTHENTICATION) for verb in verbs),
        everywhere=True,
    )


def bob(api: Api) -> str:
    """A user that no other case knows: the real server remembers for ten seconds what it has allowed."""
    return f"{api.namespace}-bob"


@case("a user, for one verb")
def _(api: Api) -> None:
    _constrained(api, "user-info", "users", "create")
    who_am_i(api, {**as_user("ann"), **act(bob(api))})
    who_am_i(api, {**as_user("ann"), **act(bob(api), "devs")})
    api.request("GET", api.path("configmaps"), headers={**as_user("ann"), **act(bob(api))})


@case("a user with a group, for one verb")
def _(api: Api) -> None:
    _constrained(api, "user-info", "users groups", "create")
    who_am_i(api, {**as_user("ann"), **act(bob(api), "qa")})
    who_am_i(api, {**as_user("ann"), **act(bob(api), "system:masters")})


@case("extra values, for one verb")
def _(api: Api) -> None:
    _constrained(api, "user-info", "users userextras/example.com/a", "create")
    who_am_i(api, {**as_user("ann"), "Impersonate-User": bob(api), "Impersonate-Extra-example.com%2fa": "b"})
    who_am_i(api, {**as_user("ann"), "Impersonate-User": bob(api), "Impersonate-Extra-scopes": "b"})
    who_am_i(api, {**as_user("ann"), "Impersonate-User": bob(api), "Impersonate-Extra-under_score.io%2fa": "b"})


@case("a service account, for one verb")
def _(api: Api) -> None:
    _constrained(api, "serviceaccount", "serviceaccounts", "create")
    who_am_i(api, {**as_user("ann"), **act(f"system:serviceaccount:{api.namespace}:robot")})
    who_am_i(api, {**as_user("ann"), **act(f"system:serviceaccount:{api.namespace}:robot", "devs")})
    who_am_i(api, {**as_user("ann"), **act(bob(api))})


@case("a node, for one verb")
def _(api: Api) -> None:
    _constrained(api, "arbitrary-node", "nodes", "create")
    who_am_i(api, {**as_user("ann"), **act(f"system:node:{api.namespace}")})
    who_am_i(api, {**as_user("ann"), **act(f"system:node:{api.namespace}", "system:nodes")})

"""An environment says what a manager does that its service account may not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import masthead
from masthead._controller.rbac_rules import Grant
from masthead._transport.contract import TransportRequest
from masthead.api.core.v1 import ConfigMap, Namespace, Secret
from masthead.controller import Permission
from masthead.testing import BlockingEnvironment, Environment, UnexpectedFailureError, in_virtual_time
from masthead.testing._permissions import PermissionCheck, grant_of

if TYPE_CHECKING:
    from masthead.aio import ReconcileContext


def manager(**declared: Any) -> masthead.Manager:
    """One that reads a Secret, applies another, and adds a finalizer."""
    app = masthead.Manager("copies")

    @app.controller(ConfigMap, **declared)
    async def reconcile(ctx: ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        name = obj.metadata.name
        await ctx.client.core_v1.secrets("default").list(field_selector={"metadata.name": "tls"})
        await ctx.apply(Secret.new(name))
        await ctx.finalize(lambda: None, finalizer="example.com/copy")

    return app


@in_virtual_time
async def test_what_is_neither_declared_nor_permitted_is_named() -> None:
    async with Environment(manager(), objects=[ConfigMap.new("a", namespace="default")]) as env:
        await env.wait_for_idle()

        assert env.missing_permissions == [
            "list secrets default/tls",
            "get secrets default/a",
            "patch secrets default/a",
            "create secrets default/a",
            "patch configmaps default/a",
        ]


@in_virtual_time
async def test_what_is_declared_or_permitted_is_not_missing() -> None:
    app = manager(owns=[Secret], finalizer="example.com/copy", permissions=[Permission(Secret, "list", names=["tls"])])
    async with Environment(app, objects=[ConfigMap.new("a", namespace="default")]) as env:
        await env.wait_for_idle()

        assert env.missing_permissions == []


@in_virtual_time
async def test_leader_election_and_events_are_permitted() -> None:
    app = masthead.Manager(leader_election="copies")

    @app.controller(ConfigMap)
    async def reconcile(ctx: ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        ctx.record("Normal", "Seen", f"{obj.metadata.name} is there")

    async with Environment(app, objects=[ConfigMap.new("a", namespace="default")]) as env:
        await env.wait_for_idle()
        await env.advance(20)

        assert env.events
        assert env.missing_permissions == []


def test_blocking_environments_say_so_as_well() -> None:
    with BlockingEnvironment(manager(), objects=[ConfigMap.new("a", namespace="default")]) as env:
        env.wait_for_idle()

        assert "patch secrets default/a" in env.missing_permissions


@pytest.mark.parametrize(
    ("method", "target", "grant"),
    [
        ("GET", "/api/v1/pods", Grant("", "", "pods", "list")),
        ("GET", "/api/v1/namespaces/a/pods?watch=true", Grant("a", "", "pods", "watch")),
        ("GET", "/api/v1/namespaces/a/pods?watch=0", Grant("a", "", "pods", "list")),
        ("GET", "/api/v1/namespaces/a/pods/b/log", Grant("a", "", "pods/log", "get", "b")),
        ("PUT", "/api/v1/namespaces/a/status", Grant("", "", "namespaces/status", "update", "a")),
        ("GET", "/api/v1/namespaces/a", Grant("", "", "namespaces", "get", "a")),
        (
            "DELETE",
            "/apis/apps/v1/namespaces/a/deployments",
            Grant("a", "apps", "deployments", "deletecollection"),
        ),
        (
            "GET",
            "/api/v1/secrets?fieldSelector=type%21%3DOpaque%2Cmetadata.name%3Dtls",
            Grant("", "", "secrets", "list", "tls"),
        ),
        ("GET", "/api/v1/secrets?fieldSelector=metadata.name%21%3Dtls", Grant("", "", "secrets", "list")),
        ("GET", "/apis/apps/v1", None),
        ("GET", "/version", None),
    ],
)
def test_a_request_needs_the_permission_that_kube_apiserver_asks_for(
    method: str, target: str, grant: Grant | None
) -> None:
    assert grant_of(TransportRequest(method, target, ())) == grant


def test_each_missing_permission_is_named_once() -> None:
    check = PermissionCheck([Grant("", "", "pods", "get")])
    for _ in range(2):
        check.observe(TransportRequest("GET", "/api/v1/namespaces/a/pods/b", ()), 200)
        check.observe(TransportRequest("DELETE", "/api/v1/namespaces/a/pods/b", ()), 200)

    assert list(check.missing) == ["delete pods a/b"]


@in_virtual_time
async def test_with_rbac_a_declared_manager_does_its_work() -> None:
    app = manager(owns=[Secret], finalizer="example.com/copy", permissions=[Permission(Secret, "list", names=["tls"])])
    async with Environment(app, rbac=True, objects=[ConfigMap.new("a", namespace="default")]) as env:
        await env.wait_for_idle()

        assert "apply secrets default/a" in env.writes
        assert env.missing_permissions == []
        users = {request.headers.get("impersonate-user") for request in env.server.requests}
        assert "system:serviceaccount:default:copies" in users


@in_virtual_time
async def test_with_rbac_a_missing_rule_is_a_real_refusal() -> None:
    app = manager(finalizer="example.com/copy")
    async with Environment(app, rbac=True, objects=[ConfigMap.new("a", namespace="default")]) as env:
        await env.wait_for_idle()

        (failure,) = env.failures
        assert 'User "system:serviceaccount:default:copies" cannot list resource "secrets"' in failure
        assert env.writes == []
        assert env.missing_permissions == ["list secrets default/tls"]


@in_virtual_time
async def test_with_rbac_an_unread_refusal_names_the_permission_to_declare() -> None:
    app = manager(finalizer="example.com/copy")

    with pytest.raises(UnexpectedFailureError) as caught:
        async with Environment(app, rbac=True, objects=[ConfigMap.new("a", namespace="default")]) as env:
            await env.wait_for_idle()

    assert "the service account is not allowed to:\n  list secrets default/tls\n  declare the kind" in str(caught.value)


@in_virtual_time
async def test_with_rbac_a_manager_of_some_namespaces_has_roles_there_only() -> None:
    app = masthead.Manager("readers", namespaces=["shop"], leader_election="readers")

    @app.controller(ConfigMap)
    async def reconcile(ctx: ReconcileContext[ConfigMap], _: ConfigMap) -> None:
        await ctx.client.core_v1.config_maps("default").list()

    things = [Namespace.new("shop"), ConfigMap.new("a", namespace="shop")]
    async with Environment(app, rbac=True, objects=things) as env:
        await env.wait_for_idle()

        (failure,) = env.failures
        assert 'cannot list resource "configmaps" in API group "" in the namespace "default"' in failure


def test_with_rbac_blocking_environments_authorize_too() -> None:
    app = masthead.Manager("blocking")

    @app.controller(ConfigMap)
    def reconcile(ctx: masthead.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
        ctx.client.core_v1.secrets("default").get("tls")

    with BlockingEnvironment(app, rbac=True, objects=[ConfigMap.new("a", namespace="default")]) as env:
        env.wait_for_idle()
        (failure,) = env.failures

    assert 'cannot get resource "secrets"' in failure

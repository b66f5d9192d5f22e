"""The RBAC rules that a manager's declarations imply."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import masthead
from masthead import Manager
from masthead._controller.rbac_rules import Grant, RbacRule, grants_of, is_granted, rules_of
from masthead._meta import fields
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap, Node, Pod, Secret, Service
from masthead.controller import Permission

WEBSITES = "example.com/v1/websites"
EVENTS = RbacRule(("events.k8s.io",), ("events",), ("create", "patch"))
STATUS = RbacRule(("example.com",), ("websites/status",), ("patch",))


async def reconcile(ctx: object) -> None: ...


def rules(app: Manager, **overrides: Any) -> dict[str, tuple[RbacRule, ...]]:
    return dict(rules_of(grants_of(app, app.options.overridden(**overrides), "operators")))


def test_the_reconciled_kind_is_read_and_its_status_patched() -> None:
    app = Manager()
    app.controller(WEBSITES)(reconcile)

    assert rules(app) == {
        "": (EVENTS, RbacRule(("example.com",), ("websites",), ("get", "list", "watch")), STATUS),
    }


def test_owned_kinds_need_write_and_finalizer_permissions() -> None:
    app = Manager()
    app.controller(WEBSITES, owns=[Deployment, Service])(reconcile)

    verbs = ("get", "list", "watch", "create", "patch", "delete")
    assert rules(app) == {
        "": (
            RbacRule(("",), ("services",), verbs),
            RbacRule(("apps",), ("deployments",), verbs),
            EVENTS,
            RbacRule(("example.com",), ("websites",), ("get", "list", "watch")),
            RbacRule(("example.com",), ("websites/finalizers",), ("update",)),
            STATUS,
        )
    }


def test_watched_and_read_kinds_need_only_read_permissions() -> None:
    app = Manager()
    app.controller(WEBSITES, watches={Secret: lambda _: None}, reads=[ConfigMap])(reconcile)

    assert rules(app)[""][0] == RbacRule(("",), ("configmaps", "secrets"), ("get", "list", "watch"))


def test_the_object_itself_is_patched_only_for_a_finalizer() -> None:
    app = Manager()
    app.controller(WEBSITES, finalizer="example.com/bucket")(reconcile)

    assert RbacRule(("example.com",), ("websites",), ("get", "list", "watch", "patch")) in rules(app)[""]


def test_the_status_of_a_builtin_kind_belongs_to_kubernetes() -> None:
    app = Manager()
    app.controller(Pod)(reconcile)
    app.controller("apps/v1/deployments")(reconcile)

    assert not any("/" in resource for rule in rules(app)[""] for resource in rule.resources)


def test_namespaces_of_the_manager_get_roles_of_their_own() -> None:
    app = Manager(namespaces=["shop", "blog"])
    app.controller(WEBSITES, reads=[Node])(reconcile)

    found = rules(app)
    assert found.keys() == {"", "shop", "blog"}
    assert found["shop"] == found["blog"]
    assert EVENTS in found["shop"]
    assert found[""] == (RbacRule(("",), ("nodes",), ("get", "list", "watch")),)


def test_a_kind_can_be_watched_in_other_namespaces() -> None:
    app = Manager(namespaces="shop")
    app.controller(
        WEBSITES,
        reads=[
            masthead.controller.Reads(Secret, namespace="vault"),
            masthead.controller.Reads(ConfigMap, namespace=""),
        ],
    )(reconcile)

    found = rules(app)
    assert found["vault"] == (RbacRule(("",), ("secrets",), ("get", "list", "watch")),)
    assert found[""] == (RbacRule(("",), ("configmaps",), ("get", "list", "watch")),)


@pytest.mark.parametrize(
    "selector",
    [
        "metadata.name=tls",
        "metadata.name==tls,type=Opaque",
        {"metadata.name": "tls"},
        fields.one("metadata.name", "tls"),
    ],
)
def test_who_selects_one_name_may_read_only_that(selector: Any) -> None:
    app = Manager()
    app.controller(WEBSITES, reads=[masthead.controller.Reads(Secret, field_selector=selector)])(reconcile)

    assert rules(app)[""][0] == RbacRule(("",), ("secrets",), ("get", "list", "watch"), ("tls",))


@pytest.mark.parametrize("selector", ["metadata.name!=tls", {"type": "Opaque"}])
def test_another_selector_of_fields_limits_nothing(selector: Any) -> None:
    app = Manager()
    app.controller(WEBSITES, reads=[masthead.controller.Reads(Secret, field_selector=selector)])(reconcile)

    assert rules(app)[""][0] == RbacRule(("",), ("secrets",), ("get", "list", "watch"))


def test_cluster_grants_include_namespace_grants() -> None:
    app = Manager()
    app.controller(WEBSITES, reads=[masthead.controller.Reads(Secret, namespace="vault"), Secret])(reconcile)

    assert rules(app).keys() == {""}


def test_events_about_cluster_scoped_objects_are_in_the_default_namespace() -> None:
    app = Manager(namespaces="shop")
    app.controller(Node)(reconcile)

    assert rules(app) == {"": (RbacRule(("",), ("nodes",), ("get", "list", "watch")),), "default": (EVENTS,)}


def test_leader_election_needs_permissions_for_one_lease() -> None:
    app = Manager(leader_election="website-operator")
    app.controller(WEBSITES)(reconcile)

    group = ("coordination.k8s.io",)
    expected = (
        RbacRule(group, ("leases",), ("create",)),
        RbacRule(group, ("leases",), ("get", "update"), ("website-operator",)),
    )
    assert rules(app)["operators"] == expected
    assert rules(app, leader_election_namespace="leases")["leases"] == expected
    assert "operators" not in rules(app, leader_election=False)


def test_a_leader_says_so_by_events_about_the_lease() -> None:
    app = Manager(leader_election="website-operator", namespaces="shop")
    app.controller(WEBSITES)(reconcile)

    assert EVENTS in rules(app)["operators"]


def test_sharded_replicas_need_permissions_for_all_leases() -> None:
    app = Manager(sharding="website-operator", leader_election="leader")
    app.controller(WEBSITES)(reconcile)

    verbs = ("get", "list", "create", "update", "delete")
    assert rules(app)["operators"] == (RbacRule(("coordination.k8s.io",), ("leases",), verbs),)


def test_permissions_of_the_program_are_added() -> None:
    app = Manager(permissions=[Permission(Node, "patch")])
    app.controller(
        WEBSITES,
        permissions=[
            Permission(Pod, "create", subresource="eviction"),
            Permission("v1/secrets", "get", names=["tls", "other"], namespace="vault"),
        ],
    )(reconcile)

    found = rules(app)
    assert RbacRule(("",), ("nodes",), ("patch",)) in found[""]
    assert RbacRule(("",), ("pods/eviction",), ("create",)) in found[""]
    assert found["vault"] == (RbacRule(("",), ("secrets",), ("get",), ("other", "tls")),)


def test_a_permission_is_limited_to_the_namespaces_of_the_manager() -> None:
    app = Manager(namespaces="shop", permissions=[Permission(Node, "get"), Permission(Secret, "get")])
    app.controller(WEBSITES)(reconcile)

    found = rules(app)
    assert found[""] == (RbacRule(("",), ("nodes",), ("get",)),)
    assert found["shop"][0] == RbacRule(("",), ("secrets",), ("get",))


@pytest.mark.parametrize(
    ("verbs", "options", "said"),
    [
        ((), {}, "a permission needs verbs, such as Permission(Secret, 'get', 'list')"),
        (("Get",), {}, "a permission needs verbs"),
        (("get",), {"names": "tls"}, "names must be a list, such as ['tls']"),
    ],
)
def test_an_invalid_permission_is_refused(verbs: tuple[str, ...], options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        Permission(Secret, *verbs, **options)

    assert said in str(caught.value)


def test_a_permission_is_a_permission() -> None:
    with pytest.raises(ValueError, match=r"write masthead\.controller\.Permission\(Kind, 'get'\)"):
        Manager(permissions=["get secrets"])  # type: ignore[list-item]


GRANTS = st.builds(
    Grant,
    st.sampled_from(["", "a", "b"]),
    st.sampled_from(["", "apps"]),
    st.sampled_from(["pods", "pods/log", "jobs"]),
    st.sampled_from(["get", "list", "watch", "use", "approve"]),
    st.sampled_from(["", "x", "y"]),
)


@given(st.frozensets(GRANTS))
def test_rules_grant_what_was_granted_and_nothing_else(grants: frozenset[Grant]) -> None:
    again = {
        Grant(namespace, group, resource, verb, name)
        for namespace, found in rules_of(grants).items()
        for rule in found
        for group in rule.groups
        for resource in rule.resources
        for verb in rule.verbs
        for name in rule.names or ("",)
    }

    assert again == grants


@given(st.frozensets(GRANTS), GRANTS)
def test_a_request_is_granted_if_a_grant_covers_it(grants: frozenset[Grant], wanted: Grant) -> None:
    covering = {
        wanted._replace(namespace=namespace, name=name)
        for namespace in ("", wanted.namespace)
        for name in ("", wanted.name)
    }

    assert is_granted(grants, wanted) == bool(covering & grants)

"""Impersonation: the ``Impersonate-`` headers say who a request is from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.server.calls import Caller

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def user_of(caller: Caller, headers: dict[str, str]) -> Any:
    response = caller.call("POST", REVIEWS, {}, headers=headers)
    assert response.code == 201
    return response.json["status"]["userInfo"]


def test_without_headers_it_is_the_administrator(caller: Caller) -> None:
    assert user_of(caller, {}) == {
        "username": "kubernetes-admin",
        "groups": ["system:masters", "system:authenticated"],
    }


def test_a_user_with_groups_uid_and_extra(caller: Caller) -> None:
    headers = {
        "Impersonate-User": "bob",
        "Impersonate-Group": "a",
        "Impersonate-Uid": "7",
        "Impersonate-Extra-example.com%2FScopes": "read",
    }

    assert user_of(caller, headers) == {
        "username": "bob",
        "uid": "7",
        "groups": ["a", "system:authenticated"],
        "extra": {"example.com/scopes": ["read"]},
    }


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("bob", ["system:authenticated"]),
        (
            "system:serviceaccount:default:x",
            ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
        ),
        ("system:node:n1", ["system:nodes", "system:authenticated"]),
    ],
)
def test_the_groups_that_a_name_implies(caller: Caller, name: str, groups: list[str]) -> None:
    assert user_of(caller, {"Impersonate-User": name})["groups"] == groups


def test_the_anonymous_user_may_do_nothing_when_impersonated(caller: Caller) -> None:
    response = caller.call("POST", REVIEWS, {}, headers={"Impersonate-User": "system:anonymous"})

    assert response.failure == (
        403,
        "Forbidden",
        (
            'selfsubjectreviews.authentication.k8s.io is forbidden: User "system:anonymous" cannot create resource '
            '"selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope'
        ),
    )


def test_groups_without_a_user_are_refused(caller: Caller) -> None:
    headers = {"Impersonate-Group": "a", "Impersonate-Extra-q": "y"}
    code, reason, message = caller.call("POST", REVIEWS, {}, headers=headers).failure

    assert (code, reason) == (400, "BadRequest")
    assert message == (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a"}, '
        'Extra:map[string][]string{"q":[]string{"y"}}} without impersonating a user name'
    )

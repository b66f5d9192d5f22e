"""The modes of impersonation: which permission allows what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.authentication.impersonation import Impersonation, split_account, split_node
from masthead_server.authorization.authorizer import Decision, Outcome, UserRules
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.request import ApiRequest
from masthead_server.wire.user_info import UserInfo

if TYPE_CHECKING:
    from masthead_server.authorization.authorizer import AuthorizationAttributes

PODS = ApiRequest("GET", "/api/v1/pods")
NODE_NAME = "authentication.kubernetes.io/node-name"


class ListedPermissions:
    """Allows what a list names, as ``verb resource name``."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed
        self.asked: list[str] = []

    def authorize(self, attributes: AuthorizationAttributes) -> Outcome:
        resource = "/".join(filter(None, (attributes.resource, attributes.subresource)))
        question = f"{attributes.verb} {resource} {attributes.name}".strip()
        self.asked.append(question)
        return Outcome(Decision.ALLOW if question in self.allowed else Decision.NO_OPINION)

    def rules_for(self, _user: UserInfo, _namespace: str) -> UserRules:
        return UserRules()


def act_as(wanted: UserInfo, *allowed: str, user: UserInfo | None = None) -> UserInfo | str:
    """The impersonated user, or the message of the refusal."""
    authorizer = ListedPermissions(*allowed)
    impersonation = Impersonation(lambda: authorizer)
    try:
        return impersonation.act_as(wanted, user or UserInfo("me"), PODS)
    except StatusFailure as failure:
        return failure.message


def test_the_node_of_an_account_needs_a_permission_for_all_nodes() -> None:
    account = UserInfo("system:serviceaccount:default:agent", extra={NODE_NAME: ("n1",)})
    allowed = ("impersonate-on:associated-node:list pods", "impersonate:associated-node nodes *")

    found = act_as(UserInfo("system:node:n1"), *allowed, user=account)

    assert found == UserInfo("system:node:n1", groups=("system:nodes", "system:authenticated"))


def test_an_account_has_no_other_node() -> None:
    account = UserInfo("system:serviceaccount:default:agent", extra={NODE_NAME: ("n1",)})
    allowed = ("impersonate-on:associated-node:list pods", "impersonate:associated-node nodes *")

    found = act_as(UserInfo("system:node:n2"), *allowed, user=account)

    assert isinstance(found, str)
    assert "impersonate-on:arbitrary-node:list" in found


def test_many_groups_are_allowed_by_one_permission() -> None:
    wanted = UserInfo("bob", groups=("a", "b", "c", "d"))
    allowed = (
        "impersonate-on:user-info:list pods",
        "impersonate:user-info users bob",
        "impersonate:user-info groups *",
    )

    found = act_as(wanted, *allowed)

    assert found == UserInfo("bob", groups=("a", "b", "c", "d", "system:authenticated"))


def test_many_extra_values_are_allowed_by_one_permission() -> None:
    wanted = UserInfo("bob", extra={"acme.io/a": ("1", "2", "3", "4")})
    allowed = (
        "impersonate-on:user-info:list pods",
        "impersonate:user-info users bob",
        "impersonate:user-info userextras/* *",
    )

    found = act_as(wanted, *allowed)

    assert isinstance(found, UserInfo)
    assert found.extra == wanted.extra


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        ({"": ("a",)}, "impersonating the empty string key in extra is not allowed"),
        (
            {"scopes": ("a",)},
            (
                'impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "scopes": must be a '
                'domain-prefixed path (such as "acme.io/foo")'
            ),
        ),
        (
            {"acme.io/A": ("a",)},
            'impersonating a non-lowercase key in extra is not allowed: "acme.io/A"',
        ),
        ({"acme.io/a": ()}, "impersonating empty values in extra is not allowed"),
        ({"acme.io/a": ("",)}, "impersonating the empty string value in extra is not allowed"),
    ],
    ids=["no key", "no domain", "upper case", "no values", "an empty value"],
)
def test_constrained_modes_check_extra_values(extra: dict[str, tuple[str, ...]], problem: str) -> None:
    allowed = ("impersonate-on:user-info:list pods", "impersonate:user-info users bob")

    assert str(act_as(UserInfo("bob", extra=extra), *allowed)).endswith(f"at the cluster scope: {problem}")


def test_the_mode_that_worked_is_tried_first() -> None:
    authorizer = ListedPermissions("impersonate users bob", "impersonate users system:node:n1")
    impersonation = Impersonation(lambda: authorizer)
    me = UserInfo("me")
    impersonation.act_as(UserInfo("bob"), me, PODS)
    authorizer.asked.clear()

    found = impersonation.act_as(UserInfo("system:node:n1"), me, PODS)

    # The old mode knows no nodes.
    assert found.groups == ("system:authenticated",)
    assert authorizer.asked == ["impersonate users system:node:n1"]


@given(st.text("abcABC-.:_0", max_size=12), st.text("abcABC-.:_0", max_size=12))
def test_names_of_accounts_are_split_or_refused(namespace: str, name: str) -> None:
    found = split_account(f"system:serviceaccount:{namespace}:{name}")

    assert found in {None, (namespace, name)}
    if namespace.isalpha() and namespace.islower() and name.isalpha() and name.islower():
        assert found == (namespace, name)
    if not namespace or not name or ":" in namespace or ":" in name:
        assert found is None


@given(st.text("abA-._:0", max_size=12))
def test_names_of_nodes_are_split_or_refused(name: str) -> None:
    assert split_node(f"system:node:{name}") in {None, name}
    assert split_node(name) is None

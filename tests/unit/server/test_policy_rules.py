"""Policy rules: what they allow, and which rules cover which."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masthead_server.authorization.authorizer import AuthorizationAttributes
from masthead_server.authorization.covering import compact, find_missing
from masthead_server.authorization.policy_rules import FULL_AUTHORITY, PolicyRule, RuleSet
from masthead_server.wire.user_info import UserInfo

JANE = UserInfo("jane")
VERBS = ("get", "list", "delete")
GROUPS = ("", "apps")
RESOURCES = ("pods", "pods/log", "deployments/scale")
NAMES = ("", "one", "two")
PATHS = ("/a", "/a/b", "/b")


def some(*values: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True).map(tuple)


resource_rules = st.builds(
    PolicyRule,
    verbs=some(*VERBS, "*"),
    groups=some(*GROUPS, "*"),
    resources=some(*RESOURCES, "*", "*/log", "*/scale"),
    names=st.one_of(st.just(()), some("one", "two")),
)
url_rules = st.builds(PolicyRule, verbs=some(*VERBS, "*"), urls=some(*PATHS, "/a*", "/a/*", "*"))
rule_lists = st.lists(st.one_of(resource_rules, url_rules), max_size=4)


def requests() -> list[AuthorizationAttributes]:
    """Every request about the resources and paths of these tests."""
    found = [
        AuthorizationAttributes(
            JANE,
            verb,
            group=group,
            resource=resource.partition("/")[0],
            subresource=resource.partition("/")[2],
            name=name,
        )
        for verb, group, resource, name in product(VERBS, GROUPS, RESOURCES, NAMES)
    ]
    return [*found, *(AuthorizationAttributes(JANE, verb, path=path) for verb, path in product(VERBS, PATHS))]


REQUESTS = requests()


@given(held=rule_lists, wanted=rule_lists)
def test_who_holds_all_that_is_wanted_may_do_all_of_it(held: list[PolicyRule], wanted: list[PolicyRule]) -> None:
    if not find_missing(held, wanted):
        mine, theirs = RuleSet(held), RuleSet(wanted)
        assert all(mine.allows(request) for request in REQUESTS if theirs.allows(request))


@given(held=rule_lists, wanted=rule_lists)
def test_with_the_missing_rules_nothing_is_missing(held: list[PolicyRule], wanted: list[PolicyRule]) -> None:
    missing = find_missing(held, wanted)

    assert find_missing([*held, *missing], wanted) == []
    assert find_missing([*held, *compact(missing)], wanted) == []


@given(rules=rule_lists)
def test_rules_cover_themselves_and_an_administrator_covers_all(rules: list[PolicyRule]) -> None:
    assert find_missing(rules, rules) == []
    assert find_missing(FULL_AUTHORITY, rules) == []


@given(rules=rule_lists)
def test_nobody_without_rules_covers_any(rules: list[PolicyRule]) -> None:
    missing = find_missing([], rules)

    assert bool(missing) is bool(rules)
    assert all(len(rule.verbs) == 1 for rule in missing)
    # Missing rules allow exactly what the rules allow.
    before, after = RuleSet(rules), RuleSet(missing)
    assert [before.allows(request) for request in REQUESTS] == [after.allows(request) for request in REQUESTS]


@given(rules=rule_lists)
def test_compact_rules_allow_the_same(rules: list[PolicyRule]) -> None:
    atoms = find_missing([], rules)
    joined = compact(atoms)

    places = [(rule.groups, rule.resources, rule.names) for rule in joined if not rule.urls]
    assert len(places) == len(set(places))
    before, after = RuleSet(atoms), RuleSet(joined)
    assert [before.allows(request) for request in REQUESTS] == [after.allows(request) for request in REQUESTS]


@settings(max_examples=40)
@given(rules=rule_lists)
def test_the_index_of_a_role_changes_no_decision(rules: list[PolicyRule]) -> None:
    indexed = RuleSet(rules)
    for request in REQUESTS:
        assert indexed.allows(request) is any(allows(rule, request) for rule in rules)


def allows(rule: PolicyRule, request: AuthorizationAttributes) -> bool:
    """The decision of one rule, word by word."""
    if not (request.verb in rule.verbs or "*" in rule.verbs):
        return False
    if not request.is_resource_request:
        return any(
            url == request.path or (url.endswith("*") and request.path.startswith(url[:-1])) for url in rule.urls
        )
    resource = "/".join(filter(None, (request.resource, request.subresource)))
    wanted = {"*", resource} | ({f"*/{request.subresource}"} if request.subresource else set())
    return (
        bool({"*", request.group} & set(rule.groups))
        and bool(wanted & set(rule.resources))
        and (not rule.names or request.name in rule.names)
    )


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            PolicyRule(("get", "list"), ("",), ("pods",), ("a",)),
            '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get" "list"]}',
        ),
        (PolicyRule(("get",), urls=("/a",)), '{NonResourceURLs:["/a"], Verbs:["get"]}'),
        (PolicyRule(("get",), ("\t",), ('"',)), r'{APIGroups:["\t"], Resources:["\""], Verbs:["get"]}'),
    ],
    ids=["resource", "path", "quoted"],
)
def test_a_rule_in_a_message(rule: PolicyRule, text: str) -> None:
    assert str(rule) == text

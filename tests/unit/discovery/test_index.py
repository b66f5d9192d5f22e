"""Names, kinds and short names, and which of several is meant."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.discovery.network import APPS, CORE, WIDGETS, group, groups, resource, version

from masthead._discovery.aggregated import read_aggregated
from masthead._discovery.index import Index, ResourceArgument, parse_resource_argument
from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead.errors import ArgumentError, UnknownKindError


def index_of(*items: dict[str, Any]) -> Index:
    return Index(read_aggregated(json.dumps(groups(*items)).encode()))


def found_in(index: Index, what: str, **where: str) -> str | None:
    found = index.find(what, **where)
    return None if found is None else f"{found.api_version} {found.name}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pods", [ResourceArgument("pods")]),
        ("Pods", [ResourceArgument("pods")]),
        ("deployments.apps", [ResourceArgument("deployments", group="apps")]),
        (
            "deployments.v1.apps",
            [ResourceArgument("deployments", "v1", "apps"), ResourceArgument("deployments", group="v1.apps")],
        ),
        ("pods.v1.", [ResourceArgument("pods", "v1", "")]),
        ("a.b.c.io", [ResourceArgument("a", "b", "c.io"), ResourceArgument("a", group="b.c.io")]),
    ],
)
def test_a_name_is_read_as_kubectl_does(text: str, expected: list[ResourceArgument]) -> None:
    assert list(parse_resource_argument(text)) == expected


@pytest.mark.parametrize("text", ["", " ", ".apps", "pods/status", "pods."])
def test_an_invalid_resource_name_is_rejected(text: str) -> None:
    with pytest.raises(ArgumentError, match="is not a resource name"):
        parse_resource_argument(text)


@given(st.text())
def test_any_input_is_parsed_or_rejected(text: str) -> None:
    with contextlib.suppress(ArgumentError):
        assert all(reading.name for reading in parse_resource_argument(text))


@pytest.mark.parametrize(
    "what",
    [
        "deployments",
        "deployment",
        "Deployment",
        "DEPLOYMENTS",
        "deploy",
        "deployments.apps",
        "deploy.apps",
        "deployments.v1.apps",
        "Deployment.v1.apps",
        "deployments.app",
    ],
)
def test_every_name_of_a_resource_leads_to_it(what: str) -> None:
    assert found_in(index_of(CORE, APPS), what) == "apps/v1 deployments"


def test_a_version_can_be_given() -> None:
    index = index_of(CORE, APPS)

    assert found_in(index, "deployments.v1beta1.apps") == "apps/v1beta1 deployments"
    assert found_in(index, "deploy", api_version="apps/v1beta1") == "apps/v1beta1 deployments"
    assert found_in(index, "pods.v1.") == "v1 pods"
    assert found_in(index, "deployments.v9.apps") is None
    assert found_in(index, "pods", api_version="apps/v1") is None


def test_a_group_can_be_given_separately() -> None:
    events = resource("events", "Event")
    index = index_of(group("", version("v1", events)), group("events.k8s.io", version("v1", events)))

    assert found_in(index, "events") == "v1 events"
    assert found_in(index, "events", group="events.k8s.io") == "events.k8s.io/v1 events"
    assert found_in(index, "events", group="") == "v1 events"
    assert found_in(index, "events", group="events") is None
    assert found_in(index, "events.events") == "events.k8s.io/v1 events"


def test_the_exact_group_wins_over_one_that_begins_so() -> None:
    thing = resource("things", "Thing")
    index = index_of(group("a.io.long", version("v1", thing)), group("a.io", version("v1", thing)))

    assert found_in(index, "things.a.io") == "a.io/v1 things"


def test_a_group_may_look_like_a_version() -> None:
    index = index_of(group("v1.apps", version("v1", resource("things", "Thing"))))

    assert found_in(index, "things.v1.apps") == "v1.apps/v1 things"


def test_names_and_kinds_count_before_short_names() -> None:
    short = resource("pods", "Pod", shortNames=["thing", "whole"])
    index = index_of(
        group("", version("v1", short)),
        group(
            "z.io",
            version("v1", resource("things", "Thing"), resource("parts", "Whole", singularResource="part")),
        ),
    )

    assert found_in(index, "thing") == "z.io/v1 things"
    assert found_in(index, "whole") == "z.io/v1 parts"


def test_where_the_server_gives_no_singular_the_kind_is_one() -> None:
    index = index_of(group("z.io", version("v1", resource("oxen", "Ox", singularResource=""))))

    assert found_in(index, "ox") == "z.io/v1 oxen"


NAMES = st.lists(st.sampled_from(["", "a.io", "b.io", "c.io"]), min_size=1, unique=True)
VERSIONS = st.lists(st.sampled_from(["v1", "v2", "v1beta1"]), min_size=1, unique=True)


@given(NAMES.flatmap(lambda names: st.tuples(*(st.tuples(st.just(name), VERSIONS) for name in names))))
def test_the_core_group_comes_first_then_the_servers_order(served: tuple[tuple[str, list[str]], ...]) -> None:
    thing = resource("things", "Thing", shortNames=["th"])
    index = index_of(*(group(name, *(version(each, thing) for each in versions)) for name, versions in served))

    first, versions = next((each for each in served if each[0] == ""), served[0])
    expected = GroupVersionResource(first, versions[0], "things")
    for what in ("things", "thing", "THING", "th"):
        found = index.find(what)
        assert found is not None
        assert found.gvr == expected
    for name, in_group in served:
        narrowed = index.find("thing", group=name)
        assert narrowed is not None
        assert narrowed.gvr == GroupVersionResource(name, in_group[0], "things")


def test_a_resource_missing_from_the_preferred_version_is_found_in_another() -> None:
    index = index_of(group("batch", version("v1"), version("v1beta1", resource("cronjobs", "CronJob"))))

    assert found_in(index, "cronjobs") == "batch/v1beta1 cronjobs"


def test_a_second_resource_of_a_kind_that_only_takes_orders_is_not_meant() -> None:
    orders = resource("processedtemplates", "Template", singularResource="", verbs=["create"])
    index = index_of(group("t.io", version("v1", orders, resource("templates", "Template"))))
    template = GroupVersionKind("t.io", "v1", "Template")

    assert found_in(index, "template") == "t.io/v1 templates"
    assert found_in(index, "processedtemplates") == "t.io/v1 processedtemplates"
    found = index.kind(template)
    assert found is not None
    assert found.name == "templates"


def test_an_ambiguous_name_is_rejected_with_the_candidates() -> None:
    left, right = (resource(name, "Shoe", singularResource=name[:-1]) for name in ("lefts", "rights"))
    index = index_of(group("s.io", version("v1", left, right)))

    with pytest.raises(
        UnknownKindError, match=r"shoe is ambiguous: it matches lefts \(Shoe\), rights \(Shoe\) in s.io/v1"
    ):
        index.find("shoe")
    with pytest.raises(UnknownKindError, match="lefts"):
        index.kind(GroupVersionKind("s.io", "v1", "Shoe"))


def test_a_kind_is_looked_for_where_it_is_served_first() -> None:
    borrowed = resource("things", "Thing", responseKind={"group": "b.io", "version": "v1", "kind": "Thing"})
    index = index_of(group("a.io", version("v1", borrowed)), group("b.io", version("v1", resource("things", "Thing"))))

    for served in ("a.io", "b.io"):
        found = index.kind(GroupVersionKind(served, "v1", "Thing"))
        assert found is not None
        assert found.gvr.group == served
    alone = index_of(group("a.io", version("v1", borrowed))).kind(GroupVersionKind("b.io", "v1", "Thing"))
    assert alone is not None
    assert alone.gvr.group == "a.io"


def test_a_category_has_each_resource_once_and_in_order() -> None:
    index = index_of(CORE, WIDGETS, APPS)

    assert [each.name for each in index.category("ALL")] == ["pods", "deployments"]
    assert index.category("none") == ()
    assert index.categories() == ["all"]


def test_near_misses_are_named() -> None:
    index = index_of(CORE, APPS, WIDGETS)

    assert index.nearest("deploymnts") == ["deployments.apps"]
    assert index.nearest("widgits.example.com") == ["widgets.example.com"]
    assert index.nearest("pods") == ["pods"]
    assert index.nearest("qqqqq") == []

"""The tree of owners and dependents."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._cli.document import as_text, table
from masthead._cli.owner_tree import (
    ASCII_LINES,
    HEAD,
    Family,
    FamilyMember,
    Leaf,
    member_of,
    tree_rows,
)
from masthead._discovery.model import ServedResource
from masthead._printers.printer import Column
from masthead._printers.status import Vitals, vitals_of
from masthead.meta import GroupVersionKind, GroupVersionResource, ObjectMeta, OwnerReference

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def member(name: str, *owners: str, kind: str = "Thing") -> FamilyMember:
    references = tuple(OwnerReference(kind="Thing", name=owner, uid=owner) for owner in owners)
    return FamilyMember(name, kind, name, owners=references, created=NOW - timedelta(minutes=5))


def shown(family: Family) -> list[str]:
    rows = tree_rows(family, list(family.leaves()), {}, NOW, lines=ASCII_LINES)
    return [
        line.removesuffix("5m").rstrip() for line in as_text(table(HEAD, rows, indent=0), color=False).splitlines()[1:]
    ]


def test_owners_stand_above_and_dependents_below() -> None:
    family = Family(member("b", "a"))
    family.add(member("a"), is_known=True)
    for name, owner in (("c2", "b"), ("c1", "b"), ("d", "c1"), ("sister", "a"), ("stranger", "other")):
        family.add(member(name, owner))

    assert shown(family) == [
        "Thing/a",
        "`- Thing/b",
        "   |- Thing/c1",
        "   |  `- Thing/d",
        "   `- Thing/c2",
    ]


def test_objects_without_owners_are_not_remembered() -> None:
    family = Family(member("a"))

    assert not family.add(member("b"))
    assert "b" not in family
    assert family.add(member("b", "a"))


def test_the_controller_is_the_owner_above() -> None:
    references = (
        OwnerReference(kind="Thing", name="x", uid="x"),
        OwnerReference(kind="Thing", name="y", uid="y", controller=True),
    )
    resource = ServedResource(gvr=GroupVersionResource("", "v1", "things"), gvk=GroupVersionKind("", "v1", "Thing"))
    found = member_of(ObjectMeta(name="b", uid="b", owner_references=list(references)), resource)

    assert [each.name for each in Family(found).path()] == ["y", "b"]
    assert Family(found).path()[0].is_missing


def test_changes_move_and_remove_members() -> None:
    family = Family(member("a"))
    family.add(member("b", "a"))
    family.add(member("c", "b"))
    family.add(member("c", "a"))
    assert shown(family) == ["Thing/a", "|- Thing/b", "`- Thing/c"]
    family.remove("b")
    assert shown(family) == ["Thing/a", "`- Thing/c"]
    family.remove("a")
    gone = tree_rows(family, list(family.leaves()), {}, NOW)
    assert gone[0][2] == ("gone", "red")
    family.remove("nothing")


def test_only_an_owner_above_a_known_object_is_missing() -> None:
    family = Family(member("b", "a"))

    assert family.with_missing_owner() == member("b", "a")

    family.add(member("a"), is_known=True)

    assert family.with_missing_owner() is None


def test_a_deleted_root_has_no_missing_owner() -> None:
    family = Family(member("b", "a"))
    family.remove("b")

    assert family.with_missing_owner() is None


def test_an_object_of_the_same_name_takes_the_place_of_the_root() -> None:
    family = Family(member("a"))
    family.add(member("child", "a"))
    family.add(member("new-child", "b"))  # seen before its owner is
    family.remove("a")
    family.replace_root(member("b"))

    assert shown(family) == ["Thing/b", "`- Thing/new-child"]
    assert "a" in family  # as long as something refers to it
    family.remove("child")
    assert "a" not in family


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ("", ["Thing/a", "|- Thing/dev/c", "`- Thing/prod/c"]),
        ("dev", ["Thing/a", "|- Thing/c", "`- Thing/prod/c"]),
    ],
)
def test_another_namespace_than_that_of_the_root_is_named(root: str, expected: list[str]) -> None:
    family = Family(replace(member("a"), namespace=root))
    for place in ("dev", "prod"):
        family.add(replace(member("c", "a"), uid=place, namespace=place))

    assert shown(family) == expected


NAMES = st.sampled_from("abcdef")


@given(st.lists(st.tuples(NAMES, st.lists(NAMES, max_size=3)), max_size=20), st.lists(NAMES, max_size=5))
def test_any_references_make_a_tree_in_which_nobody_is_twice(
    added: list[tuple[str, list[str]]], removed: list[str]
) -> None:
    family = Family(member("a", "b"))
    for name, owners in added:
        family.add(member(name, *owners))
    for name in removed:
        family.remove(name)

    uids = [leaf.member.uid for leaf in family.leaves()]
    assert len(uids) == len(set(uids))
    assert "a" in uids


def test_vitals_are_what_the_server_prints() -> None:
    def vitals(**cells: str) -> Vitals:
        columns = [Column(name.capitalize()) for name in cells]
        return vitals_of(columns, tuple(cells.values()))

    assert vitals(name="web", ready="1/2", status="Running", restarts="0") == Vitals("1/2", "Running")
    assert vitals(ready="1", desired="3") == Vitals("1/3", "")
    assert vitals(completions="0/1", status="Failed") == Vitals("0/1", "Failed")
    assert vitals(ready="0/1", status="Error", restarts="3 (5m ago)") == Vitals("0/1", "Error, restarts 3 (5m ago)")
    assert vitals(name="settings", data="3") == Vitals()


def test_a_row_says_how_an_object_is() -> None:
    family = Family(member("a", kind="Pod"))
    rows = tree_rows(family, [Leaf(member("a", kind="Pod"), ())], {"a": Vitals("1/1", "Running")}, NOW)

    assert len(HEAD) == len(rows[0])
    assert rows == [[("Pod/a", "bold"), ("1/1", "green"), ("Running", "green"), "5m"]]

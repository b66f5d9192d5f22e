"""Names and conditions of CustomResourceDefinitions."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from masthead_server.resources.builtin.apiextensions.customresourcedefinition.accepted_names import (
    AcceptedNames,
    GroupNames,
    names_status,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.conditions import (
    API_APPROVED,
    ESTABLISHED,
    NAMES_ACCEPTED,
    approval_status,
    established_status,
    find_condition,
    with_condition,
)

NOW = "2026-11-16T09:00:00Z"
LATER = "2026-11-16T10:00:00Z"


def definition(
    plural: str = "crontabs", kind: str = "CronTab", group: str = "example.com", **names: Any
) -> dict[str, Any]:
    wanted = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List", **names}
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": wanted},
        "status": {"storedVersions": ["v1"]},
    }


def accepted(found: dict[str, Any], *others: dict[str, Any]) -> dict[str, Any]:
    status = names_status(found, GroupNames.of([found, *others]), NOW)
    return found if status is None else {**found, "status": status}


def condition(found: dict[str, Any], kind: str) -> tuple[str, str, str]:
    one = find_condition(found, kind)
    assert one is not None
    return one["status"], one["reason"], one["message"]


def test_free_names_are_accepted_and_installed_first() -> None:
    found = accepted(definition(shortNames=["ct"], categories=["all"]))
    assert found["status"]["acceptedNames"] == found["spec"]["names"]
    assert found["status"]["storedVersions"] == ["v1"]
    assert condition(found, NAMES_ACCEPTED) == ("True", "NoConflicts", "no conflicts found")
    assert condition(found, ESTABLISHED) == ("False", "Installing", "the initial names have been accepted")
    established = {**found, "status": established_status(found, LATER)}
    assert condition(established, ESTABLISHED)[:2] == ("True", "InitialNamesAccepted")
    assert established_status(established, LATER) is None


@pytest.mark.parametrize(
    ("names", "reason", "message"),
    [
        ({"singular": "crontab"}, "SingularConflict", '"crontab" is already in use'),
        ({"shortNames": ["ct"]}, "ShortNamesConflict", '"ct" is already in use'),
        (
            {"shortNames": ["ct", "crontabs", "x"]},
            "ShortNamesConflict",
            '["ct" is already in use, "crontabs" is already in use]',
        ),
        ({"kind": "CronTab"}, "KindConflict", '"CronTab" is already in use'),
        ({"listKind": "CronTab"}, "ListKindConflict", '"CronTab" is already in use'),
        (
            {"singular": "ct", "listKind": "CronTabList"},
            "ListKindConflict",
            '"CronTabList" is already in use',
        ),
    ],
)
def test_the_last_conflict_is_reported(names: dict[str, Any], reason: str, message: str) -> None:
    first = accepted(definition(shortNames=["ct"]))
    other = definition("others", "Other")
    other["spec"]["names"].update(names)
    found = accepted(other, first)
    assert condition(found, NAMES_ACCEPTED) == ("False", reason, message)
    assert condition(found, ESTABLISHED) == ("False", "NotAccepted", "not all names are accepted")
    field = reason.removesuffix("Conflict")
    assert not found["status"]["acceptedNames"].get(field[:1].lower() + field[1:])


def test_names_of_another_group_do_not_conflict() -> None:
    known = AcceptedNames()
    known.set(accepted(definition()))
    assert names_status(definition(group="other.org"), known.of_group("other.org"), NOW) is not None
    other = {**definition(group="other.org")}
    other["status"] = names_status(other, known.of_group("other.org"), NOW)
    assert condition(other, NAMES_ACCEPTED)[0] == "True"


def test_a_deleted_definition_releases_its_names() -> None:
    known = AcceptedNames()
    known.set(accepted(definition()))
    second = definition("tabs", "CronTab")
    known.set(second)
    assert list(known.neighbors("crontabs.example.com")) == ["tabs.example.com"]
    known.remove("crontabs.example.com")
    second["status"] = names_status(second, known.of_group("example.com"), NOW)
    assert condition(second, NAMES_ACCEPTED)[0] == "True"


def test_what_is_established_stays_so_when_a_later_name_conflicts() -> None:
    first = accepted(definition(shortNames=["ct"]))
    second = accepted(definition("tabs", "Tab"), first)
    second = {**second, "status": established_status(second, NOW)}
    second["spec"]["names"]["shortNames"] = ["ct"]
    after = accepted(second, first)
    assert condition(after, NAMES_ACCEPTED) == ("False", "ShortNamesConflict", '"ct" is already in use')
    assert condition(after, ESTABLISHED)[0] == "True"
    assert "shortNames" not in after["status"]["acceptedNames"]


def test_nothing_changes_when_the_names_are_accepted_already() -> None:
    found = accepted(definition())
    before = copy.deepcopy(found)
    assert names_status(found, GroupNames.of([found]), LATER) is None
    assert found == before


def test_an_unresolved_conflict_is_written_once() -> None:
    first, second = accepted(definition()), definition("tabs", "CronTab")
    once = accepted(second, first)
    assert names_status(once, GroupNames.of([first, once]), LATER) is None


def test_the_transition_time_moves_with_the_status_only() -> None:
    status = with_condition({}, {"type": "A", "status": "True", "reason": "x", "message": ""}, NOW)
    status = with_condition(status, {"type": "A", "status": "True", "reason": "y", "message": ""}, LATER)
    assert status["conditions"][0] == {
        "type": "A",
        "status": "True",
        "lastTransitionTime": NOW,
        "reason": "y",
        "message": "",
    }
    status = with_condition(status, {"type": "A", "status": "False", "reason": "y", "message": ""}, LATER)
    assert status["conditions"][0]["lastTransitionTime"] == LATER


def test_a_bad_ca_bundle_keeps_a_definition_from_being_established() -> None:
    found = accepted(definition())
    found["spec"]["conversion"] = {"webhook": {"clientConfig": {"caBundle": "bm90IGEgY2VydGlmaWNhdGU="}}}
    status = established_status(found, NOW)
    assert status is not None
    assert condition({"status": status}, ESTABLISHED) == (
        "False",
        "InvalidCABundle",
        "The conversion webhook CABundle is invalid",
    )


@pytest.mark.parametrize(
    ("annotation", "status", "reason"),
    [
        ("https://github.com/kubernetes/kubernetes/pull/1", "True", "ApprovedAnnotation"),
        ("unapproved, an experiment", "False", "UnapprovedAnnotation"),
        ("soon", "False", "InvalidAnnotation"),
        ("", "False", "MissingAnnotation"),
    ],
)
def test_the_approval_of_a_protected_group_is_a_condition(annotation: str, status: str, reason: str) -> None:
    found = definition(group="tests.k8s.io")
    found["metadata"]["annotations"] = {"api-approved.kubernetes.io": annotation}
    changed = approval_status(found, NOW)
    assert changed is not None
    assert condition({"status": changed}, API_APPROVED)[:2] == (status, reason)
    assert approval_status({**found, "status": changed}, NOW) is None


def test_other_groups_need_no_approval() -> None:
    assert approval_status(definition(), NOW) is None

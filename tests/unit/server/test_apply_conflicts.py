"""The Status of an apply that conflicts with other managers."""

from __future__ import annotations

from masthead._schema.structured_merge.managers import Conflict, ManagerKey
from masthead_server.field_managers.conflicts import refused_conflicts

REPLICAS = ("f:spec", "f:replicas")
IMAGE = ("f:spec", "f:containers", 'k:{"name":"web"}', "f:image")
APPLIER = ManagerKey("one", "Apply", "", "")
SCALER = ManagerKey("kubectl", "Update", "apps/v1", "scale")


def test_a_conflict_is_one_sentence() -> None:
    failure = refused_conflicts([Conflict(SCALER, REPLICAS)])

    assert failure.message == (
        'Apply failed with 1 conflict: conflict with "kubectl" with subresource "scale" using apps/v1: .spec.replicas'
    )
    assert (failure.code, failure.reason) == (409, "Conflict")


def test_several_are_listed_by_manager() -> None:
    conflicts = [Conflict(APPLIER, REPLICAS), Conflict(SCALER, REPLICAS), Conflict(APPLIER, IMAGE)]

    failure = refused_conflicts(conflicts)

    assert failure.message.splitlines() == [
        'Apply failed with 3 conflicts: conflicts with "kubectl" with subresource "scale" using apps/v1:',
        "- .spec.replicas",
        'conflicts with "one":',
        "- .spec.replicas",
        '- .spec.containers[name="web"].image',
    ]
    assert failure.details is not None
    assert [each["field"] for each in failure.details["causes"]] == [
        ".spec.replicas",
        ".spec.replicas",
        '.spec.containers[name="web"].image',
    ]


def test_the_response_stays_small_however_many_there_are() -> None:
    conflicts = [Conflict(APPLIER, ("f:data", f"f:{'x' * 1000}{number}")) for number in range(10_000)]

    failure = refused_conflicts(conflicts)

    assert failure.message.startswith("Apply failed with 10000 conflicts: ")
    assert len(failure.message) < 2 * 1024 * 1024

"""The conflicts of a refused apply; the responses are those of a real server of 1.36."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from masthead._meta.quoting import quoted
from masthead._meta.v1 import Status
from masthead.errors import (
    ApplyConflictError,
    ConflictError,
    FieldManagerConflict,
    StatusError,
    error_from_status,
)


def refused(*causes: tuple[str, str], message: str = "Apply failed") -> Status:
    found = [{"reason": "FieldManagerConflict", "message": said, "field": field} for field, said in causes]
    return Status.from_dict(
        {
            "status": "Failure",
            "reason": "Conflict",
            "code": 409,
            "message": message,
            "details": {"causes": found},
        }
    )


TWO_MANAGERS = refused(
    (".spec.replicas", 'conflict with "up" using apps/v1'),
    ('.spec.template.spec.containers[name="web"].image', 'conflict with "up" using apps/v1'),
    (".metadata.labels.x", 'conflict with "we \\"ird\\\\xé"'),
    message='Apply failed with 3 conflicts: conflicts with "up" using apps/v1:\n- .spec.replicas\n'
    '- .spec.template.spec.containers[name="web"].image\nconflicts with "we \\"ird\\\\xé":\n- .metadata.labels.x',
)
MODIFIED = Status.from_dict(
    {
        "status": "Failure",
        "reason": "Conflict",
        "code": 409,
        "message": 'Operation cannot be fulfilled on deployments.apps "web": the object has been modified; '
        "please apply your changes to the latest version and try again",
        "details": {"name": "web", "group": "apps", "kind": "deployments"},
    }
)


def conflict_of(status: Status, **request: Any) -> ApplyConflictError:
    error = error_from_status(status, **request)
    assert isinstance(error, ApplyConflictError)
    return error


def test_a_refused_apply_lists_each_field_with_its_manager() -> None:
    assert [
        (conflict.field, conflict.manager, conflict.operation) for conflict in conflict_of(TWO_MANAGERS).conflicts
    ] == [
        (".spec.replicas", "up", "Update"),
        ('.spec.template.spec.containers[name="web"].image', "up", "Update"),
        (".metadata.labels.x", 'we "ird\\xé', "Apply"),
    ]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('conflict with "a"', ("a", "Apply", "", "", None)),
        ('conflict with "st" with subresource "status"', ("st", "Apply", "status", "", None)),
        ('conflict with "up" using autoscaling/v1', ("up", "Update", "", "autoscaling/v1", None)),
        (
            'conflict with "up" with subresource "status" using v1 at 2026-01-02T15:04:05Z',
            ("up", "Update", "status", "v1", datetime(2026, 1, 2, 15, 4, 5, tzinfo=UTC)),
        ),
        ('conflict with "up" using v1 at teatime', ("up", "Update", "", "v1", None)),
        ("taken by someone", ("", "Apply", "", "", None)),
        ("", ("", "Apply", "", "", None)),
        ('conflict with "\\U00110000"', ("\\U00110000", "Apply", "", "", None)),
    ],
)
def test_a_conflict_tells_what_the_server_says_about_the_manager(said: str, expected: tuple[Any, ...]) -> None:
    [found] = conflict_of(refused((".data.a", said))).conflicts

    manager, operation, subresource, version, time = expected
    assert found == FieldManagerConflict(".data.a", manager, operation, subresource, version, time, said)


@given(st.text(max_size=20), st.text(max_size=8))
@example('a" with subresource "b', "")
@example("\x01\x7f\ud7ff\U0001f600\\", "status")
def test_any_manager_name_is_parsed(manager: str, subresource: str) -> None:
    below = f" with subresource {quoted(subresource)}" if subresource else ""
    [found] = conflict_of(refused((".a", f"conflict with {quoted(manager)}{below} using v1"))).conflicts

    assert (found.manager, found.subresource, found.api_version) == (manager, subresource, "v1")


def test_the_message_says_what_can_be_done_about_each_field() -> None:
    error = conflict_of(TWO_MANAGERS, verb="apply", resource="deployments.apps", namespace="shop", name="web")

    assert str(error).startswith("apply deployments.apps shop/web: Apply failed with 3 conflicts: conflicts with")
    assert str(error).endswith(
        "(409 Conflict). For each of these fields: take it over with force=True; or leave it out, so that its "
        "manager keeps it; or apply its present value, to share it. error.conflicts lists them. If client-side apply "
        "has set them, upgrade_managed_fields hands them over."
    )
    applied = conflict_of(refused((".a", 'conflict with "them"')))
    assert str(applied).endswith("error.conflicts lists them.")


def test_an_outdated_resource_version_is_another_conflict() -> None:
    error = error_from_status(MODIFIED, verb="apply")

    assert type(error) is ConflictError
    assert str(error).endswith(
        "Apply it again; if it has a metadata.resource_version, leave that out, or give the newest."
    )


def test_causes_of_another_type_are_left_out() -> None:
    status = Status.from_dict(
        {
            "reason": "Conflict",
            "details": {
                "causes": [
                    {"reason": "FieldManagerConflict", "message": 'conflict with "a"', "field": ".x"},
                    {"reason": "UnexpectedServerResponse", "message": "unknown"},
                ]
            },
        }
    )

    assert [conflict.field for conflict in conflict_of(status).conflicts] == [".x"]


def test_only_a_conflict_becomes_an_apply_conflict() -> None:
    status = Status.from_dict(
        {"reason": "Invalid", "code": 422, "details": {"causes": [{"reason": "FieldManagerConflict"}]}}
    )

    assert not isinstance(error_from_status(status), ConflictError)


def test_conflicts_survive_a_process_pool() -> None:
    error: StatusError = conflict_of(TWO_MANAGERS, verb="apply")

    again = pickle.loads(pickle.dumps(error))

    assert isinstance(again, ApplyConflictError)
    assert again.conflicts == conflict_of(TWO_MANAGERS).conflicts
    assert ApplyConflictError("said no more").conflicts == ()

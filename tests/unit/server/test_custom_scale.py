"""The scale of custom resources, at the paths that their definition names."""

from __future__ import annotations

from typing import Any

import pytest

from masthead_server.resources.custom.definition import ScalePaths
from masthead_server.resources.custom.scale import PathScale
from masthead_server.wire.failures import StatusFailure

Plain = dict[str, Any]

SCALE = PathScale(ScalePaths(".spec.replicas", ".status.replicas", ".status.selector"))


def widget(spec: object = None, status: object = None) -> Plain:
    parts = {"spec": spec, "status": status}
    return {"metadata": {"name": "a"}, **{key: value for key, value in parts.items() if value is not None}}


def test_a_scale_shows_what_lies_at_the_paths() -> None:
    found = SCALE.read(widget({"replicas": 2}, {"replicas": 1, "selector": "app=a"}))

    assert found["spec"] == {"replicas": 2}
    assert found["status"] == {"replicas": 1, "selector": "app=a"}


def test_an_object_without_replicas_has_no_scale() -> None:
    with pytest.raises(StatusFailure) as failure:
        SCALE.read(widget())

    assert failure.value.message == ('Internal error occurred: the spec replicas field ".spec.replicas" does not exist')


def test_replicas_that_are_left_out_of_an_update_cannot_be_set() -> None:
    scale = SCALE.read_for_update(widget())

    with pytest.raises(StatusFailure) as failure:
        SCALE.set_replicas(widget(), scale["spec"]["replicas"])

    assert failure.value.message == 'the spec replicas field ".spec.replicas" cannot be empty'


def test_replicas_are_set_where_nothing_is_yet() -> None:
    found = widget()
    SCALE.set_replicas(found, 3)
    assert found["spec"] == {"replicas": 3}


@pytest.mark.parametrize(
    ("found", "errors"),
    [
        (widget({"replicas": 1}), []),
        (widget(), []),
        (
            widget({"replicas": -1}),
            [".spec.replicas: Invalid value: -1: should be a non-negative integer"],
        ),
        (
            widget({"replicas": 2**31}),
            [".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"],
        ),
        (
            widget({"replicas": "two"}),
            [
                (
                    ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: "
                    "two is of the type string, expected int64"
                )
            ],
        ),
        (
            widget([1, {"a": True}]),
            [
                (
                    ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: "
                    "[1 map[a:true]] is of the type []interface {}, expected map[string]interface{}"
                )
            ],
        ),
    ],
)
def test_what_is_wrong_with_the_wanted_replicas(found: Plain, errors: list[str]) -> None:
    assert [str(spec_error) for spec_error in SCALE.spec_errors(found)] == errors


def test_what_is_wrong_with_the_present_replicas_and_the_selector() -> None:
    found = widget(status={"replicas": True, "selector": 5})

    assert [str(status_error) for status_error in SCALE.status_errors(found)] == [
        ".status.replicas: Invalid value: 0: .status.replicas accessor error: true is of the type bool, expected int64",
        '.status.selector: Invalid value: "": .status.selector accessor error: 5 is of the type int64, expected string',
    ]

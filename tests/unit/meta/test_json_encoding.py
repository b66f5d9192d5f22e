"""Objects in the encoders of other packages."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
import pytest

from masthead import Quantity, Unstructured
from masthead.api.core.v1 import Pod, PodList, Secret
from masthead.meta import MicroTime, Table, json_default

if TYPE_CHECKING:
    from collections.abc import Callable

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ENCODERS = {
    "json": lambda value: json.dumps(value, default=json_default),
    "orjson": lambda value: orjson.dumps(value, default=json_default),
}


@pytest.mark.parametrize("encode", ENCODERS.values(), ids=ENCODERS)
def test_objects_inside_of_containers_are_encoded_as_the_api_has_them(encode: Callable[[object], str | bytes]) -> None:
    pod = Pod.new("web", spec={"containers": [{"name": "app", "resources": {"limits": {"cpu": "0.5"}}}]})
    widget = Unstructured.from_dict({"apiVersion": "example.com/v1", "kind": "Widget", "size": 1})
    given = {"pods": [pod, (pod,)], "list": PodList(items=[pod]), "widget": widget, "spec": pod.spec, "table": Table()}

    assert json.loads(encode(given)) == {
        "pods": [pod.to_dict(), [pod.to_dict()]],
        "list": PodList(items=[pod]).to_dict(),
        "widget": widget.to_dict(),
        "spec": pod.spec.to_dict(),
        "table": {},
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Quantity("0.5"), "500m"),
        (MicroTime.of(WHEN), "2026-01-02T03:04:05.000000Z"),
        (WHEN, "2026-01-02T03:04:05Z"),
        (WHEN.astimezone(timezone(timedelta(hours=1))), "2026-01-02T04:04:05+01:00"),
        (b"hunter2", "aHVudGVyMg=="),
    ],
)
def test_values_of_fields_are_encoded_as_in_their_objects(value: object, text: str) -> None:
    assert json.loads(json.dumps([value], default=json_default)) == [text]
    assert msgspec.json.decode(msgspec.json.encode([value], enc_hook=json_default)) == [text]


def test_a_time_of_an_object_is_encoded_as_the_object_encodes_it() -> None:
    pod = Pod.from_dict({"metadata": {"creationTimestamp": "2026-01-02T03:04:05.5Z"}})

    text = json_default(pod.metadata.creation_timestamp)
    assert text == pod.to_dict()["metadata"]["creationTimestamp"]


@pytest.mark.parametrize(
    "value",
    [object(), {1}, datetime(2026, 1, 2), Secret],  # noqa: DTZ001 - it has no zone
    ids=["object", "set", "naive time", "class"],
)
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="has no JSON form here: json_default is for API objects"):
        json.dumps(value, default=json_default)

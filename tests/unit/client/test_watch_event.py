"""Lines of a watch become events, and an undecodable one affects no other."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._client.watch_event import WatchEvent, read_events
from masthead.api.core.v1 import ConfigMap
from masthead.errors import DecodeError, ExpiredError, StatusError


def line(type_: str, **content: object) -> bytes:
    return json.dumps({"type": type_, "object": content}).encode()


def config_map(name: str, version: str, **extra: object) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "resourceVersion": version},
        **extra,
    }


def events(*lines: bytes) -> list[WatchEvent[ConfigMap] | StatusError]:
    return list(read_events(ConfigMap, lines))


def test_an_event_has_a_type_an_object_and_a_version() -> None:
    (event,) = events(line("MODIFIED", **config_map("a", "7", data={"x": "y"})))

    assert isinstance(event, WatchEvent)
    assert event.type == "MODIFIED"
    assert event.object.data == {"x": "y"}
    assert event.version == "7"
    assert event.error is None
    assert repr(event) == "WatchEvent(MODIFIED, 'default/a', version='7')"


def test_an_undecodable_object_is_a_broken_event_and_the_next_is_delivered() -> None:
    broken = config_map("bad", "8")
    broken["metadata"] = {"name": 5, "resourceVersion": "8"}

    first, second = events(line("ADDED", **broken), line("ADDED", **config_map("good", "9")))

    assert isinstance(first, WatchEvent)
    assert first.type == "BROKEN"
    assert first.version == "8"
    assert b'"name": 5' in first.data
    with pytest.raises(DecodeError, match="metadata"):
        first.object  # noqa: B018 - reading is what raises
    assert isinstance(second, WatchEvent)
    assert second.object.metadata.name == "good"


def test_the_initial_events_end_bookmark_is_recognized() -> None:
    plain = line("BOOKMARK", kind="ConfigMap", apiVersion="v1", metadata={"resourceVersion": "9"})
    marked = line(
        "BOOKMARK",
        kind="ConfigMap",
        apiVersion="v1",
        metadata={"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}},
    )

    found = events(plain, marked)

    assert [isinstance(each, WatchEvent) and each.ends_initial_events for each in found] == [False, True]


def test_an_error_of_the_server_is_an_error() -> None:
    status = {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410, "message": "too old"}

    (error,) = events(line("ERROR", **status))

    assert isinstance(error, ExpiredError)
    assert error.message == "too old"


def test_an_error_event_without_a_status_is_still_an_error() -> None:
    (error,) = events(b'{"type":"ERROR","object":"boom"}')

    assert type(error) is StatusError
    assert "boom" in str(error)


@given(st.binary(max_size=60))
def test_no_line_ends_the_stream(rubbish: bytes) -> None:
    found = events(rubbish, line("ADDED", **config_map("after", "9")))

    assert len(found) == 2
    last = found[-1]
    assert isinstance(last, WatchEvent)
    assert last.object.metadata.name == "after"


def test_an_unknown_event_type_is_broken() -> None:
    (event,) = events(line("EXPLODED", **config_map("a", "7")))

    assert isinstance(event, WatchEvent)
    assert event.type == "BROKEN"
    assert "EXPLODED" in str(event.error)

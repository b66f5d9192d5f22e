"""What client-go's own recorders decide and send, recorded; and what ours do."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from masthead._record.bodies import EventSource, create_body, patch_body
from masthead._sansio.event_correlation import EventCorrelator, EventRecord
from masthead._sansio.event_occurrences import EventReference, Occurrence
from masthead._sansio.event_writes import EventWrite

SCRIPTS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data/events/client_go_correlator.jsonl").read_text().splitlines()
]
"""Random sequences of occurrences, with a fake clock: seconds since the one before, object, type, reason and message;
and
what client-go 1.36's ``EventCorrelator`` has decided: nothing to write, or count, message and seconds of the first one."""  # noqa: E501

START = datetime(2026, 1, 1, tzinfo=UTC)
SITE = EventReference("v1", "ConfigMap", "default", "site", "7", "1")
OTHER = EventReference("v1", "ConfigMap", "default", "other", "7", "1")


@pytest.mark.parametrize("script", SCRIPTS, ids=[str(number) for number in range(len(SCRIPTS))])
def test_core_v1_events_are_correlated_as_in_client_go(script: list[list[Any]]) -> None:
    correlator = EventCorrelator()
    correlator.updates_every_time = True
    now = 0.0
    for number, (seconds, obj, kind, reason, message, expected) in enumerate(script):
        now += seconds
        regarding = EventReference("v1", "Pod", "default", obj, f"uid-{obj}", str(number))
        at = START + timedelta(seconds=now)
        seen = correlator.observe(Occurrence(regarding, kind, reason, message, "", at), now, "")
        record = seen.record
        decided = [record.count, record.note, (record.first.at - START).total_seconds()]
        assert (decided if seen.is_granted else None) == expected


def write(count: int, last: datetime) -> EventWrite:
    at = datetime(2026, 11, 16, 16, 50, 23, 483557, tzinfo=UTC)
    first = Occurrence(SITE, "Normal", "Pulled", "note", "Pulling", at, OTHER)
    record = EventRecord((), first, "site.18e89496009edb3f", "note", 0.0)
    return EventWrite(record, count, last, is_create=True, attempt=1, serial=1)


def test_the_first_occurrence_is_what_client_go_sends() -> None:
    # Recorded from tools/events of client-go 1.36, without what it sends as null or empty.
    reference = {
        "kind": "ConfigMap",
        "namespace": "default",
        "uid": "7",
        "apiVersion": "v1",
        "resourceVersion": "1",
    }
    assert json.loads(create_body("events.k8s.io/v1", write(1, START), EventSource("operator", "operator-vm"))) == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "site.18e89496009edb3f", "namespace": "default"},
        "eventTime": "2026-11-16T16:50:23.483557Z",
        "reportingController": "operator",
        "reportingInstance": "operator-vm",
        "action": "Pulling",
        "reason": "Pulled",
        "regarding": {**reference, "name": "site"},
        "related": {**reference, "name": "other"},
        "note": "note",
        "type": "Normal",
    }


def test_the_second_occurrence_is_what_client_go_sends() -> None:
    last = datetime(2026, 11, 16, 16, 50, 23, 684350, tzinfo=UTC)
    assert json.loads(patch_body("events.k8s.io/v1", write(2, last))) == {
        "series": {"count": 2, "lastObservedTime": "2026-11-16T16:50:23.684350Z"}
    }


def test_a_repeated_core_v1_event_is_what_client_go_sends() -> None:
    assert json.loads(patch_body("v1", write(2, START + timedelta(seconds=5)))) == {
        "count": 2,
        "lastTimestamp": "2026-01-01T00:00:05Z",
        "message": "note",
    }

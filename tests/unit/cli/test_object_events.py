"""The order of events."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from masthead import Unstructured
from masthead._cli.object_events import newest_last

SECOND = "2026-05-04T03:02:01"


def event(name: str, **times: Any) -> Unstructured:
    return Unstructured.from_dict({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, **times})


SCHEDULED = event("web.18a0000000000001", eventTime=f"{SECOND}.900000Z")
STARTED = event("web.18a0000000000002", lastTimestamp=f"{SECOND}Z")
LATER = event("api.18a0000000000000", lastTimestamp="2026-05-04T03:02:02Z")
BY_HAND = event("note", lastTimestamp=f"{SECOND}Z")


@given(st.permutations([SCHEDULED, STARTED, LATER, BY_HAND]))
def test_events_of_one_second_are_in_the_order_in_which_they_were_recorded(
    events: list[Unstructured],
) -> None:
    assert newest_last(events) == [BY_HAND, SCHEDULED, STARTED, LATER]

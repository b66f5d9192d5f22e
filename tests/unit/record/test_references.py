"""The names of Events, and the arguments of `record`."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st

from masthead._meta import names
from masthead._record.references import event_name, occurrence_of

SITE = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "site", "namespace": "default", "uid": "7"},
}
AT = datetime(2026, 1, 1, tzinfo=UTC)
NANOS = st.integers(1, 2**63)


def test_an_event_has_the_name_of_its_object_and_the_time_in_nanoseconds() -> None:
    assert event_name("test-pod", 105999103295324396) == "test-pod.178959f726d80ec"


@given(st.lists(st.text("abz09-", min_size=1).map(lambda label: f"a{label}0"), min_size=1).map(".".join), NANOS)
def test_valid_names_are_kept(name: str, nanos: int) -> None:
    assume(len(name) <= 230)
    assert event_name(name, nanos) == f"{name}.{nanos:x}"


@given(st.text(max_size=300), NANOS)
def test_any_name_of_an_object_makes_a_valid_name(name: str, nanos: int) -> None:
    made = event_name(name, nanos)
    assert names.problem_with_dns1123_subdomain(made) is None
    assert made.endswith(f".{nanos:x}")


@given(st.text("ab0.-", min_size=1, max_size=20), st.integers(230, 300), NANOS)
def test_long_names_make_valid_names(part: str, length: int, nanos: int) -> None:
    name = (part * length)[:length]
    assert names.problem_with_dns1123_subdomain(event_name(name, nanos)) is None


def test_names_of_roles_stay_recognizable() -> None:
    assert event_name("system:controller:Node_Watcher", 255) == "system-controller-node-watcher.ff"


class Words(str, Enum):  # noqa: UP042 - as older programs have them
    """What programs use as constants."""

    NORMAL = "Normal"
    SYNCED = "Synced"
    DONE = "All done"


def test_constants_of_enumerations_are_strings() -> None:
    made = occurrence_of(SITE, Words.NORMAL, Words.SYNCED, Words.DONE, action=Words.SYNCED, related=None, at=AT)
    assert msgspec.to_builtins([made.type, made.reason, made.note, made.action]) == [
        "Normal",
        "Synced",
        "All done",
        "Synced",
    ]
    assert {type(each) for each in (made.type, made.reason, made.note, made.action)} == {str}


@given(st.text())
def test_any_message_can_be_sent(message: str) -> None:
    made = occurrence_of(SITE, "Normal", "Synced", message, action=message[:20], related=None, at=AT)
    msgspec.json.encode([made.note, made.action])


@given(st.lists(st.integers(0, 0xFFFF).map(chr), max_size=40).map("".join))
def test_lone_surrogates_are_replaced(message: str) -> None:
    made = occurrence_of(SITE, "Normal", "Synced", message, action="", related=None, at=AT)
    assert len(made.note) == len(message)
    msgspec.json.encode(made.note)

"""A recording as a history: it answers as a live one does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from masthead._recording.entries import Change, KindLine, Listed, Reconcile
from masthead._recording.writer import RecordingWriter
from masthead._ui.recorded_history import RecordedHistory
from masthead._ui.time_axis import axis_of
from masthead.errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from masthead._recording.entries import Operation

START = 1_780_000_000_000_000


def change(time: int, name: str, value: int, operation: Operation) -> Change:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value}}
    raw = msgspec.Raw(msgspec.json.encode(obj))
    return Change(time=START + time, kind=0, op=operation, namespace="shop", name=name, object=raw)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[RecordedHistory]:
    writer = RecordingWriter(tmp_path / "small.mhr", now=lambda: START)
    writer.write(
        KindLine(time=START, number=0, version="v1", kind="ConfigMap", plural="configmaps", short_names=["cm"])
    )
    writer.write(change(0, "a", 1, "STATE"))
    writer.write(change(0, "b", 2, "STATE"))
    writer.write(Listed(time=START, kind=0))
    writer.write(change(10, "a", 3, "MODIFIED"))
    writer.write(Reconcile(time=START + 15, controller="maps", namespace="shop", name="a", began=START + 12))
    writer.write(change(20, "b", 2, "DELETED"))
    writer.close()
    made = RecordedHistory(tmp_path / "small.mhr")
    yield made
    made.close()


def values_at(history: RecordedHistory, position: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, state in history.present(position):
        key = history.key(number)
        assert key is not None
        found[key.name] = history.plain(number, state)["data"]["value"]
    return found


def test_it_begins_with_what_existed_before(history: RecordedHistory) -> None:
    assert (history.first, history.latest) == (1, 3)
    assert values_at(history, history.first) == {"a": 1, "b": 2}
    assert values_at(history, 2) == {"a": 3, "b": 2}
    assert values_at(history, history.latest) == {"a": 3}
    assert [kind.short_names for kind in history.kinds] == [("cm",)]


def test_times_lead_to_positions(history: RecordedHistory) -> None:
    assert [history.at_time(START + time) for time in (-5, 0, 10, 19, 20, 99)] == [1, 1, 2, 2, 3, 3]


def test_the_axis_has_changes_and_reconciles(history: RecordedHistory) -> None:
    found = axis_of(history, START, START + 100, 10)
    assert found["ticks"] == [[2, START + 10, 2, 0], [3, START + 20, 3, 1]]
    assert found["reconciles"] == [[0, START + 12, START + 15, "done", "maps shop/a"]]
    assert history.reconcile(0).controller == "maps"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="does not exist"):
        RecordedHistory(tmp_path / "none.mhr")

"""Full states, lists and gaps: how the lines of one file, or of several, become one history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from masthead._recording.entries import Change, KindLine, Listed, Mark
from masthead._recording.writer import RecordingWriter
from masthead.recording import Recording

if TYPE_CHECKING:
    from pathlib import Path

    from masthead._recording.entries import Entry, Operation

KIND = KindLine(time=1, number=0, version="v1", kind="ConfigMap", plural="configmaps")


def change(time: int, op: Operation, name: str, version: str, *, kind: int = 0, listed: bool = False) -> Change:
    text = msgspec.json.encode({"kind": "ConfigMap", "metadata": {"name": name, "resourceVersion": version}})
    raw = msgspec.Raw(text)
    return Change(time=time, kind=kind, op=op, name=name, version=version, listed=listed, object=raw)


def listed(time: int, version: str, *, since: str = "", kind: int = 0, is_gap: bool = False, why: str = "") -> Listed:
    return Listed(time=time, kind=kind, version=version, since=since, is_gap=is_gap, why=why)


def write(path: Path, *entries: Entry) -> None:
    writer = RecordingWriter(path, now=lambda: entries[0].time)
    for entry in entries:
        writer.write(entry)
    writer.close()


def history(recording: Recording) -> list[tuple[str, str, bool]]:
    return [(each.type, each.name, each.is_listed) for each in recording.changes()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "r.mhr"


FIRST = (KIND, change(2, "STATE", "stays", "1"), change(2, "STATE", "goes", "2"), listed(2, "5"))


def test_state_after_dropped_changes_shows_what_was_missed(path: Path) -> None:
    write(
        path,
        *FIRST,
        Mark(time=3, text="changes are missing", dropped=7),
        change(4, "STATE", "stays", "1"),
        change(4, "STATE", "comes", "6"),
        listed(4, "8", is_gap=True, why="the disk was too slow"),
    )
    with Recording(path) as recording:
        assert history(recording) == [
            ("STATE", "stays", False),
            ("STATE", "goes", False),
            ("ADDED", "comes", True),
            ("DELETED", "goes", True),
        ]
        assert [gap.why for gap in recording.gaps] == ["changes are missing", "the disk was too slow"]


def test_empty_state_deletes_everything(path: Path) -> None:
    write(path, *FIRST, listed(4, "8", is_gap=True))
    with Recording(path) as recording:
        assert len(recording.at(len(recording) - 1)) == 0


def test_rotation_has_no_gap_and_no_new_changes(path: Path) -> None:
    write(path, *FIRST, change(3, "MODIFIED", "stays", "6"))
    second = path.with_name("r.mhr.2")
    write(second, KIND, change(4, "STATE", "stays", "6"), change(4, "STATE", "goes", "2"), listed(4, "7", since="7"))
    with Recording(path) as recording:
        assert len(recording) == 3
        assert not recording.gaps


def test_gap_of_a_list_begins_where_the_kind_was_last_known(path: Path) -> None:
    other = KindLine(time=1, number=1, version="v1", kind="Secret", plural="secrets")
    write(
        path,
        *FIRST,
        other,
        change(10, "MODIFIED", "stays", "6"),
        # Changes of another kind say nothing about this one.
        change(20, "ADDED", "other", "7", kind=1),
        change(30, "MODIFIED", "stays", "9", listed=True),
        listed(30, "12", since="6", is_gap=True),
    )
    with Recording(path) as recording:
        (gap,) = recording.gaps
        assert (gap.since.microsecond, gap.until.microsecond) == (10, 30)


def test_selections_of_one_kind_do_not_delete_the_objects_of_each_other(path: Path) -> None:
    one = KindLine(time=1, number=0, version="v1", kind="ConfigMap", plural="configmaps", label_selector="a")
    two = KindLine(time=1, number=1, version="v1", kind="ConfigMap", plural="configmaps", label_selector="b")
    state = (
        one,
        change(2, "STATE", "a", "1"),
        listed(2, "5"),
        two,
        change(3, "STATE", "b", "2", kind=1),
        listed(3, "5", kind=1),
    )
    write(path, *state)
    write(path.with_name("r.mhr.2"), *state)
    with Recording(path) as recording:
        assert history(recording) == [("STATE", "a", False), ("STATE", "b", False)]
        assert len(recording.kinds) == 1


def test_kind_that_a_later_file_leaves_out_is_a_gap(path: Path) -> None:
    write(path, *FIRST)
    other = KindLine(time=10, number=0, version="v1", kind="Secret", plural="secrets")
    write(path.with_name("r.mhr.2"), other, listed(10, "9"))
    with Recording(path) as recording:
        assert [gap.why for gap in recording.gaps] == ["r.mhr.2 does not record it"]

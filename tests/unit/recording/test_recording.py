"""A recording tells what happened, and what the cluster was at any moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.unit.recording.files import BEGIN, SECOND, Film

from masthead._recording.entries import Mark, Reconcile
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ArgumentError, RecordingError
from masthead.recording import Recording

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A recording: ``old`` exists; ``web`` is added, changed and deleted; ``old`` changes in between."""
    with Film(tmp_path / "a.mhr") as film:
        film.kind()
        film.change("STATE", "old", 5, color="red")
        film.listed(7, count=1)
        film.change("ADDED", "web", 8, color="red")
        film.change("MODIFIED", "web", 9, color="blue")
        film.change("MODIFIED", "old", 10, color="green")
        film.change("DELETED", "web", 11, color="blue")
        film.change("ADDED", "web", 12, uid="uid-2", color="white")
    return tmp_path / "a.mhr"


def names_at(recording: Recording, moment: object) -> dict[str, str]:
    """The color of each object at a moment."""
    objects = [obj.to_dict() for obj in recording.at(moment)]  # type: ignore[arg-type]
    return {obj["metadata"]["name"]: obj["data"]["color"] for obj in objects}


def test_the_state_at_each_change_is_that_after_it(path: Path) -> None:
    with Recording(path) as recording:
        assert [names_at(recording, position) for position in range(-1, 6)] == [
            {},
            {"old": "red"},
            {"old": "red", "web": "red"},
            {"old": "red", "web": "blue"},
            {"old": "green", "web": "blue"},
            {"old": "green"},
            {"old": "green", "web": "white"},
        ]
        assert [len(recording.at(position)) for position in range(-1, 6)] == [0, 1, 2, 2, 2, 1, 2]


@pytest.mark.parametrize(
    ("moment", "position"),
    [
        (START + timedelta(seconds=4), 1),
        ((START + timedelta(seconds=4)).replace(tzinfo=None), 1),
        (timedelta(seconds=5), 2),
        ("+5s", 2),
        ("+5999ms", 2),
        ("2023-11-14T22:13:25Z", 2),
        ("2023-11-14T23:13:25+01:00", 2),
        ("9", 2),
        ("10", 3),
        ("1", -1),
        (START - timedelta(days=1), -1),
        (3, 3),
    ],
)
def test_a_moment_is_a_time_an_offset_a_version_or_a_position(path: Path, moment: object, position: int) -> None:
    with Recording(path) as recording:
        assert recording.at(moment).position == position  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "moment", ["soon", "+5", "+5d", "", 6, -2, True, None, "999", "+1h", "+9999999999999h", "9" * 5000]
)
def test_other_moments_are_refused(path: Path, moment: object) -> None:
    with Recording(path) as recording, pytest.raises(ArgumentError, match=r"moment|change|after the"):
        recording.at(moment)  # type: ignore[arg-type]


def test_the_history_of_an_object_has_its_deletion_and_its_successor(path: Path) -> None:
    with Recording(path) as recording:
        history = recording.history(ConfigMap, "web", "shop")
        assert [(change.type, change.version, change.uid) for change in history] == [
            ("ADDED", "8", "uid-web"),
            ("MODIFIED", "9", "uid-web"),
            ("DELETED", "11", "uid-web"),
            ("ADDED", "12", "uid-2"),
        ]
        assert [str(field) for field in history[1].fields()] == ['data.color: "red" → "blue"']
        assert history[1].before is not None
        assert history[1].before.to_dict()["data"] == {"color": "red"}
        assert history[3].before is None
        assert [each.position for each in recording.history(history[0].object)] == [1, 2, 4, 5]
        assert recording.history(ConfigMap, "nobody", "shop") == []


def test_a_difference_names_new_changed_and_removed_objects(path: Path) -> None:
    with Recording(path) as recording:
        assert [str(each) for each in recording.diff("+2s", "+6s")] == [
            'changed ConfigMap shop/old\n  data.color: "red" → "green"',
            "added ConfigMap shop/web",
        ]
        assert [(each.type, each.key) for each in recording.diff("+5s", "+7s")] == [
            ("changed", "shop/old"),
            ("removed", "shop/web"),
        ]
        # Another object of the same name is no change of the first one.
        assert [(each.type, each.key) for each in recording.diff("+6s", "+8s")] == [
            ("removed", "shop/web"),
            ("added", "shop/web"),
        ]
        assert recording.diff("+8s", "+8s") == []


def test_changes_are_selected_by_kind_namespace_and_time(path: Path) -> None:
    with Recording(path) as recording:
        assert [change.position for change in recording.changes(since="+4s", until="+6s")] == [2, 3]
        assert [change.position for change in recording.changes(ConfigMap, "shop")] == [0, 1, 2, 3, 4, 5]
        assert list(recording.changes(ConfigMap, "other")) == []
        with pytest.raises(ArgumentError, match="was not recorded; recorded are configmaps"):
            list(recording.changes(Deployment))


@pytest.mark.parametrize("text", ["cm", "configmap", "ConfigMap", "configmaps"])
def test_a_kind_is_found_as_users_write_it(path: Path, text: str) -> None:
    with Recording(path) as recording:
        assert recording.find_kind(text).gvk == ConfigMap.GVK


def test_times_never_go_back_when_a_clock_does(tmp_path: Path) -> None:
    with Film(tmp_path / "a.mhr") as film:
        film.kind()
        film.change("ADDED", "web", 8)
    with Film(tmp_path / "a.mhr.2", begin=BEGIN - 3600 * SECOND) as film:
        film.kind()
        film.change("STATE", "web", 8)
        film.listed(9, since="8")
        film.change("MODIFIED", "web", 10)
    with Recording(tmp_path / "a.mhr") as recording:
        times = [change.time for change in recording.changes()]
        assert times == sorted(times)
        assert len(times) == 2


def test_a_rotation_is_one_recording_without_a_gap(tmp_path: Path) -> None:
    with Film(tmp_path / "a.mhr") as film:
        film.kind()
        film.change("STATE", "web", 8, color="red")
        film.listed(8)
        film.change("MODIFIED", "web", 9, color="blue")
    with Film(tmp_path / "a.mhr.2", begin=BEGIN + 60 * SECOND) as film:
        # Another number for the same kind.
        film.kind(number=3)
        film.change("STATE", "web", 9, kind=3, color="blue")
        film.change("MODIFIED", "web", 10, kind=3, color="green")
    with Recording(tmp_path / "a.mhr") as recording:
        assert [change.version for change in recording.changes()] == ["8", "9", "10"]
        assert recording.gaps == []
        assert len(recording.kinds) == 1
    # One part alone has the state with which it begins.
    with Recording([tmp_path / "a.mhr.2"]) as recording:
        assert names_at(recording, 0) == {"web": "blue"}


def test_what_happened_while_the_recorder_did_not_run_is_a_gap(tmp_path: Path) -> None:
    with Film(tmp_path / "a.mhr") as film:
        film.kind()
        film.change("STATE", "kept", 1, color="red")
        film.change("STATE", "gone", 2, color="red")
        film.change("STATE", "changed", 3, color="red")
        film.listed(3)
    with Film(tmp_path / "a.mhr.2", begin=BEGIN + 60 * SECOND) as film:
        film.kind()
        film.change("STATE", "kept", 1, color="red")
        film.change("STATE", "changed", 7, color="blue")
        film.change("STATE", "new", 8, color="red")
        film.listed(9)
    with Recording(tmp_path / "a.mhr") as recording:
        late = [(change.type, change.name, change.is_listed) for change in recording.changes()][3:]
        assert late == [("MODIFIED", "changed", True), ("ADDED", "new", True), ("DELETED", "gone", True)]
        (gap,) = recording.gaps
        assert gap.why == "the recorder did not run"
        assert (gap.since, gap.until) == (START + timedelta(seconds=5), START + timedelta(seconds=65))
        assert names_at(recording, len(recording) - 1) == {"kept": "red", "changed": "blue", "new": "red"}
        # The deletion has no line of its own: it shows the last known state.
        assert recording.change(5).object.to_dict()["data"] == {"color": "red"}


def test_a_relist_and_lost_changes_are_gaps(tmp_path: Path) -> None:
    with Film(tmp_path / "a.mhr") as film:
        film.kind()
        film.change("STATE", "web", 1)
        film.listed(1)
        film.change("MODIFIED", "web", 9, listed=True)
        film.listed(9, since="1", is_gap=True, why="410 Gone")
        film.write(Mark(time=film.now(), text="the disk was too slow", dropped=3))
    with Recording(tmp_path / "a.mhr") as recording:
        relist, lost = recording.gaps
        assert relist.why == "410 Gone"
        assert relist.kind == recording.kinds[0]
        assert lost.why == "the disk was too slow"
        assert lost.kind is None
        assert [change.is_listed for change in recording.changes()] == [False, True]


def test_reconciles_are_read_back(tmp_path: Path) -> None:
    with Film(tmp_path / "a.mhr") as film:
        film.kind()
        film.write(
            Reconcile(
                time=BEGIN + 5 * SECOND,
                controller="website",
                namespace="shop",
                name="web",
                id="r1",
                began=BEGIN + 3 * SECOND,
                queued=BEGIN + 2 * SECOND,
                trigger={"why": "initial"},
                writes=[{"verb": "apply", "kind": "Deployment", "name": "web", "code": 200}],
                outcome="requeued",
                requeue_after=30.0,
            )
        )
    with Recording(tmp_path / "a.mhr") as recording:
        (reconcile,) = recording.reconciles("website")
        assert list(recording.reconciles("other")) == []
        assert (reconcile.key, reconcile.outcome, reconcile.requeue_after) == ("shop/web", "requeued", 30.0)
        assert reconcile.ended - reconcile.began == timedelta(seconds=2)
        assert reconcile.writes[0]["verb"] == "apply"


def test_a_file_that_is_missing_or_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"nothing\.mhr does not exist"):
        Recording(tmp_path / "nothing.mhr")
    (tmp_path / "empty.mhr").touch()
    with pytest.raises(RecordingError, match="is no recording: it has no entries"):
        Recording(tmp_path / "empty.mhr")
    (tmp_path / "text.mhr").write_text("apiVersion: v1\n" * 100)
    with pytest.raises(RecordingError, match="is no recording: there is no frame at byte 0"):
        Recording(tmp_path / "text.mhr")
    with Film(tmp_path / "there.mhr"):
        pass
    with pytest.raises(RecordingError, match="exists already"):
        Film(tmp_path / "there.mhr")

"""A start from a snapshot: only later changes are dispatched, and nothing is read twice."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cache.clusters import QUICK, reached, state_of
from tests.unit.cache.recording_handler import RecordingHandler

from masthead._cache.informer.informer import SharedInformer
from masthead._cache.store import snapshot_file
from masthead._cache.store.snapshot_file import SnapshotHeader
from masthead._cache.store.transforms import drop_managed_fields
from masthead.api.core.v1 import ConfigMap
from masthead.errors import InformerStateError, SnapshotError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.cache.clusters import EmbeddedCluster
    from tests.unit.cache.fake_list_watch import FakeListWatch


def following(source: Any, **options: Any) -> SharedInformer[ConfigMap]:
    options.setdefault("backoff", QUICK)
    return SharedInformer(source, **options)


async def saved(source: Any, path: Path, **options: Any) -> Path:
    """The snapshot of an informer that has run."""
    async with following(source, **options) as informer:
        await informer.wait_for_cache_sync(30)
        assert await informer.save(path) == len(informer.indexer)
    return path


async def seeded(source: Any, path: Path, **options: Any) -> tuple[SharedInformer[ConfigMap], RecordingHandler]:
    informer, recorder = following(source, **options), RecordingHandler()
    await informer.seed(path)
    informer.add_event_handler(recorder)
    return informer, recorder


@dataclass
class Refusing:
    """A transform that fails on some values; all of them compare equal."""

    values: set[str] = field(repr=False)

    def __call__(self, obj: ConfigMap) -> ConfigMap:
        if obj.data["value"] in self.values:
            raise KeyError(obj.data["value"])
        return obj


ways = pytest.mark.parametrize("hold", ["lazy", "eager", "compact"])
names = pytest.mark.parametrize("name", ["maps.snapshot", "maps.zst"])


@ways
@names
async def test_seeding_from_an_unchanged_server_needs_no_list_and_no_event(
    source: FakeListWatch, tmp_path: Path, hold: str, name: str
) -> None:
    for letter in "abc":
        source.put(letter)
    path = await saved(source, tmp_path / name, hold=hold)
    source.requests.clear()
    informer, recorder = await seeded(source, path, hold=hold)
    assert state_of(informer) == {"a": "1", "b": "1", "c": "1"}  # before any request
    async with informer:
        await informer.wait_for_cache_sync(30)
        source.put("a", "2")
        await reached(informer, str(source.version))
        await recorder.until("update a=1>2")
        late = RecordingHandler()
        await informer.add_event_handler(late).wait_for_cache_sync(30)
    assert recorder.recorded == ["update a=1>2"]
    assert sorted(late.recorded) == ["initial a=2", "initial b=1", "initial c=1"]
    assert source.verbs == ["proof", "watch 13"]


async def test_only_changes_since_the_snapshot_are_dispatched(source: FakeListWatch, tmp_path: Path) -> None:
    for letter in "abc":
        source.put(letter)
    path = await saved(source, tmp_path / "maps")
    source.put("a", "2")
    source.remove("b")
    source.put("d")
    informer, recorder = await seeded(source, path)
    async with informer:
        await reached(informer, str(source.version))
        await recorder.until("add d=1")
    assert recorder.recorded == ["update a=1>2", "delete b=1", "add d=1"]
    assert state_of(informer) == source.state


async def test_an_expired_snapshot_version_causes_a_relist(source: FakeListWatch, tmp_path: Path) -> None:
    for letter in "abc":
        source.put(letter)
    path = await saved(source, tmp_path / "maps")
    source.put("a", "2")
    source.remove("b")
    source.put("d")
    source.forget()
    informer, recorder = await seeded(source, path)
    async with informer:
        await reached(informer, str(source.version))
        await recorder.until("add d=1")
        assert state_of(informer) == source.state
    assert recorder.recorded == ["lost b=1", "update a=1>2", "add d=1"]


async def test_a_server_that_lost_its_data_is_detected_and_relisted(source: FakeListWatch, tmp_path: Path) -> None:
    for letter in "abc":
        source.put(letter)
    path = await saved(source, tmp_path / "maps")
    source.lose_data()
    for letter in "abcdef":  # the versions of which have been there before
        source.put(letter, "new")
    informer, recorder = await seeded(source, path)
    async with informer:
        await informer.wait_for_cache_sync(30)
        assert state_of(informer) == source.state
        await recorder.until("initial f=new")
    assert sorted(recorder.recorded[:3]) == ["lost a=1", "lost b=1", "lost c=1"]
    assert sorted(event.partition(" ")[2] for event in recorder.recorded[3:]) == [f"{event}=new" for event in "abcdef"]


@pytest.mark.slow
async def test_a_seeded_informer_has_synced_only_after_a_response_of_the_server(
    source: FakeListWatch, tmp_path: Path
) -> None:
    source.put("a")
    path = await saved(source, tmp_path / "maps")
    source.errors.extend([OSError("cable")] * 2)
    informer, _ = await seeded(source, path)
    async with informer:
        assert not informer.has_synced
        await informer.wait_for_cache_sync(30)


async def test_an_empty_cache_can_be_saved_and_seeded(source: FakeListWatch, tmp_path: Path) -> None:
    path = await saved(source, tmp_path / "maps")
    source.put("a")
    informer, recorder = await seeded(source, path)
    async with informer:
        await informer.wait_for_cache_sync(30)
        await reached(informer, str(source.version))
        await recorder.until(recorder.recorded[0] if recorder.recorded else "initial a=1")
    assert [event.partition(" ")[2] for event in recorder.recorded] == ["a=1"]


BROKEN: dict[str, Any] = {
    "is not there": lambda path: path.unlink(),
    "is empty": lambda path: path.write_bytes(b""),
    "is cut short": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "is something else": lambda path: path.write_text("hello\nworld\n"),
    "was changed": lambda path: path.write_bytes(path.read_bytes().replace(b'"value": "1"', b'"value": "2"')),
}


@pytest.mark.parametrize("spoil", BROKEN.values(), ids=BROKEN.keys())
async def test_a_missing_or_damaged_snapshot_makes_a_cold_start(
    source: FakeListWatch, tmp_path: Path, spoil: Any
) -> None:
    source.put("a")
    path = await saved(source, tmp_path / "maps")
    spoil(path)
    informer, recorder = following(source), RecordingHandler()
    with pytest.raises(SnapshotError, match=r"delete it|go on without"):
        await informer.seed(path)
    assert state_of(informer) == {}
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
    assert recorder.recorded == ["initial a=1"]


async def test_a_snapshot_of_another_cache_is_rejected(embedded: EmbeddedCluster, tmp_path: Path) -> None:
    await embedded.put("a")
    core = embedded.client.core_v1
    path = await saved(embedded.maps, tmp_path / "maps")
    others: dict[str, dict[str, Any]] = {
        "another resource": {"source": core.secrets("default")},
        "another namespace": {"source": core.config_maps("kube-system")},
        "all namespaces": {"source": core.config_maps()},
        "another selector": {"source": embedded.maps, "label_selector": "app=web"},
        "another transform": {"source": embedded.maps, "transform": drop_managed_fields},
        "several namespaces": {"source": [core.config_maps("a"), core.config_maps("b")]},
    }
    for options in others.values():
        informer = following(**options)
        with pytest.raises(SnapshotError, match="is of another cache"):
            await informer.seed(path)


async def test_a_transform_is_set_before_the_seed(source: FakeListWatch, tmp_path: Path) -> None:
    path = await saved(source, tmp_path / "maps", transform=drop_managed_fields)
    informer = following(source)
    informer.set_transform(drop_managed_fields)
    await informer.seed(path)
    with pytest.raises(InformerStateError, match="set the transform before the informer is seeded"):
        informer.set_transform(None)


async def test_objects_that_were_undecodable_when_saved_are_listed_again(source: FakeListWatch, tmp_path: Path) -> None:
    transform = Refusing({"2"})
    source.put("good")
    source.put("stale")
    source.put("missing", "2")
    path = tmp_path / "maps"
    async with following(source, transform=transform) as informer:
        await informer.wait_for_cache_sync(30)
        source.put("stale", "2")
        await reached(informer, str(source.put("good", "3").metadata.resource_version))
        assert {key.rpartition("/")[2] for key in informer.health.broken} == {"stale", "missing"}
        assert await informer.save(path) == 2

    transform.values.clear()  # as the next release does
    informer, recorder = await seeded(source, path, transform=transform)
    assert state_of(informer) == {"good": "3", "stale": "1"}  # decodable objects are stored immediately
    async with informer:
        await informer.wait_for_cache_sync(30)
        assert state_of(informer) == source.state
        await recorder.until("initial missing=2")
    assert recorder.recorded == ["update stale=1>2", "initial missing=2"]


async def test_only_the_namespace_with_undecodable_objects_is_listed_again(
    embedded: EmbeddedCluster, tmp_path: Path
) -> None:
    core = embedded.client.core_v1
    maps = [core.config_maps("default"), core.config_maps("kube-system")]
    for config_map in maps:
        await config_map.create({"metadata": {"name": "a"}, "data": {"value": "1"}})
    await maps[1].create({"metadata": {"name": "b"}, "data": {"value": "2"}})
    path = await saved(maps, tmp_path / "maps", transform=Refusing({"2"}))
    scopes = json.loads(path.read_bytes().splitlines()[0])["scopes"]
    assert scopes["default"].isdigit()
    assert scopes["kube-system"] == ""


async def test_a_transform_without_a_name_can_neither_be_saved_nor_seeded(
    source: FakeListWatch, tmp_path: Path
) -> None:
    path = await saved(source, tmp_path / "maps")
    before = path.read_bytes()
    async with following(source, transform=lambda obj: obj) as informer:
        await informer.wait_for_cache_sync(30)
        with pytest.raises(SnapshotError, match="define it with def"):
            await informer.save(path)
    assert path.read_bytes() == before
    with pytest.raises(SnapshotError, match="define it with def"):
        await following(source, transform=lambda obj: obj).seed(path)


async def test_an_object_that_cannot_be_stored_makes_a_cold_start(source: FakeListWatch, tmp_path: Path) -> None:
    path = await saved(source, tmp_path / "maps")
    header = json.loads(path.read_bytes().splitlines()[0])
    broken = ConfigMap.from_wire(b'{"metadata": {"name": "a", "namespace": "shop"}, "data": {"value": 7}}')
    snapshot_file.write(path, SnapshotHeader(resource=header["resource"], scopes=header["scopes"]), [broken])
    assert await following(source).seed(path) == 1
    informer = following(source, hold="eager")
    with pytest.raises(SnapshotError, match=r'cannot be stored "eager".*data.*delete it'):
        await informer.seed(path)
    assert state_of(informer) == {}


async def test_a_file_that_cannot_be_written_is_an_error(source: FakeListWatch, tmp_path: Path) -> None:
    async with following(source) as informer:
        await informer.wait_for_cache_sync(30)
        with pytest.raises(SnapshotError):
            await informer.save(tmp_path / "no such folder" / "maps")


async def test_a_start_from_a_snapshot_sends_two_requests_to_a_server(
    embedded: EmbeddedCluster, tmp_path: Path
) -> None:
    for letter in "abc":
        await embedded.put(letter)
    path = await saved(embedded.maps, tmp_path / "maps.zst")
    await embedded.put("b", "2")
    before = len(embedded.server.requests)
    informer, recorder = await seeded(embedded.maps, path)
    async with informer:
        await informer.wait_for_cache_sync(30)
        await reached(informer, await embedded.remove("c"))
        await recorder.until("delete c=1")
    assert recorder.recorded == ["update b=1>2", "delete c=1"]
    requests = [request for request in embedded.server.requests[before:] if request.method == "GET"]
    assert [request.info.verb for request in requests] == ["list", "watch"]
    assert "fieldSelector=metadata.name" in requests[0].query  # one object, to recognise the server by
    assert "sendInitialEvents" not in requests[1].query


async def test_several_namespaces_are_seeded_each_with_its_resource_version(
    embedded: EmbeddedCluster, tmp_path: Path
) -> None:
    core = embedded.client.core_v1
    maps = [core.config_maps("default"), core.config_maps("kube-system")]
    for config_map in maps:
        await config_map.create({"metadata": {"name": "a"}, "data": {"value": "1"}})
    path = await saved(maps, tmp_path / "maps")
    await maps[1].create({"metadata": {"name": "b"}, "data": {"value": "1"}})
    informer, recorder = await seeded(maps, path)
    assert len(informer.indexer) == 2
    async with informer:
        await informer.wait_for_cache_sync(30)
        await recorder.until("add b=1")
        assert informer.indexer.index_keys("namespace", "kube-system") == ["kube-system/a", "kube-system/b"]
    assert recorder.recorded == ["add b=1"]

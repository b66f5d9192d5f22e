"""Recorders of factories, against the embedded server and its faults."""

from __future__ import annotations

import errno
import os
import threading
import warnings
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.real_server import wait_until

import masthead
import masthead.aio
import masthead.server
from masthead._recorder import recorder as recorder_module
from masthead.api.core.v1 import ConfigMap, Namespace, Secret
from masthead.cache import DeltaFIFO
from masthead.config import from_kubeconfig
from masthead.errors import ArgumentError, RecordingError
from masthead.meta import Patch
from masthead.recording import DEFAULT_RULES, Recorder, Recording
from masthead.sharding import ShardRanges

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from masthead.config import Config
    from masthead.server import Server

pytestmark = pytest.mark.slow

PATIENCE = 60
HALF = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"


NAMESPACES = (
    "compact",
    "queued",
    "sharded",
    "async",
    "complete",
    "expired",
    "forked",
    "full",
    "later",
    "pruned",
    "redacted",
    "restarted",
    "rotated",
    "selected",
    "slow",
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with masthead.server.run(bootstrap=False, record_changes=True) as server:
        with masthead.Client(from_kubeconfig(server.kubeconfig())) as client:
            for name in NAMESPACES:
                client.core_v1.namespaces.create(Namespace.new(name))
        yield server


@pytest.fixture(scope="module")
def config(server: Server) -> Config:
    return from_kubeconfig(server.kubeconfig())


@pytest.fixture
def client(config: Config) -> Iterator[masthead.Client]:
    with masthead.Client(config, field_manager="test") as client:
        yield client


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.mhr"


class Maps:
    """The ConfigMaps of a namespace, with an informer of a factory."""

    def __init__(self, client: masthead.Client, namespace: str) -> None:
        self.namespace = namespace
        self.factory = masthead.SharedInformerFactory(client, namespace=namespace)
        self._informer = self.factory.core_v1.config_maps.informer
        self._maps = client.core_v1.config_maps(namespace)

    def write(self, name: str, value: str) -> ConfigMap:
        return self._maps.apply(ConfigMap.new(name, data={"value": value}))

    def delete(self, name: str) -> None:
        self._maps.delete(name)

    def wait_for(self, last: ConfigMap) -> None:
        self._informer.wait_for_version(last, timeout=PATIENCE)

    def values(self) -> dict[str, str]:
        return {each.key: each.data["value"] for each in self._maps.list()}


def values_at_end(recording: Recording) -> dict[str, str]:
    found = {}
    for change in recording.at(len(recording) - 1).changes():
        found[change.key] = change.object["data"]["value"]
    return found


def recorded(recording: Recording) -> list[tuple[str, str, str]]:
    return [(change.type, change.key, change.version) for change in recording.changes() if change.type != "STATE"]


def served(server: Server, namespace: str) -> list[tuple[str, str, str]]:
    return [
        (change.type, change.key, str(change.revision))
        for change in server.changes()
        if change.resource == "configmaps" and change.key.startswith(f"{namespace}/")
    ]


def test_recording_has_every_change_of_the_server_although_watches_break(
    server: Server, client: masthead.Client, path: Path
) -> None:
    maps = Maps(client, "complete")
    faults = [
        server.faults.drop_watch(after=9, resource="configmaps", namespace="complete"),
        server.faults.drop_watch(after=7, resource="configmaps", namespace="complete", skip=1),
    ]
    with Recorder(maps.factory, path), maps.factory:
        maps.factory.wait_for_cache_sync(timeout=PATIENCE)
        # Only new objects while watches break: by unchanged ones the informer recognizes its server, and goes on.
        written = [maps.write(f"map-{number}", str(number)) for number in range(30)]
        for fault in faults:
            fault.block_until_hit()
        maps.wait_for(written[-1])
        for number in range(60):
            maps.write(f"map-{number % 7}", f"again {number}")
            if number % 11 == 10:
                maps.delete(f"map-{number % 7}")
        maps.wait_for(maps.write("last", "end"))
    with Recording(path) as recording:
        assert not recording.gaps
        assert recorded(recording) == served(server, "complete")
        assert values_at_end(recording) == maps.values()


def test_list_after_an_expired_watch_is_a_gap(server: Server, client: masthead.Client, path: Path) -> None:
    maps = Maps(client, "expired")
    first = maps.write("a", "0")
    # After the initial object, its bookmark, and one change.
    broken = server.faults.drop_watch(after=3, resource="configmaps", namespace="expired")
    server.faults.expire_watch(resource="configmaps", namespace="expired", skip=1)
    with Recorder(maps.factory, path) as recorder, maps.factory:
        maps.factory.wait_for_cache_sync(timeout=PATIENCE)
        maps.write("a", "1")
        broken.block_until_hit()
        # The watch is opened again later, and refused.
        maps.wait_for(maps.write("a", "2"))
        maps.wait_for(maps.write("a", "3"))
    assert recorder.statistics.gaps == 1
    with Recording(path) as recording:
        (gap,) = recording.gaps
        assert gap.kind is not None
        assert gap.kind.gvk.kind == "ConfigMap"
        assert "listed again" in gap.why
        changes = recording.history(ConfigMap, "a", "expired")
        assert [(change.type, change.is_listed) for change in changes] == [
            ("STATE", False),
            ("MODIFIED", False),
            ("MODIFIED", True),
            ("MODIFIED", False),
        ]
        assert changes[0].version == first.metadata.resource_version


def test_restarted_recorder_marks_the_time_in_between(client: masthead.Client, path: Path) -> None:
    maps = Maps(client, "restarted")
    maps.write("stays", "0")
    maps.write("changes", "0")
    maps.write("goes", "0")
    with Recorder(maps.factory, path), maps.factory:
        maps.factory.wait_for_cache_sync(timeout=PATIENCE)
    maps.write("changes", "1")
    maps.delete("goes")
    maps.write("comes", "1")
    again = Maps(client, "restarted")
    with Recorder(again.factory, path), again.factory:
        again.factory.wait_for_cache_sync(timeout=PATIENCE)
    with Recording(path) as recording:
        assert [part.name for part in recording.paths] == ["test.mhr", "test.mhr.2"]
        assert [gap.why for gap in recording.gaps] == ["the recorder did not run"]
        assert values_at_end(recording) == maps.values()
        later = {change.name: change.type for change in recording.changes() if change.is_listed}
        assert later == {"changes": "MODIFIED", "goes": "DELETED", "comes": "ADDED"}


def test_each_part_of_a_rotation_has_the_whole_state(server: Server, client: masthead.Client, path: Path) -> None:
    maps = Maps(client, "rotated")
    for number in range(5):
        maps.write(f"still-{number}", "0")
    with Recorder(maps.factory, path, max_bytes=1500, flush_every=0.01) as recorder, maps.factory:
        maps.factory.wait_for_cache_sync(timeout=PATIENCE)
        number = 0
        while recorder.statistics.files < 3:
            number += 1
            maps.wait_for(maps.write("a", str(number)))
        maps.wait_for(maps.write("a", "end"))
    with Recording(path) as recording:
        parts = list(recording.paths)
        assert len(parts) >= 3
        assert not recording.gaps
        assert recorded(recording) == served(server, "rotated")[5:]
        assert values_at_end(recording) == maps.values()
    with Recording([parts[-1]]) as alone:
        assert values_at_end(alone) == maps.values()


def test_old_parts_are_removed(client: masthead.Client, path: Path) -> None:
    maps = Maps(client, "pruned")
    with Recorder(maps.factory, path, max_bytes=1500, keep=2, flush_every=0.01) as recorder, maps.factory:
        maps.factory.wait_for_cache_sync(timeout=PATIENCE)
        number = 0
        while recorder.statistics.files < 4:
            number += 1
            maps.wait_for(maps.write("a", str(number)))
    with Recording(path) as recording:
        assert len(recording.paths) == 2
        assert values_at_end(recording) == maps.values()


def test_secrets_are_left_out_unless_they_are_wanted(client: masthead.Client, tmp_path: Path) -> None:
    client.core_v1.secrets("redacted").create(Secret.new("s", string_data={"password": "hunter2"}))
    texts = []
    for name, rules in (("without", DEFAULT_RULES), ("with", ())):
        factory = masthead.SharedInformerFactory(client, namespace="redacted")
        secrets = factory.core_v1.secrets
        with Recorder(factory, tmp_path / name, redact=rules), factory:
            factory.wait_for_cache_sync(timeout=PATIENCE)
            assert len(secrets.lister.list()) == 1
        with Recording(tmp_path / name) as recording:
            assert list(recording.redacted) == list(rules)
            texts += [change.json for change in recording.changes()]
    assert [b"aHVudGVyMg" in text for text in texts] == [False, True]


def test_later_informers_are_recorded_too(client: masthead.Client, path: Path) -> None:
    maps = Maps(client, "later")
    with Recorder(maps.factory, path), maps.factory:
        maps.factory.wait_for_cache_sync(timeout=PATIENCE)
        secrets = maps.factory.core_v1.secrets.informer
        secrets.wait_for_cache_sync(timeout=PATIENCE)
        secrets.wait_for_version(client.core_v1.secrets("later").create(Secret.new("s")), timeout=PATIENCE)
    with Recording(path) as recording:
        assert [change.kind.gvk.kind for change in recording.changes()] == ["Secret"]


def test_informers_with_different_selectors_make_one_history(client: masthead.Client, path: Path) -> None:
    maps = client.core_v1.config_maps("selected")
    factory = masthead.SharedInformerFactory(client, namespace="selected")
    informers = [factory.informer(ConfigMap, label_selector=selector) for selector in ("a", "b")]
    with Recorder(factory, path), factory:
        factory.wait_for_cache_sync(timeout=PATIENCE)
        maps.create(ConfigMap.new("both", labels={"a": "1", "b": "1"}))
        maps.create(ConfigMap.new("one", labels={"a": "1"}))
        # It leaves one of the two, and still exists.
        maps.patch("both", Patch.merge({"metadata": {"labels": {"a": None}}}))
        last = maps.create(ConfigMap.new("last", labels={"a": "1", "b": "1"}))
        for informer in informers:
            informer.wait_for_version(last, timeout=PATIENCE)
    with Recording(path) as recording:
        present = {change.name for change in recording.at(len(recording) - 1).changes()}
        assert present == {each.metadata.name for each in maps.list()}
        assert len({change.version for change in recording.changes()}) == len(list(recording.changes()))


async def test_recorder_serves_the_async_facade(config: Config, path: Path) -> None:
    async with masthead.aio.Client(config) as client:
        factory = masthead.aio.SharedInformerFactory(client, namespace="async")
        informer = factory.core_v1.config_maps.informer
        async with Recorder(factory, path, labels={"cluster": "test"}) as recorder, factory:
            await factory.wait_for_cache_sync(PATIENCE)
            created = await client.core_v1.config_maps("async").create(ConfigMap.new("a"))
            await informer.wait_for_version(created, PATIENCE)
            assert "recording" in repr(recorder)
    assert "stopped" in repr(recorder)
    with Recording(path) as recording:
        assert [(change.type, change.name) for change in recording.changes()] == [("ADDED", "a")]
        assert recording.labels == {"cluster": "test"}


@contextmanager
def disk(monkeypatch: pytest.MonkeyPatch, write: object) -> Iterator[None]:
    """Replace the disk of recorders, whose thread has a name."""
    plain = os.write

    def replaced(descriptor: int, data: bytes) -> int:
        if threading.current_thread().name == "masthead-recorder":
            write()  # type: ignore[operator]
        return plain(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", replaced)
        yield


def test_full_disk_costs_changes_and_nothing_else(
    client: masthead.Client, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recorder_module, "_MIN_RETRY", 0.01)
    monkeypatch.setattr(recorder_module, "_MAX_RETRY", 0.01)
    maps = Maps(client, "full")
    is_full = threading.Event()

    def write() -> None:
        if is_full.is_set():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with (
        disk(monkeypatch, write),
        Recorder(maps.factory, path, flush_every=0.01) as recorder,
        maps.factory,
    ):
        maps.factory.wait_for_cache_sync(timeout=PATIENCE)
        maps.wait_for(maps.write("a", "0"))
        maps.write("gone", "0")
        is_full.set()
        for number in range(1, 20):
            maps.wait_for(maps.write("a", str(number)))
        maps.delete("gone")
        assert wait_until(lambda: "space" in recorder.statistics.error, within=PATIENCE)
        is_full.clear()
        assert wait_until(lambda: not recorder.statistics.error, within=PATIENCE)
        maps.wait_for(maps.write("b", "after"))
    statistics = recorder.statistics
    assert statistics.dropped
    assert [each.levelname for each in caplog.records if "the recording pauses" in each.message] == ["ERROR"]
    with Recording(path) as recording:
        assert not recording.cut_off
        assert values_at_end(recording) == maps.values()
        assert recording.gaps
        # Whatever is there is in order, although much is missing.
        versions = [int(change.version) for change in recording.history(ConfigMap, "a", "full")]
        assert versions == sorted(versions)


def test_slow_disk_costs_changes_and_no_memory(
    client: masthead.Client, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "_MAX_BACKLOG", 20_000)
    maps = Maps(client, "slow")
    is_free = threading.Event()
    is_free.set()
    with (
        disk(monkeypatch, lambda: is_free.wait(PATIENCE)),
        Recorder(maps.factory, path, flush_every=0.01) as recorder,
        maps.factory,
    ):
        maps.factory.wait_for_cache_sync(timeout=PATIENCE)
        is_free.clear()
        number = 0
        while not recorder.statistics.dropped:
            number += 1
            maps.wait_for(maps.write(f"map-{number % 3}", str(number)))
        maps.delete("map-1")
        is_free.set()
        assert wait_until(lambda: recorder.statistics.gaps > 0, within=PATIENCE)
        maps.wait_for(maps.write("last", "end"))
    assert recorder.statistics.dropped
    with Recording(path) as recording:
        assert values_at_end(recording) == maps.values()
        assert any("too slow" in gap.why for gap in recording.gaps)


def test_factory_has_one_recorder(client: masthead.Client, tmp_path: Path) -> None:
    maps = Maps(client, "twice")
    with (
        Recorder(maps.factory, tmp_path / "first"),
        pytest.raises(RecordingError, match="another recorder"),
    ):
        Recorder(maps.factory, tmp_path / "second").start()
    assert [each.name for each in tmp_path.iterdir()] == ["first"]
    # The first one has ended.
    with Recorder(maps.factory, tmp_path / "third"):
        pass


def test_wrong_arguments_are_refused(client: masthead.Client, path: Path) -> None:
    factory = masthead.SharedInformerFactory(client)
    with pytest.raises(ArgumentError, match="max_bytes"):
        Recorder(factory, path, max_bytes=0)
    with pytest.raises(ArgumentError, match="SharedInformerFactory"):
        Recorder(client, path)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="redact"):
        Recorder(factory, path, redact=["nonsense"])
    with pytest.raises(RecordingError, match="cannot be written"):
        Recorder(factory, path / "missing" / "file").start()


def test_compressed_caches_are_recorded_too(client: masthead.Client, path: Path) -> None:
    maps = client.core_v1.config_maps("compact")
    maps.create(ConfigMap.new("a", data={"value": "0"}))
    factory = masthead.SharedInformerFactory(client, namespace="compact", hold="compact")
    informer = factory.core_v1.config_maps.informer
    with Recorder(factory, path), factory:
        factory.wait_for_cache_sync(timeout=PATIENCE)
        informer.wait_for_version(maps.apply(ConfigMap.new("a", data={"value": "1"}), force=True), timeout=PATIENCE)
    with Recording(path) as recording:
        assert [change.type for change in recording.changes()] == ["STATE", "MODIFIED"]
        assert values_at_end(recording) == {"compact/a": "1"}


def test_informers_with_a_queue_are_recorded_too(client: masthead.Client, path: Path) -> None:
    maps = client.core_v1.config_maps("queued")
    maps.create(ConfigMap.new("a", data={"value": "0"}))
    factory = masthead.SharedInformerFactory(client, namespace="queued")
    informer = factory.informer_for(
        ConfigMap,
        lambda client, _: masthead.SharedInformer(client.core_v1.config_maps("queued"), queue=DeltaFIFO),
    )
    with Recorder(factory, path), factory:
        factory.wait_for_cache_sync(timeout=PATIENCE)
        informer.wait_for_version(maps.apply(ConfigMap.new("a", data={"value": "1"}), force=True), timeout=PATIENCE)
        maps.delete("a")
        informer.wait_for(lambda store: store.get_by_key("queued/a") is None, timeout=PATIENCE)
    with Recording(path) as recording:
        assert [change.type for change in recording.changes()] == ["ADDED", "MODIFIED", "DELETED"]
        assert not recording.gaps


async def test_objects_of_other_shards_leave_the_recording(config: Config, path: Path) -> None:
    async with masthead.aio.Client(config) as client:
        for number in range(8):
            await client.core_v1.config_maps("sharded").create(ConfigMap.new(f"map-{number}", data={"value": "0"}))
        factory = masthead.aio.SharedInformerFactory(client, namespace="sharded")
        informer = factory.core_v1.config_maps.informer
        async with Recorder(factory, path), factory:
            await factory.wait_for_cache_sync(PATIENCE)
            await informer.select_shards(ShardRanges.parse(HALF))
            kept = {obj.key for obj in informer.lister.list()}
    with Recording(path) as recording:
        assert set(values_at_end(recording)) == kept
        assert {gap.why for gap in recording.gaps} >= {"other shards are selected"}


def test_recorder_goes_on_when_the_server_restarts(tmp_path: Path, path: Path) -> None:
    def run(port: int = 0) -> AbstractContextManager[Server]:
        return masthead.server.run(bootstrap=False, token="restarts", data=tmp_path / "data", port=port)

    with ExitStack() as stack:
        with run() as first:
            port = int(first.url.rpartition(":")[2])
            client = stack.enter_context(masthead.Client(from_kubeconfig(first.kubeconfig()), field_manager="test"))
            maps = Maps(client, "default")
            recorder = stack.enter_context(Recorder(maps.factory, path))
            stack.enter_context(maps.factory)
            maps.factory.wait_for_cache_sync(timeout=PATIENCE)
            maps.wait_for(maps.write("a", "0"))
        with run(port):
            last = maps.write("b", "1")
            maps.wait_for(last)
            expected = maps.values()
            stack.close()
    assert recorder.statistics.dropped == 0
    with Recording(path) as recording:
        assert [(change.type, change.name) for change in recording.changes()] == [("ADDED", "a"), ("ADDED", "b")]
        assert values_at_end(recording) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_fork_leaves_the_recording_to_its_parent(client: masthead.Client, path: Path) -> None:
    maps = Maps(client, "forked")
    with Recorder(maps.factory, path) as recorder, maps.factory:
        maps.factory.wait_for_cache_sync(timeout=PATIENCE)
        with warnings.catch_warnings():
            # Later Pythons warn of forks beside threads, which is what this is about.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            recorder.stop()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        maps.wait_for(maps.write("a", "0"))
    with Recording(path) as recording:
        assert values_at_end(recording) == maps.values()

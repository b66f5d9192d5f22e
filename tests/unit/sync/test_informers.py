"""Informers of the blocking client: handlers in their own threads, reads from memory, and every way to stop."""

from __future__ import annotations

import gc
import logging
import threading
import weakref
from typing import TYPE_CHECKING

import pytest
from tests.unit.sync.recording_handler import TIMEOUT, RecordingHandler, threads

from masthead._cache.informer.handlers import EventHandler
from masthead._meta.patch import Patch
from masthead._sync.client import Client
from masthead._sync.informer import SharedInformer
from masthead.api.core.v1 import ConfigMap, Namespace
from masthead.errors import (
    ArgumentError,
    ClosedError,
    DeadlineError,
    InformerStateError,
    MutationError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from masthead._sync.registration import Registration
    from masthead._sync.resource import ResourceClient

pytestmark = pytest.mark.kube_server(bootstrap=False)


@pytest.fixture
def client(kubeconfig_file: Path) -> Iterator[Client]:
    with Client(kubeconfig=kubeconfig_file) as client:
        yield client


@pytest.fixture
def maps(client: Client) -> ResourceClient[ConfigMap]:
    return client.core_v1.config_maps("default")


@pytest.fixture
def informer(maps: ResourceClient[ConfigMap]) -> Iterator[SharedInformer[ConfigMap]]:
    made = SharedInformer(maps)
    yield made
    made.stop()


class TestReading:
    def test_any_thread_reads_the_store_from_memory(
        self, maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap]
    ) -> None:
        maps.create(ConfigMap.new("web", labels={"app": "web"}))
        informer.add_indexers({"app": lambda each: [each.metadata.labels["app"]]})
        with informer:
            informer.wait_for_cache_sync(TIMEOUT)
            assert informer.has_synced
            assert informer.lister.namespace("default").get("web").metadata.name == "web"
            assert [each.metadata.name for each in informer.lister.list("app=web")] == ["web"]
            assert [each.key for each in informer.indexer.by_index("app", "web")] == ["default/web"]
            assert informer.last_sync_resource_version == informer.indexer.version
            assert informer.health.is_healthy
        assert informer.is_stopped
        assert informer.lister.get("default/web").metadata.name == "web"

    def test_a_write_can_be_read_back(
        self, maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap]
    ) -> None:
        with informer:
            made = maps.create(ConfigMap.new("web"))
            informer.wait_for_version(made, TIMEOUT)
            assert informer.lister.get("default/web") == made
            changed = maps.patch("web", Patch.merge({"data": {"colour": "blue"}}))
            informer.wait_for_version(changed.metadata.resource_version, timeout=TIMEOUT)
            assert informer.lister.get("default/web").data == {"colour": "blue"}

    def test_waiting_too_long_is_an_error(self, client: Client, informer: SharedInformer[ConfigMap]) -> None:
        far = str(10**9 + int(client.core_v1.namespaces().list().metadata.resource_version))
        with informer, pytest.raises(DeadlineError, match="has not reached version"):
            informer.wait_for_version(far, 0.05)

    def test_a_wait_lasts_until_a_deleted_object_is_gone(
        self, maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap]
    ) -> None:
        maps.create(ConfigMap.new("web"))
        with informer:
            informer.wait_for_cache_sync(TIMEOUT)
            assert repr(informer).endswith("synced, 1 object>")
            maps.delete("web")
            informer.wait_for(lambda copy: copy.get_by_key("default/web") is None, TIMEOUT)
            assert informer.lister.list() == []
            with pytest.raises(RuntimeError, match="must not call the client"):
                informer.wait_for(lambda _: bool(maps.list()), TIMEOUT)

    def test_several_namespaces_share_one_store(self, client: Client) -> None:
        for name in ("red", "blue"):
            client.core_v1.namespaces().create(Namespace.new(name))
            client.core_v1.config_maps(name).create(ConfigMap.new("colour"))
        informer = SharedInformer([client.core_v1.config_maps(name) for name in ("red", "blue")])
        with informer:
            informer.wait_for_cache_sync(TIMEOUT)
            assert sorted(informer.indexer.list_keys()) == ["blue/colour", "red/colour"]

    def test_a_snapshot_is_saved_and_started_from(self, maps: ResourceClient[ConfigMap], tmp_path: Path) -> None:
        maps.create(ConfigMap.new("web"))
        with SharedInformer(maps) as first:
            first.wait_for_cache_sync(TIMEOUT)
            assert first.save(tmp_path / "maps") == 1
        second = SharedInformer(maps)

        assert second.seed(tmp_path / "maps") == 1
        assert second.lister.get("default/web").metadata.name == "web"
        second.stop()


class TestHandlers:
    def test_each_handler_has_a_thread_of_its_own_and_may_call_the_client(
        self, maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap]
    ) -> None:
        maps.create(ConfigMap.new("web", data={"colour": "red"}))
        one, other, read = RecordingHandler(), RecordingHandler(), list[dict[str, str]]()

        def call_client(obj: ConfigMap) -> None:
            read.append(maps.get(obj.metadata.name).data)
            other(obj)

        informer.add_event_handler(on_add=one, name="one")
        with informer:
            informer.add_event_handler(on_add=call_client, name="other")
            informer.wait_for_cache_sync(TIMEOUT, handlers=True)
            assert one.names == other.names == ["web"]
            assert one.threads == {"masthead-handler-one"}
            assert other.threads == {"masthead-handler-other"}
            assert read == [{"colour": "red"}]
        assert threads() == ["masthead-client"]

    def test_a_handler_that_blocks_delays_no_other(
        self, maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap]
    ) -> None:
        go_on, handler = threading.Event(), RecordingHandler()
        slow = informer.add_event_handler(on_add=lambda _: go_on.wait(TIMEOUT), name="slow")
        informer.add_event_handler(on_add=handler)
        with informer:
            slow.wait_for_cache_sync(TIMEOUT)
            for name in ("a", "b", "c"):
                maps.create(ConfigMap.new(name))
            assert handler.until("c") == ["a", "b", "c"]
            assert slow.pending == 3
            assert repr(slow) == "<Registration of 'slow', 3 pending>"
            go_on.set()

    def test_an_event_handler_gets_every_event(
        self, maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap]
    ) -> None:
        events: list[str] = []
        over = threading.Event()

        class Handler(EventHandler[ConfigMap]):
            def on_add(self, obj: ConfigMap, is_initial: bool) -> None:
                events.append(f"{'there is' if is_initial else 'came'} {obj.metadata.name}")

            def on_update(self, old: ConfigMap, new: ConfigMap) -> None:
                events.append(f"{old.data} became {new.data}")

            def on_delete(self, obj: ConfigMap, final_state_known: bool) -> None:
                assert final_state_known
                events.append(f"{obj.metadata.name} went")
                over.set()

        maps.create(ConfigMap.new("web"))
        handle = informer.add_event_handler(Handler())
        with informer:
            handle.wait_for_cache_sync(TIMEOUT)
            assert handle.has_synced
            maps.create(ConfigMap.new("db"))
            maps.patch("web", Patch.merge({"data": {"a": "b"}}))
            maps.delete("web")
            assert over.wait(TIMEOUT)

        assert events == ["there is web", "came db", "{} became {'a': 'b'}", "web went"]

    def test_coroutine_functions_are_refused(self, informer: SharedInformer[ConfigMap]) -> None:
        async def wait(_: ConfigMap) -> None: ...

        with pytest.raises(ArgumentError, match=r"use masthead\.aio"):
            informer.add_event_handler(on_add=wait)

    def test_a_removed_handler_gets_no_more_events(
        self, maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap]
    ) -> None:
        gone, stays = RecordingHandler(), RecordingHandler()
        handle = informer.add_event_handler(on_add=gone)
        informer.add_event_handler(on_add=stays)
        with informer:
            maps.create(ConfigMap.new("a"))
            gone.until("a")
            handle.remove()
            handle.remove()
            maps.create(ConfigMap.new("b"))
            stays.until("b")
        handle.remove()

        assert gone.names == ["a"]

    def test_removing_waits_for_the_call_that_is_under_way(
        self, maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap]
    ) -> None:
        inside, go_on, returned = threading.Event(), threading.Event(), threading.Event()

        def work(_: ConfigMap) -> None:
            inside.set()
            assert go_on.wait(TIMEOUT)
            returned.set()

        handle = informer.add_event_handler(on_add=work)
        maps.create(ConfigMap.new("a"))
        with informer:
            assert inside.wait(TIMEOUT)
            threading.Timer(0.01, go_on.set).start()
            handle.remove()
            assert returned.is_set()

    def test_a_wait_for_a_removed_handler_ends(self, informer: SharedInformer[ConfigMap]) -> None:
        handle = informer.add_event_handler(on_add=print)
        handle.remove()

        with pytest.raises(ClosedError, match="it was removed, or its informer has stopped"):
            handle.wait_for_cache_sync(TIMEOUT)

    @pytest.mark.parametrize("ends", ["remove", "stop"])
    def test_a_handler_may_end_itself(
        self, maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap], ends: str
    ) -> None:
        names: list[str] = []
        done = threading.Event()
        handles: list[Registration] = []

        def end(obj: ConfigMap) -> None:
            names.append(obj.metadata.name)
            handles[0].remove() if ends == "remove" else informer.stop()
            done.set()

        for name in ("a", "b", "c"):
            maps.create(ConfigMap.new(name))
        handles.append(informer.add_event_handler(on_add=end))
        informer.start()
        assert done.wait(TIMEOUT)
        informer.stop()

        assert names[0] == "a"
        assert ends == "stop" or names == ["a"]  # what it stops may go on for a moment
        assert threads() == ["masthead-client"]


class TestLife:
    def test_an_informer_runs_once(self, informer: SharedInformer[ConfigMap]) -> None:
        with pytest.raises(InformerStateError, match=r"start\(\) it first"):
            informer.wait_for_cache_sync(TIMEOUT)
        with informer:
            for again in (informer.start, informer.run):
                with pytest.raises(InformerStateError, match="make a new one"):
                    again()
            with pytest.raises(InformerStateError):
                informer.set_transform(None)
        with pytest.raises(InformerStateError, match="make a new one"):
            informer.start()
        with pytest.raises(ClosedError, match="cannot take a handler any more"):
            informer.add_event_handler(on_add=print)

    def test_running_lasts_until_it_is_stopped(
        self, maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap]
    ) -> None:
        maps.create(ConfigMap.new("web"))
        handler = RecordingHandler()
        informer.add_event_handler(on_add=handler)
        running = threading.Thread(target=informer.run)
        running.start()
        handler.until("web")
        assert running.is_alive()
        informer.stop()
        running.join(TIMEOUT)

        assert not running.is_alive()
        assert informer.is_stopped

    def test_running_ends_with_the_client(self, kubeconfig_file: Path) -> None:
        client = Client(kubeconfig=kubeconfig_file)
        informer, began, errors = (
            SharedInformer(client.core_v1.namespaces()),
            threading.Event(),
            list[object](),
        )
        informer.add_event_handler(on_add=lambda _: began.set())

        def run() -> None:
            try:
                informer.run()
            except BaseException as error:  # noqa: BLE001
                errors.append(error)

        running = threading.Thread(target=run)
        running.start()
        assert began.wait(TIMEOUT)
        client.close()
        running.join(TIMEOUT)

        assert not running.is_alive()
        assert errors == []

    def test_closing_the_client_ends_its_informers(
        self, kubeconfig_file: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with Client(kubeconfig=kubeconfig_file) as client:
            informer = SharedInformer(client.core_v1.namespaces())
            handle = informer.add_event_handler(on_add=lambda _: None)
            informer.start()
            handle.wait_for_cache_sync(TIMEOUT)

        assert informer.is_stopped
        assert threads() == []
        assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
        assert informer.lister.get("default").metadata.name == "default"
        informer.stop()
        handle.remove()
        with pytest.raises(ClosedError):
            informer.add_event_handler(on_add=print)
        with pytest.raises(ClosedError):
            informer.wait_for_version("5")

    def test_an_informer_of_a_closed_client_cannot_be_started(self, kubeconfig_file: Path) -> None:
        with Client(kubeconfig=kubeconfig_file) as client:
            informer = SharedInformer(client.core_v1.namespaces())
        for begin in (informer.start, informer.run):
            with pytest.raises(ClosedError, match="make a new one"):
                begin()
        informer.stop()

        assert informer.is_stopped

    def test_a_handler_that_does_not_return_is_left_when_its_time_is_over(
        self, client: Client, caplog: pytest.LogCaptureFixture
    ) -> None:
        inside, go_on = threading.Event(), threading.Event()

        def hang(_: Namespace) -> None:
            inside.set()
            go_on.wait(TIMEOUT)

        informer = SharedInformer(client.core_v1.namespaces())
        informer.add_event_handler(on_add=hang, name="hanging")
        informer.start()
        assert inside.wait(TIMEOUT)
        informer.stop(timeout=0.01)
        go_on.set()

        assert "handler hanging did not return within 0.01 s; its thread is left" in caplog.text
        for each in threading.enumerate():
            if each.name == "masthead-handler-hanging":
                each.join(TIMEOUT)

    @pytest.mark.slow
    def test_an_unreferenced_informer_is_collected_and_ends_with_its_client(self, kubeconfig_file: Path) -> None:
        clients = [Client(kubeconfig=kubeconfig_file)]
        informers = [SharedInformer(clients[0].core_v1.namespaces())]
        handler = threading.Event()
        informers[0].add_event_handler(on_add=lambda _: handler.set())
        informers[0].start()
        assert handler.wait(TIMEOUT)
        (thread,) = (each for each in threading.enumerate() if each.name == "masthead-client")

        gone = weakref.ref(informers.pop())
        assert gone() is None
        assert thread.is_alive()
        with pytest.warns(ResourceWarning, match="unclosed client"):
            clients.clear()
        gc.collect()
        thread.join(TIMEOUT)

        assert not thread.is_alive()

    def test_mutations_of_shared_objects_are_reported_on_stop(self, client: Client) -> None:
        informer = SharedInformer(client.core_v1.namespaces(), detect_mutations=True)
        informer.start()
        informer.wait_for_cache_sync(TIMEOUT)
        informer.lister.get("default").metadata.labels["mine"] = "yes"

        with pytest.raises(MutationError, match="default"):
            informer.stop()
        assert informer.is_stopped

    def test_handlers_are_added_and_removed_while_others_get_events(
        self, maps: ResourceClient[ConfigMap], informer: SharedInformer[ConfigMap]
    ) -> None:
        for number in range(20):
            maps.create(ConfigMap.new(f"map-{number}"))
        found: list[int] = []

        def come_and_go() -> None:
            for _ in range(5):
                handler = RecordingHandler()
                handle = informer.add_event_handler(on_add=handler)
                handle.wait_for_cache_sync(TIMEOUT)
                found.append(len(handler.names))
                handle.remove()

        with informer:
            informer.wait_for_cache_sync(TIMEOUT)
            coming = [threading.Thread(target=come_and_go) for _ in range(4)]
            for each in coming:
                each.start()
            for each in coming:
                each.join(TIMEOUT)

        assert found == [20] * 20
        assert threads() == ["masthead-client"]

    def test_mutations_are_reported_even_if_the_client_is_closed_first(self, kubeconfig_file: Path) -> None:
        with Client(kubeconfig=kubeconfig_file) as client:
            informer = SharedInformer(client.core_v1.namespaces(), detect_mutations=True)
            informer.start()
            informer.wait_for_cache_sync(TIMEOUT)
            informer.lister.get("default").metadata.labels["mine"] = "yes"

        with pytest.raises(MutationError, match="default"):
            informer.stop()

    def test_reported_mutations_do_not_hide_why_a_block_failed(
        self, client: Client, caplog: pytest.LogCaptureFixture
    ) -> None:
        informer = SharedInformer(client.core_v1.namespaces(), detect_mutations=True)

        def fail() -> None:
            with informer:
                informer.wait_for_cache_sync(TIMEOUT)
                informer.lister.get("default").metadata.labels["mine"] = "yes"
                raise LookupError("no such shelf")

        with pytest.raises(LookupError, match="no such shelf"):
            fail()
        assert informer.is_stopped
        assert "default" in caplog.text

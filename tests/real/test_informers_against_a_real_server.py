"""Informers against a real server: initial events, watches, and rejected requests."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.real.informers_proxy import Proxy
from tests.real.informers_recording import (
    PATIENCE,
    RecordingListWatch,
    agree,
    config_of,
    quick,
    recorded,
    verbs,
)
from tests.real.informers_writers import change, fill

from masthead._config.model import Impersonation
from masthead._meta.patch import Patch
from masthead.aio import Client, SharedInformer
from masthead.api.core.v1 import ConfigMap
from masthead.errors import DeadlineError, ExpiredError, ForbiddenError, GatewayTimeoutError, TransportError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.real_server import RealServer

    from masthead._client.listwatch import ListWatchOptions
    from masthead._client.resource import ResourceClient
    from masthead._meta.v1 import ResourceVersionMatch

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real-informers")]


@pytest.fixture
async def client(real_server: RealServer) -> AsyncIterator[Client]:
    """A client without a proxy."""
    async with Client(config_of(real_server)) as made:
        yield made


@pytest.fixture
async def configs(client: Client) -> ResourceClient[ConfigMap]:
    """The config maps of a namespace of the test's own."""
    made = await client.core_v1.namespaces().create({"metadata": {"generateName": "informed-"}})
    return client.core_v1.config_maps(made.metadata.name)


# The beginning


async def test_the_initial_objects_come_as_a_watch_list_without_a_list(
    configs: ResourceClient[ConfigMap],
) -> None:
    await fill(configs, range(5))
    source = RecordingListWatch(configs)
    informer = SharedInformer(source)
    recorder = recorded(informer)
    async with informer:
        await informer.wait_for_cache_sync(PATIENCE)
        assert len(informer.indexer) == 5
        assert verbs(source) == ["stream"]

        await fill(configs, [5])
        await change(configs, 0, "changed")
        await configs.delete("c-1")
        await agree(informer, recorder, configs.list)

    assert verbs(source) == ["stream"], "the same stream goes on"
    assert sorted(recorder.recorded[:5]) == [("initial", f"{configs.namespace}/c-{n}") for n in range(5)]
    assert recorder.recorded[5:] == [
        ("add", f"{configs.namespace}/c-5"),
        ("update", f"{configs.namespace}/c-0"),
        ("delete", f"{configs.namespace}/c-1"),
    ]
    assert recorder.errors == []


async def test_an_empty_collection_is_synced_at_once(configs: ResourceClient[ConfigMap]) -> None:
    for watch_list in (True, False):
        informer = SharedInformer(configs, watch_list=watch_list)
        async with informer:
            await informer.wait_for_cache_sync(PATIENCE)
            assert informer.health.objects == 0
            assert informer.health.is_healthy


async def test_thousands_of_objects_come_in_pages_whole_and_as_a_stream(
    configs: ResourceClient[ConfigMap],
) -> None:
    """The server pages only most recent lists; from its watch cache, it returns everything at once."""
    await fill(configs, range(3000))
    paged, whole, streamed = (
        RecordingListWatch(configs),
        RecordingListWatch(configs),
        RecordingListWatch(configs),
    )

    async def newest(verb: str, options: ListWatchOptions) -> ListWatchOptions:
        is_first = verb == "list" and options.resource_version == "0"
        return replace(options, resource_version="", resource_version_match=None) if is_first else options

    paged.before = newest
    informers = [
        SharedInformer(paged, watch_list=False),
        SharedInformer(whole, watch_list=False, hold="compact"),
        SharedInformer(streamed, hold="eager"),
    ]
    recorders = [recorded(informer) for informer in informers]
    for informer in informers:
        await informer.start()
    for informer, recorder in zip(informers, recorders, strict=True):
        await informer.wait_for_cache_sync(PATIENCE)
        assert len(await agree(informer, recorder, configs.list)) == 3000
    await change(configs, 1, "changed")
    await configs.delete("c-2")
    for informer, recorder in zip(informers, recorders, strict=True):
        await agree(informer, recorder, configs.list)
        await informer.stop()

    assert verbs(paged) == ["list", *["next"] * 5, "watch"]
    assert verbs(whole) == ["list", "watch"]
    assert verbs(streamed) == ["stream"]


# What is selected


async def test_an_object_that_leaves_the_selector_is_dispatched_as_deleted(
    configs: ResourceClient[ConfigMap],
) -> None:
    await fill(configs, range(3), app="web")
    await fill(configs, range(3, 6), app="db")
    by_label = SharedInformer(configs, label_selector="app=web")
    by_field = SharedInformer(configs, field_selector="metadata.name!=c-0")
    first, second = recorded(by_label), recorded(by_field)
    async with by_label, by_field:
        await by_label.wait_for_cache_sync(PATIENCE)
        await configs.patch("c-0", Patch.merge({"metadata": {"labels": {"app": "db"}}}))
        await configs.patch("c-3", Patch.merge({"metadata": {"labels": {"app": "web"}}}))
        await configs.delete("c-4")

        await agree(by_label, first, lambda: configs.list(label_selector="app=web"))
        await agree(by_field, second, lambda: configs.list(field_selector="metadata.name!=c-0"))

    assert first.recorded[3:] == [("delete", f"{configs.namespace}/c-0"), ("add", f"{configs.namespace}/c-3")]
    assert second.recorded[5:] == [
        ("update", f"{configs.namespace}/c-3"),
        ("delete", f"{configs.namespace}/c-4"),
    ]


async def test_metadata_only_objects_are_cached_too(client: Client, configs: ResourceClient[ConfigMap]) -> None:
    await fill(configs, range(5))
    about = client.metadata("v1", "configmaps", namespace=configs.namespace)
    for watch_list in (True, False):
        informer = SharedInformer(about, watch_list=watch_list)
        recorder = recorded(informer)
        async with informer:
            await informer.wait_for_cache_sync(PATIENCE)
            await change(configs, 0, f"changed {watch_list}")
            await configs.delete(f"c-{1 + watch_list}")
            listed = await agree(informer, recorder, about.list)
            assert all("data" not in obj.to_dict() for obj in listed.values())


async def test_several_namespaces_are_cached(client: Client, configs: ResourceClient[ConfigMap]) -> None:
    other = await client.core_v1.namespaces().create({"metadata": {"generateName": "informed-"}})
    others = client.core_v1.config_maps(other.metadata.name)
    await fill(configs, range(3))
    informer = SharedInformer([configs, others])
    recorder = recorded(informer)

    async def both() -> list[ConfigMap]:
        return [*await configs.list(), *await others.list()]

    async with informer:
        await informer.wait_for_cache_sync(PATIENCE)
        await fill(others, range(3))
        await configs.delete("c-0")
        await agree(informer, recorder, both)
    assert sorted(informer.indexer.list_index_values("namespace")) == sorted(
        [configs.namespace or "", other.metadata.name]
    )


# The wire


async def test_nothing_is_lost_when_connections_are_cut_and_torn(
    real_server: RealServer, configs: ResourceClient[ConfigMap]
) -> None:
    await fill(configs, range(10))
    async with Proxy(real_server.url) as proxy, Client(config_of(real_server, proxy.url)) as far:
        informer = SharedInformer(far.core_v1.config_maps(configs.namespace), backoff=quick)
        recorder = recorded(informer)
        async with informer:
            await informer.wait_for_cache_sync(PATIENCE)
            for number, bytes_left in enumerate((None, 1, 100, 700, 5, None, 2000, 400)):
                async with asyncio.TaskGroup() as group:
                    group.create_task(fill(configs, [f"{number}-{each}" for each in range(20)]))
                    group.create_task(change(configs, number, "changed"))
                    if bytes_left is None:
                        proxy.cut()
                    else:
                        proxy.tear(after=bytes_left)
                await configs.delete(f"c-{number}-0")
                await agree(informer, recorder, configs.list)
            assert informer.health.reconnects >= 7
            assert informer.health.relists == 0, "the server is the one that it was, and remembers"
    assert all(isinstance(error, TransportError) for error in recorder.errors)


async def test_a_silent_connection_is_detected(real_server: RealServer, configs: ResourceClient[ConfigMap]) -> None:
    await fill(configs, range(3))
    async with Proxy(real_server.url) as proxy, Client(config_of(real_server, proxy.url)) as far:
        informer = SharedInformer(far.core_v1.config_maps(configs.namespace), stall_after=2.0, backoff=quick)
        recorder = recorded(informer)
        async with informer:
            await informer.wait_for_cache_sync(PATIENCE)
            proxy.stall()
            await fill(configs, ["missed"])
            await configs.delete("c-0")
            await agree(informer, recorder, configs.list)
            assert informer.health.reconnects >= 1
            assert informer.health.relists == 0


async def test_a_connection_that_breaks_during_initial_events_does_not_disable_them(
    real_server: RealServer, configs: ResourceClient[ConfigMap]
) -> None:
    await fill(configs, range(40), payload=20_000)
    async with Proxy(real_server.url) as proxy, Client(config_of(real_server, proxy.url)) as far:
        source = RecordingListWatch(far.core_v1.config_maps(configs.namespace))
        informer = SharedInformer(source, stall_after=2.0, backoff=quick)
        recorder = recorded(informer)
        proxy.stall_next(after=300_000)
        async with informer:
            await agree(informer, recorder, configs.list)
        assert verbs(source)[:3] == ["stream", "list", "watch"]
        assert source.supports_initial_events
    assert isinstance(recorder.errors[0], DeadlineError)
    assert "sent nothing for 2 s" in str(recorder.errors[0])


# Versions


async def test_a_version_that_the_server_has_not_reached_is_recovered_from(
    configs: ResourceClient[ConfigMap],
) -> None:
    """A list or watch-list that must be newer is rejected after three seconds. A watch stays silent."""
    await fill(configs, range(3))

    def exaggerating(wanted: str) -> RecordingListWatch[ConfigMap]:
        """A source that requests a future version, once, in the first request of a verb."""
        source, is_done = RecordingListWatch(configs), asyncio.Event()

        async def once(verb: str, options: ListWatchOptions) -> ListWatchOptions:
            del verb
            if verbs(source)[-1] != wanted or is_done.is_set():
                return options
            is_done.set()
            match: ResourceVersionMatch | None = None if wanted == "watch" else "NotOlderThan"
            return replace(options, resource_version="999999999", resource_version_match=match)

        source.before = once
        return source

    sources = {wanted: exaggerating(wanted) for wanted in ("stream", "list", "watch")}
    informers = {
        wanted: SharedInformer(
            source,
            watch_list=wanted == "stream",
            stall_after=1.0 if wanted == "watch" else None,
            backoff=quick,
        )
        for wanted, source in sources.items()
    }
    recorders = {wanted: recorded(informer) for wanted, informer in informers.items()}
    for informer in informers.values():
        await informer.start()
    await fill(configs, ["later"])
    for wanted, informer in informers.items():
        await informer.wait_for_cache_sync(PATIENCE)
        await agree(informer, recorders[wanted], configs.list)
        await informer.stop()

    for wanted in ("stream", "list"):
        error = recorders[wanted].errors[0]
        assert isinstance(error, GatewayTimeoutError)
        assert "Too large resource version: 999999999" in str(error)
    assert informers["watch"].health.reconnects >= 1


async def test_an_expired_version_is_an_error_event_that_causes_a_relist(
    configs: ResourceClient[ConfigMap],
) -> None:
    await fill(configs, range(3))
    source, is_done = RecordingListWatch(configs), asyncio.Event()

    async def once(verb: str, options: ListWatchOptions) -> ListWatchOptions:
        """Start the first watch at an expired version, while an object is deleted."""
        if verb != "watch" or is_done.is_set():
            return options
        is_done.set()
        await configs.delete("c-0")
        return replace(options, resource_version="1")

    source.before = once
    informer = SharedInformer(source, watch_list=False, backoff=quick)
    recorder = recorded(informer)
    async with informer:
        await recorder.until(lambda: bool(recorder.errors))
        await agree(informer, recorder, configs.list)
        assert informer.health.relists == 1
        assert informer.health.is_healthy

    assert [type(error) for error in recorder.errors] == [ExpiredError]
    assert "too old resource version: 1 (" in str(recorder.errors[0])
    assert ("tombstone", f"{configs.namespace}/c-0") in recorder.recorded


async def test_a_write_can_be_waited_for(configs: ResourceClient[ConfigMap]) -> None:
    """Versions of unselected objects are reached with the next bookmark: within a minute, or at the end of a watch."""
    await fill(configs, range(3), app="web")
    source = RecordingListWatch(configs, label_selector="app=web")

    async def short(verb: str, options: ListWatchOptions) -> ListWatchOptions:
        return replace(options, timeout_seconds=4) if verb == "watch" else options

    source.before = short
    informer = SharedInformer(source, backoff=quick)
    recorder = recorded(informer)
    async with informer:
        await informer.wait_for_cache_sync(PATIENCE)
        made = await configs.create(ConfigMap.new("mine", labels={"app": "web"}))
        await informer.wait_for_version(made, PATIENCE)
        assert informer.indexer.get(made) == made

        made = await configs.patch("mine", Patch.merge({"data": {"a": "b"}}))
        await informer.wait_for_version(made.metadata.resource_version, PATIENCE)
        assert informer.indexer.get(made) == made

        unseen = await configs.create(ConfigMap.new("not-mine"))
        await informer.wait_for_version(unseen, PATIENCE)
        assert informer.indexer.get(unseen) is None
        await agree(informer, recorder, lambda: configs.list(label_selector="app=web"))
        assert informer.health.relists == 0
    assert recorder.errors == []


# Permissions


async def test_a_forbidden_resource_is_cached_as_soon_as_it_is_allowed(
    real_server: RealServer, client: Client, configs: ResourceClient[ConfigMap]
) -> None:
    namespace = configs.namespace or ""
    await fill(configs, range(3))
    roles, bindings = client.rbac_v1.roles(namespace), client.rbac_v1.role_bindings(namespace)
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}
    await roles.create({"metadata": {"name": "reader"}, "rules": [rule]})
    binding = {
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "User", "name": "jane"}],
    }
    async with Proxy(real_server.url) as proxy:
        config = replace(config_of(real_server, proxy.url), impersonate=Impersonation(user="jane"))
        async with Client(config) as jane:
            mirrored = jane.core_v1.config_maps(namespace)
            informer = SharedInformer(mirrored, backoff=quick)
            recorder = recorded(informer)
            async with informer:
                await recorder.until(lambda: len(recorder.errors) > 2)
                assert not is_healthy(informer)
                assert "jane" in informer.health.last_error

                await bindings.create(binding)
                await agree(informer, recorder, configs.list)
                assert is_healthy(informer)

                await bindings.delete("reader")
                await until_rejected(mirrored)
                proxy.cut()
                seen = len(recorder.errors)
                await recorder.until(lambda: any(isinstance(e, ForbiddenError) for e in recorder.errors[seen:]))
                assert len(informer.indexer) == 3, "what was known stays"
                assert not is_healthy(informer)
                await configs.delete("c-0")
                await fill(configs, ["new"])

                await bindings.create(binding)
                await agree(informer, recorder, configs.list)
                assert is_healthy(informer)
    assert recorder.recorded[3:] == [("tombstone", f"{namespace}/c-0"), ("add", f"{namespace}/c-new")]


def is_healthy(informer: SharedInformer[ConfigMap]) -> bool:
    return informer.health.is_healthy


async def until_rejected(configs: ResourceClient[ConfigMap]) -> None:
    """Wait until the server rejects the request."""
    async with asyncio.timeout(PATIENCE):
        try:
            while True:
                await configs.list(limit=1)
        except ForbiddenError:
            return


# A process that ends

SAVING = """
import asyncio, os, sys
from masthead.aio import Client, Config, SharedInformer

async def save(server, ca_file, namespace, path):
    config = Config(server=server, ca_file=ca_file, token=os.environ["TOKEN"])
    async with Client(config) as client, SharedInformer(client.core_v1.config_maps(namespace)) as informer:
        await informer.wait_for_cache_sync(60)
        print(await informer.save(path))

asyncio.run(save(*sys.argv[1:]))
"""


@pytest.mark.parametrize("name", ["snapshot", "snapshot.zst"])
async def test_a_seeded_informer_dispatches_only_changes_since_the_snapshot(
    real_server: RealServer, configs: ResourceClient[ConfigMap], tmp_path: Path, name: str
) -> None:
    await fill(configs, range(20))
    path = tmp_path / name
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SAVING, real_server.url, str(real_server.ca_file)),
        *(configs.namespace or "", str(path)),
        env={**os.environ, "TOKEN": real_server.token},
        stdout=asyncio.subprocess.PIPE,
    )
    saved, _ = await process.communicate()
    assert saved == b"20\n"
    await fill(configs, ["new"])
    await change(configs, 0, "changed")
    await configs.delete("c-1")

    source = RecordingListWatch(configs)
    informer = SharedInformer(source)
    assert await informer.seed(path) == 20
    recorder = recorded(informer)
    recorder.state.update({obj.key: obj for obj in informer.indexer.list()})
    async with informer:
        await informer.wait_for_cache_sync(PATIENCE)
        await agree(informer, recorder, configs.list)

    # A busy server may refuse the first proof, which is then repeated; a list would mean that the snapshot was dropped.
    assert set(verbs(source)) == {"prove", "watch"}
    assert recorder.recorded == [
        ("add", f"{configs.namespace}/c-new"),
        ("update", f"{configs.namespace}/c-0"),
        ("delete", f"{configs.namespace}/c-1"),
    ]
    assert recorder.errors == []

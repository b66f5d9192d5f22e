"""Informers against a real server that restarts, compacts, or loses its data."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.real.informers_proxy import Proxy
from tests.real.informers_recording import (
    PATIENCE,
    RecordingListWatch,
    agree,
    agree_blocking,
    config_of,
    quick,
    recorded,
    recorded_in_a_thread,
    verbs,
)
from tests.real.informers_writers import WIDGET, change, define, fill, insist, widgets_of
from tests.real_server import ASSETS, RestartableServer, missing_programs

import masthead
from masthead.aio import Client, SharedInformer
from masthead.api.core.v1 import ConfigMap
from masthead.errors import AlreadyExistsError, ExpiredError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from masthead._client.listwatch import ListWatchOptions
    from masthead._client.resource import ResourceClient

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real-informers")]

NAMESPACE, DEFAULT = "informed", "default"
ENDS_WATCHES = {"shutdown-watch-termination-grace-period": "1s"}
"""Without this, a server that is stopped waits for a minute for its watches to end."""


@pytest.fixture(scope="module")
def restartable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableServer]:
    """A server that these tests may restart."""
    if missing := missing_programs():
        pytest.skip(f"there is no {' and no '.join(missing)} in {ASSETS}")
    with RestartableServer(tmp_path_factory.mktemp("restartable"), ENDS_WATCHES) as made:
        yield made


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableServer]:
    """A server without a watch cache, so that versions expire when etcd is compacted."""
    if missing := missing_programs():
        pytest.skip(f"there is no {' and no '.join(missing)} in {ASSETS}")
    with RestartableServer(tmp_path_factory.mktemp("forgetful"), {"watch-cache": "false"}) as made:
        yield made


@pytest.fixture
async def client(restartable: RestartableServer) -> AsyncIterator[Client]:
    """A client of a server that has no config maps of ours."""
    async with Client(config_of(restartable.server), attempts=1) as made:
        await prepare(made)
        yield made


@pytest.fixture
async def forgetful_client(forgetful: RestartableServer) -> AsyncIterator[Client]:
    """A client of the other server."""
    async with Client(config_of(forgetful.server), attempts=1) as made:
        await prepare(made)
        yield made


async def prepare(client: Client) -> ResourceClient[ConfigMap]:
    """Make sure that our namespace exists and is empty."""
    try:
        await client.core_v1.namespaces().create({"metadata": {"name": NAMESPACE}})
    except AlreadyExistsError:
        await client.core_v1.config_maps(NAMESPACE).delete_collection()
    return client.core_v1.config_maps(NAMESPACE)


@pytest.mark.parametrize("at_once", [False, True], ids=["in order", "by a crash"])
async def test_nothing_is_lost_when_the_server_is_restarted_amid_writes(
    restartable: RestartableServer, client: Client, at_once: bool
) -> None:
    configs, widgets = client.core_v1.config_maps(NAMESPACE), widgets_of(client, NAMESPACE)
    await define(client)
    informers = SharedInformer(configs, backoff=quick), SharedInformer(widgets, backoff=quick)
    first, second = recorded(informers[0]), recorded(informers[1])
    is_back = asyncio.Event()

    async def write() -> None:
        """Create, update and delete, despite errors, until some time after the server is back."""
        number = left = 0
        while left < 20:
            number, left = number + 1, left + is_back.is_set()
            await insist(configs, {}, number)
            await insist(widgets, WIDGET, number)

    async def restart() -> None:
        await first.until(lambda: len(first.recorded) > 20)
        await asyncio.to_thread(restartable.stop, at_once=at_once)
        await asyncio.to_thread(restartable.start)
        is_back.set()

    async with informers[0], informers[1], asyncio.timeout(PATIENCE):
        async with asyncio.TaskGroup() as group:
            group.create_task(write())
            group.create_task(restart())
        await agree(informers[0], first, configs.list)
        await agree(informers[1], second, widgets.list)
        assert all(informer.health.is_healthy for informer in informers)
    assert first.errors
    assert second.errors
    await widgets.delete_collection()


@pytest.mark.parametrize("is_ahead", [False, True], ids=["behind", "ahead"])
async def test_a_server_that_lost_its_data_is_relisted(
    restartable: RestartableServer, client: Client, tmp_path: Path, is_ahead: bool
) -> None:
    """Whether its versions are behind ours or have overtaken them: they are not those that we knew."""
    configs = client.core_v1.config_maps(NAMESPACE)
    await fill(configs, range(300))
    async with (
        Proxy(restartable.server.url) as proxy,
        Client(config_of(restartable.server, proxy.url)) as far,
    ):
        source = RecordingListWatch(far.core_v1.config_maps(NAMESPACE))
        informer = SharedInformer(source, backoff=quick)
        recorder = recorded(informer)
        async with informer:
            await informer.wait_for_cache_sync(PATIENCE)
            reached = int(informer.last_sync_resource_version)
            await informer.save(tmp_path / "snapshot")
            await proxy.shut()
            await asyncio.to_thread(restartable.lose_everything, revisions=reached * is_ahead)
            await prepare(client)
            await fill(configs, [0, 1, "new"])
            assert (int((await configs.list()).metadata.resource_version) > reached) is is_ahead
            proxy.open()
            await agree(informer, recorder, configs.list)
            await fill(configs, ["later"])
            await agree(informer, recorder, configs.list)
            assert informer.health.relists >= 1

    keys = [f"{NAMESPACE}/c-{number}" for number in range(300)]
    after = recorder.recorded[300:]
    assert sorted(after[:300]) == sorted(("tombstone", key) for key in keys)
    assert sorted(after[300:303]) == sorted(("add", f"{NAMESPACE}/c-{name}") for name in (0, 1, "new"))
    assert after[303:] == [("add", f"{NAMESPACE}/c-later")]

    seeded = SharedInformer(configs)
    assert await seeded.seed(tmp_path / "snapshot") == 300
    recorder = recorded(seeded)
    recorder.state.update({obj.key: obj for obj in seeded.indexer.list()})
    async with seeded:
        await seeded.wait_for_cache_sync(PATIENCE)
        await agree(seeded, recorder, configs.list)


async def test_missed_deletes_are_dispatched_when_the_version_has_expired(
    restartable: RestartableServer, client: Client
) -> None:
    configs = client.core_v1.config_maps(NAMESPACE)
    await fill(configs, range(10))
    async with (
        Proxy(restartable.server.url) as proxy,
        Client(config_of(restartable.server, proxy.url)) as far,
    ):
        source = RecordingListWatch(far.core_v1.config_maps(NAMESPACE))
        informer = SharedInformer(source, backoff=quick)
        recorder = recorded(informer)
        async with informer:
            await informer.wait_for_cache_sync(PATIENCE)
            await proxy.shut()
            await fill(configs, ["new"])
            await change(configs, 0, "changed")
            for number in (1, 2, 3):
                await configs.delete(f"c-{number}")
            await asyncio.to_thread(restartable.compact)
            await asyncio.to_thread(restartable.stop)
            await asyncio.to_thread(restartable.start)
            proxy.open()
            await agree(informer, recorder, configs.list)
            assert informer.health.relists >= 1
            assert informer.health.is_healthy

    assert sorted(recorder.recorded[10:13]) == [("tombstone", f"{NAMESPACE}/c-{number}") for number in (1, 2, 3)]
    assert sorted(recorder.recorded[13:]) == [("add", f"{NAMESPACE}/c-new"), ("update", f"{NAMESPACE}/c-0")]
    assert any(isinstance(error, ExpiredError) for error in recorder.errors)
    assert verbs(source)[-1] == "stream", "and the same stream goes on"


@pytest.mark.parametrize("watch_list", [True, False], ids=["stream", "list"])
async def test_missed_deletes_are_dispatched_when_etcd_has_compacted(
    forgetful: RestartableServer, forgetful_client: Client, watch_list: bool
) -> None:
    configs = forgetful_client.core_v1.config_maps(NAMESPACE)
    await fill(configs, range(10))
    async with Proxy(forgetful.server.url) as proxy, Client(config_of(forgetful.server, proxy.url)) as far:
        informer = SharedInformer(far.core_v1.config_maps(NAMESPACE), backoff=quick, watch_list=watch_list)
        recorder = recorded(informer)
        async with informer:
            await informer.wait_for_cache_sync(PATIENCE)
            await proxy.shut()
            await configs.delete("c-1")
            await fill(configs, ["new"])
            await asyncio.to_thread(forgetful.compact)
            proxy.open()
            await agree(informer, recorder, configs.list)
    assert recorder.recorded[10:] == [("tombstone", f"{NAMESPACE}/c-1"), ("add", f"{NAMESPACE}/c-new")]
    assert any(isinstance(error, ExpiredError) for error in recorder.errors)


async def test_an_expired_page_is_followed_by_a_full_list(
    forgetful: RestartableServer, forgetful_client: Client
) -> None:
    configs = forgetful_client.core_v1.config_maps(NAMESPACE)
    await fill(configs, range(60))
    source = RecordingListWatch(configs)

    async def expiring(verb: str, options: ListWatchOptions) -> ListWatchOptions:
        """Before the third page, let an object go, another come, and the storage forget that it was otherwise."""
        if verb == "list" and verbs(source).count("next") == 2 and options.continue_:
            await configs.delete("c-0")
            await fill(configs, ["new"])
            await asyncio.to_thread(forgetful.compact)
        return options

    source.before = expiring
    informer = SharedInformer(source, watch_list=False, page_size=20, backoff=quick)
    recorder = recorded(informer)
    async with informer:
        await informer.wait_for_cache_sync(PATIENCE)
        await agree(informer, recorder, configs.list)
    assert verbs(source) == ["list", "next", "next", "list", "watch"]
    assert source.log[3][1].limit == 0
    assert [type(error) for error in recorder.errors] == [ExpiredError]
    assert {what for what, _ in recorder.recorded} == {"initial"}


def test_a_blocking_informer_survives_a_restart_and_a_loss(restartable: RestartableServer) -> None:
    with masthead.Client(config_of(restartable.server), attempts=1) as client:
        configs = client.core_v1.config_maps(DEFAULT)
        configs.create(ConfigMap.new("before"))
        informer = masthead.SharedInformer(configs, backoff=quick)
        recorder = recorded_in_a_thread(informer)
        with informer:
            informer.wait_for_cache_sync(PATIENCE)
            restartable.stop(at_once=True)
            restartable.start()
            configs.create(ConfigMap.new("between"))
            agree_blocking(informer, recorder, configs.list())

            restartable.lose_everything()
            configs.create(ConfigMap.new("behind"))
            agree_blocking(informer, recorder, configs.list())
        assert recorder.recorded[-3:] == [
            ("tombstone", f"{DEFAULT}/before"),
            ("tombstone", f"{DEFAULT}/between"),
            ("add", f"{DEFAULT}/behind"),
        ]

"""Informers and time, which does not pass unless everybody waits."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cache.collection import Collection
from tests.unit.cache.story import Story
from tests.unit.cache.worlds import heard, reached, state_of, turns_until

from masthead._cache.informer.informer import SharedInformer
from masthead._meta.v1 import StatusDetails
from masthead._sansio.backoff import Backoff
from masthead.errors import DeadlineError, ExpiredError, InternalError, ProtocolError, TooManyRequestsError
from masthead.testing.virtual_time import VirtualLoop, in_virtual_time, now

if TYPE_CHECKING:
    from masthead._cache.reflector.listwatch import ListOptions
    from masthead.api.core.v1 import ConfigMap


def following(collection: Collection, **options: Any) -> SharedInformer[ConfigMap]:
    return SharedInformer(collection, **options)


def busy(seconds: int) -> TooManyRequestsError:
    details = StatusDetails(retry_after_seconds=seconds)
    return TooManyRequestsError("wait", code=429, reason="TooManyRequests", details=details)


@pytest.mark.guarantee(6)
@in_virtual_time
async def test_a_page_that_expires_in_the_middle_of_a_list_loses_nothing() -> None:
    collection = Collection(knows_initial_events=False)
    for name in "abcde":
        collection.put(name)
    informer = following(collection, page_size=2)
    story = Story()
    handle = informer.add_event_handler(story)
    async with informer:
        await turns_until(lambda: len(collection.asked) == 2)
        collection.forget_pages()
        await handle.wait_synced(30)
    assert collection.verbs == ["list", "page", "list", "watch 15"]
    assert collection.asked[2].options.limit == 0  # in one piece, of which nothing can expire
    assert sorted(story.told) == [f"initial {name}=1" for name in "abcde"]


@pytest.mark.guarantee(6)
@in_virtual_time
async def test_a_server_that_asks_for_time_is_given_it() -> None:
    collection = Collection()
    collection.put("a")
    collection.trouble.extend([busy(40), None])
    async with following(collection) as informer:
        await informer.wait_synced(120)
        assert 40 <= now() < 80


@pytest.mark.guarantee(6)
@in_virtual_time
async def test_a_server_that_fails_is_asked_ever_less_often_and_never_given_up() -> None:
    collection = Collection()
    collection.trouble.extend([InternalError("no etcd", code=500, reason="InternalError")] * 100)
    async with following(collection) as informer:
        with pytest.raises(DeadlineError, match=r"has not synced within 600 s; the last error was .*no etcd"):
            await informer.wait_synced(600)
        assert 10 <= len(collection.asked) <= 40
        assert informer.health.failures == len(collection.asked) - informer.health.state.count("listing")
        collection.trouble.clear()
        await informer.wait_synced(120)
        assert informer.health.failures == 0
        assert "no etcd" in informer.health.last_error


@pytest.mark.guarantee(6)
@in_virtual_time
async def test_watches_that_end_at_once_are_no_reason_to_hurry() -> None:
    collection = Collection()
    collection.put("a")
    async with following(collection) as informer:
        await informer.wait_synced(30)
        began = len(collection.asked)

        async def end_each() -> None:
            while True:
                collection.end()
                await asyncio.sleep(0.01)

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(300):
                await end_each()
        assert len(collection.asked) - began < 60


class Unwatchable(Collection):
    """Which can be listed, and which begins no watch any more."""

    is_ill = False

    def _meet(self, verb: str, options: ListOptions) -> None:
        super()._meet(verb, options)
        if self.is_ill and verb == "watch":
            raise InternalError("bad gateway", code=502, reason="InternalError")


@pytest.mark.guarantee(6)
@in_virtual_time
async def test_a_server_that_lists_but_grants_no_watch_is_listed_every_few_minutes_and_health_tells() -> None:
    collection = Unwatchable()
    collection.put("a")
    async with following(collection) as informer:
        await informer.wait_synced(30)
        collection.is_ill = True
        collection.end(OSError("cable"))
        await asyncio.sleep(0)
        for number in range(10):
            version = collection.put("b", str(number)).metadata.resource_version
            await informer.wait_for(version, 240)
        assert 8 <= informer.health.relists <= 12
        await turns_until(lambda: informer.health.state == "waiting")
        assert not informer.health.is_healthy
        collection.is_ill = False
        await asyncio.sleep(120)
        collection.bookmark()
        await asyncio.sleep(1)
        assert informer.health.is_healthy


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_that_a_server_is_there_does_not_make_the_copy_fresh_nor_the_informer_healthy() -> None:
    collection = Collection()
    collection.put("a")
    async with following(collection) as informer:
        await informer.wait_synced(30)
        collection.end(OSError("cable"))
        await asyncio.sleep(10)
        assert collection.verbs[-2:] == ["proof", "watch 11"]
        assert informer.health.staleness == pytest.approx(10)
        assert informer.health.failures == 1
        await asyncio.sleep(30)  # the new watch has lasted
        assert informer.health.staleness == pytest.approx(40)
        assert informer.health.failures == 0


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_only_a_watch_that_follows_may_be_told_that_its_version_is_forgotten(
    caplog: pytest.LogCaptureFixture,
) -> None:
    collection = Collection()
    collection.put("a")
    async with following(collection) as informer:
        await informer.wait_synced(30)
        gone = ExpiredError("too old resource version", code=410, reason="Expired")
        collection.trouble.extend([gone] * 100)
        collection.end(gone)
        await asyncio.sleep(0)
        assert caplog.records == []
        await asyncio.sleep(100)
        assert informer.health.failures >= 3
        assert not informer.health.is_healthy
        assert len(caplog.records) == informer.health.failures
        assert caplog.messages[0] == (
            "configmaps: trying again at once, after this failed: too old resource version (410 Expired)"
        )


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_silence_is_noticed_in_the_time_that_was_asked_for() -> None:
    collection = Collection()
    collection.put("a")
    async with following(collection, stall_after=20) as informer:
        await informer.wait_synced(30)
        collection.is_silent = True
        collection.put("a", "2")
        await asyncio.sleep(15)
        assert state_of(informer) == {"a": "1"}
        assert informer.health.staleness == pytest.approx(15)
        await asyncio.sleep(10)
        assert state_of(informer) == {"a": "2"}
        assert informer.health.staleness <= 5
        assert informer.health.reconnects == 1


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_health_tells_what_is_going_on() -> None:
    collection = Collection()
    collection.put("a")
    informer = following(collection, backoff=lambda: Backoff(first=10, cap=10, jitter=0))
    assert (informer.health.state, informer.health.staleness) == ("new", float("inf"))
    assert not informer.health.is_healthy
    collection.trouble.append(InternalError("no etcd", code=500, reason="InternalError"))
    async with informer:
        await asyncio.sleep(1)
        health = informer.health
        assert (health.state, health.failures, health.is_synced) == ("waiting", 1, False)
        assert health.last_error.startswith("InternalError: no etcd (500 InternalError).")
        assert health.since_error == pytest.approx(1)
        await informer.wait_synced(30)
        await asyncio.sleep(7)
        health = informer.health
        assert (health.state, health.failures, health.is_synced) == ("watching", 0, True)
        assert (health.version, health.objects) == ("11", 1)
        assert health.is_healthy
        assert health.staleness == pytest.approx(7)
        assert health.since_event == float("inf")
        collection.bookmark()
        await asyncio.sleep(2)
        assert informer.health.staleness == pytest.approx(2)
        collection.put("a", "2")
        await asyncio.sleep(3)
        assert informer.health.since_event == pytest.approx(3)
        assert informer.health.relists == 0
    assert informer.health.state == "stopped"
    assert not informer.health.is_healthy


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_a_server_that_ignores_what_it_was_asked_for_is_listed_after_some_seconds() -> None:
    collection = Collection(ends_initial_events=False)
    collection.put("a")
    async with following(collection) as informer:
        await informer.wait_synced(60)
        assert now() <= 30
    assert collection.verbs == ["watch-list", "list", "watch 11"]
    assert not collection.knows_initial_events  # whoever asks next lists at once
    async with following(collection) as informer:
        await informer.wait_synced(1)
    assert collection.verbs[3:] == ["list", "watch 11"]


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_a_loop_that_stood_still_itself_proves_nothing_about_the_server() -> None:
    collection = Collection(ends_initial_events=False)
    collection.put("a")
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    async with following(collection) as informer:
        await asyncio.sleep(9)
        loop.advance(1.2)
        await informer.wait_synced(60)
    assert collection.verbs == ["watch-list", "list", "watch 11"]
    assert collection.knows_initial_events


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_a_refusal_is_remembered_by_the_informer_and_is_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    collection = Collection(refuses=True)
    collection.put("a")
    async with following(collection) as informer:
        await informer.wait_synced(1)
        collection.forget()
        collection.put("b")
        collection.forget()
        collection.end(InternalError("gone", code=410, reason="Expired"))
        await informer.wait_for(str(collection.version), 60)
        assert informer.health.relists == 1
    assert collection.verbs[:3] == ["watch-list", "list", "watch 11"]
    assert collection.verbs.count("watch-list") == 1
    assert caplog.records == []


@pytest.mark.guarantee(9)
@in_virtual_time
async def test_resyncs_come_at_their_own_times_to_those_who_asked_and_ask_the_server_nothing() -> None:
    collection = Collection()
    collection.put("a")
    often, seldom, never = Story(), Story(), Story()
    informer = following(collection, resync=60, stall_after=10_000)
    for story, period in ((often, None), (seldom, 150.0), (never, 0.0)):
        informer.add_event_handler(story, resync=period)
    async with informer:
        await asyncio.sleep(310)
        asked = len(collection.asked)
    assert often.told == ["initial a=1"] + ["update a=1>1"] * 5
    assert seldom.told == ["initial a=1", "update a=1>1"]
    assert never.told == ["initial a=1"]
    assert asked <= 2


@pytest.mark.guarantee(9)
@in_virtual_time
async def test_a_resync_that_cannot_be_had_is_told(caplog: pytest.LogCaptureFixture) -> None:
    collection = Collection()
    collection.put("a")
    story = Story()
    informer = following(collection)
    informer.add_event_handler(story, resync=30, name="eager")
    async with informer:
        await asyncio.sleep(40)
    assert story.told == ["initial a=1"]
    assert caplog.messages == [
        "handler eager: a resync every 30 s was asked for, but the informer has no resync period: never"
    ]


@pytest.mark.guarantee(10)
@in_virtual_time
async def test_waiting_for_a_version_ends_in_time_and_says_why() -> None:
    collection = Collection()
    collection.put("a")
    async with following(collection) as informer:
        await informer.wait_synced(30)
        with pytest.raises(DeadlineError, match="has not reached version 99 within 5 s"):
            await informer.wait_for("99", timeout=5)
        assert now() == pytest.approx(5, abs=1)
        collection.version = 98
        collection.bookmark()
        collection.put("b")
        await informer.wait_for("99", timeout=5)


@in_virtual_time
async def test_all_that_is_logged_while_all_is_well_is_that_it_has_synced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    collection = Collection()
    story = Story()
    informer = following(collection, resync=60)
    handle = informer.add_event_handler(story)
    async with informer:
        for number in range(60):
            collection.put("a", str(number))
            await asyncio.sleep(30)
            collection.bookmark()
            if number % 20 == 19:
                collection.end()
        await reached(informer, str(collection.version), handle)
    await heard(handle)
    assert story.state == {"a": "59"}
    assert caplog.record_tuples == [
        ("masthead.cache", logging.INFO, "informer configmaps has synced: 1 object in 0.00 s")
    ]


@in_virtual_time
async def test_what_goes_wrong_is_one_line_and_its_end_another(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    collection = Collection()
    collection.put("a")
    async with following(collection) as informer:
        await informer.wait_synced(30)
        collection.end(InternalError("no etcd", code=500, reason="InternalError"))
        await asyncio.sleep(60)
        collection.put("a", "2")
        await informer.wait_for(str(collection.version), 60)
    assert [(each.levelname, "no etcd" in each.message) for each in caplog.records] == [
        ("INFO", False),
        ("WARNING", True),
        ("INFO", False),
    ]
    assert "has synced" in caplog.messages[0]
    assert caplog.messages[2].endswith("all is well again, after 1 failure")


@in_virtual_time
async def test_a_watch_that_breaks_off_is_a_warning_only_once_it_keeps_failing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    collection = Collection()
    collection.put("a")
    async with following(collection) as informer:
        await informer.wait_synced(30)
        caplog.clear()
        collection.end(ProtocolError("the connection was lost"))
        await asyncio.sleep(60)
        collection.put("a", "2")
        await informer.wait_for(str(collection.version), 60)
    assert {each.levelname for each in caplog.records} == {"INFO"}
    assert "the connection was lost" in caplog.messages[0]

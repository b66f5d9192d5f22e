"""Which API a recorder writes to, and core/v1 Events for servers without the newer one."""

from __future__ import annotations

import asyncio

from tests.unit.record.cluster import cluster

from masthead.testing.virtual_time import in_virtual_time


@in_virtual_time
async def test_a_server_without_the_new_api_gets_core_events() -> None:
    async with cluster(host="node-1") as it:
        gone = it.server.faults.fail(404, group="", resource="", verb="get", times=None)
        it.server.faults.fail(404, group="events.k8s.io", resource="events", verb="write", times=None)
        other = await it.create("other")
        for _ in range(3):
            it.recorder.record(it.site, "Warning", "Failed", "old", action="Trying", related=other)
            await asyncio.sleep(10)
        assert await it.recorder.flush()
        assert gone.hits == 1
        (event,) = await it.client.core_v1.events("default").list()
        assert (event.count, event.message, event.type, event.reason) == (3, "old", "Warning", "Failed")
        assert event.first_timestamp is not None
        assert event.last_timestamp is not None
        assert (event.last_timestamp - event.first_timestamp).total_seconds() == 20
        assert event.source is not None
        assert (event.source.component, event.source.host) == ("operator", "node-1")
        assert (event.reporting_component, event.reporting_instance) == ("operator", "operator-node-1")
        assert event.involved_object.uid == it.site.metadata.uid
        paths = {request.path.partition("/namespaces")[0] for request in it.requests() if request.method != "GET"}
        assert paths == {"/api/v1"}


@in_virtual_time
async def test_the_new_api_may_vanish() -> None:
    async with cluster() as it:
        it.recorder.record(it.site, "Normal", "First", "new")
        assert await it.recorder.flush()
        it.server.faults.fail(404, group="", resource="", verb="get", times=None)
        it.server.faults.fail(404, group="events.k8s.io", resource="events", verb="write", times=None)
        for _ in range(2):
            it.recorder.record(it.site, "Normal", "Second", "old")
            await asyncio.sleep(10)
        found = {event.message: event.count for event in await it.client.core_v1.events("default").list()}
        assert found == {"new": None, "old": 2}


@in_virtual_time
async def test_discovery_that_is_forbidden_is_not_needed() -> None:
    async with cluster() as it:
        it.server.faults.fail(403, group="", resource="", verb="get", times=None)
        it.recorder.record(it.site, "Normal", "First", "new")
        assert await it.recorder.flush()
        assert await it.counts() == {"new": 1}

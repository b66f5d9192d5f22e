"""The event recorder against the embedded server, in virtual time."""

from __future__ import annotations

import masthead.server
from masthead.aio import Client, EventRecorder
from masthead.config import from_kubeconfig
from masthead.testing.virtual_time import LoopClock, in_virtual_time


@in_virtual_time
async def test_an_event_is_written_in_the_background() -> None:
    clock = LoopClock()
    async with (
        masthead.server.run(clock=clock) as server,
        Client(from_kubeconfig(server.kubeconfig())) as client,
    ):
        site = await client.core_v1.config_maps("default").create({"metadata": {"name": "site"}})
        async with EventRecorder(client, "operator", clock=clock.now) as recorder:
            recorder.record(site, "Normal", "Created", "Created Deployment web")
            assert await recorder.flush()
        (event,) = await client.events_v1.events("default").list()
        assert (event.note, event.regarding.uid) == ("Created Deployment web", site.metadata.uid)

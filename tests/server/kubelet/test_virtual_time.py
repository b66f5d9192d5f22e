"""Commands and logs in virtual time: hours take no time, and nothing polls."""

from __future__ import annotations

from tests.server.kubelet.remote import PODS, connected, pod

import masthead.server
from masthead.testing.virtual_time import LoopClock, in_virtual_time, now


@in_virtual_time
async def test_a_command_sleeps_for_hours_while_its_log_is_followed() -> None:
    async with (
        masthead.server.run(clock=LoopClock(), token=None, bootstrap=False, kubelet=True) as server,
        connected(server) as remote,
    ):
        remote.http._timeout = remote.http._timeout.__class__(total=None)
        body = pod(restartPolicy="Never")
        body["spec"]["containers"][0]["command"] = ["sh", "-c", "for i in 1 2 3; do echo $i; sleep 1h; done"]
        await remote.create(body, start=False)
        async with remote.http.get(f"{PODS}/web/log?follow=1&timestamps=1") as response:
            lines = (await response.text()).splitlines()

        assert [line[11:19] + line[-2:] for line in lines] == ["00:00:00 1", "01:00:00 2", "02:00:00 3"]
        assert 3 * 3600 <= now() < 3 * 3600 + 60
        assert (await remote.get())["status"]["phase"] == "Succeeded"

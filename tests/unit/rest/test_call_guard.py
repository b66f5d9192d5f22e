"""The guard of calls: work whose time is over sends nothing more, whichever client it uses."""

from __future__ import annotations

import asyncio

import pytest

from masthead._rest.call import Subject
from masthead._rest.call_guard import CallGuard, admit_call, call_guard
from masthead.errors import ClosedError
from masthead.testing.virtual_time import in_virtual_time, now

CALL = Subject("patch", "pods", "default", "web")


def test_without_a_guard_every_call_is_admitted() -> None:
    with admit_call(CALL):
        pass


def test_a_guard_refuses_calls_without_the_lease_and_once_it_is_revoked() -> None:
    is_leading = True
    guard = CallGuard(lambda: is_leading)
    with guard.admit(CALL):
        assert guard.in_flight == 1
    is_leading = False
    with pytest.raises(ClosedError, match="patch pods default/web: not sent"), guard.admit(CALL):
        pass
    is_leading = True
    guard.revoke()
    with pytest.raises(ClosedError), guard.admit(CALL):
        pass
    assert guard.in_flight == 0


@in_virtual_time
async def test_tasks_inherit_the_guard_of_the_work_that_starts_them() -> None:
    async def call() -> None:
        with admit_call(CALL):
            await asyncio.sleep(5)

    async def work() -> asyncio.Task[None]:
        call_guard.set(guard)
        return asyncio.get_running_loop().create_task(call())

    guard = CallGuard(lambda: True)
    started = await asyncio.get_running_loop().create_task(work())
    await asyncio.sleep(1)
    assert guard.in_flight == 1
    assert not await guard.wait_for_idle(1)
    began = now()
    assert await guard.wait_for_idle(60)
    assert now() - began < 4
    await started

"""A server in the test's own loop, with a clock that stands still, and a client of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.kubelet.remote import Remote, connected

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def remote() -> AsyncIterator[Remote]:
    async with (
        masthead.server.run(clock=VirtualClock, token=None, bootstrap=False) as server,
        connected(server) as made,
    ):
        yield made

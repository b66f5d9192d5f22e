"""Fixtures of most server tests: a server with a virtual clock, and a client of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.calls import Caller
from tests.server.quiet_cluster import QuietCluster

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    with masthead.server.run(clock=VirtualClock, bootstrap=False) as running:
        yield running


@pytest.fixture
def caller(server: Server) -> Iterator[Caller]:
    made = Caller(server.url, server.token)
    yield made
    made.close()


@pytest.fixture
def cluster() -> Iterator[QuietCluster]:
    with masthead.server.run(clock=VirtualClock, token=None, bootstrap=False) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()

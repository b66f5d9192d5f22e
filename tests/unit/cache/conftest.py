"""Worlds for informers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.cache.collection import Collection
from tests.unit.cache.worlds import EmbeddedWorld, ScriptedWorld, World

import masthead.aio
import masthead.server
from masthead.config import from_kubeconfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
def collection() -> Collection:
    return Collection()


@pytest.fixture
async def embedded() -> AsyncIterator[EmbeddedWorld]:
    """The embedded server, in a thread of its own, and a client of it, which has the event loop for itself."""
    with masthead.server.run(controllers=False) as server:
        async with masthead.aio.Client(from_kubeconfig(server.kubeconfig())) as client:
            yield EmbeddedWorld(server, client)


@pytest.fixture(params=["scripted", "embedded"])
def world(request: pytest.FixtureRequest) -> World:
    """Each world in turn: what is promised is promised of anything that can be listed and watched."""
    if request.param == "scripted":
        return ScriptedWorld()
    found: EmbeddedWorld = request.getfixturevalue("embedded")
    return found

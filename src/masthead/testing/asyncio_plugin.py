"""Fixtures for tests with pytest-asyncio, whose strict mode accepts only its own async fixtures.

`masthead.testing.plugin` registers this plugin if pytest-asyncio is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from masthead import aio
    from masthead._config.model import Config

__all__ = ["asyncio_kube_client", "asyncio_kube_client_as"]


@pytest_asyncio.fixture(name="_asyncio_kube_client")
async def asyncio_kube_client(kube_config: Config) -> AsyncIterator[aio.Client]:
    """The ``kube_aio_client`` of tests with pytest-asyncio."""
    import masthead.aio

    async with masthead.aio.Client(kube_config) as client:
        yield client


@pytest_asyncio.fixture(name="_asyncio_kube_client_as")
async def asyncio_kube_client_as(kube_config: Config) -> AsyncIterator[Callable[..., aio.Client]]:
    """The ``kube_aio_client_as`` of tests with pytest-asyncio."""
    from masthead.testing._configurations import acting_clients

    async with acting_clients(kube_config) as make:
        yield make

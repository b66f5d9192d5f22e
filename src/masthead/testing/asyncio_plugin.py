"""Fixtures for tests that pytest-asyncio runs: in its strict mode, it takes none but its own.

`masthead.testing.plugin` registers this where pytest-asyncio is there, and imports it nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead import aio
    from masthead._config.model import Config

__all__ = ["asyncio_kube_client"]


@pytest_asyncio.fixture(name="_asyncio_kube_client")
async def asyncio_kube_client(kube_config: Config) -> AsyncIterator[aio.Client]:
    """What ``kube_aio_client`` is in such a test."""
    import masthead.aio

    async with masthead.aio.Client(kube_config) as client:
        yield client

"""A million lines in constant memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from masthead._client.log_query import LogQuery
from masthead._client.logs import LogStream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LINES = 1_000_000
IN_CHUNK = 2000


class Response:
    """A response that has a million lines."""

    async def chunks(self) -> AsyncIterator[bytes]:
        for start in range(0, LINES, IN_CHUNK):
            stamp = f"2026-01-01T00:00:{start * 60 // LINES:02}.000000000Z"
            yield "".join(f"{stamp} line {start + number}\n" for number in range(IN_CHUNK)).encode()

    def close(self) -> None:
        pass


class Source:
    """A log of a pod that is gone when it has been read."""

    server = "the test"
    container = "app"
    has_reached = True

    async def open(self, _query: object) -> Response:
        return Response()

    async def pod(self) -> None:
        return None


def resident() -> int:
    """The memory that this process has, in bytes."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not say")
async def test_a_million_lines_are_followed_in_constant_memory() -> None:
    source: Any = Source()
    stream = LogStream(source, LogQuery(follow=True))
    count = early = 0
    async for line in stream:
        assert line.endswith(str(count))
        count += 1
        if count == LINES // 20:
            early = resident()

    assert count == LINES
    # All of them together take about a hundred times as much.
    assert resident() - early < 4_000_000

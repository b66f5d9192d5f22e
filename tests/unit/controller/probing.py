"""Requests to a probe server, from the same event loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

__all__ = ["Fetched", "fetch"]


@dataclass(frozen=True)
class Fetched:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


async def fetch(port: int | None, target: str, **headers: str) -> Fetched:
    """GET a target; the names of headers are written with underscores."""
    assert port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"GET {target} HTTP/1.1", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in {"host": "127.0.0.1", **headers}.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    status, *rest = head.decode().split("\r\n")
    found = dict(line.lower().split(": ", 1) for line in rest)
    return Fetched(int(status.split()[1]), found, body)

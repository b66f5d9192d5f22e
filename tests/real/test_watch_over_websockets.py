"""A watch over a WebSocket: the embedded server shakes hands and sends messages as a real one does."""

from __future__ import annotations

import json
import ssl
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from tests.conformance.target import Target, embedded_target, real_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real_server import RealServer

pytestmark = pytest.mark.real

PATH = "/api/v1/namespaces?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Ddefault"
ORIGIN = "http://localhost"


@pytest.fixture(scope="module")
def targets(real_server: RealServer) -> Iterator[tuple[Target, Target]]:
    with embedded_target() as embedded:
        yield real_target(real_server), embedded


async def shake_hands(target: Target, origin: str | None, protocols: tuple[str, ...]) -> Any:
    """The code of a refusal, or the protocol and the messages of a watch."""
    trust = ssl.create_default_context(cafile=str(target.ca_file)) if target.ca_file else True
    headers = {"Authorization": f"Bearer {target.token}"}
    async with aiohttp.ClientSession(target.url, headers=headers) as session:
        try:
            async with session.ws_connect(PATH, origin=origin, protocols=protocols, ssl=trust) as socket:
                messages = [message async for message in socket]
                return socket.protocol, [_describe(message) for message in messages]
        except aiohttp.WSServerHandshakeError as refused:
            return refused.status


def _describe(message: aiohttp.WSMessage) -> Any:
    event = json.loads(message.data)
    return message.type, event["type"], event["object"]["kind"], message.data.endswith("}\n")


@pytest.mark.parametrize(
    ("origin", "protocols"),
    [
        (ORIGIN, ()),
        (ORIGIN, ("a",)),
        (ORIGIN, ("base64.binary.k8s.io",)),
        (ORIGIN, ("a", "b")),
        (None, ()),
        ("null", ()),
    ],
    ids=["plain", "one protocol", "base64", "two protocols", "no origin", "null origin"],
)
async def test_both_servers_shake_hands_alike(
    targets: tuple[Target, Target], origin: str | None, protocols: tuple[str, ...]
) -> None:
    real, embedded = targets

    assert await shake_hands(embedded, origin, protocols) == await shake_hands(real, origin, protocols)

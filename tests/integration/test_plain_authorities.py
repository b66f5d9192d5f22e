"""Authorities without key identifiers, such as that of EKS, are trusted everywhere, as Go trusts them."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.authorities import PlainAuthority
from tests.integration.conftest import connected
from tests.integration.scripts import json_response
from tests.unit.transport.servers import receive, serving

from masthead._cli.doctor_network import check_tls
from masthead.config import Config
from masthead_server.webhooks import Webhook, call_webhook

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.transport.servers import Handler


@pytest.fixture(scope="module")
def authority() -> PlainAuthority:
    return PlainAuthority()


@pytest.fixture(autouse=True)
def strict_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's default context as it is since 3.13, also on older ones."""
    make = ssl.create_default_context

    def make_strict(*args: Any, **options: Any) -> ssl.SSLContext:
        context = make(*args, **options)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", make_strict)


def answer(body: object) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(json_response(body))
        await writer.drain()

    return handle


async def test_the_strict_mode_of_python_does_not_trust_it(authority: PlainAuthority) -> None:
    context = ssl.create_default_context(cadata=authority.certificate)
    async with serving(answer({}), authority.server_context()) as server:
        with pytest.raises(ssl.SSLCertVerificationError, match=r"(?i)key identifier"):
            await asyncio.open_connection("127.0.0.1", server.port, ssl=context)


async def test_doctor_agrees_with_the_client(authority: PlainAuthority, facade: str) -> None:
    async with serving(answer({"major": "1"}), authority.server_context()) as server:
        config = Config(server=f"https://127.0.0.1:{server.port}", ca_data=authority.certificate)
        async with connected(config, facade) as client:
            assert (await client.rest.get("/version")).json() == {"major": "1"}

        found = await check_tls(config)

    assert (found.mark, found.hint) == ("ok", "")


async def test_webhooks_are_called(authority: PlainAuthority) -> None:
    async with serving(answer({"kind": "ConversionReview"}), authority.server_context()) as server:
        webhook = Webhook(f"https://127.0.0.1:{server.port}/", authority.certificate)

        assert b"ConversionReview" in await call_webhook(webhook, b"{}")


async def test_a_proxy_is_reached_that_the_system_trusts(
    authority: PlainAuthority, facade: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = tmp_path / "ca.pem"
    trusted.write_text(authority.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    async with serving(answer({"major": "1"}), authority.server_context()) as proxy:
        config = Config(server="http://127.0.0.1:1", proxy_url=f"https://127.0.0.1:{proxy.port}")
        async with connected(config, facade) as client:
            assert (await client.rest.get("/version")).json() == {"major": "1"}

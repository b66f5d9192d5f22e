"""Authentication fixtures: kubeconfigs on disk, exec plugins, servers that verify client certificates."""

from __future__ import annotations

import json
import ssl
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import trustme
from tests.unit.auth.plugins import V1
from tests.unit.config.samples import packed, plain, written
from tests.unit.transport.servers import ReceivedRequest, http_response, receive

from masthead.config import load

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path

    from tests.unit.auth.plugins import Program

    from masthead.config import Config
    from masthead.server import Server

DEFAULT = http_response(
    json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}).encode(),
    "Content-Type: application/json",
)
"""The namespace that every cluster has, as a response."""


def kubeconfig(folder: Path, url: str, authority: str, user: dict[str, Any], **cluster: Any) -> Config:
    """Load a configuration from a kubeconfig on disk; options of the cluster have underscores for dashes.

    The authority is a certificate, the name of a file beside the kubeconfig, or empty.
    """
    place = {"server": url}
    if authority.startswith("-----BEGIN"):
        place["certificate-authority-data"] = packed(authority)
    elif authority:
        place["certificate-authority"] = authority
    more = {name.replace("_", "-"): value for name, value in cluster.items()}
    path = written(folder / "kubeconfig.yaml", plain(cluster=place | more, user=user))
    return load(path, environ={})


def of(server: Server, folder: Path, user: dict[str, Any], **cluster: Any) -> Config:
    """A configuration for the embedded server."""
    return kubeconfig(folder, server.url, server.ca, user, **cluster)


def running(program: Program, *, version: str = V1, **more: Any) -> dict[str, Any]:
    """A user whose credentials come from an exec plugin."""
    return {
        "exec": {
            "apiVersion": version,
            "command": sys.executable,
            "args": ["-IS", str(program.script)],
            "interactiveMode": "Never",
            **more,
        }
    }


@dataclass
class Pair:
    """A certificate and its key, in PEM."""

    certificate: str
    key: str

    def as_status(self) -> dict[str, str]:
        """As a program prints them."""
        return {"clientCertificateData": self.certificate, "clientKeyData": self.key}


@dataclass
class Gate:
    """A server that requires a client certificate and records the users."""

    authority: trustme.CA = field(default_factory=trustme.CA)
    users: list[str] = field(default_factory=list)
    seen: list[ReceivedRequest] = field(default_factory=list)

    @property
    def trusted(self) -> str:
        """Whom clients must trust."""
        return self.authority.cert_pem.bytes().decode()

    def context(self, *, optional: bool = False) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert("127.0.0.1").configure_cert(context)
        context.verify_mode = ssl.CERT_OPTIONAL if optional else ssl.CERT_REQUIRED
        self.authority.configure_trust(context)
        return context

    def pair(self, user: str) -> Pair:
        made = self.authority.issue_cert(f"{user}@example.com", common_name=user)
        chain = "".join(cert_chain_pem.bytes().decode() for cert_chain_pem in made.cert_chain_pems)
        return Pair(chain, made.private_key_pem.bytes().decode())

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Respond to every request with the same object."""
        shown = writer.get_extra_info("peercert") or {}
        names = [value for part in shown.get("subject", ()) for key, value in part if key == "commonName"]
        while True:
            self.seen.append(await receive(reader))
            self.users += names
            writer.write(DEFAULT)
            await writer.drain()

    async def shut(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Reject clients without a certificate with a TLS alert, which asyncio's own servers do not send."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        greeting = self.context().wrap_bio(incoming, outgoing, server_side=True)
        refused = False
        while not refused:
            incoming.write(await reader.read(65536))
            try:
                greeting.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError:
                refused = True
            writer.write(outgoing.read())
        await reader.read()

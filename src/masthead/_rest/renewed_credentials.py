"""Credentials that are renewed: by an exec plugin, or by an OpenID Connect issuer."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from masthead._auth.exec import ExecPlugin
from masthead._auth.execcredential import cluster_info
from masthead._auth.oidc import OidcToken
from masthead._auth.tls import TlsContexts
from masthead._config.proxies import proxy_for
from masthead._config.writeback import write_user_tokens
from masthead._meta.secret import Secret, SecretValue
from masthead._transport.contract import TransportRequest
from masthead._transport.http import HttpTransport
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from masthead._config.model import Config, ExecConfig, OidcConfig

__all__ = ["exec_plugin", "oidc_token"]

_ISSUER_TIMEOUT: Final = 30.0
"""The timeout of a request to an OpenID Connect issuer, in seconds."""
_ISSUER_MAX_BYTES: Final = 2**20
"""The maximum size of an issuer's response."""


def exec_plugin(config: Config, plugin: ExecConfig) -> ExecPlugin:
    cluster: Mapping[str, object] | None = None
    # Reading the CA file may fail, and few plugins ask for it.
    if plugin.provide_cluster_info:
        cluster = cluster_info(
            server=config.server,
            tls_server_name=config.tls_server_name,
            insecure=config.insecure,
            ca_data=config.ca_data or _text_of(config.ca_file),
            proxy_url=config.proxy_url,
            disable_compression=config.disable_compression,
            config=plugin.cluster_config,
        )
    return ExecPlugin(
        plugin.command,
        plugin.args,
        plugin.env,
        plugin.api_version,
        plugin.install_hint,
        plugin.interactive_mode,
        cluster,
        now=_now,
    )


def _text_of(authority: Path | None) -> str:
    """The CA certificate as text.

    Raises:
        ConfigError: If it cannot be read.
    """
    if authority is None:
        return ""
    try:
        return authority.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigError(f"the CA certificate {authority} cannot be read: {why}") from None


def oidc_token(oidc: OidcConfig) -> OidcToken:
    async def fetch(
        method: str, url: str, headers: Mapping[str, str | Secret], body: SecretValue[bytes] | None
    ) -> tuple[int, SecretValue[bytes]]:
        parts = urlsplit(url)
        # The cluster's proxy-url is not for the issuer; the environment's proxy is.
        transport = HttpTransport(
            f"{parts.scheme}://{parts.netloc}",
            tls=TlsContexts(ca_file=oidc.ca_file, ca_data=oidc.ca_data, key_data=Secret(), now=time.monotonic),
            proxy_url=Secret(proxy_for(url, os.environ)),
            max_response_bytes=_ISSUER_MAX_BYTES,
        )
        try:
            target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
            request = TransportRequest(method, target, tuple(headers.items()), body, timeout=_ISSUER_TIMEOUT)
            response = await transport.send(request)
            return response.status, SecretValue(await response.read())
        finally:
            await transport.close()

    async def save(id_token: Secret, refresh_token: Secret) -> None:
        if oidc.kubeconfig is not None:
            # In a thread, because file access would block the event loop.
            await asyncio.to_thread(
                write_user_tokens,
                oidc.kubeconfig,
                oidc.user,
                id_token=id_token,
                refresh_token=refresh_token,
            )

    return OidcToken(
        oidc.issuer,
        oidc.client_id,
        oidc.client_secret,
        oidc.id_token,
        oidc.refresh_token,
        fetch=fetch,
        now=_now,
        save=save,
    )


def _now() -> datetime:
    return datetime.now(UTC)

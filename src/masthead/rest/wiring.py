"""From a configuration to a client that can be called: who shows which credentials over what connection."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from masthead.auth.exec import ExecPlugin
from masthead.auth.execcredential import cluster_info
from masthead.auth.oidc import OidcToken
from masthead.auth.tls import TlsContexts
from masthead.auth.tokens import Anonymous, BasicAuth, BearerToken, TokenFile
from masthead.config.writeback import write_user_tokens
from masthead.meta.secret import Secret
from masthead.rest.client import RestClient
from masthead.transport.contract import Request
from masthead.transport.http import HttpTransport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead.auth.contract import Credentials
    from masthead.config.model import Config, ExecConfig, Impersonation, OidcConfig
    from masthead.rest.settings import RestSettings

__all__ = ["connect", "impersonation_headers"]

_IN_HEADER_NAMES = "!$&'*+.^_`|~-"
"""What may stand in the name of a header as it is; the rest of an extra's key is escaped."""


def connect(config: Config, settings: RestSettings, *, connections: int) -> RestClient:
    """Make a client for a configuration. Nothing is sent yet.

    Args:
        config: Where the server is, and who we are there.
        settings: How to behave.
        connections: How many connections may be open at once.

    Raises:
        AuthError: if the credentials cannot be used.
        ConfigError: if the configuration cannot be used.
    """
    credentials = credentials_of(config)
    transport = HttpTransport(
        config.server,
        tls=_tls_of(config, credentials) if config.server.startswith("https:") else None,
        server_name=config.tls_server_name,
        proxy_url=config.proxy_url,
        compression=not config.disable_compression,
        connections=connections,
    )
    headers = impersonation_headers(config.impersonate) if config.impersonate else ()
    return RestClient(transport, credentials, settings=settings, headers=headers)


def credentials_of(config: Config) -> Credentials:
    """What a configuration shows beside a certificate of its own.

    A token wins over a password, and both over what has to be asked for. A file with a token wins over a token that
    stands beside it, once it can be read.

    Raises:
        AuthError: if they cannot be used.
    """
    if config.token_file is not None:
        return TokenFile(config.token_file, fallback=config.token, now=time.monotonic)
    if config.token:
        return BearerToken(config.token)
    if config.username or config.password:
        return BasicAuth(config.username, config.password)
    if config.exec is not None and not _has_certificate(config):
        return _exec_plugin(config, config.exec)
    if config.oidc is not None:
        return _oidc_token(config.oidc)
    return Anonymous()


def impersonation_headers(whom: Impersonation) -> tuple[tuple[str, str], ...]:
    """The headers that say as whom to act."""
    return (
        ("Impersonate-User", whom.user),
        *((("Impersonate-Uid", whom.uid),) if whom.uid else ()),
        *(("Impersonate-Group", group) for group in whom.groups),
        *(
            (f"Impersonate-Extra-{quote(key.lower(), safe=_IN_HEADER_NAMES)}", value)
            for key, values in whom.extra.items()
            for value in values
        ),
    )


def _has_certificate(config: Config) -> bool:
    return config.client_certificate_file is not None or bool(config.client_certificate_data)


def _tls_of(config: Config, credentials: Credentials) -> TlsContexts:
    return TlsContexts(
        ca_file=config.ca_file,
        ca_data=config.ca_data,
        insecure=config.insecure,
        certificate_file=config.client_certificate_file,
        certificate_data=config.client_certificate_data,
        key_file=config.client_key_file,
        key_data=config.client_key_data,
        credentials=credentials,
        now=time.monotonic,
    )


def _exec_plugin(config: Config, plugin: ExecConfig) -> ExecPlugin:
    told: Mapping[str, object] | None = None
    if plugin.provide_cluster_info:
        told = cluster_info(
            server=config.server,
            tls_server_name=config.tls_server_name,
            insecure=config.insecure,
            ca_data=config.ca_file.read_text() if config.ca_file is not None else config.ca_data,
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
        told,
        now=_now,
    )


def _oidc_token(oidc: OidcConfig) -> OidcToken:
    async def fetch(
        method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> tuple[int, bytes]:
        parts = urlsplit(url)
        tls = TlsContexts(ca_file=oidc.ca_file, ca_data=oidc.ca_data, key_data=Secret(), now=time.monotonic)
        transport = HttpTransport(f"{parts.scheme}://{parts.netloc}", tls=tls)
        try:
            target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
            request = Request(method, target, tuple(headers.items()), body, total=30.0)
            response = await transport.send(request)
            return response.status, await response.read()
        finally:
            await transport.close()

    async def save(id_token: Secret, refresh_token: Secret) -> None:
        if oidc.kubeconfig is not None:
            write_user_tokens(oidc.kubeconfig, oidc.user, id_token=id_token, refresh_token=refresh_token)

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

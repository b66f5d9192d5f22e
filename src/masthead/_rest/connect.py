"""Create a REST client from a configuration: credentials, TLS, proxy and transport."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

from masthead._auth.credentials import Credentials
from masthead._auth.exec import ExecPlugin
from masthead._auth.execcredential import cluster_info
from masthead._auth.oidc import OidcToken
from masthead._auth.tls import TlsContexts
from masthead._auth.tokens import AnonymousCredentials, BasicAuth, BearerToken, TokenFile
from masthead._config.address import split_address
from masthead._config.proxies import proxy_for
from masthead._config.validation import EXPOSED_CREDENTIALS, exposes_credentials
from masthead._config.writeback import write_user_tokens
from masthead._meta.secret import Secret, SecretValue
from masthead._module import set_module
from masthead._rest.client import RestClient
from masthead._rest.headers import impersonation_headers
from masthead._transport.contract import TransportRequest
from masthead._transport.http import HttpTransport
from masthead.errors import ArgumentError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from masthead._config.model import Config, ExecConfig, OidcConfig
    from masthead._rest.settings import RestSettings

__all__ = ["connect", "credentials_of", "tls_of"]

_ISSUER_TIMEOUT: Final = 30.0
"""The timeout of a request to an OpenID Connect issuer, in seconds."""
_ISSUER_MAX_BYTES: Final = 2**20
"""The maximum size of an issuer's response."""


@set_module("masthead.aio.rest")
def connect(
    config: Config, settings: RestSettings, *, connections: int, credentials: Credentials | None = None
) -> RestClient:
    """Create a client for a configuration. Nothing is sent yet.

    Args:
        config: The server's address and the credentials.
        settings: Timeouts, retries and limits.
        connections: The maximum number of open connections.
        credentials: Replace the configured ones; None to use those.

    Raises:
        AuthError: If the credentials cannot be used.
        ConfigError: If the configuration is invalid, or would send the credentials in plain text.
        ArgumentError: If the credentials lack a method.
    """
    if credentials is None:
        credentials = credentials_of(config)
    else:
        _check_credentials(credentials, config)
    transport = HttpTransport(
        config.server,
        tls=tls_of(config, credentials) if _is_encrypted(config) else None,
        server_name=config.tls_server_name,
        proxy_url=Secret(config.proxy_url),
        compression=not config.disable_compression,
        connections=connections,
        max_response_bytes=settings.max_response_bytes,
    )
    headers = impersonation_headers(config.impersonate) if config.impersonate else ()
    return RestClient(
        transport,
        credentials,
        settings=settings,
        headers=headers,
        # Without user and password, which the URL may contain.
        server=str(split_address(config.server)).partition("://")[2],
        origin=config.origin,
    )


def _check_credentials(credentials: Credentials, config: Config) -> None:
    if not isinstance(cast("object", credentials), Credentials):
        raise ArgumentError(
            f"credentials are of type {type(credentials).__name__}, which lacks a method of masthead.auth.Credentials: "
            "authorization, certificate and renew",
            value=credentials,
        )
    # A configuration checks its own credentials when it is created; it does not know these.
    if exposes_credentials(config):
        raise ConfigError(EXPOSED_CREDENTIALS)


def credentials_of(config: Config) -> Credentials:
    """The credentials of a configuration, apart from its client certificate.

    A token takes precedence over basic authentication, and both over plugins. A token file takes precedence
    over an inline token once it can be read. An exec plugin is not run if there is a client certificate.

    Raises:
        AuthError: If the credentials cannot be used.
        ConfigError: If an exec plugin needs a CA certificate that cannot be read.
    """
    # The order is client-go's: the first match wins, whatever else is configured.
    if config.token_file is not None:
        return TokenFile(config.token_file, fallback=config.token, now=time.monotonic)
    if config.token:
        return BearerToken(config.token)
    if config.username or config.password:
        return BasicAuth(config.username, config.password)
    if config.exec is not None and not _has_client_certificate(config):
        return _exec_plugin(config, config.exec)
    if config.oidc is not None:
        return _oidc_token(config.oidc)
    return AnonymousCredentials()


def _is_encrypted(config: Config) -> bool:
    return urlsplit(config.server).scheme == "https"


def _has_client_certificate(config: Config) -> bool:
    # Over plain HTTP a certificate is never sent, so it must not suppress the plugin.
    has_one = config.client_certificate_file is not None or bool(config.client_certificate_data)
    return has_one and _is_encrypted(config)


def tls_of(config: Config, credentials: Credentials | None = None) -> TlsContexts:
    """The TLS contexts of a configuration.

    Args:
        config: The authorities and the client certificate.
        credentials: Their certificate, if any, takes precedence over the configured one.
    """
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


def _oidc_token(oidc: OidcConfig) -> OidcToken:
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

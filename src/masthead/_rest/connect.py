"""Create a REST client from a configuration: credentials, TLS, proxy and transport."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from masthead._auth.credentials import Credentials
from masthead._auth.tls import TlsContexts
from masthead._auth.tokens import AnonymousCredentials, BasicAuth, BearerToken, TokenFile
from masthead._config.address import split_address
from masthead._config.validation import EXPOSED_CREDENTIALS, exposes_credentials
from masthead._meta.secret import Secret
from masthead._module import set_module
from masthead._rest.client import RestClient
from masthead._rest.headers import impersonation_headers
from masthead._transport.http import HttpTransport
from masthead.errors import ArgumentError, ConfigError

if TYPE_CHECKING:
    from masthead._config.model import Config
    from masthead._rest.settings import RestSettings

__all__ = ["connect", "credentials_of", "tls_of"]


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
    # Imported where they are needed, because programs must start quickly.
    if config.exec is not None and not _has_client_certificate(config):
        from masthead._rest.renewed_credentials import exec_plugin

        return exec_plugin(config, config.exec)
    if config.oidc is not None:
        from masthead._rest.renewed_credentials import oidc_token

        return oidc_token(config.oidc)
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

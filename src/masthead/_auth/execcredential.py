"""The ExecCredential protocol: the JSON that an exec plugin receives, and the JSON that it prints."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._auth.credentials import Certificate
from masthead._auth.redaction import secret_dec_hook
from masthead._meta import typeinfo
from masthead._meta.secret import Secret, SecretValue
from masthead._meta.time import parse_time
from masthead._module import set_module
from masthead._value import Value
from masthead.errors import AuthError, TimeError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

__all__ = ["API_VERSIONS", "ExecCredential", "cluster_info", "read_reply", "request"]

API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_KIND: Final = "ExecCredential"


class ExecCredential(Value):
    """A credential that an exec plugin printed.

    Attributes:
        token: The bearer token; empty for none.
        certificate: The client certificate, if any.
        expires_at: When it expires; None if unknown.
    """

    token: Secret
    certificate: Certificate | None
    expires_at: datetime | None


class _Status(msgspec.Struct, rename="camel"):
    token: Secret | None = None
    client_certificate_data: Secret | None = None
    client_key_data: Secret | None = None
    expiration_timestamp: str | None = None


class _ExecCredentialDocument(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


_replies: Final = typeinfo.json_decoder(_ExecCredentialDocument, dec_hook=secret_dec_hook)


@set_module("masthead.auth")
def cluster_info(
    *,
    server: str,
    tls_server_name: str = "",
    insecure: bool = False,
    ca_data: str = "",
    proxy_url: str = "",
    disable_compression: bool = False,
    config: object = None,
) -> dict[str, object]:
    """Build the ``spec.cluster`` that a plugin with ``provideClusterInfo`` receives.

    Args:
        server: The API server's URL.
        tls_server_name: The server name in TLS, if it is not the host of the URL.
        insecure: Whether the server's certificate is not verified.
        ca_data: The trusted certificate authorities, in PEM.
        proxy_url: The proxy.
        disable_compression: Whether response compression is disabled.
        config: The plugin's own configuration from the kubeconfig; plain JSON.
    """
    optional = {
        "tls-server-name": tls_server_name,
        "insecure-skip-tls-verify": insecure,
        "certificate-authority-data": base64.b64encode(ca_data.encode()).decode(),
        "proxy-url": proxy_url,
        "disable-compression": disable_compression,
    }
    cluster: dict[str, object] = {
        "server": server,
        # Zero values are left out, as Go's omitempty does.
        **{name: value for name, value in optional.items() if value},
    }
    return cluster if config is None else {**cluster, "config": config}


def request(api_version: str, *, interactive: bool, cluster: Mapping[str, object] | None) -> str:
    """Build the value of ``KUBERNETES_EXEC_INFO``.

    Args:
        api_version: The version of ExecCredential that the plugin must print.
        interactive: Whether the plugin may prompt on the terminal.
        cluster: The result of `cluster_info`; None for none.
    """
    spec: dict[str, object] = {"interactive": interactive}
    if cluster is not None:
        spec["cluster"] = cluster
    return msgspec.json.encode({"kind": _KIND, "apiVersion": api_version, "spec": spec}).decode()


def read_reply(output: SecretValue[bytes], *, api_version: str, source: str) -> ExecCredential:
    """Decode the output of a plugin.

    Args:
        output: Its standard output.
        api_version: The requested version of ExecCredential.
        source: The plugin's name in messages: ``exec plugin "aws"``.

    Raises:
        AuthError: If the output is not a complete ExecCredential of that version.
    """
    status = _status(output, api_version=api_version, source=source)
    certificate, key = status.client_certificate_data, status.client_key_data
    # Half a pair would fail later, in TLS, without naming the plugin.
    if bool(certificate) != bool(key):
        present, absent = ("certificate", "key") if certificate else ("key", "certificate")
        raise AuthError(f"{source} printed a client {present} without its {absent}; it must print both, or neither")
    pair = Certificate(certificate.reveal(), key) if certificate and key else None
    if not status.token and pair is None:
        raise AuthError(f"{source} printed neither a token nor a certificate; log in with it first")
    try:
        expires_at = parse_time(status.expiration_timestamp) if status.expiration_timestamp else None
    except TimeError:
        raise AuthError(f"{source} printed an expirationTimestamp that is not an RFC 3339 time") from None
    return ExecCredential(status.token or Secret(), pair, expires_at)


def _status(output: SecretValue[bytes], *, api_version: str, source: str) -> _Status:
    if not output.reveal().strip():
        raise AuthError(f"{source} printed nothing; it must print an {_KIND} in JSON")
    why = ""
    try:
        reply = _replies.decode(output.reveal())
    except (ValueError, RecursionError) as error:
        # msgspec's message names the position and the expected type; a UnicodeDecodeError contains the whole text.
        reply = None
        why = str(error) if isinstance(error, msgspec.DecodeError) else "it is not UTF-8, or nested without end"
    if reply is None:
        raise AuthError(f"{source} did not print a valid {_KIND} in JSON: {why}")
    # Versions differ in their fields, so another one must not be guessed.
    if (reply.api_version, reply.kind) != (api_version, _KIND):
        raise AuthError(
            f"{source} printed kind {reply.kind[:80]!r} of apiVersion {reply.api_version[:80]!r}, but was asked "
            f"for {_KIND} of {api_version}; set the apiVersion that it supports in the kubeconfig"
        )
    if reply.status is None:
        raise AuthError(f"{source} printed an {_KIND} without a status; log in with it first")
    return reply.status

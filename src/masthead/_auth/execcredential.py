"""What is said between us and a program that prints credentials: both halves of an ExecCredential, as JSON."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._auth.credentials import Certificate
from masthead._auth.redaction import secret_dec_hook
from masthead._meta import typeinfo
from masthead._meta.secret import Secret, SecretValue
from masthead._meta.time import parse_time
from masthead.errors import AuthError, TimeError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

__all__ = ["API_VERSIONS", "ExecCredential", "cluster_info", "read_reply", "request"]

API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_KIND: Final = "ExecCredential"


@dataclass(frozen=True, slots=True)
class ExecCredential:
    """What a program gave.

    Attributes:
        token: A bearer token; empty if there is none.
        certificate: A client certificate, if there is one.
        expires_at: Until when it is good; None for as long as the server takes it.
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
    """What a program is told about the cluster, if it asked for that.

    Args:
        server: The API server's address.
        tls_server_name: The name that its certificate must have, if it is not the address'.
        insecure: Whether anybody is trusted.
        ca_data: The authorities that are trusted, in PEM.
        proxy_url: The proxy to go through.
        disable_compression: Whether answers are not to be compressed.
        config: What the kubeconfig has for the program; plain JSON.
    """
    optional = {
        "tls-server-name": tls_server_name,
        "insecure-skip-tls-verify": insecure,
        "certificate-authority-data": base64.b64encode(ca_data.encode()).decode(),
        "proxy-url": proxy_url,
        "disable-compression": disable_compression,
    }
    told: dict[str, object] = {"server": server, **{name: value for name, value in optional.items() if value}}
    return told if config is None else {**told, "config": config}


def request(api_version: str, *, interactive: bool, cluster: Mapping[str, object] | None) -> str:
    """The value of ``KUBERNETES_EXEC_INFO``.

    Args:
        api_version: The one to answer in.
        interactive: Whether the program may ask the person at the terminal.
        cluster: What `cluster_info` made; None to tell nothing.
    """
    spec: dict[str, object] = {"interactive": interactive}
    if cluster is not None:
        spec["cluster"] = cluster
    return msgspec.json.encode({"kind": _KIND, "apiVersion": api_version, "spec": spec}).decode()


def read_reply(output: SecretValue[bytes], *, api_version: str, source: str) -> ExecCredential:
    """What a program's output gives us.

    Args:
        output: What it printed.
        api_version: The one that was asked for.
        source: What printed it, for messages: ``exec plugin "aws"``.

    Raises:
        AuthError: If the output is anything but a whole credential of that version.
    """
    status = _status(output, api_version=api_version, source=source)
    certificate, key = status.client_certificate_data, status.client_key_data
    if bool(certificate) != bool(key):
        present, absent = ("certificate", "key") if certificate else ("key", "certificate")
        raise AuthError(
            f"{source} gave a client {present} without its {absent}; it must give both, or neither"
        )
    pair = Certificate(certificate.reveal(), key) if certificate and key else None
    if not status.token and pair is None:
        raise AuthError(f"{source} gave neither a token nor a certificate; is somebody logged in there?")
    try:
        expires_at = parse_time(status.expiration_timestamp) if status.expiration_timestamp else None
    except TimeError:
        raise AuthError(f"{source} gave an expirationTimestamp that is no RFC 3339 time") from None
    return ExecCredential(status.token or Secret(), pair, expires_at)


def _status(output: SecretValue[bytes], *, api_version: str, source: str) -> _Status:
    if not output.reveal().strip():
        raise AuthError(f"{source} printed nothing; it must print an {_KIND} in JSON")
    why = ""
    try:
        reply = _replies.decode(output.reveal())
    except (ValueError, RecursionError) as error:
        # msgspec tells where it failed and what it expected; Unicode's error would bring the whole text along.
        reply = None
        why = (
            str(error) if isinstance(error, msgspec.DecodeError) else "it is not UTF-8, or nested without end"
        )
    if reply is None:
        raise AuthError(f"{source} printed something that is no {_KIND} in JSON: {why}")
    if (reply.api_version, reply.kind) != (api_version, _KIND):
        raise AuthError(
            f"{source} answered with kind {reply.kind[:80]!r} of apiVersion {reply.api_version[:80]!r}, but was asked "
            f"for {_KIND} of {api_version}; set the apiVersion that it supports in the kubeconfig"
        )
    if reply.status is None:
        raise AuthError(f"{source} answered without a status; is somebody logged in there?")
    return reply.status

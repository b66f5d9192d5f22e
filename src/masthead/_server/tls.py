"""Certificates that are issued for one run of a server."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any, cast

from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Certificates"]


class Certificates:
    """A certificate authority for one server, and a certificate for its names; nothing is written to disk.

    Args:
        hosts: The names and addresses of the server.

    Raises:
        ConfigError: If trustme is not installed.
    """

    def __init__(self, *hosts: str) -> None:
        try:
            import trustme
        except ImportError:
            raise ConfigError("TLS needs trustme: pip install 'masthead[tls]'") from None
        maker = trustme.CA()
        # trustme also takes pyOpenSSL's contexts, whose types need not be installed.
        certificate = cast("Any", maker.issue_cert(*dict.fromkeys(hosts)))
        self._configure: Callable[[ssl.SSLContext], None] = certificate.configure_cert
        self.authority: str = maker.cert_pem.bytes().decode()
        """The certificate authority, in PEM."""

    def server_context(self) -> ssl.SSLContext:
        """The context of a server that presents the certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._configure(context)
        return context

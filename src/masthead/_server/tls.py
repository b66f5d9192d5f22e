"""Certificates made on the fly, so that a test can talk TLS to a server that it started."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any, cast

from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Certificates"]


class Certificates:
    """An authority of this server's own, and a certificate for the names of this machine; nothing touches the disk.

    Args:
        hosts: The names and addresses that the server is reached by.

    Raises:
        ConfigError: What makes certificates is not installed.
    """

    def __init__(self, *hosts: str) -> None:
        try:
            import trustme
        except ImportError:
            raise ConfigError("TLS needs trustme: pip install 'masthead[tls]'") from None
        maker = trustme.CA()
        # trustme also takes pyOpenSSL's contexts, whose types nobody need have.
        certificate = cast("Any", maker.issue_cert(*dict.fromkeys(hosts)))
        self._configure: Callable[[ssl.SSLContext], None] = certificate.configure_cert
        self.authority: str = maker.cert_pem.bytes().decode()
        """The certificate to trust, in PEM."""

    def server_context(self) -> ssl.SSLContext:
        """What a server needs to show the certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._configure(context)
        return context

"""TLS contexts that verify certificates as Go does."""

from __future__ import annotations

import ssl
from typing import Final

__all__ = ["NO_CHECK_TIME", "make_client_context"]

NO_CHECK_TIME: Final = ssl.VerifyFlags(0x200000)
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, for which Python has no name: ignore the dates of certificates."""


def make_client_context(authorities: str | None = None) -> ssl.SSLContext:
    """Create a context that verifies the server's certificate and name.

    Not `ssl.create_default_context`: since Python 3.13 it requires extensions that RFC 5280 demands and Go ignores. It
    rejects the authorities of EKS, among others, because they lack key identifiers.

    Args:
        authorities: The trusted certificates, in PEM; None for those of the system, empty to load others later.

    Raises:
        ssl.SSLError: If they cannot be decoded.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False  # as in Go: only subject alternative names count
    if authorities is None:
        context.load_default_certs()
        return context
    # As in Go, an intermediate certificate can be a trust anchor.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if authorities:
        context.load_verify_locations(cadata=authorities)
    return context

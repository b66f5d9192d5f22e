"""CA bundles: the certificates of the authorities that a webhook's certificate is verified with."""

from __future__ import annotations

import base64
import binascii
import re
import ssl
from typing import Final

from masthead._schema.errors import FieldError, invalid

__all__ = ["ca_bundle_errors", "has_certificates"]

_BLOCK: Final = re.compile(rb"-----BEGIN ([^-]*)-----.*-----END \1-----", re.DOTALL)


def has_certificates(bundle: str) -> bool:
    """Tell whether a bundle, PEM in base64, has at least one certificate."""
    try:
        pem = base64.b64decode(bundle).decode("latin-1")
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem)
    except (binascii.Error, ssl.SSLError, ValueError):
        return False
    return True


def ca_bundle_errors(path: str, bundle: str) -> list[FieldError]:
    """Validate a bundle."""
    if has_certificates(bundle):
        return []
    # differs from kube-apiserver, which reports Go's parse error of the certificate.
    has_block = _BLOCK.search(base64.b64decode(bundle)) is not None
    problem = "no valid certificate authority data seen" if has_block else "unable to parse bytes as PEM block"
    return [invalid(path, bundle, f"unable to load root certificates: {problem}")]

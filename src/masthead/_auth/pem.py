"""Loading of PEM certificates and keys into Python's ``ssl``, which reads keys from files only."""

from __future__ import annotations

import contextlib
import os
import re
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._meta.secret import Secret
from masthead.errors import AuthError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import NoReturn

    from masthead._auth.credentials import Certificate

__all__ = ["check_authorities", "check_certificate", "load_authorities", "load_certificate"]

_CERTIFICATE: Final = re.compile(
    r"-----BEGIN (?P<kind>(?:X509 |TRUSTED )?CERTIFICATE)-----[^-]*-----END (?P=kind)-----"
)
_OPEN_FILES: Final = Path("/proc/self/fd")


def check_authorities(text: str, source: str) -> None:
    """Check that certificate authorities can be loaded.

    Args:
        text: Their certificates, in PEM.
        source: Their origin, for messages.

    Raises:
        ConfigError: If they cannot be loaded.
    """
    load_authorities(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), text, source)


def load_authorities(context: ssl.SSLContext, text: str, source: str) -> None:
    """Add trusted certificate authorities to a context. Text around the PEM blocks is ignored.

    Raises:
        ConfigError: If there is no certificate, or one cannot be parsed.
    """
    blocks = [found.group() for found in _CERTIFICATE.finditer(text)]
    if not blocks:
        raise ConfigError(f"there is no certificate in {source}; it must contain certificate authorities in PEM")
    # One at a time, so that the message can say which of them cannot be read.
    for number, block in enumerate(blocks, 1):
        try:
            context.load_verify_locations(cadata=block)
        except (ssl.SSLError, ValueError, TypeError) as error:
            raise ConfigError(
                f"certificate {number} of {len(blocks)} in {source} cannot be read: {_reason(error)}"
            ) from error


def check_certificate(certificate: Certificate, source: str) -> None:
    """Check that a client certificate and its key can be loaded and match.

    Args:
        certificate: The certificate and its key.
        source: Their origin, for messages.

    Raises:
        AuthError: If they cannot be loaded, or do not match.
    """
    load_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), certificate, source)


def load_certificate(context: ssl.SSLContext, certificate: Certificate, source: str) -> None:
    """Add a client certificate to a context. The key does not stay on disk, and no passphrase is prompted for.

    Raises:
        AuthError: If the certificate or its key cannot be used.
    """

    def refuse() -> NoReturn:
        raise AuthError(
            f"the client key from {source} is locked with a passphrase, which cannot be asked for here; "
            "store it without one (openssl pkey -in KEY), or use an exec plugin"
        )

    try:
        with _path_to(Secret(certificate.certificate)) as chain, _path_to(certificate.key) as key:
            context.load_cert_chain(chain, key, password=refuse)
    except ssl.SSLError as error:
        # The error of ssl names the failing OpenSSL function, and contains no key material.
        raise AuthError(f"the client certificate from {source} cannot be used: {_reason(error)}") from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise AuthError(f"the client certificate from {source} could not be handed to ssl: {why}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
        return "the key belongs to another certificate"
    return "it is not PEM, or is damaged"


@contextlib.contextmanager
def _path_to(text: Secret) -> Generator[str]:
    """Yield a temporary path of a text: in memory on Linux, elsewhere in a private directory."""
    memory = _memory_file()
    if memory is None:
        with tempfile.TemporaryDirectory(prefix="masthead-") as folder:  # 0700
            path = Path(folder, "pem")
            path.touch(0o600)
            path.write_bytes(text.reveal().encode())
            yield str(path)
        return
    with os.fdopen(memory, "wb") as file:
        file.write(text.reveal().encode())
        file.flush()
        yield str(_OPEN_FILES / str(memory))


def _memory_file() -> int | None:
    """Return an anonymous file in memory; None if that is not supported, or its path cannot be opened."""
    if not hasattr(os, "memfd_create") or not _OPEN_FILES.is_dir():
        return None
    try:
        return os.memfd_create("masthead")
    except OSError:  # forbidden in some sandboxes
        return None

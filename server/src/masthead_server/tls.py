"""Certificates of a server, and the authority that issues them."""

from __future__ import annotations

import functools
import re
import ssl
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from masthead._meta.tls import NO_CHECK_TIME
from masthead.errors import ConfigError
from masthead_server.certificate_signer import CertificateSigner
from masthead_server.files import write_private

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Certificates", "can_issue", "shared_certificates"]

_KEY_BEGINS = "-----BEGIN "
# Hyphens in third and fourth place are reserved for international names, xn--.
_LABEL = r"(?!-)(?!(?!xn)..--)[A-Za-z0-9-]{1,63}(?<!-)"
_HOST_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*", re.IGNORECASE)


def can_issue() -> bool:
    """Whether certificates can be issued: with the extra ``tls``."""
    return find_spec("trustme") is not None


class Certificates:
    """A certificate authority, and a certificate for the names of a server.

    Args:
        names: The names and addresses of the server.
        file: The file of the authority, readable by its owner alone, so that clients trust the server after a
            restart; None to keep it in memory.

    Raises:
        ConfigError: If trustme is not installed, the file cannot be used, or a name is invalid.
    """

    def __init__(self, names: tuple[str, ...], file: Path | None = None) -> None:
        try:
            import trustme
        except ImportError:
            raise ConfigError("TLS needs trustme: pip install 'masthead-k8s[tls]'") from None
        maker = trustme.CA() if file is None else _load_or_create(file)
        try:
            # trustme also takes pyOpenSSL's contexts, whose types need not be installed.
            certificate = cast("Any", maker.issue_cert(*dict.fromkeys(filter(_can_certify, names))))
        except UnicodeError as error:
            raise ConfigError(f"no certificate can have these names, {', '.join(names)}: {error}") from None
        self._configure: Callable[[ssl.SSLContext], None] = certificate.configure_cert
        self.authority: str = maker.cert_pem.bytes().decode()
        """The certificate authority, in PEM."""
        self.signer: CertificateSigner = CertificateSigner(maker.cert_pem.bytes(), maker.private_key_pem.bytes())
        """Signs further certificates."""

    @functools.cached_property
    def context(self) -> ssl.SSLContext:
        """The context of a server that presents the certificate, and asks clients for theirs."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._configure(context)
        context.load_verify_locations(cadata=self.authority)
        context.verify_mode = ssl.CERT_OPTIONAL
        # The clock of the server decides about the time, and an expired certificate gets a 401.
        context.verify_flags |= NO_CHECK_TIME
        return context


def _can_certify(name: str) -> bool:
    """Whether a certificate can have a name: not if it has underscores, as names of containers do."""
    return ":" in name or _HOST_NAME.fullmatch(name) is not None


_sharing = threading.Lock()


def shared_certificates(names: tuple[str, ...]) -> Certificates:
    """Certificates in memory that all servers of this process with these names share: tests start thousands of servers.

    Raises:
        ConfigError: If trustme is not installed.
    """
    with _sharing:  # or two threads would make two authorities
        return _cached_certificates(names)


@functools.lru_cache(maxsize=16)
def _cached_certificates(names: tuple[str, ...]) -> Certificates:
    return Certificates(names)


def _load_or_create(file: Path) -> Any:  # noqa: ANN401 - trustme need not be installed
    """The authority in a file; a new one if there is no file.

    Raises:
        ConfigError: If the file cannot be read or written, or holds something else.
    """
    import trustme

    try:
        text = file.read_text(encoding="ascii")
    except FileNotFoundError:
        made = trustme.CA()
        try:
            write_private(file, (made.cert_pem.bytes() + made.private_key_pem.bytes()).decode())
        except OSError as error:
            raise ConfigError(f"cannot keep the certificate authority in {file}: {error.strerror}") from None
        return made
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the certificate authority {file}: {error}") from None
    certificate, begins, key = text.rpartition(_KEY_BEGINS)
    try:
        return trustme.CA.from_pem(certificate.encode(), f"{begins}{key}".encode())
    except (ValueError, TypeError):
        raise ConfigError(
            f"{file} holds no certificate authority; delete it, and a new one is made, which clients have to be told"
        ) from None

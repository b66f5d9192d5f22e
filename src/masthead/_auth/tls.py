"""TLS contexts that follow the rotation of certificates."""

from __future__ import annotations

import logging
import ssl
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from masthead._auth.credentials import Certificate
from masthead._auth.files import WatchedFile
from masthead._auth.pem import check_authorities, check_certificate, load_authorities, load_certificate
from masthead._meta.secret import Secret
from masthead._meta.tls import make_client_context
from masthead._module import set_module
from masthead.errors import AuthError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from masthead._auth.credentials import Credentials

__all__ = ["TlsContexts"]

_log: Final = logging.getLogger("masthead.auth")

_LOOK_AFTER: Final = 5.0
"""Seconds between two checks of the files."""

T = TypeVar("T")


class _TextSource(Protocol):
    """A source of PEM text."""

    def has_changed(self) -> bool: ...

    def read(self) -> Secret: ...


class _StaticSource:
    """Text from the configuration, which never changes."""

    def __init__(self, text: Secret, role: str) -> None:
        self._text = text
        self._role = role

    def __str__(self) -> str:
        return f"{self._role} in the configuration"

    def has_changed(self) -> bool:
        return False

    def read(self) -> Secret:
        return self._text


def _source(file: Path | None, data: Secret, role: str) -> _TextSource | None:
    """Return the source of data or a file; data takes precedence, as in kubeconfigs."""
    if data:
        return _StaticSource(data, role)
    return WatchedFile(file, role) if file is not None else None


class _Reloaded(Generic[T]):
    """A value that is reloaded when its sources change; the last valid one stays in use.

    Args:
        sources: All are read again when one of them has changed.
        read: Reads and checks them.
    """

    def __init__(self, sources: tuple[_TextSource, ...], read: Callable[[], T]) -> None:
        self._sources = sources
        self._read = read
        self._value: T | None = None
        self._logged = ""

    def look(self) -> T:
        """Return the last valid value, reloaded if a source has changed.

        Raises:
            AuthError: If a source is invalid and there is no earlier value.
            ConfigError: Likewise.
        """
        if self._value is not None and not any(source.has_changed() for source in self._sources):
            return self._value
        try:
            self._value = self._read()
            self._logged = ""
        except (AuthError, ConfigError) as error:
            if self._value is None:
                raise
            # Often a rotation in progress. Log it once, until the problem changes.
            if str(error) != self._logged:
                _log.warning("%s; the previous value stays in use", error)
                self._logged = str(error)
        return self._value


def _authorities(source: _TextSource) -> _Reloaded[str]:
    def read() -> str:
        try:
            text = source.read().reveal()
        except AuthError as error:  # files raise AuthError, but a CA belongs to the cluster's configuration
            raise ConfigError(str(error)) from error.__cause__
        check_authorities(text, f"the {source}")
        return text

    return _Reloaded((source,), read)


def _pair(certificate: _TextSource, key: _TextSource) -> _Reloaded[Certificate]:
    def read() -> Certificate:
        pair = Certificate(certificate.read().reveal(), key.read())
        check_certificate(pair, f"the {certificate} (with the {key})")
        return pair

    return _Reloaded((certificate, key), read)


@set_module("masthead.auth")
class TlsContexts:
    """Creates the TLS context for new connections: the same object, until a certificate changes.

    Files are checked when a connection is opened, at most every five seconds. They may be replaced by rename, by
    symlink or in place. An invalid file, or a certificate that does not match its key, is logged and the previous one
    stays in use. Only the first load raises.

    Args:
        ca_file: The trusted certificate authorities, in PEM.
        ca_data: The same as text; takes precedence over the file. With neither, the system's authorities are trusted.
        insecure: Whether the server's certificate is not verified.
        certificate_file: The client certificate, in PEM.
        certificate_data: The same as text; takes precedence over the file.
        key_file: The client key, in PEM.
        key_data: The same as text; takes precedence over the file.
        credentials: Their certificate, if any, takes precedence over the configured one.
        now: A monotonic clock, in seconds.

    Raises:
        AuthError: If there is a certificate without a key, or a key without a certificate.
        ConfigError: If `insecure` is set and an authority is given.
    """

    def __init__(  # noqa: PLR0913 - the fields of a configuration
        self,
        *,
        ca_file: Path | None = None,
        ca_data: str = "",
        insecure: bool = False,
        certificate_file: Path | None = None,
        certificate_data: str = "",
        key_file: Path | None = None,
        key_data: Secret,
        credentials: Credentials | None = None,
        now: Callable[[], float],
    ) -> None:
        authorities = _source(ca_file, Secret(ca_data), "certificate authority")
        certificate = _source(certificate_file, Secret(certificate_data), "client certificate")
        key = _source(key_file, key_data, "client key")
        if insecure and authorities is not None:
            raise ConfigError(f"the {authorities} is given and insecure is set; keep one of them")
        if (certificate is None) != (key is None):
            raise AuthError(f"the {certificate or key} is given without its counterpart; give both, or neither")
        self._insecure = insecure
        self._authorities = _authorities(authorities) if authorities is not None else None
        self._pair = _pair(certificate, key) if certificate is not None and key is not None else None
        self._credentials = credentials
        self._now = now
        self._looked: float | None = None
        self._trusted: str | None = None
        self._shown: Certificate | None = None
        self._made_of: tuple[str | None, Certificate | None] | None = None
        self._context: ssl.SSLContext | None = None

    async def context(self) -> ssl.SSLContext:
        """Return the context for a new connection: the same object, until a certificate changes.

        Raises:
            AuthError: If a certificate or key is invalid and there was no valid one before, or if the credentials
                cannot be obtained.
            ConfigError: If a certificate authority is invalid and there was no valid one before.
        """
        issued = await self._credentials.certificate() if self._credentials is not None else None
        now = self._now()
        if self._looked is None or now - self._looked >= _LOOK_AFTER:
            self._look(now)
        wanted = self._trusted, issued or self._shown
        if self._context is None or wanted != self._made_of:
            self._context = self._make(*wanted)
            self._made_of = wanted
        return self._context

    def _look(self, now: float) -> None:
        if self._authorities is not None:
            self._trusted = self._authorities.look()
        if self._pair is not None:
            self._shown = self._pair.look()
        # Last, so that the next call checks the files again after an error.
        self._looked = now

    def _make(self, trusted: str | None, shown: Certificate | None) -> ssl.SSLContext:
        # Loading the authorities of the system takes some milliseconds, and none are needed where none are verified.
        context = make_client_context("" if self._insecure or trusted is not None else None)
        context.set_alpn_protocols(["http/1.1"])
        if self._insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif trusted is not None:
            load_authorities(context, trusted, "the certificate authority")
        if shown is not None:
            load_certificate(context, shown, "the credentials")
        return context

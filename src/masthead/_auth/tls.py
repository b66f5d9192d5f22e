"""What to trust and what to show in TLS, kept up to date while certificates are replaced."""

from __future__ import annotations

import logging
import ssl
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from masthead._auth.credentials import Certificate
from masthead._auth.files import WatchedFile
from masthead._auth.pem import check_authorities, check_certificate, load_authorities, load_certificate
from masthead._meta.secret import Secret
from masthead.errors import AuthError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from masthead._auth.credentials import Credentials

__all__ = ["TlsContexts"]

_log: Final = logging.getLogger("masthead.auth")

_LOOK_AFTER: Final = 5.0
"""Seconds between two looks at the files."""

T = TypeVar("T")


class _TextSource(Protocol):
    """Where a text comes from."""

    def has_changed(self) -> bool: ...

    def read(self) -> Secret: ...


class _StaticSource:
    """A text that was given, and never changes."""

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
    """Data before a file, as kubeconfigs have it."""
    if data:
        return _StaticSource(data, role)
    return WatchedFile(file, role) if file is not None else None


class _Reloaded(Generic[T]):
    """What was read from sources, for as long as they hold nothing better.

    Args:
        sources: When one of them has changed, all are read.
        read: Reads and checks them.
    """

    def __init__(self, sources: tuple[_TextSource, ...], read: Callable[[], T]) -> None:
        self._sources = sources
        self._read = read
        self._value: T | None = None
        self._told = ""

    def look(self) -> T:
        """The newest that could be used.

        Raises:
            AuthError: If there never was any, and a source cannot be used.
            ConfigError: Likewise.
        """
        if self._value is not None and not any(source.has_changed() for source in self._sources):
            return self._value
        try:
            self._value = self._read()
            self._told = ""
        except (AuthError, ConfigError) as error:
            if self._value is None:
                raise
            # Often a rotation that is half done. Once is enough, until it is something else.
            if str(error) != self._told:
                _log.warning("%s; what was read before stays in use", error)
                self._told = str(error)
        return self._value


def _authorities(source: _TextSource) -> _Reloaded[str]:
    def read() -> str:
        try:
            text = source.read().reveal()
        except AuthError as error:  # a file says so; to us it is where the cluster is, not who we are
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


class TlsContexts:
    """Makes the TLS settings for connections: the same object, until what they are made of changes.

    Files are looked at every five seconds at most, when somebody connects. Certificates are taken as they come, by
    rename, by symlink or in place; what cannot be read or does not fit together is reported in the log, and what was
    there before stays in use. Only the first load fails.

    Args:
        ca_file: The authorities to trust, in PEM.
        ca_data: The same as text; goes before the file. Neither: those of the machine.
        insecure: Trust anybody.
        certificate_file: The client certificate to show, in PEM.
        certificate_data: The same as text; goes before the file.
        key_file: Its key.
        key_data: The same as text; goes before the file.
        credentials: Who may have a certificate too; it goes before the one from files.
        now: The time in seconds, from any beginning; it never goes back.

    Raises:
        AuthError: If there is a certificate without a key, or a key without a certificate.
        ConfigError: If anybody is to be trusted and an authority is given too.
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
            raise ConfigError(
                f"the {authorities} is given and insecure is set; trust one authority, or anybody"
            )
        if (certificate is None) != (key is None):
            raise AuthError(
                f"the {certificate or key} is there without its counterpart; give both, or neither"
            )
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
        """What to connect with now: the same object as before, until certificates have changed.

        Raises:
            AuthError: If a certificate or key cannot be used, and none could before; or the credentials cannot be had.
            ConfigError: If an authority's certificate cannot be used, and none could before.
        """
        issued = await self._credentials.certificate() if self._credentials is not None else None
        self._look()
        wanted = self._trusted, issued or self._shown
        if self._context is None or wanted != self._made_of:
            self._context = self._make(*wanted)
            self._made_of = wanted
        return self._context

    def _look(self) -> None:
        now = self._now()
        if self._looked is not None and now - self._looked < _LOOK_AFTER:
            return
        if self._authorities is not None:
            self._trusted = self._authorities.look()
        if self._pair is not None:
            self._shown = self._pair.look()
        self._looked = now

    def _make(self, trusted: str | None, shown: Certificate | None) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # checks names and certificates
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        context.hostname_checks_common_name = False  # as in Go: only alternative names say whose it is
        if self._insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif trusted is None:
            context.load_default_certs()
        else:
            # As in Go, who is named is trusted, also when others stand above them.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            load_authorities(context, trusted, "the certificate authority")
        if shown is not None:
            load_certificate(context, shown, "the credentials")
        return context

"""Discovery documents on disk, shared by the processes of a user.

A file is trusted only if no other user can have written it: file and directory must belong to the user and be writable
for no one else. Its checksum, server and document must match. A file that fails a check is ignored, and the server is
asked; a cache that cannot be written is logged once.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from masthead._config.address import mask_token
from masthead._meta import typeinfo
from masthead._module import set_module
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EXPIRY", "DiskCache", "StoredDocument", "document_key"]

_log: Final = logging.getLogger("masthead.discovery")
_FORMAT: Final = "masthead-discovery-1"
EXPIRY: Final = 600.0
"""Seconds for which a document is used without asking the server."""
_LIMIT: Final = 64 * 1024 * 1024
"""Larger files are ignored: no document is that large."""
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_NAME_LENGTH: Final = 60


@set_module("masthead.discovery")
class StoredDocument(msgspec.Struct, frozen=True):
    """A stored document.

    Attributes:
        body: The response body.
        content_type: Its content type.
        etag: Its ETag.
        version: The version from its URL.
    """

    body: bytes
    content_type: str
    etag: str
    version: str


class _CacheFile(msgspec.Struct):
    format: str
    server: str
    key: str
    written_at: datetime
    digest: str
    document: StoredDocument


_decode: Final = typeinfo.msgpack_decoder(_CacheFile).decode


def document_key(path: str, accept: str) -> str:
    """Return the key of a document: a server may have it in several formats."""
    return f"{path} {accept}"


def _wall_clock() -> datetime:
    return datetime.now(UTC)


@set_module("masthead.discovery")
class DiskCache:
    """Caches the documents of one server in a separate directory.

    Guarantees: a reader sees a whole document or none; files are readable for their owner only; files that another
    user could have written are not read; file errors are never raised.

    Threads: all methods may be called from any thread, and from several processes.
    """

    def __init__(self, directory: str | Path, *, server: str, now: Callable[[], datetime] = _wall_clock) -> None:
        """Create a cache below a directory, which is created on the first write.

        Args:
            directory: The parent directory; preferably not a world-writable one such as ``/tmp``.
            server: The server's URL. User and password in it are removed, a token in its path is masked.
            now: The time of day.

        Raises:
            ConfigError: If the URL is invalid.
        """
        self._server = _without_credentials(server)
        self.directory: Path = Path(directory) / _folder_name(self._server)
        self._now = now
        self._is_broken = False

    def read(self, key: str) -> tuple[StoredDocument, float] | None:
        """Read a document; return it with its age in seconds, or None if there is no trusted one."""
        try:
            found = _decode(self._bytes_of(key))
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        is_ours = (found.format, found.server, found.key) == (_FORMAT, self._server, key)
        if not is_ours or found.digest != _digest(found.document.body) or found.written_at.tzinfo is None:
            return None
        age = (self._now() - found.written_at).total_seconds()
        # An mtime in the future means that the clock was set back. The age is unknown, so the file counts as old.
        return found.document, age if age >= 0 else float("inf")

    def write(self, key: str, document: StoredDocument) -> None:
        """Write a document, replacing the previous one."""
        if self._is_broken:
            return
        file = _CacheFile(_FORMAT, self._server, key, self._now(), _digest(document.body), document)
        try:
            self.directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.directory.mkdir(mode=0o700, exist_ok=True)
            # mkdir accepts an existing directory, also another user's.
            self._check_directory()
            self._replace(self._path_of(key), msgspec.msgpack.encode(file))
        except OSError as error:
            # Not tried again: the cache only saves requests, and one warning is enough.
            self._is_broken = True
            _log.warning("discovery is not kept in %s: %s", self.directory, error.strerror or error)

    def _path_of(self, key: str) -> Path:
        return self.directory / f"{_slug(key.partition(' ')[0])}-{_digest(key.encode())[:16]}"

    def _bytes_of(self, key: str) -> bytes:
        self._check_directory()
        # Do not follow a planted symlink, and do not block on a pipe without a writer.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with open(os.open(self._path_of(key), flags), "rb") as file:  # noqa: PTH123 - a descriptor
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or not _is_ours_alone(facts):
                raise PermissionError("the file is not owned by this user alone")
            return file.read(_LIMIT)

    def _check_directory(self) -> None:
        facts = self.directory.lstat()
        if not stat.S_ISDIR(facts.st_mode) or not _is_ours_alone(facts):
            raise PermissionError("the directory is not owned by this user alone; remove it, or choose another")

    def _replace(self, path: Path, content: bytes) -> None:
        import tempfile  # for a new result only, because programs must start quickly

        # mkstemp creates an unpredictable name, readable for its owner only.
        descriptor, temporary = tempfile.mkstemp(dir=self.directory, prefix=".new-")
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
                file.write(content)
            Path(temporary).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise


def _is_ours_alone(facts: os.stat_result) -> bool:
    owner = getattr(os, "geteuid", None)
    return owner is None or (facts.st_uid == owner() and not facts.st_mode & _OTHERS_WRITE)


def _without_credentials(server: str) -> str:
    try:
        parts = urlsplit(server)
    except ValueError:
        parts = urlsplit("")
    host = parts.netloc.rpartition("@")[2]
    if not host:
        # The address is not repeated: it may hold a password.
        raise ConfigError("a discovery cache needs the server's address, such as https://10.0.0.1:6443")
    return mask_token(parts._replace(netloc=host, query="", fragment="").geturl().rstrip("/"))


def _folder_name(server: str) -> str:
    """Return a directory name that is recognisable and unique per server."""
    return f"{_slug(server.partition('://')[2])}-{_digest(server.encode())[:12]}"


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:_NAME_LENGTH]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

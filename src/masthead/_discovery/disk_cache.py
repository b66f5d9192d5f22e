"""Files that remember what a server serves, for the next process that asks.

A file is believed only if nobody else can have written it: it and its folder must be the user's own, and writable for
nobody else. It must hold what it was written with, for this very server and document. Whatever is not so is passed
over in silence, and the server is asked; a cache that cannot be written to is mentioned in the log, once.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import stat
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from masthead._meta import typeinfo
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DiskCache", "StoredDocument"]

_log: Final = logging.getLogger("masthead.discovery")
_FORMAT: Final = "masthead-discovery-1"
_LIMIT: Final = 64 * 1024 * 1024
"""No document is larger; what is, is none of ours."""
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_NAME_LENGTH: Final = 60


class StoredDocument(msgspec.Struct, frozen=True):
    """What is kept of a document.

    Attributes:
        body: The bytes.
        content_type: What they are.
        etag: The server's name for this state of it.
        version: Our name for it.
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


def _wall_clock() -> datetime:
    return datetime.now(UTC)


class DiskCache:
    """Keeps the documents of one server in a folder of its own.

    Guarantees: a reader sees a whole document or none; files are readable for their owner alone; no file is read that
    another user could have written; nothing here ever raises because of a file.

    Threads: all methods may be called from any thread, and from several processes at once.
    """

    def __init__(
        self, directory: str | Path, *, server: str, now: Callable[[], datetime] = _wall_clock
    ) -> None:
        """Keep documents below a directory, which is made when it is needed.

        Args:
            directory: Where; better not a place that is open to all, such as ``/tmp``.
            server: The server's address. A name and password in it are left out.
            now: The time of day.

        Raises:
            ConfigError: if the address is none.
        """
        self._server = _without_credentials(server)
        self.directory: Path = Path(directory) / _folder_name(self._server)
        self._now = now
        self._is_broken = False

    def read(self, key: str) -> tuple[StoredDocument, float] | None:
        """A document and its age in seconds; None if there is none that can be believed."""
        try:
            found = _decode(self._bytes_of(key))
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        is_ours = (found.format, found.server, found.key) == (_FORMAT, self._server, key)
        if not is_ours or found.digest != _digest(found.document.body) or found.written_at.tzinfo is None:
            return None
        age = (self._now() - found.written_at).total_seconds()
        # A file from the future says that a clock was set back: its age is not known, so it counts as old.
        return found.document, age if age >= 0 else float("inf")

    def write(self, key: str, document: StoredDocument) -> None:
        """Keep a document, in place of the one before."""
        if self._is_broken:
            return
        file = _CacheFile(_FORMAT, self._server, key, self._now(), _digest(document.body), document)
        try:
            self.directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.directory.mkdir(mode=0o700, exist_ok=True)
            self._check_directory()
            self._replace(self._path_of(key), msgspec.msgpack.encode(file))
        except OSError as error:
            self._is_broken = True
            _log.warning("discovery is not kept in %s: %s", self.directory, error.strerror or error)

    def _path_of(self, key: str) -> Path:
        return self.directory / f"{_slug(key.partition(' ')[0])}-{_digest(key.encode())[:16]}"

    def _bytes_of(self, key: str) -> bytes:
        self._check_directory()
        # Neither follow a link that somebody laid, nor wait for a pipe that nobody writes to.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with open(os.open(self._path_of(key), flags), "rb") as file:  # noqa: PTH123 - a descriptor
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or not _is_ours_alone(facts):
                raise PermissionError("it is not a file of this user's alone")
            return file.read(_LIMIT)

    def _check_directory(self) -> None:
        facts = self.directory.lstat()
        if not stat.S_ISDIR(facts.st_mode) or not _is_ours_alone(facts):
            raise PermissionError("it is not a folder of this user's alone; remove it, or choose another")

    def _replace(self, path: Path, content: bytes) -> None:
        # mkstemp makes a name that nobody can foresee, readable for its owner alone.
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
    return parts._replace(netloc=host, query="", fragment="").geturl().rstrip("/")


def _folder_name(server: str) -> str:
    """A name that a person recognises and no two servers share."""
    return f"{_slug(server.partition('://')[2])}-{_digest(server.encode())[:12]}"


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:_NAME_LENGTH]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

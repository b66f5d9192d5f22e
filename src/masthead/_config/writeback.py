"""Writing renewed tokens back to the kubeconfig that they came from."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

from masthead._config.files import read_content
from masthead._config.kubeconfig import parse, read_document
from masthead._config.yaml_node import YamlSource
from masthead._meta.names import quote
from masthead._meta.secret import Secret, SecretValue
from masthead._module import set_module
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["write_user_tokens"]

_TRIES: Final = 20
_PAUSE: Final = 0.05
"""Seconds between attempts; writing takes a few milliseconds."""


@set_module("masthead.config")
def write_user_tokens(
    kubeconfig: Path,
    user: str,
    *,
    id_token: Secret | str,
    refresh_token: Secret | str,
    pause: Callable[[float], object] | None = None,
) -> None:
    """Write an OpenID Connect user's new tokens to a kubeconfig; an empty token leaves the old one unchanged.

    The rest of the file is preserved except for comments and layout, and so are its owner and mode. The file is
    replaced atomically, unless it belongs to another user: then it is written in place. It is locked as kubectl locks
    it. Blocks for at most a second: in a coroutine, use a thread.

    Args:
        kubeconfig: The file.
        user: The user's name in it.
        id_token: The new token.
        refresh_token: The new refresh token.
        pause: Sleeps for a number of seconds between attempts to lock.

    Raises:
        ConfigError: If the file stays locked, cannot be read or written, or has no such user; or if a token is invalid.
    """
    from masthead._meta import yaml  # only tokens of OpenID Connect are written: PyYAML takes 10 ms to import

    id_token, refresh_token = _secret(id_token), _secret(refresh_token)
    if not (id_token.reveal().isascii() and refresh_token.reveal().isascii()):
        raise ConfigError(f"{kubeconfig}: the new tokens cannot be written: a token has non-ASCII characters")
    # Replace the target of a symlink, not the link.
    path = kubeconfig.resolve()
    try:
        with _hold_lock(path, pause or threading.Event().wait):
            document = _read(path)
            config = _config_of(document, user, path)
            for key, token in (("id-token", id_token), ("refresh-token", refresh_token)):
                if token:
                    config.reveal()[key] = token.reveal()
            _replace(path, Secret(yaml.dump(document.reveal())))
            return
    except OSError as error:
        problem = error.strerror
    raise ConfigError(f"{path}: the new tokens cannot be written: {problem}")


def _secret(token: Secret | str) -> Secret:
    return token if isinstance(token, Secret) else Secret(token)


@contextlib.contextmanager
def _hold_lock(path: Path, pause: Callable[[float], object]) -> Generator[None]:
    """Hold the lock file that kubectl and client-go use, too."""
    lock = path.with_name(f"{path.name}.lock")
    for attempt in range(_TRIES):
        if attempt:
            pause(_PAUSE)
        try:
            # The lock is that the file exists; O_EXCL fails if another process has created it.
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        break
    else:
        raise ConfigError(
            f"{path}: is locked, so that the new tokens cannot be written. If no program is writing to it, one was "
            f"killed while it did: remove {lock}"
        )
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _read(path: Path) -> SecretValue[dict[str, object]]:
    source = YamlSource(str(path), file=path)
    content = read_content(path)
    parse(content, source)  # validates, so that the types below are certain
    return SecretValue(cast("dict[str, object]", read_document(content, source).reveal() or {}))


def _config_of(document: SecretValue[dict[str, object]], user: str, path: Path) -> SecretValue[dict[str, object]]:
    """Return the ``config`` of a user's auth-provider in the document."""
    fields = _user_of(document, user)
    if fields is None:
        raise ConfigError(f"{path}: there is no user {quote(user)} any more to write the new tokens to")
    provider = SecretValue(cast("dict[str, object]", fields.reveal().get("auth-provider") or {}))
    config = SecretValue(provider.reveal().get("config"))
    if provider.reveal().get("name") != "oidc" or not isinstance(config.reveal(), dict):
        raise ConfigError(f"{path}: the user {quote(user)} has no auth-provider named oidc any more")
    return cast("SecretValue[dict[str, object]]", config)


def _user_of(document: SecretValue[dict[str, object]], user: str) -> SecretValue[dict[str, object]] | None:
    for entry in cast("list[dict[str, object]]", document.reveal().get("users") or []):
        if entry["name"] == user:
            return SecretValue(cast("dict[str, object]", entry.get("user") or {}))
    return None


def _replace(path: Path, text: Secret) -> None:
    """Replace a file by a new one with the same owner and mode; if that is not permitted, write in place."""
    known = path.stat()
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    new = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if is_like := _is_like(known, file.fileno()):
                _write(file, text)
        if is_like:
            new.replace(path)
            return
        # A rename would change the owner, who might then be unable to read the file.
        with path.open("r+", encoding="utf-8") as file:
            _write(file, text)
            file.truncate()
    finally:
        new.unlink(missing_ok=True)


def _is_like(known: os.stat_result, descriptor: int) -> bool:
    """Set owner and mode of a new file; return whether that was permitted."""
    if not hasattr(os, "fchown"):  # as on Windows, where files inherit the permissions of their directory
        return True
    try:
        found = os.fstat(descriptor)
        if (found.st_uid, found.st_gid) != (known.st_uid, known.st_gid):
            os.fchown(descriptor, known.st_uid, known.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(known.st_mode))
    except PermissionError:
        return False
    return True


def _write(file: IO[str], text: Secret) -> None:
    file.write(text.reveal())
    file.flush()
    os.fsync(file.fileno())

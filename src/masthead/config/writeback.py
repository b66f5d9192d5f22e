"""Writing renewed tokens back to the kubeconfig that they came from."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from masthead.config.files import read_content
from masthead.config.kubeconfig import parse, read_document
from masthead.config.node import Source
from masthead.errors import ConfigError
from masthead.meta import yaml
from masthead.meta.names import shown
from masthead.meta.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["write_user_tokens"]

_TRIES: Final = 20
_PAUSE: Final = 0.05
"""Seconds between tries; writing takes a few milliseconds."""


def write_user_tokens(
    kubeconfig: Path,
    user: str,
    *,
    id_token: Secret | str,
    refresh_token: Secret | str,
    pause: Callable[[float], object] | None = None,
) -> None:
    """Put an OpenID Connect user's new tokens into a kubeconfig; an empty one leaves the old one there.

    Everything else that stands in the file is kept, but for comments and layout. Nobody ever sees half a file, and
    programs that lock kubeconfigs, as kubectl does, take turns. Blocks for a second at most: in a coroutine, use a
    thread.

    Args:
        kubeconfig: The file.
        user: The user's name in it.
        id_token: The new token.
        refresh_token: What the next one is had for.
        pause: Waits so many seconds before the lock is tried again.

    Raises:
        ConfigError: if the file is locked and stays so, cannot be read or written, or has no such user; or if what
            is given cannot be a token.
    """
    tokens = {"id-token": _text(id_token), "refresh-token": _text(refresh_token)}
    if not all(text.isascii() for text in tokens.values()):
        raise ConfigError(f"{kubeconfig}: the new tokens cannot be written: no token has such characters")
    # Of a link, the file that it leads to is replaced, and not the link.
    path = kubeconfig.resolve()
    try:
        with _locked(path, pause or threading.Event().wait):
            document = _read(path)
            _config_of(document, user, path).update({key: text for key, text in tokens.items() if text})
            _replace(path, yaml.dump(document))
    except OSError as error:
        raise ConfigError(f"{path}: the new tokens cannot be written: {error.strerror}") from None


def _text(token: Secret | str) -> str:
    return token.reveal() if isinstance(token, Secret) else token


@contextlib.contextmanager
def _locked(path: Path, pause: Callable[[float], object]) -> Generator[None]:
    """Hold the lock that kubectl and client-go know too: a file beside the file."""
    lock = path.with_name(f"{path.name}.lock")
    for attempt in range(_TRIES):
        if attempt:
            pause(_PAUSE)
        try:
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


def _read(path: Path) -> dict[str, object]:
    source = Source(str(path), file=path)
    content = read_content(path)
    parse(content, source)  # for its checks: what follows can rely on the shapes
    return cast("dict[str, object]", read_document(content, source) or {})


def _config_of(document: dict[str, object], user: str, path: Path) -> dict[str, object]:
    """The settings of a user's auth-provider, as they stand in the document."""
    users = cast("list[dict[str, object]]", document.get("users") or [])
    entry = next((each for each in users if each["name"] == user), None)
    if entry is None:
        raise ConfigError(f"{path}: there is no user {shown(user)} any more to write the new tokens to")
    fields = cast("dict[str, object]", entry.get("user") or {})
    provider = cast("dict[str, object]", fields.get("auth-provider") or {})
    config = provider.get("config")
    if provider.get("name") != "oidc" or not isinstance(config, dict):
        raise ConfigError(f"{path}: the user {shown(user)} has no auth-provider named oidc any more")
    return cast("dict[str, object]", config)


def _replace(path: Path, text: str) -> None:
    """Put a new file in the place of another, which nobody else can read."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    new = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise

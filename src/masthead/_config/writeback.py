"""Writing renewed tokens back to the kubeconfig that they came from."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, cast

from masthead._config.file_replacement import hold_lock, replace_content
from masthead._config.files import read_content
from masthead._config.kubeconfig import parse, read_document
from masthead._config.yaml_node import YamlSource
from masthead._meta.names import quote
from masthead._meta.secret import Secret, SecretValue
from masthead._module import set_module
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["write_user_tokens"]

_WHAT: Final = "the new tokens"


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
        with hold_lock(path, pause or threading.Event().wait, what=_WHAT):
            document = _read(path)
            config = _config_of(document, user, path)
            for key, token in (("id-token", id_token), ("refresh-token", refresh_token)):
                if token:
                    config.reveal()[key] = token.reveal()
            replace_content(path, Secret(yaml.dump(document.reveal())))
            return
    except OSError as error:
        problem = error.strerror
    raise ConfigError(f"{path}: the new tokens cannot be written: {problem}")


def _secret(token: Secret | str) -> Secret:
    return token if isinstance(token, Secret) else Secret(token)


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
